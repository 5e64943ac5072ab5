"""Provider `composite`: an editor that lays a sprite on a picture. What it changes is true by construction.

It understands the instructions of minimal pairs: "Add a red penguin on the left of the picture."
"""

import re
from collections.abc import Sequence
from typing import Final

from PIL import Image

from failscape.config import ModelConfig
from failscape.errors import BadReply, ConfigError
from failscape.models.in_process import Unloaded
from failscape.models.roles import Identity, Model, Reply, Usage
from failscape.pictures import Picture
from failscape.toybox.world.render import RAMPS, sprite
from failscape.toybox.world.vocab import ENTITIES

LABEL: Final = "composite/1"
#: Side of a sprite as a share of the picture's shorter side: large enough that nobody overlooks it.
SHARE: Final = 0.36

_PLACES: Final = {"left": 0.22, "right": 0.78, "": 0.5}
_ADD: Final = re.compile(
    r"add an? (?:(?P<colour>\w+) )?(?P<thing>[\w ]+?)(?: on the (?P<side>left|right) of| to) the picture"
)


def composite(picture: Picture, instruction: str) -> Picture:
    """The picture with the sprite on it. Raises `BadReply` for what it does not understand."""
    found = _ADD.match(instruction.lower())
    thing, colour = (found["thing"], found["colour"] or "") if found else ("", "")
    if colour and colour not in RAMPS:
        thing, colour = f"{colour} {thing}", ""
    if found is None or thing not in ENTITIES:
        raise BadReply(f"`composite` adds one of {', '.join(ENTITIES)}, but was told {instruction!r}")
    image = picture.image.convert("RGB")
    side = max(8, round(SHARE * min(image.size)))
    laid = sprite(thing, colour or "natural").resize((side, side), Image.Resampling.LANCZOS)
    x = round(_PLACES[found["side"] or ""] * image.width - side / 2)
    canvas = image.copy()
    canvas.paste(laid, (max(0, min(x, image.width - side)), round(0.6 * (image.height - side))), laid)
    return Picture.from_image(canvas)


class Compositor(Unloaded):
    def __init__(self) -> None:
        self.identity = Identity("editor", "composite", LABEL)

    async def edit(
        self, images: Sequence[Picture], instructions: Sequence[str], seeds: Sequence[int]
    ) -> list[Reply[Picture]]:
        pairs = zip(images, instructions, strict=True)
        return [Reply(composite(*pair), usage=Usage(requests=0)) for pair in pairs]


def create(role: str, config: ModelConfig) -> Model:
    if config.params:
        raise ConfigError(f"`composite` takes no params, but got {config.params}", "remove `params`")
    return Compositor()
