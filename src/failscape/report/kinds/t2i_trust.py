"""How far the map can be trusted: replication, audit, calibration, judge, wording, states. Pure.

Each panel is a small dataclass made from a survey's plain data; a part that the hunt lacks has no panel.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from failscape.report.figures.against import Spot, against
from failscape.report.figures.basic import Estimate, Interval, percent, spread
from failscape.report.figures.heat import VAGUE
from failscape.stats.intervals import clopper_pearson
from failscape.stats.judging.accuracy import ALL_OTHERS, JudgeAccuracy
from failscape.stats.judging.errors import Measured

MOST_SPOTS = 200
MOST_LINES = 16
NAMED = 4


@dataclass(frozen=True, slots=True)
class Panel:
    """A heading, a sentence, how to read it; and a large number, a figure, named groups of shares or bars."""

    id: str
    title: str
    says: str
    how: str
    big: str = ""
    beside: str = ""
    figure: Markup | None = None
    groups: tuple[tuple[str, tuple[Estimate, ...]], ...] = ()
    bars: tuple[tuple[str, int], ...] = ()
    names: tuple[str, ...] = ()


def panels(
    survey: dict[str, Any], judge: JudgeAccuracy | None, limit: float | None, allowed_for: bool
) -> list[Panel]:
    """`allowed_for` says whether findings allow for the judge's errors."""
    makers = (
        _replication(survey.get("replication"), limit),
        _audit(survey.get("audit")),
        _calibration(survey.get("calibration") or ()),
        _judge(judge, allowed_for),
        _wording(survey.get("wording")),
        _states(survey.get("counts") or {}),
    )
    return [panel for maker in makers for panel in maker]


def _replication(found: dict[str, Any] | None, limit: float | None) -> Iterator[Panel]:
    if not found or not found["confirmed"]["of"]:
        return
    hits, of, interval = _share(found["confirmed"])
    rows = [row for row in found["rows"] if row["images"]]
    spots = _tried_again([row for row in rows if math.isfinite(row["found_rate"])])
    fresh = f"{percent(found['fresh_rate'])} ({spread(_pair(found['fresh_interval']))})"
    yield Panel(
        "replication",
        "Does it happen again?",
        f"{of} findings, chosen at random, were drawn anew with fresh seeds. {_by_verdict(rows)}Mean failure "
        f"rate when found {percent(found['found_rate'])}, with fresh seeds {fresh}.",
        "Each dot is a finding, a larger one several. Across: the rate at which it failed when it was found. "
        "Up: the rate with fresh seeds. Dots on the line repeat exactly. Dots a little below it are usual: "
        "what was picked for failing looks somewhat worse than it is."
        + (" Above the dashed line the fresh rate counts as failing." if limit is not None else ""),
        percent(hits / of),
        f"fail again, interval {spread(interval)}",
        against(spots, "rate when found", "rate with fresh seeds", limit) if spots else None,
    )


def _by_verdict(rows: Sequence[dict[str, Any]]) -> str:
    """What the fresh pictures alone say; a few pictures leave most findings unclear."""
    counted = Counter(str(row.get("verdict") or "") for row in rows)
    said = [f"{counted[name]} {name}" for name in ("confirmed", "unclear", "refuted") if counted[name]]
    return f"By their few fresh pictures alone: {', '.join(said)}. " if said else ""


def _tried_again(rows: Sequence[dict[str, Any]]) -> list[Spot]:
    """One dot per place: equal ones are joined and grow."""
    places: dict[tuple[float, float], list[str]] = {}
    for row in rows:
        failures, images = int(row["failures"]), int(row["images"])
        place = (round(float(row["found_rate"]), 2), round(failures / images, 2))
        places.setdefault(place, []).append(f"{row['subject']}: {failures} of {images}")
    shown = list(places.items())[:MOST_SPOTS]
    return [Spot(x, y, None, len(names), "\n".join(names[:NAMED])) for (x, y), names in shown]


def _audit(found: dict[str, Any] | None) -> Iterator[Panel]:
    if not found or not found["sampled"]:
        return
    interval = _pair(found["interval"])
    low, high = found["minimal_interval"]
    in_all = f" There are about {found['minimal']:,.0f} in all ({low:,.0f} to {high:,.0f}), found or not."
    yield Panel(
        "audit",
        "What was skipped?",
        f"About {found['skipped']:,} nodes were left out, because something simpler inside them fails or "
        f"because they were never opened. {found['sampled']:,} of them, chosen at random beforehand, were "
        "tried anyway.",
        "A minimal failure fails although everything simpler inside it passes. The number is the share "
        "of all minimal failures that the search closed off by mistake and would never have reported. It "
        "comes from nodes chosen at random before the search began. Near 0 means that skipping cost "
        "nothing.",
        percent(found["missed"]) if interval[1] - interval[0] <= VAGUE else "Too few to tell:",
        f"of minimal failures closed off, interval {spread(interval)}."
        + (in_all if found["minimal"] >= 1 else ""),
    )


