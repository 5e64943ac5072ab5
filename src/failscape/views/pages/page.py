"""Writes reports and comparisons as static HTML pages that open from disk and need no network.

A page is bounded: a gallery of the first findings, a table of some more, and a plain line about the rest. A
picture without a readable file is counted and shown as an empty frame; it never stops the report.
"""

import base64
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from failscape.again.cases import cases_beside, hunts_of, read_side, side_of
from failscape.again.comparing import ManyCompared, NotComparable, compare_sides
from failscape.again.decide import PROVEN
from failscape.atlas import Atlas, Event, ImageStore
from failscape.atlas.files import explained, output_folder, refuse_link, write_whole
from failscape.errors import AtlasError, FailscapeError
from failscape.search.checked import CheckedDetails
from failscape.trials import Finding, Verdict
from failscape.views.figures.heat import FailureMap, HeatMap, failure_map, heat_of_counts
from failscape.views.pages.sections import (
    PAGE,
    TRUST,
    Context,
    Section,
    Tile,
    page_of,
    stylesheets,
    templates,
    write_page,
)
from failscape.views.read import (
    BeforeAfter,
    Build,
    FindingEvidence,
    HuntEvidence,
    WatchTelling,
    load_hunt,
    missing_of,
    varied_examples,
)
from failscape.views.read.answer import HuntAnswer, ToldTheme, answer_of, theme_examples
from failscape.views.read.findings import GroupRate, families_of, suggestions, worst_groups
from failscape.views.rows import FindingRow, finding_row
from failscape.views.thumbnails import REPORT_SIDE

THUMBS = "thumbs"
SUFFIX = ".thumb.webp"
FULL = "pictures"
_OURS = {
    THUMBS: re.compile(rf"([0-9a-f]{{32}}){re.escape(SUFFIX)}"),
    FULL: re.compile(r"([0-9a-f]{32})\.[a-z]+"),
}
WORKERS = 4


@dataclass(frozen=True, slots=True)
class Placed:
    """`source` is what the page shows, `full` the original to open, or "" where there is no way to it."""

    source: str
    full: str = ""


class PicturePlacer:
    """Thumbnails for one page. `page` is the folder of the page, or `None` to put pictures inside it."""

    def __init__(self, store: ImageStore, page: Path | None) -> None:
        self._store = store
        self._page = page
        for folder in () if page is None else (page, page / THUMBS, page / FULL):
            refuse_link(folder)
        self._placed: dict[str, Placed | None] = {}
        # A report inside the atlas folder has room for the originals; one elsewhere is kept small to be sent.
        self._linked = page is not None and store.folder.parent.resolve() in page.resolve().parents

    @property
    def missing(self) -> int:
        return sum(placed is None for placed in self._placed.values())

    @property
    def shown(self) -> int:
        return len(self._placed) - self.missing

    def prepare(self, digests: Iterable[str]) -> None:
        """Make all thumbnails at once: decoding lets other threads work."""
        new = [digest for digest in dict.fromkeys(digests) if digest not in self._placed]
        with ThreadPoolExecutor(WORKERS) as pool:
            self._placed.update(zip(new, pool.map(self._place, new), strict=True))

    def forget_others(self) -> None:
        """Remove pictures that an earlier report left and this page does not show."""
        if self._page is not None:
            for folder, pattern in _OURS.items():
                for path in (self._page / folder).glob("*"):
                    ours = pattern.fullmatch(path.name)  # the folder may hold files of others
                    if ours and ours[1] not in self._placed:
                        path.unlink(missing_ok=True)

    def find(self, digest: str) -> Placed | None:
        return self._placed.get(digest)

    def _place(self, digest: str) -> Placed | None:
        try:
            if self._page is None:
                data = self._store.thumbnail(digest, REPORT_SIDE)
                return Placed("data:image/webp;base64," + base64.b64encode(data).decode())
            full = self._store.copy_out(digest, self._page / FULL).name if self._linked else ""
            path = self._page / THUMBS / f"{digest}{SUFFIX}"
            if path.is_symlink() or not path.exists():
                write_whole(path, self._store.thumbnail(digest, REPORT_SIDE))
        except AtlasError:
            return None
        return Placed(f"{THUMBS}/{path.name}", f"{FULL}/{full}" if full else "")


#: Subjects that are shown with pictures; the table has more.
PICTURED = 30

CASES = 6
ROWS = 400


