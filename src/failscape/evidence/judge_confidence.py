"""How sure the judge of a hunt was, as its replies said: beside what people labelled, and by finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.reviews import UNSURE, YES, decider_of, items_of, labels_of, reviews_of, settle
from failscape.stats.judging.confidence import (
    LabelledChance,
    best_thresholds,
    calibration_error,
    soft_accuracy,
    soft_evidence,
)
from failscape.trials import Decide, Finding, Verdict


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
        is_bet = stored.trial.key.rpartition("#")[2].isdecimal()
        if not is_bet or stored.trial.verdict not in (Verdict.PASS, Verdict.FAIL):
            continue
        keys = [call.key for call in stored.calls]
        chances = next(iter(atlas.confidences(keys).values()), ())
        if chances:
            kinds = [check.kind for step in stored.steps if isinstance(step, Decide) for check in step.checks]
            passed.append(prod(chances))
    return kinds, passed
