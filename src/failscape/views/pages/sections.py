"""What a kind of hunt adds to the report: sections, large numbers, notes on findings, places on the map.

A kind of hunt gives a `Page` (`HuntKind.page`): a module with its four functions will do, and `PlainPage`
is what to inherit from where some of them have nothing to add.

A section says where it stands (`LEAD`: before the findings, `TRUST`: after them, `END`: after health and
cost), which template shows it and which pictures it needs. Its template is included with `section`, `view`,
`picture` and `figures` in reach, and may take the parts of others:

    {% import "parts.html" as parts with context %}
    {% call parts.panel(section) %} … {{ section.data.something }} … {% endcall %}

`parts.panel` writes heading, introduction and "How to read this"; `parts.shot_row` and `parts.frame` show
pictures, `parts.heat` a map, `parts.share` a share with its interval, `parts.trust_boxes` boxes side by
side (`kinds.t2i.page_trust.TrustBox`). A template with several sections asks for `section.id`. A kind keeps
its templates in a folder `templates` of its package and names them `package:name.html`; `style.css` beside
them is read when it exists. Leave a section out when there is nothing to say: an empty panel is clutter.
Bound what is shown, whatever the hunt found. Findings of older or imported hunts may lack details: read
them with a default. Text is escaped by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from jinja2 import (
    ChoiceLoader,
    DictLoader,
    Environment,
    PackageLoader,
    PrefixLoader,
    StrictUndefined,
    select_autoescape,
)

from failscape import __version__
from failscape.atlas.files import explained, write_whole
from failscape.errors import FailscapeError
from failscape.plugins import find_kind
from failscape.trials import Finding
from failscape.views.figures import basic as figures
from failscape.views.figures.heat import NARROW, WIDE, heat_legend, heat_map
from failscape.views.read.hunt import Placer, nowhere
from failscape.views.read.numbers import number, percent, spread

if TYPE_CHECKING:
    from failscape.atlas import Atlas
    from failscape.views.read import HuntEvidence

SurveyType = TypeVar("SurveyType")

Place = Literal["lead", "trust", "end"]
LEAD: Place = "lead"
TRUST: Place = "trust"
END: Place = "end"


@dataclass(frozen=True)
class Context:
    """What sections are made from. `limit` is the share of failures where failing begins, if there is one."""

    loaded: HuntEvidence

    @property
    def atlas(self) -> Atlas:
        return self.loaded.atlas

    @property
    def limit(self) -> float | None:
        return self.loaded.limit

    @cached_property
    def survey(self) -> dict[str, Any]:
        """What the hunt says about the whole space, as plain data; empty when it says nothing."""
        return self.loaded.survey.as_data() if self.loaded.survey else {}

    def survey_as(self, kind: type[SurveyType]) -> SurveyType | None:
        """What the hunt says about the whole space, where that is of the type that the reader knows."""
        return self.loaded.survey_as(kind)


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

    @property
    def package(self) -> str:
        """Where its template comes from; empty for those that all kinds share."""
        package, colon, _ = self.template.rpartition(":")
        return package if colon else ""


class Tile(NamedTuple):
    """A large number at the head of the page, what it is called, and a few words below it."""

    name: str
    number: str
    beneath: str = ""


class Page(Protocol):
    """What a kind of hunt adds to the report. A module with these four functions will do."""

    def sections(self, context: Context) -> Iterable[Section]: ...

    def tiles(self, context: Context) -> Iterable[Tile]: ...

    def notes(self, finding: Finding) -> Iterable[str]:
        """Sentences about one finding."""

    def placer(self, config: dict[str, Any]) -> Placer:
        """Says where on the map a subject belongs; an error of ours means that there is no map."""


class PlainPage:
    """The page of a hunt that adds nothing to what every report has."""

    def sections(self, context: Context) -> list[Section]:
        return []

    def tiles(self, context: Context) -> list[Tile]:
        return []

    def notes(self, finding: Finding) -> list[str]:
        return []

    def placer(self, config: dict[str, Any]) -> Placer:
        return nowhere


def page_of(kind: str) -> Page:
    """What a kind adds; nothing where the kind is not installed here."""
    try:
        return find_kind(kind).page or PlainPage()
    except FailscapeError:
        return PlainPage()


def stylesheets(names: Iterable[str], packages: Iterable[str]) -> list[str]:
    """The style sheets of packages, those that are among the names of all templates."""
    known = set(names)
    return [sheet for package in sorted(packages) if (sheet := f"{package}:style.css") in known]


PAGE = "index.html"

#: The colours of report and viewer, in the folder of `views`.
PALETTE = "palette.css"


def templates(packages: Iterable[str] = ()) -> Environment:
    """The page templates: everything put into them is escaped, and unknown names are errors.

    `packages` bring templates of their own, as `package:name.html`.
    """
    kinds = {package: PackageLoader(package, "templates") for package in sorted(packages)}
    environment = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader("failscape.views.pages", "templates"),
                DictLoader({PALETTE: (files("failscape.views") / PALETTE).read_text(encoding="utf-8")}),
                PrefixLoader(kinds, delimiter=":"),
            ]
        ),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, spread=spread, evalue=number, clip=clip, span=span, when=when)
    environment.globals.update(
        heat_map=heat_map,
        heat_legend=heat_legend,
        heat_shapes=(WIDE, NARROW),
        figures=figures,
        version=__version__,
        written=when(time.time()),
    )
    return environment


def write_page(path: Path, page: str) -> Path:
    with explained(path):
        write_whole(path, page.encode("utf-8", "replace"))
    return path


def clip(text: str, most: int = 400) -> str:
    """Cut off what does not fit, and say how much where it is more than a few words."""
    left = len(text) - most
    if left <= 0:
        return text
    return f"{text[:most].rstrip()} …" + (f" ({left:,} more characters)" if left > 100 else "")


def span(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
    )


def when(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    except (ValueError, OverflowError, OSError):  # an atlas may hold any number
        return "at no known time"
