"""toy-world: the renderer as an image generator. A prompt is the key of a sight, and the scene is exact."""

from __future__ import annotations

from collections.abc import Sequence

from failscape.models.roles import Identity, Reply, Usage
from failscape.pictures import Picture
from failscape.toybox import world
from failscape.toybox.asking import VERSION, scene_of
from failscape.toybox.provider import WORLD


class ToyWorld:
    """Draws what `ToyGrammar` made up. It is no network: seeds change nothing, and it never fails."""

    batch = 16
    parallel = 1

    def __init__(self) -> None:
        self.identity = Identity("generator", "toybox", WORLD, {"version": VERSION})

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to close."""

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        return [
            Reply(Picture.from_array(world.render(scene_of(prompt))), usage=Usage(requests=0))
            for prompt in prompts
        ]
