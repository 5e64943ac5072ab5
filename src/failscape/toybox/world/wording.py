"""The words of the world. The first wording of a value is its canonical one.

No phrase holds a word that means another value, so that captions can be read back without doubt.
"""

import re
from typing import Final

from failscape.toybox.world.vocab import COLOURS, COUNTS, ENTITIES, PLURALS

#: Words before a thing: count, size and colour.
ADJECTIVES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "count": {count: (count,) for count in COUNTS},
    "size": {"small": ("small", "tiny"), "large": ("large", "big")},
    "colour": {colour: (colour,) for colour in COLOURS},
}
#: Phrases after a thing.
PHRASES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "place": {
        "meadow": ("in a meadow", "in a grassy meadow"),
        "beach": ("on a beach", "at the beach"),
        "snow": ("in the snow", "on a snowy field"),
        "desert": ("in a desert", "among desert dunes"),
        "ocean": ("on the ocean", "out at sea"),
        "forest": ("in a forest", "in the woods"),
        "city": ("in a city", "on a city street"),
        "space": ("in outer space", "among the stars"),
        "brick wall": ("in front of a brick wall", "by a brick wall"),
        "studio": ("in a studio", "against a studio backdrop"),
    },
    "time": {
        "day": ("by day", "in daylight"),
        "sunset": ("at sunset", "as the sun sets"),
        "night": ("at night", "under the moon"),
        "rain": ("in the rain", "in rainy weather"),
        "fog": ("in fog", "in foggy weather"),
    },
    "position": {
        "left": ("on the left", "on the left side"),
        "right": ("on the right", "on the right side"),
        "top": ("at the top", "near the top"),
        "bottom": ("at the bottom", "near the bottom"),
        "centre": ("in the centre", "in the middle"),
    },
    "style": {
        "plain": ("as a plain photo", "in plain style"),
        "sketch": ("as a sketch", "as a pencil drawing"),
        "sepia": ("in sepia", "as a sepia photo"),
        "blurred": ("as a blurred photo", "out of focus"),
        "pixelated": ("as pixel art", "as a pixelated picture"),
        "framed": ("in a picture frame", "as a framed picture"),
    },
}
#: Ways to open a caption that say the style at once.
STYLE_OPENINGS: Final[dict[str, str]] = {
    "plain": "a plain photo of",
    "sketch": "a sketch of",
    "sepia": "a sepia photo of",
    "blurred": "a blurred photo of",
    "pixelated": "a pixelated picture of",
    "framed": "a framed picture of",
}
#: Ways to open a caption that say nothing.
OPENINGS: Final[tuple[str, ...]] = ("a picture of", "an image of")
RELATIONS: Final[tuple[str, ...]] = ("left of", "right of", "above", "below")
#: The frame of the sentences of a description, and the small words that join things.
SENTENCES: Final[tuple[str, ...]] = (
    "there is .",
    "there are .",
    "the picture is .",
    "the picture is shown .",
)
JOINERS: Final[tuple[str, ...]] = (",", "and", "a", "an", "five")


def tokens(text: str) -> list[str]:
    """Split a text into lower-case words, commas and full stops."""
    return re.findall(r"[a-z]+|[,.]", text.lower())


def noun(entity: str, count: str = "one") -> str:
    """Return the word for one or for several things of a kind."""
    return entity if count == "one" else PLURALS[entity]


def vocabulary() -> list[str]:
    """Return every word (and mark) that captions and descriptions can use, sorted."""
    texts: list[str] = [
        *ENTITIES,
        *PLURALS.values(),
        *OPENINGS,
        *STYLE_OPENINGS.values(),
        *RELATIONS,
        *JOINERS,
    ]
    for table in (*ADJECTIVES.values(), *PHRASES.values()):
        texts += [phrase for phrases in table.values() for phrase in phrases]
    texts += SENTENCES
    return sorted({word for text in texts for word in tokens(text)})
