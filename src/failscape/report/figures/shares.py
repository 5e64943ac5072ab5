"""Shares as SVG: two against each other as dots, and two sets of wrong labels side by side. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from failscape.report.figures.basic import Interval, percent, shortened

WIDTH, HEIGHT = 380, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 10, 42
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
    parts = [*_grid(across, up), f'<path class="even" d="M{_x(0):.1f} {_y(0):.1f}L{_x(1):.1f} {_y(1):.1f}"/>']
    if limit is not None:
        parts.append(f'<path class="limit" d="M{_x(0):.1f} {_y(limit):.1f}H{_x(1):.1f}"/>')
    parts += [_whisker(spot) for spot in spots if spot.interval is not None]
    parts += [_dot(spot, most) for spot in spots]
    words = escape(f"{up} against {across}, {len(spots)} dots")
    return Markup(
        f'<svg class="against" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">'
        f"{''.join(parts)}</svg>"
    )


def _x(share: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * _within(share)


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - _within(share))


def _within(share: float) -> float:
    return min(1.0, max(0.0, share)) if math.isfinite(share) else 0.0


def _whisker(spot: Spot) -> str:
    low, high = spot.interval or (spot.y, spot.y)
    return f'<path class="whisker" d="M{_x(spot.x):.1f} {_y(low):.1f}V{_y(high):.1f}"/>'


def _dot(spot: Spot, most: float) -> str:
    radius = max(SMALLEST, LARGEST * math.sqrt(max(0.0, spot.weight) / most))
    title = f"<title>{escape(spot.words)}</title>" if spot.words else ""
    return (
        f'<circle class="dot" cx="{_x(spot.x):.1f}" cy="{_y(spot.y):.1f}" r="{radius:.1f}">{title}</circle>'
    )


def _grid(across: str, up: str) -> list[str]:
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(share)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
        anchor = "end" if share == 1 else "middle"
        parts.append(f'<text x="{_x(share):.1f}" y="{HEIGHT - 24}" text-anchor="{anchor}">{share:.0%}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text class="axis" x="{middle:.1f}" y="{HEIGHT - 5}" text-anchor="middle">{escape(across)}</text>'
    )
    parts.append(f'<text class="axis" x="{LEFT + 6}" y="{TOP + 12}">{escape(up)}</text>')
    return parts


ROW, MIDDLE, SIDE, NUMBER = 19, 132, 150, 42
MIRROR_WIDTH = MIDDLE + 2 * (SIDE + NUMBER)


def mirrored(before: Mapping[str, float], after: Mapping[str, float], most: int = 8) -> Markup:
    """Bars to the left for `before`, to the right for `after`; both map labels to shares of all images."""
    ranked = sorted(
        {*before, *after}, key=lambda label: (-max(before.get(label, 0), after.get(label, 0)), label)
    )
    shown = ranked[:most]
    if not shown:
        return Markup("")
    scale = max(0.05, *(max(before.get(label, 0), after.get(label, 0)) for label in shown))
    parts = [_heads()]
    for number, label in enumerate(shown):
        y = 20 + number * ROW
        parts.append(_row(y, label, before.get(label, 0.0) / scale, after.get(label, 0.0) / scale))
        parts.append(_numbers(y, before.get(label, 0.0), after.get(label, 0.0), scale))
    words = "; ".join(
        f"{label}: {percent(before.get(label, 0))} in general, {percent(after.get(label, 0))}"
        for label in shown
    )
    return Markup(
        f'<svg class="mirrored" viewBox="0 0 {MIRROR_WIDTH} {22 + ROW * len(shown)}" role="img" '
        f'aria-label="{escape(words)}">{"".join(parts)}</svg>'
    )


def _heads() -> str:
    left, right = SIDE + NUMBER, SIDE + NUMBER + MIDDLE
    return (
        f'<text class="axis" x="{left}" y="10" text-anchor="end">in general</text>'
        f'<text class="axis" x="{right}" y="10">this bug</text>'
    )


def _row(y: int, label: str, before: float, after: float) -> str:
    left, right, text = SIDE + NUMBER, SIDE + NUMBER + MIDDLE, escape(shortened(label, 20))
    size = f'y="{y}" height="12" rx="1"'
    name = f"<title>{escape(label)}</title>{text}"
    return (
        f'<rect class="usual" x="{left - SIDE * before:.1f}" width="{SIDE * before:.1f}" {size}/>'
        f'<rect class="wrong" x="{right}" width="{SIDE * after:.1f}" {size}/>'
        f'<text x="{left + MIDDLE / 2}" y="{y + 10}" text-anchor="middle">{name}</text>'
    )


def _numbers(y: int, before: float, after: float, scale: float) -> str:
    left, right = SIDE + NUMBER, SIDE + NUMBER + MIDDLE
    return (
        f'<text class="axis" x="{left - SIDE * before / scale - 4:.1f}" y="{y + 10}" text-anchor="end">'
        f"{percent(before)}</text>"
        f'<text class="axis" x="{right + SIDE * after / scale + 4:.1f}" y="{y + 10}">{percent(after)}</text>'
    )
