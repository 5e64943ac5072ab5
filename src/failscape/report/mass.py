"""How much of the space fails and where, from a survey's masses. Pure.

Masses are free of the search's bias. Where there are none, `heat_of_counts` shows what was tried instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from failscape.report.figures import Estimate
from failscape.report.heat import VAGUE, HeatMap, Patch
from failscape.report.maps import ALONE, FailureMap
from failscape.stats.intervals import clopper_pearson

ALL = "all"
JOINT = " × "
MOST_ROWS, MOST_COLUMNS = 40, 10
MOST_LINES = 8


@dataclass(frozen=True, slots=True)
class MassList:
    """Groups of one sort, the worst first. `hidden` more are not shown, or have too few pictures to tell."""

    title: str
    lines: list[Estimate]
    hidden: int = 0


LISTS = (
    ("layer", "By number of attributes"),
    ("family", "By family of attributes"),
    ("sub-class", "By sub-class"),
    ("entity", "By thing"),
)
"""Classes and kinds are the margins of the map already."""


def heat_of_masses(masses: Sequence[dict[str, Any]]) -> HeatMap | None:
    """Kinds of attributes × classes, with totals first; `None` when no cell has a picture."""
    cells = {}
    for mass in masses:
        if mass["group"] == "cell" and mass["images"]:
            column, _, row = str(mass["name"]).partition(JOINT)
            cells[row or ALONE, column] = mass
    if not cells:
        return None
    rows = _kept(masses, "kind", [row for row, _ in cells], MOST_ROWS)
    columns = _kept(masses, "class", [column for _, column in cells], MOST_COLUMNS)
    patches = {at: _patch(mass) for at, mass in cells.items() if at[0] in rows and at[1] in columns}
    totals = {(row, ALL): _named(masses, "kind", row) for row in rows}
    totals |= {(ALL, column): _named(masses, "class", column) for column in columns}
    totals[ALL, ALL] = next((mass for mass in masses if mass["group"] == "all"), None)
    found = {at: _patch(mass) for at, mass in totals.items() if mass is not None and mass["images"]}
    if not found:
        return HeatMap(rows, columns, patches)
    rows = [ALL, *rows] if any(row == ALL for row, _ in found) else rows
    columns = [ALL, *columns] if any(column == ALL for _, column in found) else columns
    return HeatMap(rows, columns, patches | found, totals=True)


def heat_of_counts(found: FailureMap) -> HeatMap | None:
    """What was seen where the search went: darker cells may only have been looked at harder."""
    patches = {}
    for at, cell in found.cells.items():
        low, high = clopper_pearson(cell.failed, cell.tried)
        words = f"{cell.failed:,} of {cell.tried:,} trials failed, subjects: {cell.subjects:,}"
        patches[at] = Patch(cell.share, (float(low), float(high)), words)
    return HeatMap(found.rows, found.columns, patches) if patches else None


def overall(masses: Sequence[dict[str, Any]]) -> tuple[Estimate, int] | None:
    """The mean failure rate over the whole space, and the number of its nodes."""
    found = next((mass for mass in masses if mass["group"] == "all" and mass["images"]), None)
    return (_estimate(found), int(found["nodes"])) if found else None


def mass_lists(masses: Sequence[dict[str, Any]]) -> list[MassList]:
    lists = []
    for group, title in LISTS:
        lines = [_estimate(mass) for mass in masses if mass["group"] == group and mass["images"]]
        if group == "layer":
            lines = [replace(line, name=_layer_name(line.name)) for line in sorted(lines, key=_by_name)]
        else:
            lines.sort(key=lambda line: (-line.rate, line.name))
        clear = [line for line in lines if line.interval[1] - line.interval[0] <= VAGUE]
        if len(clear) > 1:
            lists.append(MassList(title, clear[:MOST_LINES], len(lines) - len(clear[:MOST_LINES])))
    return lists


def _by_name(line: Estimate) -> str:
    return line.name


def _layer_name(name: str) -> str:
    """Layers are named by how many attributes their nodes have."""
    return {"0": "the thing alone", "1": "1 attribute"}.get(
        name, f"{name} attributes" if name.isdigit() else name
    )


def _kept(masses: Sequence[dict[str, Any]], group: str, names: Sequence[str], most: int) -> list[str]:
    """The groups that hold the most pictures, the worst first; `alone` comes before all."""
    known = {str(mass["name"]): mass for mass in masses if mass["group"] == group}
    different = sorted(dict.fromkeys(names), key=lambda name: (-_of(known, name, "images"), name))[:most]
    return sorted(different, key=lambda name: (name != ALONE, -_of(known, name, "rate"), name))


def _of(known: dict[str, dict[str, Any]], name: str, field: str) -> float:
    return float(known[name][field]) if name in known else 0.0


def _named(masses: Sequence[dict[str, Any]], group: str, name: str) -> dict[str, Any] | None:
    return next((mass for mass in masses if mass["group"] == group and mass["name"] == name), None)


def _patch(mass: dict[str, Any]) -> Patch:
    line = _estimate(mass)
    return Patch(line.rate, line.interval, line.words)


def _estimate(mass: dict[str, Any]) -> Estimate:
    low, high = mass["interval"]
    words = f"{mass['images']:,} pictures speak for {mass['nodes']:,} nodes"
    return Estimate(str(mass["name"]), float(mass["rate"]), (float(low), float(high)), words)
