"""Small figures as SVG text, coloured by the page's style sheet so that they follow light and dark.

Each function takes numbers and gives markup that is safe to put on the page. No drawing library is needed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from failscape.trials import Verdict

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A named share with its interval. `words` say what it rests on; `good` when more of it is better."""

    name: str
    rate: float
    interval: Interval
    words: str = ""
    good: bool = False


WIDTH, HEIGHT = 560, 220
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 12, 30


def interval_bar(rate: float, interval: Interval, limit: float | None = None, good: bool = False) -> Markup:
    """A rate with its interval on a scale from 0 to 1. `limit` is where failing begins.

    `good` is for shares of which more is better.
    """
    low, high, at = (100 * _share(number) for number in (*interval, rate))
    tick = (
        ""
        if limit is None
        else f'<line class="limit" x1="{100 * limit:.1f}" x2="{100 * limit:.1f}" y1="0" y2="12"/>'
    )
    words = f"{percent(rate)}, interval {percent(interval[0])} to {percent(interval[1])}"
    return Markup(
        f'<svg class="interval{" good" if good else ""}" viewBox="-1 0 102 12" preserveAspectRatio="none"'
        f' role="img" aria-label="{words}"><title>{words}</title>'
        f'<line class="track" x1="0" x2="100" y1="6" y2="6"/>{tick}'
        f'<rect class="span" x="{low:.1f}" y="3.5" width="{max(0.6, high - low):.1f}" height="5" rx="1"/>'
        f'<rect class="at" x="{at - 0.8:.1f}" y="1" width="1.6" height="10" rx=".5"/></svg>'
    )


def verdict_bar(counts: dict[Verdict, int]) -> Markup:
    shown = [verdict for verdict in (Verdict.FAIL, Verdict.PASS, Verdict.INVALID) if counts.get(verdict)]
    total = sum(counts[verdict] for verdict in shown)
    parts, at = [], 0.0
    for verdict in shown:
        width = 100 * counts[verdict] / total
        parts.append(f'<rect class="{verdict.value}" x="{at:.2f}" y="0" width="{width:.2f}" height="10"/>')
        at += width
    words = ", ".join(f"{counts[verdict]:,} {verdict.value}" for verdict in shown)
    return Markup(
        f'<svg class="verdicts" viewBox="0 0 100 10" preserveAspectRatio="none" role="img"'
        f' aria-label="{words}">{"".join(parts)}</svg>'
    )


def curve(points: Sequence[tuple[int, int]], across: str, up: str) -> Markup:
    """How a count grew, as steps under a line. `across` and `up` name the axes."""
    most_x = max(1, points[-1][0] if points else 1)
    steps_up = ticks(max((count for _, count in points), default=0))
    most_y = steps_up[-1]

    def place(x: float, y: float) -> tuple[float, float]:
        inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return LEFT + inner_width * x / most_x, HEIGHT - BOTTOM - inner_height * y / most_y

    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
    floor = HEIGHT - BOTTOM
    area = f"{LEFT},{floor} {line} {WIDTH - RIGHT},{floor}"
    grid = []
    for value in steps_up:
        _, y = place(0, value)
        grid.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        grid.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:,}</text>')
    for value in (step for step in ticks(most_x, 4) if step <= most_x):
        x, _ = place(value, 0)
        anchor = "end" if x > WIDTH - 40 else "middle"
        grid.append(f'<text x="{x:.1f}" y="{HEIGHT - 10}" text-anchor="{anchor}">{value:,}</text>')
    grid.append(f'<text class="axis" x="{LEFT + 6}" y="{TOP + 4}">{escape(up)}</text>')
    end = f'x="{WIDTH - RIGHT}" y="{HEIGHT - BOTTOM - 8}" text-anchor="end"'
    grid.append(f'<text class="axis" {end}>{escape(across)}</text>')
    words = escape(f"{up} against {across}: {points[-1][1] if points else 0:,} after {most_x:,}")
    return Markup(
        f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">{"".join(grid)}'
        f'<polygon class="area" points="{area}"/><polyline class="line" points="{line}"/></svg>'
    )


def ticks(most: int, count: int = 4) -> list[int]:
    """Round whole numbers from 0 up to at least `most`."""
    rough = max(1.0, most / count)
    scale = 10 ** math.floor(math.log10(rough))
    step = next(scale * times for times in (1, 2, 5, 10) if scale * times >= rough)
    step = max(1, int(step))
    return list(range(0, most + step, step)) if most % step else list(range(0, max(most, step) + 1, step))


def percent(share: float) -> str:
    """`3.2%` for small shares, `99.4%` for those near all, `41%` for others."""
    if not math.isfinite(share):
        return "–"
    return f"{share:.1%}" if 0 < share < 0.095 or 0.985 < share < 0.9995 else f"{share:.0%}"


def spread(interval: Interval) -> str:
    """An interval for people: `63–100%`, or `1.2–4.9%` where it is short enough for decimals to matter."""
    low, high = interval
    if not (math.isfinite(low) and math.isfinite(high)):
        return "–"
    if high - low >= 0.1:
        return f"{100 * low:.0f}–{high:.0%}"
    return f"{percent(low if low >= 0.0005 else 0.0).removesuffix('%')}–{percent(high)}"


def number(value: float) -> str:
    """An e-value for people: short, and honest about size."""
    if not math.isfinite(value):
        return "∞" if value == math.inf else "–"
    if value >= 1e5:
        power = math.floor(math.log10(value))
        raised = str(power).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))
        return f"{value / 10**power:.1f}·10{raised}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _share(value: float) -> float:
    return min(1.0, max(0.0, value)) if math.isfinite(value) else 0.0
