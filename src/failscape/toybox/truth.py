"""What toy-painter can and cannot draw, measured once: the ground truth for search on a real model.

Every node with at most one attribute value, and a large random sample of those with two, were drawn many
times and judged by toy-eyes. `benchmarks/toybox_truth.py` makes the table.
"""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).parent / "data" / "painter_truth.csv.gz"
FIELDS: Final = ("subject", "images", "passes", "checks")


@dataclass(frozen=True, slots=True)
class MeasuredNode:
    """`images` were drawn of a node, `passes` showed all of it; `checks` counts how often each check held."""

    images: int
    passes: int
    checks: tuple[int, ...]

    @property
    def rate(self) -> float:
        """The share of images that fail."""
        return 1 - self.passes / self.images


@cache
def painter_truth(path: Path = TABLE) -> dict[str, MeasuredNode]:
    """Subject → what was measured. A subject is the node's text, as in an atlas."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return {
            row["subject"]: MeasuredNode(
                int(row["images"]), int(row["passes"]), tuple(int(count) for count in row["checks"].split())
            )
            for row in csv.DictReader(lines)
        }


def write_truth(rows: dict[str, MeasuredNode], path: Path = TABLE) -> None:
    """Write the table; the same rows give the same bytes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for subject, row in sorted(rows.items()):
        writer.writerow((subject, row.images, row.passes, " ".join(map(str, row.checks))))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
