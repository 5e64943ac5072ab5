"""How far a t2i hunt can be trusted: the audit of its list, what pruning lost, its judge, wording, states.

Each part of the survey becomes one box; a part that the hunt lacks has none.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from markupsafe import Markup

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.judging import UNSURE, YES, decider_of, items_of, labels_of, reviews_of, settle
from failscape.kinds.t2i.purposes import EVIDENCE
from failscape.kinds.t2i.survey.survey import (
    Audit,
    CalibrationBin,
    ListAudit,
    PassingSpace,
    Replicated,
    Replication,
    Share,
    T2ISurvey,
    WordingEffect,
)
from failscape.shown_numbers import lower_bound
from failscape.stats.intervals import exact_interval
from failscape.stats.judging.accuracy import ALL_OTHERS, JudgeAccuracy
from failscape.stats.judging.confidence import (
    LabelledChance,
    best_thresholds,
    calibration_curve,
    calibration_error,
    soft_accuracy,
    soft_evidence,
)
from failscape.stats.judging.errors import Measured
from failscape.stats.nuisance import Nuisance, nuisance_effect
from failscape.trials import Decide, Finding, Verdict
from failscape.views.figures.basic import Estimate, Spot, against
from failscape.views.figures.heat import VAGUE
from failscape.views.read.numbers import percent, spread


@dataclass(frozen=True, slots=True)
class SoftEvidence:
    """A finding with each of its pictures counted by confidence: mean failure, and log e beside the usual."""

    subject: str
    rate: float
    log_e: float
    pictures: int


@dataclass(frozen=True, slots=True)
class JudgeConfidence:
    """`labelled` are checks with a label and a chance; `findings` are weighed only where that is valid."""

    labelled: tuple[LabelledChance, ...]
    error: float
    thresholds: dict[str, float]
    findings: tuple[SoftEvidence, ...]


def judge_confidence(atlas: Atlas, row: HuntRow, findings: Sequence[Finding]) -> JudgeConfidence | None:
    """`None` where the judge never said how sure it was, or nobody has labelled its checks."""
    judge = decider_of(row)
    if judge is None:
        return None
    labelled = tuple(_labelled(atlas, row, judge.digest))
    if not labelled:
        return None
    soft, threshold = soft_accuracy(labelled), (row.config.get("search") or {}).get("threshold")
    weighed = []
    for finding in findings if soft is not None and isinstance(threshold, float) else ():
        kinds, passed = _chances(atlas, row.id, finding.subject)
        if soft is not None and passed and isinstance(threshold, float):
            log_e = soft_evidence(passed, soft.limits(kinds, threshold).fail)
            weighed.append(SoftEvidence(finding.subject, 1 - sum(passed) / len(passed), log_e, len(passed)))
    return JudgeConfidence(labelled, calibration_error(labelled), best_thresholds(labelled), tuple(weighed))


def _labelled(atlas: Atlas, row: HuntRow, judge: str) -> list[LabelledChance]:
    found: list[LabelledChance] = []
    for review in reviews_of(atlas, judge):
        if review.hunt != row.id:
            continue
        agreed = settle(labels_of(atlas, review.uid))
        for item in items_of(atlas, review.uid):
            label = agreed.get(item.item, UNSURE)
            if label != UNSURE:
                chances = _of_trial(atlas, row.id, item.trial)
                if item.place < len(chances):
                    found.append(LabelledChance(item.kind, chances[item.place], label == YES))
    return found


def _of_trial(atlas: Atlas, hunt: int, key: str) -> tuple[float, ...]:
    """How sure the judge was of each check of a trial; nothing where it did not say."""
    with atlas.reading() as db:
        row = db.execute("SELECT calls FROM trials WHERE hunt = ? AND key = ?", (hunt, key)).fetchone()
    keys = [row[0][at : at + 16] for at in range(0, len(row[0]), 16)] if row else []
    return next(iter(atlas.confidences(keys).values()), ()) if keys else ()


def _chances(atlas: Atlas, hunt: int, subject: str) -> tuple[list[str], list[float]]:
    """Kinds of the checks of a subject, and for each picture that is evidence the chance of all together."""
    kinds: list[str] = []
    passed: list[float] = []
    for stored in atlas.trials(hunt, subject=subject):
        if not EVIDENCE.is_of(stored.trial.key) or stored.trial.verdict not in (Verdict.PASS, Verdict.FAIL):
            continue
        keys = [call.key for call in stored.calls]
        chances = next(iter(atlas.confidences(keys).values()), ())
        if chances:
            kinds = [check.kind for step in stored.steps if isinstance(step, Decide) for check in step.checks]
            passed.append(prod(chances))
    return kinds, passed


MOST_SPOTS = 200
#: log e of what a single test at 5 % would believe.
PROVEN = math.log(20)

MOST_LINES = 16
NAMED = 4


@dataclass(frozen=True, slots=True)
class TrustBox:
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


def trust_boxes(
    survey: T2ISurvey,
    judge: JudgeAccuracy | None,
    limit: float | None,
    allowed_for: bool,
    sure: JudgeConfidence | None = None,
) -> list[TrustBox]:
    """`allowed_for` says whether findings allow for the judge's errors; `sure`, what it said of its own."""
    makers = (
        _passing(survey.passing),
        _list_audit(survey.list_audit),
        _replication(survey.replication, limit),
        _audit(survey.audit),
        _calibration(survey.calibration),
        _judge(judge, allowed_for),
        _confidence(sure),
        _wording(survey.wording),
        _states(survey.counts),
    )
    return [box for maker in makers for box in maker]


