"""The other models of an atlas in its report: what became of each subject, and the trend."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from failscape.comparison.comparable import NotComparable
from failscape.comparison.comparing import ManyCompared, compare_sides
from failscape.comparison.reading import hunts_of, read_side, side_of
from failscape.comparison.result import STATUSES
from failscape.errors import FailscapeError
from failscape.evidence import HuntEvidence
from failscape.report.comparison import write_comparison
from failscape.report.sections import TRUST, Section
from failscape.report.templating import PAGE

FOLDER = "comparison"
"""Where the whole page of the comparison lies, beside that of the report."""

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
