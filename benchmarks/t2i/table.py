"""Outcomes of many worlds as one markdown table, every figure with its interval over worlds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, product

import numpy as np
from scipy import stats

from benchmarks.t2i.cells import Cell, Outcome

ENOUGH_CLAIMS = 50
"""False shares are checked at every checkpoint with at least so many claims."""

Figure = Callable[[Outcome], float]


def found(outcome: Outcome) -> int:
    return outcome.curve[-1][4]


def not_failing(row: Sequence[int]) -> float:
    return 1 - row[2] / row[1] if row[1] else 0.0


def not_minimal(row: Sequence[int]) -> float:
    return 1 - row[4] / row[3] if row[3] else 0.0


FIGURES: dict[str, tuple[Figure, str]] = {
    "found": (found, ",.0f"),
    "in rules": (lambda o: o.covered, ",.0f"),
    "images per find": (lambda o: o.images / max(found(o), 1), ".1f"),
    "precision (failing)": (lambda o: 1 - not_failing(o.curve[-1]), ".1%"),
    "precision (minimal)": (lambda o: 1 - not_minimal(o.curve[-1]), ".1%"),
    "recall": (lambda o: found(o) / max(o.truth, 1), ".1%"),
    "doubted (minimal)": (lambda o: o.doubt, ".1%"),
    "area": (lambda o: float(np.mean([row[4] for row in o.curve])), ",.0f"),
    "missed by pruning": (lambda o: o.pruned, ".1%"),
    "CPU s per 1,000": (lambda o: 1000 * o.seconds / max(o.images, 1), ".2f"),
}


def with_interval(values: Sequence[float], form: str) -> str:
    """The mean and half the width of its 95 % interval over worlds (Student's t)."""
    mean = format(float(np.mean(values)), form)
    if len(values) < 2:
        return mean
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{mean} ± {format(float(half), form)}"


def audited(outcomes: Sequence[Outcome]) -> str:
    """In how many runs the audit's interval holds the true number of minimal failures."""
    known = [(o.audit, o.truth) for o in outcomes if o.audit is not None]
    inside = sum(audit[0] <= truth <= audit[2] for audit, truth in known)
    return f"{inside} of {len(known)}" if known else "–"


def worst_share(outcomes: Sequence[Outcome], share: Callable[[Sequence[int]], float], column: int) -> str:
    """The largest false share at a checkpoint: of the mean over worlds, and of any single world."""
    rows = [[share(row) if row[column] >= ENOUGH_CLAIMS else np.nan for row in o.curve] for o in outcomes]
    table = np.array(rows)
    kept = ~np.isnan(table).all(axis=0)
    if not kept.any():
        return "–"
    means = np.nanmean(table[:, kept], axis=0)
    return f"{means.max():.1%} / {np.nanmax(table):.1%}"


def times(outcomes: Sequence[Outcome], others: Sequence[Outcome]) -> str:
    """How many times as many true minimal failures as another arm in the same worlds, geometric mean."""
    base = {o.cell.world: max(found(o), 1) for o in others}
    logs = [np.log(max(found(o), 1) / base[o.cell.world]) for o in outcomes if o.cell.world in base]
    if not logs:
        return "–"
    middle = np.mean(logs)
    if len(logs) < 2:
        return f"{np.exp(middle):.2f}"
    half = stats.t.ppf(0.975, len(logs) - 1) * np.std(logs, ddof=1) / np.sqrt(len(logs))
    return f"{np.exp(middle):.2f} ({np.exp(middle - half):.2f}–{np.exp(middle + half):.2f})"


def write_tables(outcomes: Sequence[Outcome], references: Sequence[str]) -> str:
    """One table per shape, spread and judge; rows are regimes and arms, all compared with the references."""
    lines: list[str] = []

    def place(outcome: Outcome) -> tuple[str, str, str]:
        return outcome.cell.shape, outcome.cell.spread, outcome.cell.judge

    for (shape, spread, judge), group in groupby(sorted(outcomes, key=place), key=place):
        here = list(group)
        named = spread if shape == "planted" else f"{shape}, {spread}"
        lines += [f"\n**{named}, judge {judge}**\n", *_table(here, references), "", *_anytime(here)]
    return "\n".join(lines)


def _table(outcomes: list[Outcome], references: Sequence[str]) -> list[str]:
    compared = [f"× {arm}" for arm in references]
    titles = ["model", "arm", *FIGURES, *compared, "worst not failing", "worst not minimal", "audit"]
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    for regime in dict.fromkeys(o.cell.regime for o in outcomes):
        here = [o for o in outcomes if o.cell.regime == regime]
        bases = [[o for o in here if o.cell.arm == arm and not o.skipped] for arm in references]
        for arm in dict.fromkeys(o.cell.arm for o in here):
            rows = sorted((o for o in here if o.cell.arm == arm), key=_world)
            lines.append("| " + " | ".join([regime, arm, *_row(rows, bases, len(titles) - 2)]) + " |")
    return lines


def _anytime(outcomes: list[Outcome]) -> list[str]:
    """True minimal failures found by shares of the budget: one row per arm, mean over worlds."""
    points = len(next((o.curve for o in outcomes if o.curve), ()))
    places = [max(0, points * share // 8 - 1) for share in (1, 2, 4, 8)]
    marks = next(([o.curve[place][0] for place in places] for o in outcomes if o.curve), [])
    regimes = list(dict.fromkeys(o.cell.regime for o in outcomes))
    titles = [f"{regime}, {mark:,}" for regime in regimes for mark in marks]
    lines = ["| found, by images | " + " | ".join(titles) + " |", "|---" * (len(titles) + 1) + "|"]
    for arm in dict.fromkeys(o.cell.arm for o in outcomes if not o.skipped):
        means = []
        for regime, place in product(regimes, places):
            rows = [
                o.curve[place][4]
                for o in outcomes
                if (o.cell.arm, o.cell.regime) == (arm, regime) and o.curve
            ]
            means.append(f"{np.mean(rows):,.0f}" if rows else "–")
        lines.append(f"| {arm} | " + " | ".join(means) + " |")
    return lines


def _row(rows: list[Outcome], bases: list[list[Outcome]], width: int) -> list[str]:
    kept = [row for row in rows if not row.skipped]
    if not kept:
        return [f"not run: {rows[0].skipped}", *[""] * (width - 1)]
    figures = [with_interval([figure(row) for row in kept], form) for figure, form in FIGURES.values()]
    worst = [worst_share(kept, not_failing, 1), worst_share(kept, not_minimal, 3), audited(kept)]
    return [*figures, *(times(kept, base) for base in bases), *worst]


def _world(outcome: Outcome) -> int:
    return outcome.cell.world


def describe(cell: Cell) -> str:
    return f"{cell.shape} {cell.spread} {cell.judge} {cell.regime} {cell.arm} world {cell.world}"
