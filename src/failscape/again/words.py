"""What a comparison says, in words that the terminal and notebooks share."""

from __future__ import annotations

from failscape.again.decide import STATUSES, ComparedSubject, OverallDifference, PairedComparison
from failscape.views.read.numbers import percent


def say_totals(compared: PairedComparison) -> str:
    """How much was compared, and how many subjects have each status."""
    total = ", ".join(f"{len(rows):,} {name}" for name in STATUSES if (rows := compared.of_status(name)))
    return (
        f"{compared.first} → {compared.second}: {len(compared.rows):,} shared subjects, "
        f"{compared.pairs:,} pairs. {total or 'Nothing in common yet'}."
    )


def say_overall(first: str, second: str, overall: OverallDifference) -> str:
    return (
        f"Overall: {first} fails {percent(overall.first_rate)}, {second} {percent(overall.second_rate)} "
        f"({100 * overall.difference:+.1f} points, {say_spread(overall.interval)}; "
        f"{overall.pairs:,} {overall.counted})."
    )


def say_rate(rate: float | None) -> str:
    """Failure rates; a dash where all pairs were picked by a search."""
    return "–" if rate is None else percent(rate)


def say_points(row: ComparedSubject) -> str:
    shown = "" if row.difference is None else f"{100 * row.difference:+.0f} "
    return f"{shown}({say_spread(row.interval, 0)})"


def say_spread(interval: tuple[float, float], digits: int = 1) -> str:
    low, high = (f"{100 * end:+.{digits}f}" for end in interval)
    return f"{low} to {high}"
