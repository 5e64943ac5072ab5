"""Maps of failure: trials added up by place, and drawn as SVG: rows × columns, darker where more fails. Pure.

One hue that only changes in strength, and every number in writing, so that no one depends on colours. Each
cell has its interval. Which places a kind of hunt knows is said in its own module; see `sections.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup, escape

from failscape.stats.intervals import exact_interval
from failscape.views.figures.basic import Interval, shortened
from failscape.views.read.hunt import ALONE, Placer, SubjectCounts
from failscape.views.read.numbers import percent, spread

GAP = 3
VAGUE = 0.5
#: Below 1, small rates keep some colour beside a cell that fails always. The legend bends alike.
BEND = 0.65
#: The top of the scale is never below this, so that small differences near 0 stay pale.
FAINTEST = 0.2


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One cell: `rate` of failure, its interval where there is one, and what it rests on in words."""

    rate: float
    interval: Interval | None
    words: str = ""

    @property
    def is_vague(self) -> bool:
        """Too few pictures to tell: it gets no colour, so that luck does not look like a hot spot."""
        return self.interval is not None and self.interval[1] - self.interval[0] > VAGUE


@dataclass(frozen=True, slots=True)
class HeatMap:
    """`patches[row, column]`. With `totals`, the first row and column are totals and stand a little aside."""

    rows: list[str]
    columns: list[str]
    patches: dict[tuple[str, str], HeatCell]
    totals: bool = False
    #: What was tried, for the legend.
    unit: str = "picture"

    @property
    def top(self) -> float:
        return max([FAINTEST, *(patch.rate for patch in self.patches.values() if not patch.is_vague)])

    @property
    def has_vague(self) -> bool:
        return any(patch.is_vague for patch in self.patches.values())

    def shade(self, rate: float) -> float:
        return float(min(1.0, max(0.0, rate) / self.top) ** BEND)


@dataclass(frozen=True, slots=True)
class HeatShape:
    """Sizes in units of the drawing. Text keeps its size, so each width of screen has a shape of its own.

    A `tight` one slants the heads of its columns and leaves out intervals and signs of per cent.
    """

    name: str
    width: int
    label: int
    head: int
    high: int
    widest: int
    margin: int = 0
    tight: bool = False


WIDE = HeatShape("wide", 1080, 168, 30, 44, 124)
NARROW = HeatShape("narrow", 360, 116, 66, 28, 48, margin=22, tight=True)


def heat_map(heat: HeatMap, shape: HeatShape) -> Markup:
    aside = 8 if heat.totals else 0
    room = shape.width - shape.label - shape.margin - aside
    step = min(shape.widest, room / max(1, len(heat.columns)))
    places = [shape.label + at * step + (aside if at else 0) for at in range(len(heat.columns))]
    height = shape.head + len(heat.rows) * shape.high + aside
    parts = [_head(name, x + step / 2, shape, step) for name, x in zip(heat.columns, places, strict=True)]
    for number, row in enumerate(heat.rows):
        y = shape.head + number * shape.high + (aside if number else 0)
        parts.append(_label(row, y, shape))
        for column, x in zip(heat.columns, places, strict=True):
            parts.append(_cell(heat, row, column, (x, y, step), shape))
    words = f"Share of failures, {len(heat.rows)} rows by {len(heat.columns)} columns"
    return Markup(
        f'<svg class="heat {shape.name}" viewBox="0 0 {shape.width} {height}" role="img"'
        f' aria-label="{words}">{"".join(parts)}</svg>'
    )


def heat_legend(heat: HeatMap) -> Markup:
    """From nothing to the darkest cell."""
    shades = [heat.shade(heat.top * at / 5) for at in range(6)]
    steps = "".join(f'<i style="--shade:{shade:.2f}"></i>' for shade in shades)
    vague = f'<b class="vague"></b>too few {heat.unit}s to tell' if heat.has_vague else ""
    return Markup(
        f'<div class="heat-scale num">0%{steps}{percent(heat.top)} of {heat.unit}s fail{vague}</div>'
    )


def _head(name: str, x: float, shape: HeatShape, step: float) -> str:
    most = round(shape.head / 5.6) if shape.tight else max(4, round(step / 6.8))
    turned = f' transform="rotate(-48 {x:.1f} {shape.head - 8})"' if shape.tight else ""
    anchor = "start" if shape.tight else "middle"
    return (
        f'<text class="name" x="{x:.1f}" y="{shape.head - 8}" text-anchor="{anchor}"{turned}>'
        f"<title>{escape(name)}</title>{escape(shortened(name, most))}</text>"
    )


