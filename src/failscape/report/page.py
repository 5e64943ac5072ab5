"""Writes the report: one static HTML page that opens from disk and needs no network.

The page is bounded: a gallery of the first findings, a table of some more, and a plain line about the rest.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined, select_autoescape

from failscape import __version__
from failscape.atlas import Atlas, Event, HuntRow, RunRow, Spent
from failscape.atlas.faults import explained
from failscape.atlas.files import write_whole
from failscape.hunts.t2i.findings import NodeDetails
from failscape.models.roles import Usage
from failscape.report.examples import BeforeAfter, pairs_of
from failscape.report.figures import basic as figures
from failscape.report.figures.heat import NARROW, WIDE, HeatMap, heat_legend, heat_map
from failscape.report.load import Build, Evidence, EvidenceReader, LoadedHunt, load_hunt
from failscape.report.maps import FailureMap, Placer, failure_map, heat_of_counts
from failscape.report.pictures import PicturePlacer
from failscape.report.sections import (
    Context,
    Section,
    Tile,
    page_of,
    placer_of,
    stylesheets,
)
from failscape.trials import Finding, Verdict

GALLERY = 40
TABLE_ROWS = 1000
SHOTS = 6
EVENTS = 40
PAGE = "index.html"


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
    """One line of the table. `group` can be filtered by; `turn` is its place in the gallery, 0 for none."""

    number: int
    finding: Finding
    group: str
    turn: int = 0


@dataclass(frozen=True, slots=True)
class ReportPage:
    """All that the template needs. Everything in it is plain text, escaped when it is written."""

    atlas: str
    target: str
    loaded: LoadedHunt
    entries: list[Entry]
    gallery: list[tuple[Entry, Evidence]]
    pairs: list[BeforeAfter]
    map: FailureMap
    tiles: list[Tile]
    sections: list[Section]
    limit: float | None
    spent: Spent
    costs: dict[str, tuple[int, Usage]]
    runs: list[RunRow]
    warnings: list[Event]
    events: list[Event]
    settings: str
    version: str
    written: str

    @property
    def row(self) -> HuntRow:
        return self.loaded.row

    @property
    def groups(self) -> list[str]:
        return sorted({entry.group for entry in self.entries if entry.group})

    @property
    def statuses(self) -> dict[str, int]:
        """Status → number of findings, over all of them."""
        found: dict[str, int] = {}
        for finding in self.loaded.findings:
            found[finding.status] = found.get(finding.status, 0) + 1
        return found

    @property
    def blame(self) -> list[tuple[str, int]]:
        """Which kinds of check were missed how often, over all findings whose hunt says so."""
        missed: Counter[str] = Counter()
        for finding in self.loaded.findings:
            if isinstance(finding.details, NodeDetails):
                missed.update(finding.details.missed)
        return missed.most_common(7)

    def at(self, place: str) -> list[Section]:
        """The sections of this kind of hunt that stand at one place of the page."""
        return [section for section in self.sections if section.place == place]

    @property
    def heat(self) -> HeatMap | None:
        """The common map, unless the kind of hunt has one of its own."""
        own = any(section.id == "map" for section in self.sections)
        return None if own else heat_of_counts(self.map)

    @property
    def level(self) -> float | None:
        """The share of false findings that certified ones keep to, where the settings name one."""
        level = _searched(self.row).get("fdr")
        return float(level) if isinstance(level, int | float) else None

    def notes(self, finding: Finding) -> list[str]:
        return list(page_of(self.row.kind).notes(finding))

    @property
    def unit(self) -> str:
        """What the curve counts: pictures where each trial is one."""
        return "images" if self.spent.images == self.loaded.trials else "trials"

    def share(self, name: str) -> float:
        """The share of a verdict among trials that tested something."""
        counts = self.loaded.counts
        return counts[Verdict(name)] / max(1, self.loaded.trials - counts[Verdict.NONE])


def write_report(
    atlas: Atlas,
    out: Path | None = None,
    hunt_id: int | None = None,
    *,
    gallery: int = GALLERY,
    single_file: bool = False,
    build: Build | None = None,
) -> WrittenReport:
    """Write the report of a hunt into folder `out` (default: `report` inside the atlas)."""
    folder = out if out is not None else atlas.folder / "report"
    loaded = load_hunt(atlas, hunt_id, build)
    view = view_of(atlas, loaded, gallery)
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        pictures = PicturePlacer(atlas.images, None if single_file else folder)
        pictures.prepare([*_digests(view.gallery), *(one for part in view.sections for one in part.images)])
        page = render(view, pictures)
        write_whole(folder / PAGE, page.encode("utf-8", "replace"))
        pictures.forget_others()
    return WrittenReport(
        folder / PAGE, len(loaded.findings), len(view.gallery), pictures.shown, pictures.missing
    )


def view_of(atlas: Atlas, loaded: LoadedHunt, gallery: int = GALLERY) -> ReportPage:
    row = loaded.row
    place = placer_of(row.kind, row.config)
    entries = _entries(loaded.findings, place, gallery)
    pictured = sorted((entry for entry in entries if entry.turn), key=lambda entry: entry.turn)
    reader = EvidenceReader(atlas, row.id, SHOTS)
    limit = failing_limit(row)
    context = Context(atlas, loaded, reader, place, limit)
    shown = [(entry, reader.read(entry.finding)) for entry in pictured]
    events = [event for event in atlas.events() if event.hunt in (None, row.id)]
    return ReportPage(
        atlas=str(atlas.folder),
        target=target_name(row),
        loaded=loaded,
        entries=entries,
        gallery=shown,
        pairs=pairs_of((entry.number, evidence) for entry, evidence in shown),
        map=failure_map(atlas.subject_counts(row.id), place),
        tiles=list(page_of(row.kind).tiles(context)),
        sections=list(page_of(row.kind).sections(context)),
        limit=limit,
        spent=atlas.spent(row.id),
        costs=atlas.costs(row.id),
        runs=atlas.runs(row.id),
        warnings=_warnings(loaded, events),
        events=events[-EVENTS:],
        settings=_shown_settings(row),
        version=__version__,
        written=time.strftime("%Y-%m-%d %H:%M"),
    )


def render(view: ReportPage, pictures: PicturePlacer) -> str:
    environment = templates({package for section in view.sections if (package := section.package)})
    styles = stylesheets(environment.list_templates(), view.row.kind)
    page = environment.get_template("page.html")
    return page.render(view=view, picture=pictures.find, pictures=pictures, styles=styles)


def templates(packages: Iterable[str] = ()) -> Environment:
    """The page templates: everything put into them is escaped, and unknown names are errors.

    `packages` bring templates of their own, as `package:name.html`.
    """
    strangers = {package: PackageLoader(package, "templates") for package in sorted(packages)}
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("failscape.report", "templates"), PrefixLoader(strangers, delimiter=":")]
        ),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=figures.percent, spread=figures.spread, evalue=figures.number, clip=clip, span=span, when=when
    )
    environment.globals.update(
        heat_map=heat_map, heat_legend=heat_legend, heat_shapes=(WIDE, NARROW), figures=figures
    )
    return environment


def target_name(row: HuntRow) -> str:
    """What the model under test is called: its model name, else the end of its path, else its provider."""
    target = row.config.get("target")
    settings: dict[str, Any] = target if isinstance(target, dict) else {}
    path = re.split(r"[/\\:]", str(settings.get("path") or "").rstrip("/\\"))[-1]
    return str(settings.get("model") or path or settings.get("provider") or "the target")


def clip(text: str, most: int = 400) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} … ({len(text) - most:,} more characters)"


def span(seconds: float) -> str:
    """A duration for people."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
    )


