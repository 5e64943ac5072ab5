"""Does failure follow data scarcity? Joins what a hunt tried with counts of training data; writes the page.

It relates; it does not prove a cause: subjects that are rare in the data may also be hard, and a hunt tries
what it expects to fail. Pure, apart from reading the atlas and writing the one static HTML file that opens
from disk.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from failscape.atlas.files import output_folder
from failscape.errors import ConfigError
from failscape.spaces.lattice import split_subject
from failscape.stats.intervals import clopper_pearson, grouped_share
from failscape.stats.ranks import rank_correlation
from failscape.trials import Finding
from failscape.views.attribution.counts import MentionCounts, key_of, layer_of
from failscape.views.figures.basic import QUARTERS, Frame
from failscape.views.pages.sections import templates, write_page
from failscape.views.read import HuntEvidence, HuntReader, SubjectCounts
from failscape.views.read.numbers import percent

LEVEL = 0.95
#: With fewer entities than this (unequal ones count less), subjects are the units of an interval.
FEWEST_ENTITIES = 5
#: A failure rate up to this counts as passing, where the settings name no threshold.
PASSING = 0.2

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class CaptionedSubject:
    """What was tried, how it went, and how many captions mention it."""

    subject: str
    title: str
    entity: str
    layer: int
    count: int
    trials: int
    failures: int
    finding: bool

    @property
    def rate(self) -> float:
        return self.failures / self.trials


@dataclass(frozen=True, slots=True)
class Relation:
    """Rank correlation of count against failure rate. `layer` is the number of values, `None` for all.

    `rho` is `None` when all counts, or all rates, are equal.
    """

    layer: int | None
    subjects: int
    unit: str
    units: int
    rho: float | None
    interval: Span

    @property
    def sign(self) -> int:
        """-1 when failure clearly goes with scarcity, 1 with plenty, 0 when the interval holds 0."""
        if self.rho is None or self.interval[0] <= 0 <= self.interval[1]:
            return 0
        return -1 if self.interval[1] < 0 else 1


@dataclass(frozen=True, slots=True)
class CaptionBin:
    """Subjects whose count lies in `low` … `high`; `share` of their valid trials failed."""

    low: int
    high: int
    subjects: int
    findings: int
    trials: int
    failures: int
    share: float
    interval: Span

    @property
    def label(self) -> str:
        return f"{self.low:,}–{self.high:,}" if self.high > self.low else f"{self.low:,}"


@dataclass(frozen=True, slots=True)
class Odd:
    """A subject that goes against the rule. `above` is the share of tried subjects with a smaller count."""

    subject: str
    title: str
    count: int
    above: float
    trials: int
    failures: int
    rate: float
    interval: Span
    status: str = ""
    e_value: float | None = None


@dataclass(frozen=True, slots=True)
class Scarcity:
    """All that is said, as plain data.

    `untried` subjects had no valid trial; `uncounted` ones have more values than anything that was counted.
    """

    hunt: int
    source: str
    captions: int | None
    level: float
    limit: float
    subjects: list[CaptionedSubject]
    untried: int
    uncounted: int
    relations: list[Relation]
    bins: list[CaptionBin]
    frequent_failing: list[Odd]
    rare_passing: list[Odd]

    @property
    def overall(self) -> Relation:
        return self.relations[0]

    @property
    def layers(self) -> list[Relation]:
        return self.relations[1:]

    @property
    def verdict(self) -> str:
        """One sentence. A rare subject often asks for more values, so layers have a say of their own."""
        sign, within = self.overall.sign, [layer.sign for layer in self.layers if layer.rho is not None]
        apart = len(self.layers) > 1 and sign not in within
        told = (
            (self.overall.rho is None, "Nothing can be said: all counts, or all failure rates, are equal."),
            (sign == 0, "No clear relation between scarcity and failure."),
            (apart, "Rare subjects fail differently, but not among subjects with equally many values."),
            (sign > 0, "Failure does not follow scarcity: frequent subjects fail more often."),
            (1 in within, "Failure follows scarcity over all, but not at every number of values."),
            (True, "Failure follows scarcity: rare subjects fail more often."),
        )
        return next(sentence for holds, sentence in told if holds)

    def as_data(self) -> dict[str, Any]:
        data = asdict(self)
        return {"hunt": data.pop("hunt"), "verdict": self.verdict, **data}


def relate(hunt: HuntEvidence, counts: MentionCounts) -> Scarcity:
    """Join a hunt with counts. A finding has the rate that every screen shows of it; any other subject that
    of all its trials in the search."""
    most = PASSING if hunt.limit is None else hunt.limit
    tried = {one.subject: one for one in hunt.subjects()}
    findings = {finding.subject: finding for finding in hunt.findings}
    subjects, untried, uncounted = [], 0, 0
    for subject, seen in tried.items():
        count, finding = counts.of(subject), findings.get(subject)
        if not seen.valid:
            untried += 1
        elif count is None:
            uncounted += 1
        else:
            subjects.append(_subject(seen, count, finding))
    # Counts of which none fits are a mistake, and would look like a hunt without any training data.
    known = [key_of(subject) for subject in tried]
    if not any(key in counts.numbers for key in known):
        theirs, ours = next(iter(counts.numbers), ""), next(iter(tried), "")
        raise ConfigError(
            f"{counts.source} counts {len(counts.numbers):,} subjects, such as {theirs!r}, "
            "but none of them was tried in this hunt",
            f"write subjects as the atlas does, such as {ours!r}",
        )
    return Scarcity(
        hunt=hunt.row.id,
        source=counts.source,
        captions=counts.captions,
        level=LEVEL,
        limit=most,
        subjects=subjects,
        untried=untried,
        uncounted=uncounted,
        relations=_relations(subjects),
        bins=_bins(subjects),
        frequent_failing=_frequent_failing(subjects, findings),
        rare_passing=_rare_passing(subjects, most),
    )


def _subject(seen: SubjectCounts, count: int, finding: Finding | None) -> CaptionedSubject:
    subject = seen.subject
    entity, pairs = split_subject(subject)
    values = ", ".join(value for _, value in pairs)
    failures, trials = (finding.failures, finding.trials) if finding else (seen.fails, seen.valid)
    return CaptionedSubject(
        subject,
        f"{entity}: {values}" if values else entity,
        entity,
        layer_of(subject),
        count,
        trials,
        failures,
        finding is not None,
    )


def _relations(subjects: Sequence[CaptionedSubject]) -> list[Relation]:
    layers = sorted({subject.layer for subject in subjects})
    return [
        _relation(None, subjects),
        *(_relation(layer, [one for one in subjects if one.layer == layer]) for layer in layers),
    ]


def _relation(layer: int | None, subjects: Sequence[CaptionedSubject]) -> Relation:
    unit, units = _units(subjects)
    # Ranks of log-frequency are ranks of counts, with 0 in the lowest place.
    found = rank_correlation([one.count for one in subjects], [one.rate for one in subjects], units, LEVEL)
    rho = found.rho if found.defined else None
    return Relation(layer, len(subjects), unit, found.units, rho, (found.low, found.high))


def _units(subjects: Sequence[CaptionedSubject]) -> tuple[str, list[str]]:
    """Subjects of one entity are alike, so entities are what is sampled, unless too few carry the weight."""
    entities = [one.entity for one in subjects]
    squares = sum(size**2 for size in Counter(entities).values())
    # n² / Σ n_e² is the number of entities when all have equally many subjects, and near 1 when one has most.
    if subjects and len(subjects) ** 2 / squares >= FEWEST_ENTITIES:
        return "entity", entities
    return "subject", [one.subject for one in subjects]


def bin_edges(most: int) -> list[tuple[int, int]]:
    """0, 1–9, 10–99, … up to the largest count."""
    edges, low = [(0, 0)], 1
    while low <= most:
        edges.append((low, low * 10 - 1))
        low *= 10
    return edges


def _bins(subjects: Sequence[CaptionedSubject]) -> list[CaptionBin]:
    bins = []
    for low, high in bin_edges(max((one.count for one in subjects), default=0)):
        inside = [one for one in subjects if low <= one.count <= high]
        if inside:
            failures, trials = [one.failures for one in inside], [one.trials for one in inside]
            share, interval = grouped_share(failures, trials, _units(inside)[1], LEVEL)
            found = sum(one.finding for one in inside)
            bins.append(
                CaptionBin(low, high, len(inside), found, sum(trials), sum(failures), share, interval)
            )
    return bins


def thirds(subjects: Sequence[CaptionedSubject]) -> tuple[int, int]:
    """The largest count of the rarest third and the smallest of the most frequent third."""
    counts = sorted(one.count for one in subjects)
    size = -(-len(counts) // 3)
    return (counts[size - 1], counts[-size]) if counts else (0, 0)


def _frequent_failing(subjects: Sequence[CaptionedSubject], findings: dict[str, Finding]) -> list[Odd]:
    """Findings come most certain first, and stay so."""
    rare, frequent = thirds(subjects)
    chosen = {one.subject: one for one in subjects if one.finding and rare < one.count >= frequent}
    return _odd(subjects, [chosen[subject] for subject in findings if subject in chosen], findings)


def _rare_passing(subjects: Sequence[CaptionedSubject], limit: float) -> list[Odd]:
    rare, frequent = thirds(subjects)
    chosen = [
        one
        for one in subjects
        if not one.finding and one.rate <= limit + 1e-9 and frequent > one.count <= rare
    ]
    odd = _odd(subjects, chosen, {})
    return sorted(odd, key=lambda one: (one.interval[1], one.count, one.subject))


def _odd(
    subjects: Sequence[CaptionedSubject], chosen: Sequence[CaptionedSubject], findings: dict[str, Finding]
) -> list[Odd]:
    if not chosen:
        return []
    counts = np.sort([one.count for one in subjects])
    above = np.searchsorted(counts, [one.count for one in chosen], side="left") / len(counts)
    low, high = clopper_pearson([one.failures for one in chosen], [one.trials for one in chosen], LEVEL)
    odd = []
    for at, one in enumerate(chosen):
        finding = findings.get(one.subject)
        span = (float(low[at]), float(high[at]))
        odd.append(
            Odd(
                one.subject,
                one.title,
                one.count,
                float(above[at]),
                one.trials,
                one.failures,
                one.rate,
                finding.interval if finding else span,
                finding.status if finding else "",
                finding.e_value if finding else None,
            )
        )
    return odd


SMALLEST, LARGEST = 2.8, 13.0
#: Members that the label of a dot names.
NAMED = 3


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    members: list[CaptionedSubject]


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
    subjects: Sequence[CaptionedSubject], bins: Sequence[CaptionBin], width: int, height: int, name: str = ""
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


def dots_of(subjects: Sequence[CaptionedSubject], frame: CountFrame, pitch: float = 15.0) -> list[Dot]:
    """Gather subjects on a grid of hexagons; large dots first, so that small ones stay visible."""
    cells: dict[tuple[int, int], list[tuple[float, float, CaptionedSubject]]] = {}
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
    path = out if out is not None else output_folder(hunt.atlas.folder, "report") / PAGE
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
