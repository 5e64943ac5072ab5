"""Shows rules: who fails with what, pictures of nodes it covers, and exceptions beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from failscape.report.evidence import EvidenceReader, Shot
from failscape.report.figures import Estimate
from failscape.trials import Verdict

PICTURED = 6
LISTED = 30
EXAMPLES = 6
EXCEPTIONS = 6


@dataclass(frozen=True, slots=True)
class Sample:
    """One node of a rule: its name without what all nodes of the rule share, and one picture of it."""

    name: str
    subject: str
    shot: Shot


@dataclass(frozen=True, slots=True)
class RuleCard:
    """A rule as it is shown: `who` fails with `values` and any `more` further ones.

    `held_out` is the share of failing nodes among those that the search did not choose.
    """

    number: int
    who: str
    scope: str
    values: list[str]
    more: int
    covers: int
    certified: int
    exceptions: int
    held_out: Estimate | None
    examples: list[Sample]
    passing: list[Sample]
    others: list[str]
    """Names of exceptions that have no picture here."""


def rule_cards(rules: Sequence[dict[str, Any]], reader: EvidenceReader) -> list[RuleCard]:
    """The first rules with pictures, some more without; what lies beyond is only counted on the page."""
    return [_card(rule, at + 1, reader, at < PICTURED) for at, rule in enumerate(rules[:LISTED])]


def pictures_of(cards: Sequence[RuleCard]) -> tuple[str, ...]:
    samples = (sample for card in cards for sample in (*card.examples, *card.passing))
    return tuple(digest for sample in samples for digest in sample.shot.images[:1])


def _card(rule: dict[str, Any], number: int, reader: EvidenceReader, pictured: bool) -> RuleCard:
    who, values = str(rule["who"]), [str(value) for value in rule["values"]]
    exceptions = [str(one) for one in rule.get("exceptions", ())]
    shared = {value.rpartition("=")[2] for value in values} | ({who} if rule["scope"] == "entity" else set())
    passing = _samples(exceptions, shared, reader, Verdict.PASS, EXCEPTIONS) if pictured else []
    shown = {sample.subject for sample in passing}
    examples = [str(one) for one in rule.get("examples", ())]
    return RuleCard(
        number=number,
        who=who or "everything",
        scope=str(rule["scope"]) if who else "",
        values=[value.rpartition("=")[2] for value in values],
        more=max(0, int(rule.get("layer", 0)) - len(values)),
        covers=int(rule["covers"]),
        certified=int(rule["certified"]),
        exceptions=len(exceptions),
        held_out=held_out(rule.get("held_out")),
        examples=_samples(examples, shared, reader, Verdict.FAIL, EXAMPLES) if pictured else [],
        passing=passing,
        others=[_name(one, shared) for one in exceptions if one not in shown],
    )


def held_out(share: dict[str, Any] | None) -> Estimate | None:
    """A share of nodes that were set aside before the search."""
    if not share or not share["of"]:
        return None
    low, high = share["interval"]
    words = f"{share['hits']:.3g} of {share['of']:,} nodes"
    return Estimate("held out", share["hits"] / share["of"], (float(low), float(high)), words)


def _samples(
    subjects: Sequence[str], shared: set[str], reader: EvidenceReader, verdict: Verdict, most: int
) -> list[Sample]:
    """One picture a node: the first with the verdict that the node has."""
    found = []
    for subject in subjects:
        shots = [shot for shot in reader.shots(subject) if shot.images]
        shot = next((one for one in shots if one.verdict is verdict), shots[0] if shots else None)
        if shot is not None:
            found.append(Sample(_name(subject, shared), subject, shot))
        if len(found) == most:
            break
    return found


def _name(subject: str, shared: set[str]) -> str:
    """`cat; Base: Colour=red` → `cat, red`, without what is said anyway."""
    parts = [part.rpartition("=")[2] for part in subject.split("; ")]
    return ", ".join([part for part in parts if part not in shared] or parts)
