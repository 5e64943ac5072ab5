"""The transfer matrix as `failscape transfer` leaves it in the atlas folder, for the page. Reads only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "transfer-{hunt}.json"


@dataclass(frozen=True, slots=True)
class Cell:
    fails: int
    images: int
    rate: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """One finding; `cells` has one entry per model."""

    title: str
    subject: str
    cells: list[Cell]


@dataclass(frozen=True, slots=True)
class Matrix:
    models: list[str]
    lines: list[Line]

    def mean(self, column: int) -> float:
        """The share over all pictures of all findings."""
        cells = [line.cells[column] for line in self.lines]
        return sum(cell.fails for cell in cells) / max(1, sum(cell.images for cell in cells))


def read_transfer(folder: Path, hunt: int) -> Matrix | None:
    """`None` when nobody has made one, or it cannot be read."""
    try:
        data = json.loads((folder / FILE.format(hunt=hunt)).read_text(encoding="utf-8"))
        return Matrix([str(name) for name in data["models"]], [_line(row) for row in data["lines"]])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _line(row: dict[str, Any]) -> Line:
    cells = [
        Cell(
            int(cell["fails"]),
            int(cell["images"]),
            float(cell["rate"]),
            (cell["interval"][0], cell["interval"][1]),
        )
        for cell in row["cells"]
    ]
    return Line(str(row["title"]), str(row["subject"]), cells)
