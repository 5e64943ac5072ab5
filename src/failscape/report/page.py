"""Writes the report: one static HTML page that opens from disk and needs no network.

The page is bounded: a gallery of the first findings, a table of some more, and a plain line about the rest.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from failscape import __version__
from failscape.atlas import Atlas, Event
from failscape.atlas.files import explained, write_whole
from failscape.evidence import (
    BeforeAfter,
    Build,
    FindingEvidence,
    HuntEvidence,
    WatchTelling,
    load_hunt,
    missing_of,
    varied_examples,
)
from failscape.evidence.findings import GroupRate, families_of, suggestions, worst_groups
from failscape.hunts.t2i.findings import CheckedDetails
from failscape.report.comparison import beside_section
from failscape.report.figures.heat import FailureMap, HeatMap, failure_map, heat_of_counts
from failscape.report.pictures import PicturePlacer
from failscape.report.sections import (
    PAGE,
    Context,
    Section,
    Tile,
    page_of,
    stylesheets,
    templates,
)
from failscape.trials import Finding, Verdict

GALLERY = 40
TABLE_ROWS = 1000
WORST = 8
EXAMPLES = 6
#: With fewer, the findings themselves are near enough to the top of the page.
FEWEST_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """Where the report is and what is in it. `missing` pictures had no readable file."""

    path: Path
    findings: int
    pictured: int
    images: int
    missing: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table. `group` can be filtered by; `turn` is its place in the gallery, 0 for none.

    `alike` says which findings differ from it in one value only.
    """

    number: int
    finding: Finding
    group: str
    turn: int = 0
    alike: str = ""


@dataclass(frozen=True, slots=True)
class ReportPage:
    """All that the template needs. Everything in it is plain text, escaped when it is written."""

    hunt: HuntEvidence
    entries: list[Entry]
    gallery: list[tuple[Entry, FindingEvidence]]
    examples: list[BeforeAfter]
    map: FailureMap
    tiles: list[Tile]
    sections: list[Section]
    warnings: list[Event]
    settings: str
    version: str
    written: str

    @property
    def opened(self) -> int:
        """Cards of the gallery that are open: few where the kind of hunt has shown its findings above."""
        return 1 if any(section.id in ("bugs", "modes") for section in self.sections) else 3

    @property
    def groups(self) -> list[str]:
        return sorted({entry.group for entry in self.entries if entry.group})

    @property
    def blame(self) -> list[tuple[str, int]]:
        """Which kinds of check were missed how often, over all findings whose hunt says so."""
        missed: Counter[str] = Counter()
        for finding in self.hunt.findings:
            if isinstance(finding.details, CheckedDetails):
                missed.update(finding.details.missed)
        return missed.most_common(7)

    def at(self, place: str) -> list[Section]:
        """The sections of this kind of hunt that stand at one place of the page."""
        return [section for section in self.sections if section.place == place]

    @property
    def heat(self) -> HeatMap | None:
        """The common map, unless the kind of hunt has one of its own."""
        own = any(section.id == "map" for section in self.sections)
        return None if own else heat_of_counts(self.map, self.hunt.unit)

    @property
    def worst(self) -> list[GroupRate]:
        return worst_groups(self.hunt, WORST)

    @property
    def suggestions(self) -> list[str]:
        return list(suggestions(self.hunt))

    def missing(self, finding: Finding) -> str:
        return missing_of(finding)

    def notes(self, finding: Finding) -> list[str]:
        return list(page_of(self.hunt.row.kind).notes(finding))

    def share(self, name: str) -> float:
        """The share of a verdict among trials that tested something."""
        counts = self.hunt.counts
        return counts[Verdict(name)] / max(1, sum(counts.values()) - counts[Verdict.NONE])