def _passing(found: PassingSpace | None) -> Iterator[TrustBox]:
    if found is None:
        return
    yield TrustBox(
        "passing",
        "How little fails?",
        found.sentence,
        "Nodes were drawn at random before the search began; their pictures bound how often a random request "
        "fails, as judged. A node counts as failing below the threshold, so few nodes can fail where few "
        "requests do. Entities are bounded one by one, by all of their pictures. Nothing is said of single "
        "values and combinations: each of them has too few pictures.",
        f"≤ {math.ceil(100 * found.requests_at_most - 1e-9)}%",
        f"of random requests fail; {found.images:,} pictures of random nodes",
    )


def _list_audit(found: ListAudit | None) -> Iterator[TrustBox]:
    if found is None:
        return
    whole = found.parts[-1]
    failing = tuple(
        Estimate(
            f"surest {percent(part.surest)}" if part.surest < 1 else "all",
            part.failing_at_least,
            (part.failing_at_least, 1.0),
            f"{part.findings:,} findings, {part.confirmed:,} of {part.audited:,} audited confirmed",
        )
        for part in found.parts
        if part.audited
    )
    minimal = tuple(
        Estimate(
            f"surest {percent(part.surest)}" if part.surest < 1 else "all",
            part.minimal_at_least,
            (part.minimal_at_least, 1.0),
            f"{part.findings:,} findings, {part.minimal:,} of {part.audited_inside:,} audited confirmed",
        )
        for part in found.parts
        if part.minimal_at_least is not None and part.audited_inside
    )
    # A list of prompts has nothing simpler inside its findings.
    layered = whole.minimal_at_least is not None
    inside = ", and where pictures sufficed also what is simpler inside each finding" if layered else ""
    groups = [("At least so many fail", failing), ("At least so many are minimal", minimal)]
    yield TrustBox(
        "list-audit",
        "How much of the list is right?",
        f"{found.sentence} {_against(found)}".strip(),
        f"A random sample of the list was tested with fresh pictures{inside}. No belief of the search "
        "enters. What the pictures did not confirm counts against the list, so the true shares are usually "
        "higher. Each line holds with 95% confidence; for a share that you fix beforehand, read down to the "
        "first line below it: all lines above hold together.",
        f"≥ {lower_bound(whole.failing_at_least)}" if found.findings > 1 else "",
        f"of the list fail; {found.images:,} fresh pictures" if found.findings > 1 else "",
        groups=tuple((name, lines) for name, lines in groups if lines) if found.findings > 1 else (),
    )


def _against(found: ListAudit) -> str:
    """Which audited findings the fresh pictures contradict."""
    said = ""
    if found.refuted:
        names = "; ".join(found.refuted[:NAMED])
        said += f"Fresh pictures contradict {len(found.refuted):,} of the audited: {names}. "
    if found.not_minimal:
        names = "; ".join(found.not_minimal[:NAMED])
        said += f"Something simpler fails inside {len(found.not_minimal):,} of the audited: {names}."
    return said


def _replication(found: Replication | None, limit: float | None) -> Iterator[TrustBox]:
    if found is None or not found.confirmed.of:
        return
    confirmed = found.confirmed
    rows = [row for row in found.rows if row.images]
    spots = _tried_again([row for row in rows if math.isfinite(row.found_rate)])
    fresh = f"{percent(found.fresh_rate)} ({spread(found.fresh_interval)})"
    who, were = ("finding", "was") if confirmed.of == 1 else ("findings", "were")
    yield TrustBox(
        "replication",
        "Does it happen again?",
        f"{confirmed.of} {who}, chosen at random, {were} drawn anew with fresh seeds. {_by_verdict(rows)}"
        f"Mean failure rate when found {percent(found.found_rate)}, with fresh seeds {fresh}."
        f"{_parents_again(found.parents)}",
        "Each dot is a finding, a larger one several. Across: the rate at which it failed when it was found. "
        "Up: the rate with fresh seeds. Dots on the line repeat exactly. Dots a little below it are usual: "
        "what was picked for failing looks somewhat worse than it is."
        + (" Above the dashed line the fresh rate counts as failing." if limit is not None else ""),
        percent(confirmed.rate),
        f"fail again, interval {spread(confirmed.interval)}",
        against(spots, "rate when found", "rate with fresh seeds", limit) if spots else None,
    )


