"""What can be said about the world: things, attributes, their defaults and contradictions, and their words.

Everything else in this package (drawing, captions, the corpus folder) is derived from these tables. The first
wording of a value is its canonical one. No phrase holds a word that means another value, so that captions can
be read back without doubt.
"""

import re
from typing import Final, NamedTuple

Value = tuple[str, str]


class Kind(NamedTuple):
    """One kind of thing: where it sits in the taxonomy, what it is called, and which sprite shows it."""

    name: str
    plural: str
    group: str
    subgroup: str
    code: str


_TAXONOMY: Final[dict[str, dict[str, tuple[tuple[str, str, str], ...]]]] = {
    "animals": {
        "land animals": (
            ("camel", "camels", "1f42a"),
            ("cow", "cows", "1f404"),
            ("elephant", "elephants", "1f418"),
        ),
        "birds": (
            ("penguin", "penguins", "1f427"),
            ("flamingo", "flamingos", "1f9a9"),
            ("owl", "owls", "1f989"),
        ),
        "sea animals": (
            ("fish", "fish", "1f41f"),
            ("crab", "crabs", "1f980"),
            ("turtle", "turtles", "1f422"),
        ),
        "insects": (
            ("butterfly", "butterflies", "1f98b"),
            ("ladybug", "ladybugs", "1f41e"),
        ),
    },
    "food": {
        "fruit": (
            ("apple", "apples", "1f34e"),
            ("banana", "bananas", "1f34c"),
            ("pineapple", "pineapples", "1f34d"),
            ("watermelon", "watermelons", "1f349"),
        ),
        "snacks": (
            ("pizza", "pizzas", "1f355"),
            ("burger", "burgers", "1f354"),
            ("donut", "donuts", "1f369"),
            ("cupcake", "cupcakes", "1f9c1"),
        ),
    },
    "plants": {
        "trees": (
            ("palm tree", "palm trees", "1f334"),
            ("pine tree", "pine trees", "1f332"),
        ),
        "flowers": (
            ("sunflower", "sunflowers", "1f33b"),
            ("tulip", "tulips", "1f337"),
        ),
        "wild plants": (
            ("cactus", "cacti", "1f335"),
            ("mushroom", "mushrooms", "1f344"),
        ),
    },
    "vehicles": {
        "road vehicles": (
            ("car", "cars", "1f697"),
            ("bus", "buses", "1f68c"),
            ("bicycle", "bicycles", "1f6b2"),
        ),
        "flying vehicles": (
            ("airplane", "airplanes", "2708-fe0f"),
            ("rocket", "rockets", "1f680"),
        ),
        "water vehicles": (
            ("boat", "boats", "26f5"),
            ("ship", "ships", "1f6a2"),
        ),
    },
    "household": {
        "furniture": (
            ("chair", "chairs", "1fa91"),
            ("clock", "clocks", "23f0"),
        ),
        "utensils": (
            ("teapot", "teapots", "1fad6"),
            ("umbrella", "umbrellas", "2602-fe0f"),
        ),
    },
    "toys": {
        "playthings": (
            ("kite", "kites", "1fa81"),
            ("teddy bear", "teddy bears", "1f9f8"),
        ),
        "instruments": (
            ("guitar", "guitars", "1f3b8"),
            ("drum", "drums", "1f941"),
        ),
    },
}

KINDS: Final[tuple[Kind, ...]] = tuple(
    Kind(name, plural, group, subgroup, code)
    for group, subgroups in _TAXONOMY.items()
    for subgroup, rows in subgroups.items()
    for name, plural, code in rows
)
ENTITIES: Final[tuple[str, ...]] = tuple(kind.name for kind in KINDS)
PLURALS: Final[dict[str, str]] = {kind.name: kind.plural for kind in KINDS}