def write_report(
    atlas: Atlas,
    out: Path | None = None,
    hunt_id: int | None = None,
    *,
    gallery: int = GALLERY,
    single_file: bool = False,
    build: Build | None = None,
    watch: WatchTelling | None = None,
) -> WrittenReport:
    """Write the report of a hunt into folder `out` (default: `report` inside the atlas)."""
    folder = out if out is not None else atlas.folder / "report"
    hunt = load_hunt(atlas, hunt_id, build, watch)
    view = view_of(hunt, gallery)
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        others = None if build else beside_section(hunt, None if single_file else folder)
        view = replace(view, sections=[*view.sections, others]) if others else view
        pictures = PicturePlacer(atlas.images, None if single_file else folder)
        pictures.prepare([*_digests(view), *(one for part in view.sections for one in part.images)])
        page = render(view, pictures)
        write_whole(folder / PAGE, page.encode("utf-8", "replace"))
        pictures.forget_others()
    return WrittenReport(
        folder / PAGE, len(hunt.findings), len(view.gallery), pictures.shown, pictures.missing
    )


def view_of(hunt: HuntEvidence, gallery: int = GALLERY) -> ReportPage:
    entries = _entries(hunt, gallery)
    pictured = sorted((entry for entry in entries if entry.turn), key=lambda entry: entry.turn)
    page, context = page_of(hunt.row.kind), Context(hunt)
    return ReportPage(
        hunt=hunt,
        entries=entries,
        gallery=[(entry, hunt.evidence(entry.finding)) for entry in pictured],
        examples=_examples(hunt, pictured),
        map=failure_map(hunt.subjects(), hunt.place),
        tiles=list(page.tiles(context)),
        sections=list(page.sections(context)),
        warnings=_warnings(hunt),
        settings=hunt.shown_settings,
        version=__version__,
        written=time.strftime("%Y-%m-%d %H:%M"),
    )


def _examples(hunt: HuntEvidence, pictured: Sequence[Entry]) -> list[BeforeAfter]:
    """Of findings in the gallery, to which they link."""
    found = varied_examples([entry.finding for entry in pictured], hunt.place, hunt.evidence, EXAMPLES)
    numbered = [replace(one, number=pictured[one.number - 1].number) for one in found]
    return numbered if len(found) >= FEWEST_EXAMPLES else []


def render(view: ReportPage, pictures: PicturePlacer) -> str:
    environment = templates({package for section in view.sections if (package := section.package)})
    styles = stylesheets(environment.list_templates(), view.hunt.row.kind)
    page = environment.get_template("page.html")
    return page.render(view=view, picture=pictures.find, pictures=pictures, styles=styles)


def _entries(hunt: HuntEvidence, gallery: int) -> list[Entry]:
    """The table's lines. The gallery shows one finding of each family first, in turn from all things."""
    shown = hunt.findings[: max(TABLE_ROWS, gallery)]
    places = [hunt.place(finding.subject) for finding in shown]
    alike, later = _alike(shown)
    seen: Counter[str] = Counter()
    ranks = []
    for at, where in enumerate(places):
        about = where.about if where else ""
        seen[about] += at not in later
        ranks.append((at in later, seen[about], at))
    turns = {at: turn for turn, (*_, at) in enumerate(sorted(ranks)[:gallery], 1)}
    return [
        Entry(at + 1, finding, where.column if where else "", turns.get(at, 0), alike.get(at, ""))
        for at, (finding, where) in enumerate(zip(shown, places, strict=True))
    ]


def _alike(findings: Sequence[Finding]) -> tuple[dict[int, str], set[int]]:
    """What is said at the first finding of each family, and the findings that come after it."""
    alike, later = {}, set()
    for family in families_of(findings):
        first, *others = family.members
        later.update(others)
        if others:
            kind = family.kind.rpartition(": ")[2]
            alike[first] = f"The same with {kind} {', '.join(family.values[1:])}."
    return alike, later


def _warnings(hunt: HuntEvidence) -> list[Event]:
    """What the runs noticed, and what was noticed when they were read."""
    found = hunt.warnings
    if hunt.found.warning:
        found.append(Event(0, time.time(), "warning", hunt.row.id, {"text": hunt.found.warning}))
    return found


def _digests(view: ReportPage) -> list[str]:
    """The pictures of the gallery, which hold those of the examples."""
    rows = [row for _, evidence in view.gallery for row in (evidence.own, *evidence.parents)]
    return [digest for row in rows for shot in row.shots if shot is not None for digest in shot.images]
