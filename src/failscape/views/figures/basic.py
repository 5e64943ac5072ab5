"""Figures as SVG text, coloured by the page's style sheet so that they follow light and dark. Pure.

Each function takes numbers and gives markup that is safe to put on the page. No drawing library is needed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from failscape.trials import Verdict
from failscape.views.read.numbers import percent, spread

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A named share with its interval. `words` say what it rests on; `good` when more of it is better."""

    name: str
    rate: float
    interval: Interval
    words: str = ""
    good: bool = False


class Frame(NamedTuple):
    """A figure's size with the margins of its plot, in which both axes go from 0 to 1."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int

    def x(self, share: float) -> float:
        return self.left + (self.width - self.left - self.right) * _share(share)

    def y(self, share: float) -> float:
        return self.top + (self.height - self.top - self.bottom) * (1 - _share(share))

    def level(self, share: float, words: str) -> str:
        """A line across the plot with its number beside it."""
        y = self.y(share)
        return (
            f'<line class="grid" x1="{self.left}" x2="{self.width - self.right}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{self.left - 8}" y="{y + 4:.1f}" text-anchor="end">{words}</text>'
        )

    def svg(self, name: str, parts: Sequence[str], words: str) -> Markup:
        return _svg(name, self.width, self.height, parts, words)


CURVE = Frame(560, 220, 44, 14, 12, 30)
AGAINST = Frame(380, 300, 44, 12, 10, 42)
LINES = Frame(560, 240, 44, 14, 12, 40)

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


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
    words = f"{percent(rate)}, interval {spread(interval)}"
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
    line = " ".join(f"{CURVE.x(x / most_x):.1f},{CURVE.y(y / most_y):.1f}" for x, y in points)
    floor, end = CURVE.height - CURVE.bottom, CURVE.width - CURVE.right
    parts = [CURVE.level(value / most_y, f"{value:,}") for value in steps_up]
    for value in (step for step in ticks(most_x, 4) if step <= most_x):
        x = CURVE.x(value / most_x)
        anchor = "end" if x > CURVE.width - 40 else "middle"
        parts.append(f'<text x="{x:.1f}" y="{CURVE.height - 10}" text-anchor="{anchor}">{value:,}</text>')
    parts += [
        f'<text class="axis" x="{CURVE.left + 6}" y="{CURVE.top + 4}">{escape(up)}</text>',
        f'<text class="axis" x="{end}" y="{floor - 8}" text-anchor="end">{escape(across)}</text>',
        f'<polygon class="area" points="{CURVE.left},{floor} {line} {end},{floor}"/>',
        f'<polyline class="line" points="{line}"/>',
    ]
    return CURVE.svg(
        "curve", parts, f"{up} against {across}: {points[-1][1] if points else 0:,} after {most_x:,}"
    )


def ticks(most: int, count: int = 4) -> list[int]:
    """Round whole numbers from 0 up to at least `most`."""
    rough = max(1.0, most / count)
    scale = 10 ** math.floor(math.log10(rough))
    step = next(scale * times for times in (1, 2, 5, 10) if scale * times >= rough)
    step = max(1, int(step))
    return list(range(0, most + step, step)) if most % step else list(range(0, max(most, step) + 1, step))


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _share(value: float) -> float:
    return min(1.0, max(0.0, value)) if math.isfinite(value) else 0.0


#: Radii of dots.
SMALLEST, LARGEST = 3.0, 8.0


@dataclass(frozen=True, slots=True)
class Spot:
    """A dot at two shares; `weight` is how much speaks for it, `words` what it says when pointed at."""

    x: float
    y: float
    interval: Interval | None = None
    weight: float = 1.0
    words: str = ""


def against(spots: Sequence[Spot], across: str, up: str, limit: float | None = None) -> Markup:
    """Dots beside the line where both shares are equal. `limit` marks a share on the upward axis."""
    most = max((spot.weight for spot in spots), default=1.0) or 1.0
    x, y = AGAINST.x, AGAINST.y
    parts = [*_axes(across, up), f'<path class="even" d="M{x(0):.1f} {y(0):.1f}L{x(1):.1f} {y(1):.1f}"/>']
    if limit is not None:
        parts.append(f'<path class="limit" d="M{x(0):.1f} {y(limit):.1f}H{x(1):.1f}"/>')
    for spot in spots:
        if spot.interval is not None:
            low, high = spot.interval
            parts.append(f'<path class="whisker" d="M{x(spot.x):.1f} {y(low):.1f}V{y(high):.1f}"/>')
    for spot in spots:
        radius = max(SMALLEST, LARGEST * math.sqrt(max(0.0, spot.weight) / most))
        title = f"<title>{escape(spot.words)}</title>" if spot.words else ""
        place = f'cx="{x(spot.x):.1f}" cy="{y(spot.y):.1f}" r="{radius:.1f}"'
        parts.append(f'<circle class="dot" {place}>{title}</circle>')
    return AGAINST.svg("against", parts, f"{up} against {across}, {len(spots)} dots")


def _axes(across: str, up: str) -> list[str]:
    parts = []
    for share in QUARTERS:
        anchor = "end" if share == 1 else "middle"
        place = f'x="{AGAINST.x(share):.1f}" y="{AGAINST.height - 24}" text-anchor="{anchor}"'
        parts.append(f"{AGAINST.level(share, f'{share:.0%}')}<text {place}>{share:.0%}</text>")
    middle = f'x="{AGAINST.x(0.5):.1f}" y="{AGAINST.height - 5}" text-anchor="middle"'
    return [
        *parts,
        f'<text class="axis" {middle}>{escape(across)}</text>',
        f'<text class="axis" x="{AGAINST.left + 6}" y="{AGAINST.top + 12}">{escape(up)}</text>',
    ]


#: Of the mirrored bars: a row's height, the room for labels, for a bar, and for its number.
ROW, MIDDLE, BAR, NUMBER = 19, 132, 150, 42


def mirrored(before: Mapping[str, float], after: Mapping[str, float], most: int = 8) -> Markup:
    """Bars to the left for `before`, to the right for `after`; both map labels to shares of all images."""
    shares = {label: (before.get(label, 0.0), after.get(label, 0.0)) for label in {*before, *after}}
    shown = sorted(shares, key=lambda label: (-max(shares[label]), label))[:most]
    if not shown:
        return Markup("")
    scale = max(0.05, *(max(shares[label]) for label in shown))
    left, right = BAR + NUMBER, BAR + NUMBER + MIDDLE
    parts = [
        f'<text class="axis" x="{left}" y="10" text-anchor="end">in general</text>'
        f'<text class="axis" x="{right}" y="10">this bug</text>'
    ]
    for at, label in enumerate(shown):
        y = 20 + at * ROW
        usual, wrong = (BAR * share / scale for share in shares[label])
        size, line = f'y="{y}" height="12" rx="1"', f'y="{y + 10}"'
        usual_words, wrong_words = map(percent, shares[label])
        name = f"<title>{escape(label)}</title>{escape(shortened(label, 20))}"
        parts.append(
            f'<rect class="usual" x="{left - usual:.1f}" width="{usual:.1f}" {size}/>'
            f'<rect class="wrong" x="{right}" width="{wrong:.1f}" {size}/>'
            f'<text x="{left + MIDDLE / 2}" {line} text-anchor="middle">{name}</text>'
            f'<text class="axis" x="{left - usual - 4:.1f}" {line} text-anchor="end">{usual_words}</text>'
            f'<text class="axis" x="{right + wrong + 4:.1f}" {line}>{wrong_words}</text>'
        )
    words = "; ".join(
        f"{label}: {percent(shares[label][0])} in general, {percent(shares[label][1])}" for label in shown
    )
    return _svg("mirrored", MIDDLE + 2 * (BAR + NUMBER), 22 + ROW * len(shown), parts, words)


SIDE = 460
#: Radii between which the rings lie: families, skill combinations, kinds of question.
RINGS = (58, 112, 166, 222)

LEAST_ANGLE = 0.012
LABEL_ANGLE = 0.22
CELL_HEIGHT = 18


def rings(tree: Mapping[str, Any]) -> Markup:
    """Angle is the number of questions asked, colour the share that failed."""
    middle = SIDE / 2
    parts: list[str] = []
    _ring(parts, tree, 0.0, 2 * math.pi, 0)
    rate = f"{tree['rate']:.0%}"
    parts += [
        f'<text class="hub" x="{middle}" y="{middle - 2}" text-anchor="middle">{rate}</text>',
        f'<text x="{middle}" y="{middle + 16}" text-anchor="middle">fail</text>',
    ]
    words = f"{tree['trials']} questions by family, skills and kind; {rate} failed"
    return _svg("rings", SIDE, SIDE, parts, words)


def _ring(parts: list[str], node: Mapping[str, Any], start: float, size: float, level: int) -> None:
    total = sum(child["trials"] for child in node["children"]) or 1
    for child in node["children"]:
        part = size * child["trials"] / total
        if part >= LEAST_ANGLE:
            parts.append(_sector(child, start, part, level))
            if level + 2 < len(RINGS):
                _ring(parts, child, start, part, level + 1)
        start += part


def _sector(node: Mapping[str, Any], start: float, size: float, level: int) -> str:
    inner, outer = RINGS[level], RINGS[level + 1]
    size = min(size, 2 * math.pi - 1e-4)
    large = int(size > math.pi)
    points = [(outer, start), (outer, start + size), (inner, start + size), (inner, start)]
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = (_point(*point) for point in points)
    path = f"M{ax:.1f} {ay:.1f}A{outer} {outer} 0 {large} 1 {bx:.1f} {by:.1f}L{cx:.1f} {cy:.1f}"
    path += f"A{inner} {inner} 0 {large} 0 {dx:.1f} {dy:.1f}Z"
    told = f"{node['name']}: {node['failures']} of {node['trials']} failed"
    state = " sure" if node.get("state") == "failing" else ""
    sector = f'<path class="sector{state}" style="--part:{node["rate"]:.3f}" d="{path}">'
    return f"{sector}<title>{escape(told)}</title></path>{_label(node, start, size, level)}"


def _label(node: Mapping[str, Any], start: float, size: float, level: int) -> str:
    if size < LABEL_ANGLE:
        return ""
    angle = start + size / 2
    x, y = _point((RINGS[level] + RINGS[level + 1]) / 2, angle)
    turn = math.degrees(angle) - 90
    turn += 180 if 90 < turn % 360 < 270 else 0
    dark = " light" if node["rate"] > 0.55 else ""
    place = f'transform="translate({x:.1f} {y:.1f}) rotate({turn:.1f})"'
    text = str(node["name"])
    short = text if len(text) <= 9 else text[:8] + "…"
    return f'<text class="name{dark}" text-anchor="middle" dy=".35em" {place}>{escape(short)}</text>'


def _point(radius: float, angle: float) -> tuple[float, float]:
    return SIDE / 2 + radius * math.sin(angle), SIDE / 2 - radius * math.cos(angle)


def lines(curve: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Markup:
    """Shares over questions asked; `names` maps keys of the rows to what they are called."""
    most = max((float(row["questions"]) for row in curve), default=1.0)
    parts = [LINES.level(share, f"{share:.0%}") for share in QUARTERS]
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        place = f'x="{LINES.x(share):.1f}" y="{LINES.height - 22}" text-anchor="{anchor}"'
        parts.append(f"<text {place}>{share * most:,.0f}</text>")
    middle = f'x="{LINES.x(0.5):.1f}" y="{LINES.height - 5}" text-anchor="middle"'
    parts.append(f'<text class="axis" {middle}>questions written</text>')
    for at, (key, name) in enumerate(names.items()):
        points = [(LINES.x(row["questions"] / most), LINES.y(float(row[key]))) for row in curve]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path class="line line{at}" d="M{path}"/>')
        if points:
            x, y = points[-1]
            place = f'x="{min(x, LINES.width - 4):.1f}" y="{max(y - 6, 10):.1f}"'
            parts.append(f'<text class="line{at}" {place} text-anchor="end">{escape(name)}</text>')
    return LINES.svg("lines", parts, f"{', '.join(names.values())} over questions asked")


def calendar(shares: Mapping[str, Sequence[float]]) -> Markup:
    """Skills down, time across: how much of what was asked took that skill."""
    rows = sorted(shares.items(), key=lambda pair: _centre(pair[1]))
    columns = max((len(row) for row in shares.values()), default=0)
    left, height = 130, CELL_HEIGHT * len(rows) + 26
    width = (LINES.width - left - 10) / max(1, columns)
    parts = []
    for line, (skill, row) in enumerate(rows):
        y = CELL_HEIGHT * line
        parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(skill[:24])}</text>')
        for column, share in enumerate(row):
            parts.append(
                f'<rect style="--part:{share:.3f}" x="{left + width * column:.1f}" y="{y}" '
                f'width="{width - 1:.1f}" height="{CELL_HEIGHT - 2}">'
                f"<title>{escape(skill)}: {share:.0%}</title></rect>"
            )
    parts += [
        f'<text class="axis" x="{left}" y="{height - 6}">first questions</text>',
        f'<text class="axis" x="{LINES.width - 10}" y="{height - 6}" text-anchor="end">last questions</text>',
    ]
    return _svg("calendar", LINES.width, height, parts, "share of questions that take each skill, over time")


def _centre(row: Sequence[float]) -> float:
    """When a skill was asked most: early ones come first."""
    total = sum(row)
    return sum(place * share for place, share in enumerate(row)) / total if total else float("inf")


def _svg(name: str, width: float, height: float, parts: Sequence[str], words: str) -> Markup:
    head = f'<svg class="{name}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(words)}">'
    return Markup(f"{head}{''.join(parts)}</svg>")
