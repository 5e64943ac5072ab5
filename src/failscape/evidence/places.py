"""Where a subject lies: what it is about, its class, its kinds of attributes. The kind of hunt says it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from failscape.errors import FailscapeError
from failscape.plugins import find_kind
from failscape.spaces.prompt_list import ListedPrompt

ALONE = "alone"
"""The row of subjects that have no attribute value."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a subject lies: what it is about (its entity), one column (its class), one or more rows."""

    about: str
    column: str
    rows: tuple[str, ...]


Placer = Callable[[str], Place | None]


def place_node(classes: dict[str, str]) -> Placer:
    """For subjects like `cat; Base: Colour=red`; `classes` is entity → its class."""

    def place(subject: str) -> Place | None:
        entity, *labels = subject.split("; ")
        rows = tuple(label.partition("=")[0] for label in labels)
        return Place(entity, classes[entity], rows or (ALONE,)) if entity in classes else None

    return place


def place_prompt(prompts: Iterable[ListedPrompt]) -> Placer:
    """For prompts of a list: the first tag is the column, the kinds of its checks are the rows."""
    places = {
        one.id: Place(one.id, str(one.tags[0]) if one.tags else "no tag", tuple(dict.fromkeys(one.kinds)))
        for one in prompts
    }
    return places.get


def placer_of(kind: str, config: dict[str, Any]) -> Placer:
    """A placer for a hunt; one that knows no place when the kind has none or its corpus has moved."""
    try:
        page = find_kind(kind).page
        return page.placer(config) if page is not None else nowhere
    except FailscapeError:
        return nowhere


def nowhere(subject: str) -> None:
    return None
