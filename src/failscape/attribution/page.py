"""Writes the page about scarcity, with its drawing: one static HTML file that opens from disk."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from failscape.attribution.scarcity import CaptionBin, Scarcity, Span, Subject
from failscape.evidence import HuntReader
from failscape.report.figures.basic import QUARTERS, Frame, percent
from failscape.report.sections import templates, write_page

SMALLEST, LARGEST = 2.8, 13.0
#: Members that the label of a dot names.
NAMED = 3


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    members: list[Subject]


class CountFrame:
    """Places counts and rates on the drawing. 0 has a column of its own, left of the decades."""

    def __init__(self, width: int, height: int, most: int) -> None:
        self.plot = Frame(width, height, 46, 14, 14, 56)
        self.y = self.plot.y
        self.decades = max(1, math.ceil(math.log10(most + 1)))

    def x(self, count: float) -> float:
        """1 begins the second column, and each decade is one column wide."""
        return self._column(0.5 if count < 1 else 1 + math.log10(count))

    def column(self, low: int) -> tuple[float, float]:
        """The left and right end of a bin's column."""
        place = 0 if low == 0 else 1 + round(math.log10(low))
        return self._column(place), self._column(place + 1)

    def _column(self, place: float) -> float:
        return self.plot.x(place / (self.decades + 1))


def scatter(
    subjects: Sequence[Subject], bins: Sequence[CaptionBin], width: int, height: int, name: str = ""
) -> Markup:
    """Dots of all subjects, findings on top, and each bin's share with its interval."""
    frame = CountFrame(width, height, max((one.count for one in subjects), default=1))
    usual = dots_of([one for one in subjects if not one.finding], frame)
    found = dots_of([one for one in subjects if one.finding], frame)
    most = max((len(dot.members) for dot in (*usual, *found)), default=1)
    words = f"Failure rate against count of {len(subjects):,} subjects. " + "; ".join(
        f"count {one.label}: {percent(one.share)} failed" for one in bins
    )
    parts = [
        *_grid(frame),
        *(_band(one, frame) for one in bins),
        *(_circle(dot, most, "dot") for dot in usual),
        *(_circle(dot, most, "dot found") for dot in found),
        *(_mean(one, frame) for one in bins),
    ]
    return frame.plot.svg(f"scatter {escape(name)}", parts, words)


def dots_of(subjects: Sequence[Subject], frame: CountFrame, pitch: float = 15.0) -> list[Dot]:
    """Gather subjects on a grid of hexagons; large dots first, so that small ones stay visible."""
    cells: dict[tuple[int, int], list[tuple[float, float, Subject]]] = {}
    for one in subjects:
        x, y = frame.x(one.count), frame.y(one.rate)
        row = round(y / (pitch * 0.866))
        # Every other row is shifted by half a cell.
        cells.setdefault((row, round(x / pitch - row % 2 / 2)), []).append((x, y, one))
    dots = [
        Dot(
            sum(x for x, _, _ in inside) / len(inside),
            sum(y for _, y, _ in inside) / len(inside),
            [one for _, _, one in inside],
        )
        for inside in cells.values()
    ]
    return sorted(dots, key=lambda dot: -len(dot.members))


def radius(members: int, most: int) -> float:
    """Area grows with the number of members; the largest dot fits its cell."""
    largest = min(LARGEST, SMALLEST * math.sqrt(most) * 1.25)
    return max(SMALLEST, largest * math.sqrt(members / most))


def _circle(dot: Dot, most: int, name: str) -> str:
    size = len(dot.members)
    first = dot.members[:NAMED]
    lines = [f"{one.title}: count {one.count:,}, {one.failures} of {one.trials} failed" for one in first]
    if size > NAMED:
        lines.append(f"and {size - NAMED:,} more")
    label = escape("\n".join(lines))
    return (
        f'<circle class="{name}" cx="{dot.x:.1f}" cy="{dot.y:.1f}" r="{radius(size, most):.1f}">'
        f"<title>{label}</title></circle>"
    )


def _band(one: CaptionBin, frame: CountFrame) -> str:
    left, right = frame.column(one.low)
    top, bottom = frame.y(one.interval[1]), frame.y(one.interval[0])
    return (
        f'<rect class="band" x="{left + 3:.1f}" y="{top:.1f}" width="{right - left - 6:.1f}"'
        f' height="{max(1.0, bottom - top):.1f}" rx="3"/>'
    )


def _mean(one: CaptionBin, frame: CountFrame) -> str:
    left, right = frame.column(one.low)
    y = frame.y(one.share)
    words = f"count {one.label}: {percent(one.share)} of {one.trials:,} trials failed"
    return f'<path class="mean" d="M{left + 3:.1f} {y:.1f}H{right - 3:.1f}"><title>{words}</title></path>'


def _grid(frame: CountFrame) -> list[str]:
    plot, floor = frame.plot, frame.y(0)
    parts = [plot.level(rate, f"{rate:.0%}") for rate in QUARTERS]
    parts.append(_tick(frame.x(0), floor, "0"))
    for decade in range(frame.decades + 1):
        x = frame.x(10**decade)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{plot.top}" y2="{floor:.1f}"/>')
        parts.append(_tick(x, floor, _short(10**decade), "end" if x > plot.x(1) - 8 else "middle"))
    middle = f'x="{plot.x(0.5):.1f}" y="{plot.height - 8}" text-anchor="middle"'
    return [*parts, f"<text {middle}>captions that mention it</text>"]


def _tick(x: float, floor: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{floor + 27:.1f}" text-anchor="{anchor}">{text}</text>'


def _short(number: int) -> str:
    """1, 10, 100, 1k, … 1M, … 1G."""
    for size, sign in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number // size:,}{sign}"
    return str(number)


PAGE = "attribution.html"
ROWS = 50


def write_attribution(hunt: HuntReader, scarcity: Scarcity, out: Path | None = None) -> Path:
    """Write the page to file `out` (default: `report/attribution.html` inside the atlas)."""
    path = out if out is not None else hunt.atlas.folder / "report" / PAGE
    return write_page(path, render_attribution(scarcity, hunt.target, str(hunt.atlas.folder)))


def render_attribution(scarcity: Scarcity, target: str, atlas: str) -> str:
    subjects, bins = scarcity.subjects, scarcity.bins
    return (
        templates()
        .get_template("attribution.html")
        .render(
            view=scarcity,
            target=target,
            atlas=atlas,
            # Text in a drawing shrinks with it, so small screens get a drawing of their own.
            wide=scatter(subjects, bins, 1080, 460, "wide"),
            narrow=scatter(subjects, bins, 360, 400, "narrow"),
            rho_bar=rho_bar,
            rows=ROWS,
        )
    )


def rho_bar(rho: float, interval: Span) -> Markup:
    """A correlation with its interval on a scale from -1 to 1."""
    low, high, at = (50 + 50 * max(-1.0, min(1.0, value)) for value in (*interval, rho))
    words = f"correlation {rho:+.2f}, interval {interval[0]:+.2f} to {interval[1]:+.2f}"
    return Markup(
        '<svg class="rho" viewBox="-1 0 102 14" preserveAspectRatio="none" role="img"'
        f' aria-label="{words}"><title>{words}</title><line class="track" x1="0" x2="100" y1="7" y2="7"/>'
        f'<line class="zero" x1="50" x2="50" y1="0" y2="14"/>'
        f'<rect class="span" x="{low:.1f}" y="4" width="{max(0.6, high - low):.1f}" height="6" rx="1"/>'
        f'<rect class="at" x="{at - 0.6:.1f}" y="1.5" width="1.2" height="11" rx=".5"/></svg>'
    )