def _parents_again(parents: Share | None) -> str:
    """That findings are minimal rests on the simpler nodes inside them: do these pass again?"""
    if parents is None:
        return ""
    passing = f"{percent(parents.rate)} ({spread(parents.interval)})"
    return f" {parents.of} simpler nodes inside them were drawn anew too: {passing} of those pass."


def _by_verdict(rows: Sequence[Replicated]) -> str:
    """What the fresh pictures alone say; a few pictures leave most findings unclear."""
    counted = Counter(row.verdict for row in rows)
    said = [f"{counted[name]} {name}" for name in ("confirmed", "unclear", "refuted") if counted[name]]
    return f"By their few fresh pictures alone: {', '.join(said)}. " if said else ""


def _tried_again(rows: Sequence[Replicated]) -> list[Spot]:
    """One dot per place: equal ones are joined and grow."""
    places: dict[tuple[float, float], list[str]] = {}
    for row in rows:
        place = (round(row.found_rate, 2), round(row.failures / row.images, 2))
        places.setdefault(place, []).append(f"{row.subject}: {row.failures} of {row.images}")
    shown = list(places.items())[:MOST_SPOTS]
    return [Spot(x, y, None, len(names), "\n".join(names[:NAMED])) for (x, y), names in shown]


def _audit(found: Audit | None) -> Iterator[TrustBox]:
    if found is None or not found.sampled:
        return
    low, high = found.minimal_interval
    width = found.interval[1] - found.interval[0]
    in_all = f" There are about {found.minimal:,.0f} in all ({low:,.0f} to {high:,.0f}), found or not."
    yield TrustBox(
        "audit",
        "What was skipped?",
        f"About {found.skipped:,} nodes were left out, because something simpler inside them fails or "
        f"because they were never opened. {found.sampled:,} of them, chosen at random beforehand, were "
        "tried anyway.",
        "A minimal failure fails although everything simpler inside it passes. The number is the share "
        "of all minimal failures that the search closed off by mistake and would never have reported. It "
        "comes from nodes chosen at random before the search began. Near 0 means that skipping cost "
        "nothing.",
        percent(found.missed) if width <= VAGUE else "Too few to tell:",
        f"of minimal failures closed off, interval {spread(found.interval)}."
        + (in_all if found.minimal >= 1 else ""),
    )


def _calibration(bins: Sequence[CalibrationBin]) -> Iterator[TrustBox]:
    used = [one for one in bins if one.images]
    if not used:
        return
    spots = [
        Spot(
            one.predicted,
            one.observed,
            one.interval,
            one.images,
            f"predicted {percent(one.predicted)}, seen {percent(one.observed)} "
            f"({spread(one.interval)}) on {one.images:,} pictures",
        )
        for one in used
    ]
    inside = sum(one.interval[0] <= one.predicted <= one.interval[1] for one in used)
    yield TrustBox(
        "calibration",
        "Are the predictions right?",
        f"The search predicts how often a node passes before it looks. On nodes that it did not choose, "
        f"{inside} of {len(used)} groups of predictions lie within the interval of what was seen.",
        "Each dot gathers nodes with about the same prediction; larger dots hold more pictures. On the "
        "line, prediction and pictures agree. Predictions only decide where to look next: findings do "
        "not rest on them.",
        figure=against(spots, "predicted pass rate", "seen"),
    )