def _label(name: str, y: float, shape: HeatShape) -> str:
    text = escape(shortened(name, round(shape.label / 6.9)))
    middle = y + shape.high / 2 + 3
    return f'<text class="name" x="0" y="{middle:.1f}"><title>{escape(name)}</title>{text}</text>'


def _cell(heat: HeatMap, row: str, column: str, box: tuple[float, float, float], shape: HeatShape) -> str:
    patch = heat.patches.get((row, column))
    x, y, step = box
    middle = f'x="{x + (step - GAP) / 2:.1f}" text-anchor="middle"'
    if patch is None:
        return f'<text class="none" {middle} y="{y + shape.high / 2 + 3:.1f}">·</text>'
    shade = 0.0 if patch.is_vague else heat.shade(patch.rate)
    name = "vague" if patch.is_vague else "dark" if shade > 0.62 else "pale"
    two = not shape.tight and patch.interval is not None
    rate = percent(patch.rate) if not shape.tight else f"{100 * patch.rate:.0f}"
    lines = f'<text {middle} y="{y + shape.high / 2 + (-2 if two else 3):.1f}">{rate}</text>'
    if two and patch.interval is not None:
        lines += (
            f'<text class="small" {middle} y="{y + shape.high / 2 + 13:.1f}">{spread(patch.interval)}</text>'
        )
    words = f"{row} × {column}: {percent(patch.rate)}"
    words += f", interval {spread(patch.interval)}" if patch.interval else ""
    words += f"; {patch.words}" if patch.words else ""
    return (
        f'<g class="{name}" style="--shade:{shade:.3f}">'
        f'<title>{escape(words)}</title><rect x="{x:.1f}" y="{y:.1f}" width="{step - GAP:.1f}"'
        f' height="{shape.high - GAP}" rx="5"/>{lines}</g>'
    )


Counted = Iterable[SubjectCounts]


@dataclass(frozen=True, slots=True)
class MapCell:
    """`failed` of `tried` valid trials failed, over `subjects` subjects."""

    failed: int = 0
    tried: int = 0
    subjects: int = 0

    @property
    def share(self) -> float:
        return self.failed / self.tried if self.tried else 0.0

    def plus(self, failed: int, tried: int) -> MapCell:
        return MapCell(self.failed + failed, self.tried + tried, self.subjects + 1)


@dataclass(frozen=True, slots=True)
class FailureMap:
    """`cells[row, column]`; `hidden_rows` and `hidden_columns` were left out to keep it readable.

    `subjects` counts all subjects that were tried, on the map or not.
    """

    rows: list[str]
    columns: list[str]
    cells: dict[tuple[str, str], MapCell]
    hidden_rows: int = 0
    hidden_columns: int = 0
    subjects: int = 0


def failure_map(counts: Counted, place: Placer, most_rows: int = 40, most_columns: int = 10) -> FailureMap:
    """Add up trials by place; the most tried rows and columns are kept. `alone` comes first."""
    cells: dict[tuple[str, str], MapCell] = {}
    subjects = 0
    for one in counts:
        subjects += 1
        where = place(one.subject)
        if where is None or not one.valid:
            continue
        for row in where.rows:
            at = (row, where.column)
            cells[at] = cells.get(at, MapCell()).plus(one.fails, one.valid)
    rows, columns = _most_tried(cells, 0), _most_tried(cells, 1)
    kept_rows, kept_columns = rows[:most_rows], columns[:most_columns]
    kept_rows.sort(key=lambda row: (row != ALONE, -_share_of_row(cells, row)))
    return FailureMap(
        kept_rows,
        kept_columns,
        {at: cell for at, cell in cells.items() if at[0] in kept_rows and at[1] in kept_columns},
        len(rows) - len(kept_rows),
        len(columns) - len(kept_columns),
        subjects,
    )


def _most_tried(cells: dict[tuple[str, str], MapCell], axis: int) -> list[str]:
    tried: Counter[str] = Counter()
    for at, cell in cells.items():
        tried[at[axis]] += cell.tried
    return sorted(tried, key=lambda name: (-tried[name], name))


def _share_of_row(cells: dict[tuple[str, str], MapCell], row: str) -> float:
    mine = [cell for at, cell in cells.items() if at[0] == row]
    return sum(cell.failed for cell in mine) / max(1, sum(cell.tried for cell in mine))


def heat_of_counts(found: FailureMap, unit: str) -> HeatMap | None:
    """What was seen where the search went: darker cells may only have been looked at harder."""
    patches = {}
    for at, cell in found.cells.items():
        words = f"{cell.failed:,} of {cell.tried:,} trials failed, subjects: {cell.subjects:,}"
        patches[at] = HeatCell(cell.share, exact_interval(cell.failed, cell.tried), words)
    return HeatMap(found.rows, found.columns, patches, unit=unit) if patches else None
