"""Places subjects on a map of rows and columns, adds up their trials and shades them. Pure.

Which places a kind of hunt knows is said in its own module; see `sections.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from failscape.evidence.hunt import SubjectCounts
from failscape.evidence.places import ALONE, Placer
from failscape.report.figures.heat import HeatCell, HeatMap
from failscape.stats.intervals import clopper_pearson

Counted = Iterable[SubjectCounts]


@dataclass(frozen=True, slots=True)
class MapCell:
    """`failed` of `tried` valid trials failed, over `subjects` subjects."""

    failed: int = 0
    tried: int = 0
    subjects: int = 0

    @property
    def share(self) -> float:
        return self.failed / self.tried if self.tried else 0.0

    def plus(self, failed: int, tried: int) -> MapCell:
        return MapCell(self.failed + failed, self.tried + tried, self.subjects + 1)


@dataclass(frozen=True, slots=True)
class FailureMap:
    """`cells[row, column]`; `hidden_rows` and `hidden_columns` were left out to keep it readable.

    `subjects` counts all subjects that were tried, on the map or not.
    """

    rows: list[str]
    columns: list[str]
    cells: dict[tuple[str, str], MapCell]
    hidden_rows: int = 0
    hidden_columns: int = 0
    subjects: int = 0

    def shade(self, cell: MapCell) -> float:
        """How dark a cell is: 1 for the worst of the map. Small differences near 0 stay pale."""
        return cell.share / max(0.2, *(other.share for other in self.cells.values()))


def failure_map(counts: Counted, place: Placer, most_rows: int = 40, most_columns: int = 10) -> FailureMap:
    """Add up trials by place; the most tried rows and columns are kept. `alone` comes first."""
    cells: dict[tuple[str, str], MapCell] = {}
    subjects = 0
    for one in counts:
        subjects += 1
        where = place(one.subject)
        if where is None or not one.valid:
            continue
        for row in where.rows:
            at = (row, where.column)
            cells[at] = cells.get(at, MapCell()).plus(one.fails, one.valid)
    rows, columns = _most_tried(cells, 0), _most_tried(cells, 1)
    kept_rows, kept_columns = rows[:most_rows], columns[:most_columns]
    kept_rows.sort(key=lambda row: (row != ALONE, -_share_of_row(cells, row)))
    return FailureMap(
        kept_rows,
        kept_columns,
        {at: cell for at, cell in cells.items() if at[0] in kept_rows and at[1] in kept_columns},
        len(rows) - len(kept_rows),
        len(columns) - len(kept_columns),
        subjects,
    )


def _most_tried(cells: dict[tuple[str, str], MapCell], axis: int) -> list[str]:
    tried: dict[str, int] = {}
    for at, cell in cells.items():
        tried[at[axis]] = tried.get(at[axis], 0) + cell.tried
    return sorted(tried, key=lambda name: (-tried[name], name))


def _share_of_row(cells: dict[tuple[str, str], MapCell], row: str) -> float:
    mine = [cell for at, cell in cells.items() if at[0] == row]
    return sum(cell.failed for cell in mine) / max(1, sum(cell.tried for cell in mine))


def heat_of_counts(found: FailureMap, unit: str) -> HeatMap | None:
    """What was seen where the search went: darker cells may only have been looked at harder."""
    patches = {}
    for at, cell in found.cells.items():
        low, high = clopper_pearson(cell.failed, cell.tried)
        words = f"{cell.failed:,} of {cell.tried:,} trials failed, subjects: {cell.subjects:,}"
        patches[at] = HeatCell(cell.share, (float(low), float(high)), words)
    return HeatMap(found.rows, found.columns, patches, unit=unit) if patches else None
