"""The bounds of list audits hold, and would not if the audit were biased.

Lists with known rates, part of which is wrong by a hair: the worst case for a test. Whole hunts whose lists
are audited are in `benchmarks/list_audit.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from failscape.kinds.t2i.survey import list_audit
from failscape.kinds.t2i.survey.judge_view import TriedCounts
from failscape.kinds.t2i.survey.list_audit import AuditCase, AuditTest, ListAuditDraws
from failscape.trials import Trial, Verdict

AUDITS = 100
LISTED = 1_000

#: From a subject to its success rate: of findings ("pair 7") and of what is inside them ("thing 1").
Rates = Callable[[str], float]
#: From a subject, the number of a try and the number of an audit to a number between 0 and 1.
Luck = Callable[[str, int, int], float]


@pytest.fixture(autouse=True)
def whole_list_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of the list are not looked at here, and take time."""
    monkeypatch.setattr(list_audit, "PARTS", (1.0,))


def some_pairs_pass(subject: str) -> float:
    """The least sure fifth of the list does not fail."""
    kind, number = subject.split()
    if kind == "thing":
        return 0.97
    return 0.4 if int(number) < 0.8 * LISTED else 0.8


def one_thing_fails(subject: str) -> float:
    """One of the two things that all findings rest on fails too."""
    kind, number = subject.split()
    return 0.4 if kind == "pair" else (0.97, 0.799)[int(number)]


def cases() -> list[AuditCase]:
    made = []
    for number in range(LISTED):
        thing = AuditTest(f"thing {number % 2}", 0.8, True, TriedCounts(30, 1))
        made.append(AuditCase(AuditTest(f"pair {number}", 0.8, False, TriedCounts(2, 6)), (thing,)))
    return made


def luck_of_its_own(subject: str, number: int, audit: int) -> float:
    digest = hashlib.blake2b(f"{audit}/{number}/{subject}".encode(), digest_size=6).digest()
    return int.from_bytes(digest) / 2**48


def shared_inside(subject: str, number: int, audit: int) -> float:
    """As if all findings saw the same images of what is inside them."""
    place = number // list_audit.STRIDE if subject.startswith("thing") else number
    return luck_of_its_own(subject, place, audit)


def coverage(rates: Rates, luck: Luck = luck_of_its_own) -> tuple[float, float]:
    """In how many audits each of the two bounds holds."""
    pairs = [case.subject for case in cases()]
    failing = sum(rates(pair) < 0.8 for pair in pairs) / LISTED
    minimal = sum(rates(case.subject) < 0.8 <= rates(case.inside[0].subject) for case in cases()) / LISTED
    holds = [0, 0]
    for audit in range(AUDITS):
        draws = ListAuditDraws(seed=audit)
        draws.begin(cases(), 1_000, since=0)
        while (drawn := draws.next_try()) is not None:
            subject, number = drawn
            verdict = Verdict.PASS if luck(subject, number, audit) < rates(subject) else Verdict.FAIL
            draws.tell(Trial(f"{subject}#r{number}", subject, verdict), number)
        found = draws.result(())
        assert found is not None
        whole = found.parts[-1]
        assert whole.audited_inside
        assert whole.minimal_at_least is not None
        holds[0] += whole.failing_at_least <= failing
        holds[1] += whole.minimal_at_least <= minimal
    return holds[0] / AUDITS, holds[1] / AUDITS


@pytest.mark.parametrize("rates", [some_pairs_pass, one_thing_fails])
def test_both_bounds_hold_as_often_as_stated(rates: Rates) -> None:
    failing, minimal = coverage(rates)
    assert failing >= 0.95
    assert minimal >= 0.95


def test_an_audit_of_the_surest_findings_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def surest_first(self: ListAuditDraws, subject: str) -> bytes:
        return int(subject.split()[1]).to_bytes(16)

    monkeypatch.setattr(ListAuditDraws, "_rank", surest_first)
    assert coverage(some_pairs_pass)[0] < 0.9


def test_an_audit_that_leaves_out_what_it_could_not_decide_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = list_audit.share_right

    def leave_out(listed: int, sampled: int, unconfirmed: int, size: float, doubt: float) -> float:
        return right(listed, sampled - unconfirmed, 0, size, doubt)

    monkeypatch.setattr(list_audit, "share_right", leave_out)
    assert coverage(some_pairs_pass)[0] < 0.9


def test_findings_that_shared_images_of_what_is_inside_them_would_be_noticed() -> None:
    assert coverage(one_thing_fails, shared_inside)[1] < 0.9