def write_comparison(compared: ManyCompared, folder: Path, sources: Sequence[Path] = ()) -> Path:
    """Write the page into `folder`. Pictures come from the atlases of the sides and from `sources`."""
    proven = [row for row in compared.last.rows if row.status in PROVEN][:PICTURED]
    # Each proven change with the same cases on all models.
    pictured = [(row, cases_beside(compared.sides, row.subject, CASES)) for row in proven]
    view = {
        "compared": compared,
        "names": [side.name for side in compared.sides],
        "rows": compared.last.rows[:ROWS],
        "pictured": [{"row": row, "cases": cases} for row, cases in pictured],
    }
    wanted = {
        digest for _, cases in pictured for row in cases for case in row if case for digest in case.images
    }
    with explained(folder), ExitStack() as stack:
        folder.mkdir(parents=True, exist_ok=True)
        placers = []
        for path in dict.fromkeys([*(side.folder for side in compared.sides), *sources]):
            atlas = stack.enter_context(Atlas.open(path, readonly=True))
            here = [digest for digest in wanted if atlas.images.name(digest) is not None]
            placers.append(PicturePlacer(atlas.images, folder))
            placers[-1].prepare(here)

        def picture(digest: str) -> Placed | None:
            return next((found for placer in placers if (found := placer.find(digest))), None)

        page = templates().get_template("comparison.html").render(view=view, picture=picture)
    return write_page(folder / PAGE, page)


#: Where the whole page of the comparison lies, beside that of the report.
FOLDER = "comparison"

MOST_MODELS = 12


def beside_section(hunt: HuntEvidence, folder: Path | None) -> Section | None:
    """The newest hunts of the other models in this atlas, where there are such and they can be compared.

    With a `folder` the whole page is written there too.
    """
    compared = compare_atlas(hunt)
    if compared is None:
        return None
    if folder is not None:
        write_comparison(compared, folder / FOLDER)
    names = [side.name for side in compared.sides]
    return Section(
        id="beside",
        title="Beside the other models of this atlas",
        template="beside.html",
        place=TRUST,
        data={"compared": compared, "link": f"{FOLDER}/{PAGE}" if folder is not None else ""},
        menu="Compare",
        intro=f"The same cases on {len(names)} models, {names[-1]} against {names[0]}, pair by pair.",
    )


def compare_atlas(hunt: HuntEvidence) -> ManyCompared | None:
    atlas = hunt.atlas
    kinds: dict[int, Any] = {row.id: row.kind for row in atlas.hunts()}
    numbers = [number for number in hunts_of(atlas.folder) if kinds[number] == hunt.row.kind]
    if hunt.row.id not in numbers or not 1 < len(numbers) <= MOST_MODELS:
        return None
    try:
        sides = [
            side_of(hunt) if number == hunt.row.id else read_side(atlas.folder, number) for number in numbers
        ]
        compared = compare_sides(sides)
    except (NotComparable, FailscapeError):
        return None
    return compared if compared.last.pairs else None


GALLERY = 40
TABLE_ROWS = 1000
WORST = 8
EXAMPLES = 6
#: Pictures of each theme.
THEME_PAIRS = 2
#: With fewer, the findings themselves are near enough to the top of the page.
FEWEST_EXAMPLES = 3
#: Words in the navigation, and the parts of the page that have one before others get theirs.
MOST_IN_MENU = 6
MENU_FIRST = ("findings", "beside", "map", "pictures", "suspects")


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
    """One line of the table. `turn` is its place in the gallery, 0 for none.

    `alike` says which findings differ from it in one value only.
    """

    row: FindingRow
    turn: int = 0
    alike: str = ""

    @property
    def number(self) -> int:
        return self.row.number

    @property
    def finding(self) -> Finding:
        return self.row.finding