COLOURS: Final[tuple[str, ...]] = (
    "red",
    "orange",
    "yellow",
    "green",
    "blue",
    "purple",
    "pink",
    "brown",
    "black",
    "white",
)
COUNTS: Final[tuple[str, ...]] = ("one", "two", "three", "four")
SIZES: Final[tuple[str, ...]] = ("small", "large")
PLACES: Final[tuple[str, ...]] = (
    "meadow",
    "beach",
    "snow",
    "desert",
    "ocean",
    "forest",
    "city",
    "space",
    "brick wall",
    "studio",
)
TIMES: Final[tuple[str, ...]] = ("day", "sunset", "night", "rain", "fog")
STYLES: Final[tuple[str, ...]] = ("plain", "sketch", "sepia", "blurred", "pixelated", "framed")
POSITIONS: Final[tuple[str, ...]] = ("left", "right", "top", "bottom", "centre")

#: What is drawn when a caption does not mention an attribute.
DEFAULTS: Final[dict[str, str]] = {
    "colour": "natural",
    "count": "one",
    "size": "medium",
    "place": "studio",
    "time": "day",
    "style": "plain",
    "position": "centre",
}
#: What a caption can mention. "natural" and "medium" can only be meant by silence.
MENTIONABLE: Final[dict[str, tuple[str, ...]]] = {
    "colour": COLOURS,
    "count": COUNTS,
    "size": SIZES,
    "place": PLACES,
    "time": TIMES,
    "style": STYLES,
    "position": POSITIONS,
}
#: Everything a scene can hold, defaults included.
ALLOWED: Final[dict[str, tuple[str, ...]]] = {
    name: values if DEFAULTS[name] in values else (*values, DEFAULTS[name])
    for name, values in MENTIONABLE.items()
}
FAMILIES: Final[dict[str, tuple[str, ...]]] = {
    "base": ("colour", "count", "size"),
    "background": ("place", "time"),
    "image": ("style", "position"),
}
ATTRIBUTES: Final[tuple[str, ...]] = tuple(MENTIONABLE)


def _conflicts() -> tuple[tuple[Value, Value], ...]:
    edges = [p for p in POSITIONS if p != "centre"]
    pairs: list[tuple[Value, Value]] = []
    pairs += [(("count", n), ("position", p)) for n in ("three", "four") for p in edges]
    pairs += [(("style", "sepia"), ("colour", c)) for c in COLOURS]
    pairs += [(("style", "pixelated"), ("size", "small"))]
    pairs += [(("place", "space"), ("time", t)) for t in TIMES]
    pairs += [(("place", "studio"), ("time", t)) for t in TIMES if t != "day"]
    return tuple(pairs)


#: Pairs that make no sense, or cannot be told from a picture, when both are mentioned.
CONFLICTS: Final[tuple[tuple[Value, Value], ...]] = _conflicts()
_CONFLICT_SET: Final[frozenset[frozenset[Value]]] = frozenset(frozenset(pair) for pair in CONFLICTS)


def conflicts_in(mentioned: dict[str, str]) -> list[tuple[Value, Value]]:
    """Return the contradicting pairs among mentioned attribute values (name -> value)."""
    items = [(name, value) for name, value in mentioned.items() if name in MENTIONABLE]
    return [
        (first, second)
        for i, first in enumerate(items)
        for second in items[i + 1 :]
        if frozenset((first, second)) in _CONFLICT_SET
    ]


def check_value(name: str, value: str) -> None:
    """Raise ValueError when `value` is not something attribute `name` can have."""
    allowed = ENTITIES if name == "entity" else ALLOWED.get(name)
    if allowed is None:
        raise ValueError(f"an attribute must be one of {['entity', *ATTRIBUTES]}, but got {name!r}")
    if value not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, but got {value!r}")


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
    tables = (*ADJECTIVES.values(), *PHRASES.values())
    texts: list[str] = [
        *(
            *ENTITIES,
            *PLURALS.values(),
            *OPENINGS,
            *STYLE_OPENINGS.values(),
            *RELATIONS,
            *JOINERS,
            *SENTENCES,
        ),
        *(phrase for table in tables for phrases in table.values() for phrase in phrases),
    ]
    return sorted({word for text in texts for word in tokens(text)})
