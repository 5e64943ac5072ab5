"""What an audit of the list has to test: each claim, and all simpler nodes inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failscape.kinds.t2i.search.claims import Claim
from failscape.kinds.t2i.survey.judge_view import TriedCounts
from failscape.kinds.t2i.survey.list_audit import AuditCase, AuditTest

if TYPE_CHECKING:
    from failscape.kinds.t2i.search.hunt import CertifiedHunt


def audit_cases(hunt: CertifiedHunt) -> list[AuditCase]:
    """One case for each claim, the surest first."""
    ordered = sorted(hunt.claims(), key=lambda one: (one.wrong_probability, one.slot))
    return [_case(hunt, claim) for claim in ordered]


def _case(hunt: CertifiedHunt, claim: Claim) -> AuditCase:
    ledger = hunt.ledger
    inside = [ledger.slot_by_key[key] for key in ledger.ancestors_of(ledger.keys[claim.slot])]
    return AuditCase(_test(hunt, claim.slot, False), tuple(_test(hunt, slot, True) for slot in inside))


def _test(hunt: CertifiedHunt, slot: int, passing: bool) -> AuditTest:
    ledger = hunt.ledger
    limit = hunt.limits_of(slot)
    passes, fails = ledger.tallies[slot][:2]
    known = TriedCounts(passes, fails)
    return AuditTest(ledger.subjects[slot], limit.passes if passing else limit.fail, passing, known)
