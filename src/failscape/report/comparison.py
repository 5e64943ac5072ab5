"""Writes a comparison as one static page: statuses, paired rates, pictures at the same seeds, the trend."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from failscape import __version__
from failscape.atlas import Atlas
from failscape.atlas.faults import explained
from failscape.atlas.files import write_whole
from failscape.comparison.beside import CaseRow, cases_beside
from failscape.comparison.comparing import ManyCompared
from failscape.comparison.result import PROVEN, STATUSES, ComparedSubject
from failscape.report.pictures import PicturePlacer, Placed
from failscape.report.templating import PAGE, templates

PICTURED = 30
"""Subjects that are shown with pictures; the table has more."""

CASES = 6
ROWS = 400


@dataclass(frozen=True)
class PicturedSubject:
    """A proven change with the same cases on all models."""

    row: ComparedSubject
    cases: list[CaseRow]


@dataclass(frozen=True)
class ComparisonPage:
    """All that the template needs."""

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