def when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _entries(findings: Sequence[Finding], place: Placer, gallery: int) -> list[Entry]:
    """The table's lines. The gallery takes in turn from all things, so that no single one fills it."""
    shown = findings[: max(TABLE_ROWS, gallery)]
    places = [place(finding.subject) for finding in shown]
    seen: Counter[str] = Counter()
    ranks = []
    for at, where in enumerate(places):
        about = where.about if where else ""
        seen[about] += 1
        ranks.append((seen[about], at))
    turns = {at: turn for turn, (_, at) in enumerate(sorted(ranks)[:gallery], 1)}
    return [
        Entry(at + 1, finding, where.column if where else "", turns.get(at, 0))
        for at, (finding, where) in enumerate(zip(shown, places, strict=True))
    ]


def failing_limit(row: HuntRow) -> float | None:
    """The share of failures above which a subject counts as failing, where the settings name one."""
    threshold = _searched(row).get("threshold")
    return 1 - float(threshold) if isinstance(threshold, int | float) else None


def _searched(row: HuntRow) -> dict[str, Any]:
    search = row.config.get("search")
    return search if isinstance(search, dict) else {}


def _shown_settings(row: HuntRow) -> str:
    """Settings hold no secrets, but an address may carry a name and password."""
    text = yaml.safe_dump(row.config, sort_keys=False, allow_unicode=True)
    return re.sub(r"://[^/@\s]+@", "://…@", text)


def _warnings(loaded: LoadedHunt, events: Sequence[Event]) -> list[Event]:
    """What the runs noticed, and what was noticed when they were read."""
    found = _newest_by_name([event for event in events if event.kind in ("warning", "error")])
    if loaded.warning:
        found.append(Event(0, time.time(), "warning", loaded.row.id, {"text": loaded.warning}))
    return found


def _newest_by_name(events: Sequence[Event]) -> list[Event]:
    """Each warning once, as it was last seen: later ones have later numbers."""
    return list({(event.kind, event.detail.get("name", event.id)): event for event in events}.values())


def _digests(gallery: Sequence[tuple[Entry, Evidence]]) -> list[str]:
    rows = [row for _, evidence in gallery for row in (evidence.own, *evidence.parents)]
    return [digest for row in rows for shot in row.shots if shot is not None for digest in shot.images]
