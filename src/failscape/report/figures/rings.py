"""Pictures of a vlm hunt as SVG: the tree of failures as rings, rates over time, skills over time. Pure."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

SIDE = 460
#: Radii between which the rings lie: families, skill combinations, kinds of question.
RINGS = (58, 112, 166, 222)

LEAST_ANGLE = 0.012
LABEL_ANGLE = 0.22
WIDTH, HEIGHT = 560, 240
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 12, 40
CELL_HEIGHT = 18


def rings(tree: Mapping[str, Any]) -> Markup:
    """Angle is the number of questions asked, colour the share that failed."""
    middle = SIDE / 2
    parts: list[str] = []
    _ring(parts, tree, 0.0, 2 * math.pi, 0)
    rate = f"{tree['rate']:.0%}"
    parts.append(f'<text class="hub" x="{middle}" y="{middle - 2}" text-anchor="middle">{rate}</text>')
    parts.append(f'<text x="{middle}" y="{middle + 16}" text-anchor="middle">fail</text>')
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
    parts = list(_grid(most))
    for number, (key, name) in enumerate(names.items()):
        points = [(_x(row["questions"] / most), _y(float(row[key]))) for row in curve]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path class="line line{number}" d="M{path}"/>')
        if points:
            x, y = points[-1]
            parts.append(
                f'<text class="line{number}" x="{min(x, WIDTH - 4):.1f}" y="{max(y - 6, 10):.1f}" '
                f'text-anchor="end">{escape(name)}</text>'
            )
    return _svg("lines", WIDTH, HEIGHT, parts, f"{', '.join(names.values())} over questions asked")


def _grid(most: float) -> list[str]:
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(share)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for share in (0.0, 0.5, 1.0):
        anchor = ("start", "middle", "end")[round(2 * share)]
        parts.append(
            f'<text x="{_x(share):.1f}" y="{HEIGHT - 22}" text-anchor="{anchor}">{share * most:,.0f}</text>'
        )
    parts.append(
        f'<text class="axis" x="{_x(0.5):.1f}" y="{HEIGHT - 5}" text-anchor="middle">questions written</text>'
    )
    return parts


def _x(share: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * share


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(1.0, max(0.0, share)))


def calendar(shares: Mapping[str, Sequence[float]]) -> Markup:
    """Skills down, time across: how much of what was asked took that skill."""
    rows = sorted(shares.items(), key=lambda pair: _centre(pair[1]))
    columns = max((len(row) for row in shares.values()), default=0)
    left, height = 130, CELL_HEIGHT * len(rows) + 26
    width = (WIDTH - left - 10) / max(1, columns)
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
    parts.append(f'<text class="axis" x="{left}" y="{height - 6}">first questions</text>')
    parts.append(
        f'<text class="axis" x="{WIDTH - 10}" y="{height - 6}" text-anchor="end">last questions</text>'
    )
    return _svg("calendar", WIDTH, height, parts, "share of questions that take each skill, over time")


def _centre(row: Sequence[float]) -> float:
    """When a skill was asked most: early ones come first."""
    total = sum(row)
    return sum(place * share for place, share in enumerate(row)) / total if total else float("inf")


def _svg(name: str, width: float, height: float, parts: Sequence[str], words: str) -> Markup:
    head = f'<svg class="{name}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(words)}">'
    return Markup(f"{head}{''.join(parts)}</svg>")
