"""What toy-eyes can say about a picture: its heads, their values, and where each head's numbers are."""

from typing import Final

from failscape.toybox.world import ALLOWED, ATTRIBUTES, ENTITIES, Attributes

#: The extra value of the entity head: nothing that can be named is in the picture.
NONE: Final = "none"
#: The label of a head that cannot be told.
UNKNOWN: Final = -1

HEADS: Final[dict[str, tuple[str, ...]]] = {
    "entity": (*ENTITIES, NONE),
    **{name: ALLOWED[name] for name in ATTRIBUTES},
}


def _slices() -> dict[str, slice]:
    found, start = {}, 0
    for name, values in HEADS.items():
        found[name] = slice(start, start + len(values))
        start += len(values)
    return found


#: Where the numbers of each head lie in the network's output.
SLICES: Final[dict[str, slice]] = _slices()
WIDTH: Final = sum(len(values) for values in HEADS.values())


def labels_of(attributes: Attributes) -> dict[str, int]:
    """Return the index of the true value of every head."""
    return {name: values.index(getattr(attributes, name)) for name, values in HEADS.items()}