def _calibration(bins: Any) -> Iterator[Panel]:
    used = [one for one in bins if one["images"]]
    if not used:
        return
    spots = [
        Spot(
            one["predicted"],
            one["observed"],
            _pair(one["interval"]),
            one["images"],
            f"predicted {percent(one['predicted'])}, seen {percent(one['observed'])} "
            f"({spread(_pair(one['interval']))}) on {one['images']:,} pictures",
        )
        for one in used
    ]
    inside = sum(one["interval"][0] <= one["predicted"] <= one["interval"][1] for one in used)
    yield Panel(
        "calibration",
        "Are the predictions right?",
        f"The search predicts how often a node passes before it looks. On nodes that it did not choose, "
        f"{inside} of {len(used)} groups of predictions lie within the interval of what was seen.",
        "Each dot gathers nodes with about the same prediction; larger dots hold more pictures. On the "
        "line, prediction and pictures agree. Predictions only decide where to look next: findings do "
        "not rest on them.",
        figure=against(spots, "predicted pass rate", "seen"),
    )


def _judge(judge: JudgeAccuracy | None, allowed_for: bool) -> Iterator[Panel]:
    if judge is None or not judge.kinds:
        return
    names = sorted(judge.kinds, key=lambda kind: (kind == ALL_OTHERS, kind))[:MOST_LINES]
    there = tuple(_accuracy(kind, judge.kinds[kind].sensitivity) for kind in names)
    missing = tuple(_accuracy(kind, judge.kinds[kind].specificity) for kind in names)
    yield Panel(
        "judge",
        "How good is the judge?",
        ("Findings allow for the errors of the judge" if allowed_for else "Rates are as the judge saw them")
        + (f". Its accuracy: {judge.source}." if judge.source else "."),
        "The first list: of checks that truly hold, the share that the judge confirms. The second: of "
        "checks that do not hold, the share that it rejects. A judge that errs often makes failures "
        "harder to prove. Where findings allow for its errors, a failure is only certified if they "
        "cannot explain it.",
        groups=(("Sees what is there", there), ("Sees what is missing", missing)),
    )


def _accuracy(kind: str, measured: Measured) -> Estimate:
    name = "all other checks" if kind == ALL_OTHERS else kind
    if measured.exact:
        return Estimate(name, measured.rate, (measured.rate, measured.rate), "taken as exact", good=True)
    low, high = clopper_pearson(measured.rate * measured.of, measured.of)
    return Estimate(name, measured.rate, (float(low), float(high)), f"{measured.of:,.0f} labelled", good=True)


def _wording(found: dict[str, Any] | None) -> Iterator[Panel]:
    if not found or not found["nodes"]:
        return
    differs = found["p_value"] < 0.05
    lines = []
    for at, share in enumerate(found["variants"]):
        hits, of, interval = _share(share)
        if of:
            lines.append(Estimate(f"wording {at + 1}", hits / of, interval, f"{of:,} pictures", good=True))
    yield Panel(
        "wording",
        "Is it the concept or the words?",
        f"{found['nodes']:,} nodes were asked for in other words. "
        + ("The words make a difference" if differs else "No difference between wordings was found")
        + f" (p = {found['p_value']:.2g}).",
        "Pass rate by wording, over the same nodes. Bars that overlap: the failures belong to the "
        "concept. One bar far below the others: part of them belongs to that way of asking.",
        groups=(("", tuple(lines)),),
        names=tuple(str(one) for one in found.get("worst", ()))[:5],
    )


def _states(counts: dict[str, int]) -> Iterator[Panel]:
    bars = tuple((name, number) for name, number in counts.items() if number)
    if bars:
        yield Panel(
            "states",
            "What became of the nodes?",
            "Nodes by what the search knows about them at the end.",
            "A node is opened when its first picture is asked for. A failing node is only known to be "
            "minimal once everything simpler inside it passes. Nodes that are not decided had too few "
            "pictures, or lie near the threshold.",
            bars=bars,
        )


def _share(found: dict[str, Any]) -> tuple[float, int, Interval]:
    return float(found["hits"]), int(found["of"]), _pair(found["interval"])


def _pair(interval: Any) -> Interval:
    low, high = interval
    return float(low), float(high)