def _judge(judge: JudgeAccuracy | None, allowed_for: bool) -> Iterator[TrustBox]:
    if judge is None or not judge.kinds:
        return
    names = sorted(judge.kinds, key=lambda kind: (kind == ALL_OTHERS, kind))[:MOST_LINES]
    there = tuple(_accuracy(kind, judge.kinds[kind].sensitivity) for kind in names)
    missing = tuple(_accuracy(kind, judge.kinds[kind].specificity) for kind in names)
    yield TrustBox(
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


def _confidence(found: JudgeConfidence | None) -> Iterator[TrustBox]:
    if found is None:
        return
    spots = [
        Spot(point.chance, point.share, point.interval, point.checks, f"{point.checks} checks")
        for point in calibration_curve(found.labelled)
    ]
    thresholds = ", ".join(f"{kind}: {threshold:g}" for kind, threshold in found.thresholds.items())
    proven = sum(one.log_e >= PROVEN for one in found.findings)
    weighed = (
        f" With each picture counted by its confidence, {proven} of {len(found.findings)} findings keep an "
        "e-value of 20 or more by themselves."
        if found.findings
        else " There are too few labels to count pictures by it."
    )
    yield TrustBox(
        "confidence",
        "Does the judge know when it is sure?",
        f"{len(found.labelled):,} checks have a label and the judge's own confidence. What it says is off by "
        f"{percent(found.error)} on average.{weighed}"
        + (f" Fewest mistakes on these labels with `thresholds`: {thresholds}." if thresholds else ""),
        "Across: how sure the judge said it was that a check holds. Up: how often people agree. On the line, "
        "its confidence can be taken at its word; far below the line at the right, it is too sure of itself.",
        figure=against(spots, "says it holds", "holds"),
    )


def _accuracy(kind: str, measured: Measured) -> Estimate:
    name = "all other checks" if kind == ALL_OTHERS else kind
    if measured.exact:
        return Estimate(name, measured.rate, (measured.rate, measured.rate), "taken as exact", good=True)
    interval = exact_interval(measured.rate * measured.of, measured.of)
    return Estimate(name, measured.rate, interval, f"{measured.of:,.0f} labelled", good=True)


def _wording(found: WordingEffect | None) -> Iterator[TrustBox]:
    if found is None or not found.nodes:
        return
    differs = found.p_value < 0.05
    lines = []
    for at, share in enumerate(found.variants):
        if share.of:
            words = f"{share.of:,} pictures"
            lines.append(Estimate(f"wording {at + 1}", share.rate, share.interval, words, good=True))
    yield TrustBox(
        "wording",
        "Is it the concept or the words?",
        f"{found.nodes:,} nodes were asked for in other words. "
        + ("The words make a difference" if differs else "No difference between wordings was found")
        + f" (p = {found.p_value:.2g}).",
        "Pass rate by wording, over the same nodes. Bars that overlap: the failures belong to the "
        "concept. One bar far below the others: part of them belongs to that way of asking.",
        groups=(("", tuple(lines)),),
        names=found.worst[:5],
    )


def _states(counts: Mapping[str, int]) -> Iterator[TrustBox]:
    bars = tuple((name, number) for name, number in counts.items() if number)
    if bars:
        yield TrustBox(
            "states",
            "What became of the nodes?",
            "Nodes by what the search knows about them at the end.",
            "A node is opened when its first picture is asked for. A failing node is only known to be "
            "minimal once everything simpler inside it passes. Nodes that are not decided had too few "
            "pictures, or lie near the threshold.",
            bars=bars,
        )


# Wording, from the prompts that were sent: it holds for every strategy.

#: Below this p-value the wording matters somewhere.
CONCERN = 0.05


def wording_notes(atlas: Atlas, row: HuntRow) -> Iterator[str]:
    """One or two sentences, for a hunt whose wording was varied."""
    if (row.config.get("space") or {}).get("wording") != "vary":
        return
    found = nuisance_effect(list(counts_by_wording(atlas, row.id)))
    if found is None:
        yield "Every node was asked for in several wordings, but too few pictures tell what that does."
    else:
        yield _sentence(found)


def counts_by_wording(atlas: Atlas, hunt_id: int) -> Iterator[Sequence[tuple[int, int]]]:
    """Passes and failures of each subject, by what was asked for."""
    query = (
        "SELECT subject, sum(verdict = 'pass'), sum(verdict = 'fail') FROM trials"
        " WHERE hunt = ? AND verdict IN ('pass', 'fail') GROUP BY subject, plan ORDER BY subject, plan"
    )
    with atlas.reading() as db:
        rows = db.execute(query, (hunt_id,)).fetchall()
    subject, levels = None, list[tuple[int, int]]()
    for name, passes, fails in rows:
        if name != subject and levels:
            yield levels
            levels = []
        subject = name
        levels.append((passes, fails))
    if levels:
        yield levels


def _sentence(found: Nuisance) -> str:
    told = f"{found.units:,} nodes and {found.trials:,} pictures tell"
    low, high = (percent(end) for end in found.interval)
    if found.p_value > CONCERN:
        return (
            f"Every node was asked for in several wordings ({told}). There is no sign that the wording "
            "matters: the failures belong to the concepts. If the rate of failure differs between the "
            f"wordings of one node, then by {high} at most (standard deviation, upper end of a 95% interval)."
        )
    return (
        f"Every node was asked for in several wordings ({told}). The wording matters: the rate of failure "
        f"differs between the wordings of one node by {percent(found.spread)} (standard deviation beyond "
        f"chance, 95% interval {low} to {high}; p = {found.p_value:.3g})."
    )
