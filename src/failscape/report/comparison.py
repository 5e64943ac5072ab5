"""Writes a comparison as one static page, and the part of a report about other models of the same atlas."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from failscape import __version__
from failscape.atlas import Atlas
from failscape.atlas.files import explained, write_whole
from failscape.comparison.comparable import NotComparable
from failscape.comparison.comparing import ManyCompared, compare_sides
from failscape.comparison.reading import CaseRow, cases_beside, hunts_of, read_side, side_of
from failscape.comparison.result import PROVEN, STATUSES, ComparedSubject
from failscape.errors import FailscapeError
from failscape.evidence import HuntEvidence
from failscape.report.pictures import PicturePlacer, Placed
from failscape.report.sections import PAGE, TRUST, Section, templates

#: Subjects that are shown with pictures; the table has more.
PICTURED = 30

CASES = 6
ROWS = 400


@dataclass(frozen=True)
class PicturedSubject:
    """A proven change with the same cases on all models."""

    row: ComparedSubject
    cases: list[CaseRow]


@dataclass(frozen=True)
class ComparisonPage:
    compared: ManyCompared
    pictured: list[PicturedSubject]
    version: str
    written: str

    @property
    def names(self) -> list[str]:
        return [side.name for side in self.compared.sides]

    @property
    def totals(self) -> list[tuple[str, int, str]]:
        """Status, how many, and what it means."""
        return [(name, len(self.compared.last.of_status(name)), says) for name, says in STATUSES.items()]

    @property
    def rows(self) -> Sequence[ComparedSubject]:
        return self.compared.last.rows[:ROWS]


def write_comparison(compared: ManyCompared, folder: Path, sources: Sequence[Path] = ()) -> Path:
    """Write the page into `folder`. Pictures come from the atlases of the sides and from `sources`."""
    proven = [row for row in compared.last.rows if row.status in PROVEN][:PICTURED]
    pictured = [PicturedSubject(row, cases_beside(compared.sides, row.subject, CASES)) for row in proven]
    view = ComparisonPage(compared, pictured, __version__, time.strftime("%Y-%m-%d %H:%M"))
    wanted = {
        digest for one in pictured for row in one.cases for case in row if case for digest in case.images
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
        write_whole(folder / PAGE, page.encode("utf-8", "replace"))
    return folder / PAGE


#: Where the whole page of the comparison lies, beside that of the report.
FOLDER = "comparison"

MOST_MODELS = 12


class BesideOthers(NamedTuple):
    """`link` leads to the whole page, where one was written."""

    compared: ManyCompared
    link: str

    @property
    def totals(self) -> list[tuple[str, int, str]]:
        return [(name, len(self.compared.last.of_status(name)), says) for name, says in STATUSES.items()]


def beside_section(hunt: HuntEvidence, folder: Path | None) -> Section | None:
    """The newest hunts of the other models in this atlas, where there are such and they can be compared.

    With a `folder` the whole page is written there too.
    """
    compared = compare_atlas(hunt)
    if compared is None:
        return None
    link = ""
    if folder is not None:
        write_comparison(compared, folder / FOLDER)
        link = f"{FOLDER}/{PAGE}"
    names = [side.name for side in compared.sides]
    return Section(
        id="beside",
        title="Beside the other models of this atlas",
        template="beside.html",
        place=TRUST,
        data=BesideOthers(compared, link),
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
