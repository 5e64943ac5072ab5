"""Pictures whose content is known exactly: scenes of the embedded world, large enough for any model.

They tell a judge or a captioner that sees little from a target that draws badly.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from failscape.pictures import Picture
from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import Node
from failscape.spaces.wording import Wording
from failscape.toybox.world import Attributes, render_attributes
from failscape.trials import Check

SIDE = 384
#: Far apart in name, class, colour and place, so that no row's words fit another picture.
THINGS = (
    ("cow", "blue", "beach"),
    ("car", "red", "forest"),
    ("apple", "green", "snow"),
    ("penguin", "pink", "desert"),
    ("bicycle", "yellow", "beach"),
    ("owl", "purple", "snow"),
    ("boat", "green", "forest"),
    ("cupcake", "blue", "desert"),
    ("umbrella", "red", "snow"),
    ("camel", "purple", "forest"),
    ("crab", "yellow", "desert"),
    ("turtle", "pink", "beach"),
    ("pineapple", "red", "desert"),
    ("elephant", "green", "beach"),
    ("bus", "purple", "beach"),
    ("teapot", "yellow", "forest"),
    ("guitar", "blue", "meadow"),
    ("cactus", "pink", "city"),
    ("airplane", "orange", "desert"),
    ("butterfly", "red", "meadow"),
)


@dataclass(frozen=True, slots=True)
class KnownPicture:
    thing: str
    picture: Picture
    #: What holds: the thing and its colour.
    checks: tuple[Check, ...]

    caption: str


@cache
def known_pictures() -> tuple[KnownPicture, ...]:
    """As many as the world has the words for."""
    corpus = load_corpus("toybox")
    wording, found = Wording(corpus), []
    for thing, colour, place in THINGS:
        value = corpus.value_index.get(f"Base: colour={colour}")
        if thing in corpus.entity_index and value is not None:
            pixels = render_attributes(Attributes(thing, colour=colour, place=place))
            caption = f"a picture of a {colour} {thing}, {place}"
            node = Node(corpus.entity_index[thing], (value,))
            found.append(KnownPicture(thing, _large(pixels), wording.checks(node), caption))
    return tuple(found)


def _large(pixels: NDArray[np.uint8]) -> Picture:
    image = Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return Picture.from_image(image)
