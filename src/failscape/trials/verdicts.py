"""The one rule that turns the facts of a probe's steps into a verdict, and what exactly was missed.

`missed_by` is the data, `reach_verdict` the verdict with a sentence for people. No code reads the sentence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from failscape.trials.steps import Answer, Check, Classify, Decide, ExpectChange, Facts, Step, Verify


class Verdict(StrEnum):
    """`NONE` is for probes that test nothing (a caption, a list of proposed questions)."""

    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"
    NONE = "none"


class MissedHow(Enum):
    """In which way something was missed, and the verdict that follows."""

    #: It should be there and is not, or is something else: the trial fails.
    WRONG = Verdict.FAIL, "wrong"
    #: What the trial is about is not in the picture: the trial is invalid.
    NOT_SHOWN = Verdict.INVALID, "not shown"
    #: Nobody could decide: the trial is invalid.
    UNDECIDED = Verdict.INVALID, "undecided"
    #: The question has no right answer: the trial is invalid.
    NO_QUESTION = Verdict.INVALID, "not a valid question"

    @property
    def verdict(self) -> Verdict:
        return self.value[0]


@dataclass(frozen=True, slots=True)
class Missed:
    """One thing that a trial did not bring.

    Attributes:
        role: The role that decided it: a judge's check, a classifier's label, a verifier's answer.
        check: The kind of the check (`entity`, `Base: Colour`), `label` or `answer`.
        expected: What should be there; `""` where that is not known.
        seen: What was there instead; `""` where the judge only says that it is not what was expected.
        how: Wrong, not shown, undecided, or not a valid question.
        said: What the verifier said about it, in its own words.
    """

    role: str
    check: str
    expected: str
    seen: str = ""
    how: MissedHow = MissedHow.WRONG
    said: str = ""


def missed_by(steps: Sequence[Step], facts: Sequence[Facts]) -> tuple[Missed, ...]:
    """What a trial missed. Where it is invalid, the one thing that made it so; empty where it passed.

    A step whose reply could not be used has no facts (`None`): of it, nothing is known to be missed.
    """
    found: list[Missed] = []
    answer = ""
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Answer):
            answer = str(fact)
        missed = [] if fact is None else _missed_in(step, fact, answer)
        for one in missed:
            if one.how.verdict is Verdict.INVALID:
                return (one,)
        found += missed
    return tuple(found)


def reach_verdict(steps: Sequence[Step], facts: Sequence[Facts]) -> tuple[Verdict, str]:
    """The verdict of a probe, and why, from the facts of the steps that ran (perhaps not yet all).

    Invalid wins over fail, fail over pass. A step that tests nothing leaves the verdict as it was.
    """
    verdict = Verdict.NONE
    reasons: list[str] = []
    for step, fact in zip(steps, facts, strict=False):
        missed = _missed_in(step, fact)
        for one in missed:
            if one.how.verdict is Verdict.INVALID:
                return Verdict.INVALID, _reason_of(step, missed)
        if missed:
            verdict = Verdict.FAIL
            reasons.append(_reason_of(step, missed))
        elif verdict is Verdict.NONE and _tests_something(step):
            verdict = Verdict.PASS
    return verdict, "; ".join(reasons)


def is_not_shown(steps: Sequence[Step], facts: Sequence[Facts]) -> bool:
    """Whether a trial is invalid because what it is about is not in the picture."""
    return any(one.how is MissedHow.NOT_SHOWN for one in missed_by(steps, facts))


def _tests_something(step: Step) -> bool:
    if isinstance(step, Decide):
        return not all(check.gate or check.note for check in step.checks)
    return isinstance(step, Classify | Verify | ExpectChange)


def _missed_in(step: Step, fact: Facts, answer: str = "") -> list[Missed]:
    if isinstance(step, Decide):
        return list(_missed_checks(step.checks, fact))
    if isinstance(step, Classify):
        return list(_missed_label(step, fact))
    if isinstance(step, Verify | ExpectChange):
        return list(_missed_answer(step, fact, answer))
    return []


def _missed_checks(checks: Sequence[Check], fact: Sequence[bool | None]) -> Iterator[Missed]:
    """What is wrong, up to the first check that makes the trial invalid: that one comes alone."""
    wrong: list[Missed] = []
    for check, holds in zip(checks, fact, strict=True):
        if check.note or holds:
            continue
        if holds is None:
            yield Missed(Decide.role, check.kind, check.value, how=MissedHow.UNDECIDED)
            return
        if check.gate:
            yield Missed(Decide.role, check.kind, check.value, how=MissedHow.NOT_SHOWN)
            return
        wrong.append(Missed(Decide.role, check.kind, check.value))
    yield from wrong


def _missed_label(step: Classify, fact: Sequence[Sequence[Any]]) -> Iterator[Missed]:
    best = [label for label, _ in fact[: step.top_k]]
    expected = step.accept[0] if step.accept else ""
    if not best:
        yield Missed(step.role, "label", expected, how=MissedHow.UNDECIDED)
        return
    named = {label.lower() for label in step.aim or step.accept}
    wrong = best[0].lower() in named if step.aim else not any(label.lower() in named for label in best)
    if wrong:
        yield Missed(step.role, "label", expected, best[0])


def _missed_answer(step: Verify | ExpectChange, fact: Facts, answer: str) -> Iterator[Missed]:
    valid, right, said = fact[:3]
    expected = step.truth if isinstance(step, Verify) else ""
    if valid is None or right is None:
        yield Missed(step.role, "answer", expected, answer, MissedHow.UNDECIDED, said)
    elif not valid:
        yield Missed(step.role, "answer", expected, answer, MissedHow.NO_QUESTION, said)
    elif not right:
        yield Missed(step.role, "answer", expected, answer, MissedHow.WRONG, said)


def _reason_of(step: Step, missed: Sequence[Missed]) -> str:
    """What one step missed, as a sentence for people; stored with the trial."""
    first = missed[0]
    if isinstance(step, Classify):
        return f"called {first.seen}" if first.how is MissedHow.WRONG else "the classifier gave no label"
    if isinstance(step, Verify | ExpectChange):
        return _reason_of_answer(first)
    if first.how is MissedHow.NOT_SHOWN:
        return f"not shown: {first.expected}"
    if first.how is MissedHow.UNDECIDED:
        return f"undecided: {first.expected}"
    return ", ".join(f"not {one.expected}" for one in missed)


def _reason_of_answer(missed: Missed) -> str:
    if missed.how is MissedHow.UNDECIDED:
        return missed.said or "the verifier did not commit"
    if missed.how is MissedHow.NO_QUESTION:
        return f"not a valid question: {missed.said}"
    return missed.said
