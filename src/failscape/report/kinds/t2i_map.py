"""How much of the space of a t2i hunt fails and where, from the masses of its survey. Pure.

Masses are free of the search's bias. Where there are none, `maps.heat_of_counts` shows what was tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from failscape.evidence.places import ALONE
from failscape.hunts.t2i.survey.survey import Mass
from failscape.report.figures.basic import Estimate
from failscape.report.figures.heat import HeatCell, HeatMap

ALL = "all"
JOINT = " × "
MOST_ROWS, MOST_COLUMNS = 40, 10
MOST_LINES, MOST_FOLDED = 8, 200


@dataclass(frozen=True, slots=True)
class MassList:
    """Groups of one sort: those that surely fail the most first, whatever their number of pictures.

    The first `lines` are always seen, `more` on request.
    """

    title: str
    lines: list[Estimate]
    more: list[Estimate]


LISTS = (
    ("layer", "By number of attributes"),
    ("family", "By family of attributes"),
    ("sub-class", "By sub-class"),
    ("entity", "By thing"),
    ("tag", "By tag"),
    ("check", "By kind of check"),
)
"""Classes and kinds are the margins of the map already."""


def heat_of_masses(masses: Sequence[Mass]) -> HeatMap | None:
    """Kinds of attributes × classes, with totals first; `None` when no cell has a picture."""
    cells = {}
    for mass in masses:
        if mass.group == "cell" and mass.images:
            column, _, row = mass.name.partition(JOINT)
            cells[row or ALONE, column] = mass
    if not cells:
        return None
    rows = _kept(masses, "kind", [row for row, _ in cells], MOST_ROWS)
    columns = _kept(masses, "class", [column for _, column in cells], MOST_COLUMNS)
    patches = {at: _patch(mass) for at, mass in cells.items() if at[0] in rows and at[1] in columns}
    totals = {(row, ALL): _named(masses, "kind", row) for row in rows}
    totals |= {(ALL, column): _named(masses, "class", column) for column in columns}
    totals[ALL, ALL] = next((mass for mass in masses if mass.group == "all"), None)
    found = {at: _patch(mass) for at, mass in totals.items() if mass is not None and mass.images}
    if not found:
        return HeatMap(rows, columns, patches)
    rows = [ALL, *rows] if any(row == ALL for row, _ in found) else rows
    columns = [ALL, *columns] if any(column == ALL for _, column in found) else columns
    return HeatMap(rows, columns, patches | found, totals=True)


def overall(masses: Sequence[Mass]) -> tuple[Estimate, int] | None:
    """The mean failure rate over the whole space, and the number of its nodes."""
    found = next((mass for mass in masses if mass.group == "all" and mass.images), None)
    return (_estimate(found), found.nodes) if found else None


def mass_lists(masses: Sequence[Mass]) -> list[MassList]:
    lists = []
    for group, title in LISTS:
        lines = [_estimate(mass) for mass in masses if mass.group == group and mass.images]
        if group == "layer":
            lines = [replace(line, name=_layer_name(line.name)) for line in sorted(lines, key=_by_name)]
        else:
            # By the lower end: a thing that failed in its only picture is not the worst that is known.
            lines.sort(key=lambda line: (-round(line.interval[0], 2), -line.rate, line.name))
        if len(lines) > 1:
            lists.append(MassList(title, lines[:MOST_LINES], lines[MOST_LINES:MOST_FOLDED]))
    return lists


def _by_name(line: Estimate) -> str:
    return line.name


def _layer_name(name: str) -> str:
    """Layers are named by how many attributes their nodes have."""
    return {"0": "the thing alone", "1": "1 attribute"}.get(
        name, f"{name} attributes" if name.isdigit() else name
    )


def _kept(masses: Sequence[Mass], group: str, names: Sequence[str], most: int) -> list[str]:
    """The groups that hold the most pictures, the worst first; `alone` comes before all."""
    known = {mass.name: mass for mass in masses if mass.group == group}
    pictures = {name: known[name].images if name in known else 0 for name in names}
    kept = sorted(pictures, key=lambda name: (-pictures[name], name))[:most]
    rates = {name: known[name].rate if name in known else 0.0 for name in kept}
    return sorted(kept, key=lambda name: (name != ALONE, -rates[name], name))


def _named(masses: Sequence[Mass], group: str, name: str) -> Mass | None:
    return next((mass for mass in masses if mass.group == group and mass.name == name), None)


def _patch(mass: Mass) -> HeatCell:
    line = _estimate(mass)
    return HeatCell(line.rate, line.interval, line.words)


def _estimate(mass: Mass) -> Estimate:
    noun = "prompts" if mass.group in ("tag", "check") else "nodes"
    words = f"{mass.images:,} pictures speak for {mass.nodes:,} {noun}"
    return Estimate(mass.name, mass.rate, mass.interval, words)
