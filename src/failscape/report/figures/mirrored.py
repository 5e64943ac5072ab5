"""Two sets of wrong labels side by side, as SVG text: what a class is taken for in general, and in a bug."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup, escape

from failscape.report.figures.basic import percent

ROW, MIDDLE, SIDE, NUMBER = 19, 132, 150, 42
WIDTH = MIDDLE + 2 * (SIDE + NUMBER)


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
        f'<svg class="mirrored" viewBox="0 0 {WIDTH} {22 + ROW * len(shown)}" role="img" '
        f'aria-label="{escape(words)}">{"".join(parts)}</svg>'
    )


def _heads() -> str:
    left, right = SIDE + NUMBER, SIDE + NUMBER + MIDDLE
    return (
        f'<text class="axis" x="{left}" y="10" text-anchor="end">in general</text>'
        f'<text class="axis" x="{right}" y="10">this bug</text>'
    )


def _row(y: int, label: str, before: float, after: float) -> str:
    left, right, text = SIDE + NUMBER, SIDE + NUMBER + MIDDLE, escape(_clipped(label))
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


def _clipped(label: str) -> str:
    return label if len(label) <= 20 else f"{label[:19]}…"