@dataclass(frozen=True, slots=True)
class ReportPage:
    """All that the template needs. Everything in it is plain text, escaped when it is written."""

    hunt: HuntEvidence
    entries: list[Entry]
    gallery: list[tuple[Entry, FindingEvidence]]
    examples: list[BeforeAfter]
    answer: HuntAnswer
    themes: list[tuple[ToldTheme, list[BeforeAfter]]]
    map: FailureMap
    tiles: list[Tile]
    sections: list[Section]
    warnings: list[Event]
    settings: str

    @property
    def opened(self) -> int:
        """Cards of the gallery that are open: few where the kind of hunt has shown its findings above."""
        return 1 if any(section.id in ("bugs", "modes") for section in self.sections) else 3

    def is_pictured(self, number: int) -> bool:
        """Whether the finding of that number has a card in the gallery."""
        return any(entry.number == number for entry, _ in self.gallery)

    @property
    def groups(self) -> list[str]:
        return sorted({entry.row.group for entry in self.entries if entry.row.group})

    @property
    def blame(self) -> list[tuple[str, int]]:
        """Which kinds of check were missed how often, over all findings whose hunt says so."""
        missed: Counter[str] = Counter()
        for finding in self.hunt.findings:
            if isinstance(finding.details, CheckedDetails):
                missed.update(finding.details.missed)
        return missed.most_common(7)

    @property
    def menu(self) -> list[tuple[str, str]]:
        """Anchors and words of the navigation. What does not fit is one fold further down the page."""
        own = {section.id: section.menu for section in self.sections if section.menu}
        common = {"findings": "Findings", "how": "Words"}
        if self.heat is not None:
            common["map"] = "Map"
        if self.gallery:
            common["pictures"] = "Pictures"
        if self.hunt.suspects:
            common["suspects"] = "Suspects"
        words = {**common, **own}
        wanted = [name for name in MENU_FIRST if name in words]
        others = [name for name in own if name not in wanted]
        return [(name, words[name]) for name in [*wanted, *others, "how"][:MOST_IN_MENU]]

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
        return [*self.hunt.went_wrong(finding), *page_of(self.hunt.row.kind).notes(finding)]

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
    folder = out if out is not None else output_folder(atlas.folder, "report")
    hunt = load_hunt(atlas, hunt_id, build, watch)
    view = view_of(hunt, gallery)
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        others = None if build else beside_section(hunt, None if single_file else folder)
        view = replace(view, sections=[*view.sections, others]) if others else view
        pictures = PicturePlacer(atlas.images, None if single_file else folder)
        pictures.prepare([*_digests(view), *(one for part in view.sections for one in part.images)])
        write_page(folder / PAGE, render(view, pictures))
        pictures.forget_others()
    return WrittenReport(
        folder / PAGE, len(hunt.findings), len(view.gallery), pictures.shown, pictures.missing
    )


def view_of(hunt: HuntEvidence, gallery: int = GALLERY) -> ReportPage:
    entries = _entries(hunt, gallery)
    pictured = sorted((entry for entry in entries if entry.turn), key=lambda entry: entry.turn)
    page, context = page_of(hunt.row.kind), Context(hunt)
    answer = answer_of(hunt)
    # What the runs noticed, and what was noticed when they were read.
    found = hunt.warnings
    if hunt.found.warning:
        found.append(Event(0, time.time(), "warning", hunt.row.id, {"text": hunt.found.warning}))
    return ReportPage(
        hunt=hunt,
        entries=entries,
        gallery=[(entry, hunt.evidence(entry.finding)) for entry in pictured],
        examples=_examples(hunt, pictured),
        answer=answer,
        themes=[(theme, theme_examples(hunt, theme, THEME_PAIRS)) for theme in answer.shown],
        map=failure_map(hunt.subjects(), hunt.place),
        tiles=list(page.tiles(context)),
        sections=list(page.sections(context)),
        warnings=found,
        settings=hunt.shown_settings,
    )


def _examples(hunt: HuntEvidence, pictured: Sequence[Entry]) -> list[BeforeAfter]:
    """Of findings in the gallery, to which they link."""
    found = varied_examples([entry.finding for entry in pictured], hunt.place, hunt.evidence, EXAMPLES)
    numbered = [replace(one, number=pictured[one.number - 1].number) for one in found]
    return numbered if len(found) >= FEWEST_EXAMPLES else []


def render(view: ReportPage, pictures: PicturePlacer) -> str:
    packages = {package for section in view.sections if (package := section.package)}
    environment = templates(packages)
    styles = stylesheets(environment.list_templates(), packages)
    page = environment.get_template("page.html")
    return page.render(view=view, picture=pictures.find, pictures=pictures, styles=styles)


def _entries(hunt: HuntEvidence, gallery: int) -> list[Entry]:
    """The table's lines. The gallery shows one finding of each family first, in turn from all things."""
    shown = hunt.findings[: max(TABLE_ROWS, gallery)]
    rows = [finding_row(hunt, number, finding) for number, finding in enumerate(shown, 1)]
    alike, later = _alike(shown)
    seen: Counter[str] = Counter()
    ranks = []
    for at, row in enumerate(rows):
        seen[row.thing] += at not in later
        ranks.append((at in later, seen[row.thing], at))
    turns = {at: turn for turn, (*_, at) in enumerate(sorted(ranks)[:gallery], 1)}
    return [Entry(row, turns.get(at, 0), alike.get(at, "")) for at, row in enumerate(rows)]


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


def _digests(view: ReportPage) -> list[str]:
    """The pictures of the gallery, which hold those of the examples, and those of the themes."""
    rows = [row for _, evidence in view.gallery for row in (evidence.own, *evidence.parents)]
    shots = [shot for row in rows for shot in row.shots]
    for _, pairs in view.themes:
        shots += [shot for pair in pairs for shot in (pair.before, pair.after)]
    return [digest for shot in shots if shot is not None for digest in shot.images]
