"""What a kind of hunt adds to the report: sections, large numbers, notes on findings, places on the map.

To add a kind of hunt, write `report/kinds/<kind>.py` and `templates/<kind>.html`; nothing else has to change.
The module may define any of these functions, all of them optional:

    def sections(context: Context) -> Iterable[Section]      # parts of the page
    def notes(finding: Finding) -> Iterable[str]             # sentences on the card of a finding
    def tiles(context: Context) -> Iterable[Tile]            # large numbers at the head of the page
    def placer(config: dict[str, Any]) -> Placer             # column, rows and thing of a subject (`maps.py`)

A section says where it stands (`LEAD`: before the findings, `TRUST`: after them, `END`: after health and
cost), which template shows it and which pictures it needs. Its template is included with `section`, `view`,
`picture` and `figures` in reach, and may take the parts of others:

    {% import "parts.html" as parts with context %}
    {% call parts.panel(section) %} … {{ section.data.something }} … {% endcall %}

`parts.panel` writes heading, introduction and "How to read this"; `parts.shot_row` and `parts.frame` show
pictures, `parts.heat` a map, `parts.share` a share with its interval, `parts.trust_boxes` boxes side by
side (`kinds.t2i_trust.TrustBox`). A template with several sections asks for `section.id`. Styles go to
`templates/<kind>.css`, which is read when it exists. Leave a section out when there is nothing to say: an
empty panel is clutter. Bound what is shown, whatever the hunt found. Findings of older or imported hunts may
lack details: read them with a default. Text is escaped by itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from failscape.config import HUNTS
from failscape.errors import FailscapeError
from failscape.report.maps import Placer
from failscape.trials import Finding

if TYPE_CHECKING:
    from failscape.atlas import Atlas
    from failscape.report.load import EvidenceReader, LoadedHunt

Told = TypeVar("Told")

Place = Literal["lead", "trust", "end"]
LEAD: Place = "lead"
TRUST: Place = "trust"
END: Place = "end"


@dataclass(frozen=True)
class Context:
    """What sections are made from. `limit` is the share of failures where failing begins, if there is one."""

    atlas: Atlas
    loaded: LoadedHunt
    reader: EvidenceReader
    place: Placer
    limit: float | None = None

    @cached_property
    def survey(self) -> dict[str, Any]:
        """What the hunt says about the whole space, as plain data; empty when it says nothing."""
        return self.loaded.survey.as_data() if self.loaded.survey else {}

    def survey_as(self, kind: type[Told]) -> Told | None:
        """What the hunt says about the whole space, where that is of the type that the reader knows."""
        return self.loaded.survey if isinstance(self.loaded.survey, kind) else None


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page. `id` is its anchor; one with the id `map` takes the place of the common map.

    `menu` is its word in the navigation ("" for none), `intro` one or two sentences that everybody reads,
    `how` what helps to read it. `images` are digests of the pictures that it shows.
    """

    id: str
    title: str
    template: str
    data: Any
    place: Place = LEAD
    menu: str = ""
    intro: str = ""
    how: str = ""
    images: tuple[str, ...] = ()


class Tile(NamedTuple):
    """A large number at the head of the page, what it is called, and a few words below it."""

    name: str
    number: str
    beneath: str = ""


def sections_of(kind: str, context: Context) -> list[Section]:
    build = _function(kind, "sections")
    return list(build(context)) if build else []


def tiles_of(kind: str, context: Context) -> list[Tile]:
    build = _function(kind, "tiles")
    return list(build(context)) if build else []


def notes_of(kind: str, finding: Finding) -> list[str]:
    write = _function(kind, "notes")
    return list(write(finding)) if write else []


def placer_of(kind: str, config: dict[str, Any]) -> Placer:
    """A placer for a hunt; one that knows no place when the kind has none or its corpus has moved."""
    build = _function(kind, "placer")
    try:
        found: Placer = build(config) if build else _nowhere
    except FailscapeError:
        return _nowhere
    return found


def stylesheets(templates: Iterable[str], kind: str) -> list[str]:
    """The style sheet of a kind, when there is one among the names of all templates."""
    return [f"{kind}.css"] if f"{kind}.css" in templates else []


def _nowhere(subject: str) -> None:
    return None


def _function(kind: str, name: str) -> Callable[..., Any] | None:
    module = f"failscape.report.kinds.{kind}"
    if kind not in HUNTS or find_spec(module) is None:
        return None
    found: Callable[..., Any] | None = getattr(importlib.import_module(module), name, None)
    return found
