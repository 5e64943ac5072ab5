"""Shows the rules of a t2i hunt: who fails with what, pictures of nodes it covers, exceptions beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from failscape.evidence import HuntReader, Shot
from failscape.hunts.t2i.survey.survey import Rule, Share
from failscape.report.figures.basic import Estimate
from failscape.trials import Verdict

PICTURED = 6
LISTED = 30
EXAMPLES = 6
EXCEPTIONS = 6


@dataclass(frozen=True, slots=True)
class NodePicture:
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
    examples: list[NodePicture]
    passing: list[NodePicture]
    others: list[str]
    """Names of exceptions that have no picture here."""


def rule_cards(rules: Sequence[Rule], reader: HuntReader) -> list[RuleCard]:
    """The first rules with pictures, some more without; what lies beyond is only counted on the page."""
    return [_card(rule, at + 1, reader, at < PICTURED) for at, rule in enumerate(rules[:LISTED])]


def pictures_of(cards: Sequence[RuleCard]) -> tuple[str, ...]:
    samples = (sample for card in cards for sample in (*card.examples, *card.passing))
    return tuple(digest for sample in samples for digest in sample.shot.images[:1])


def _card(rule: Rule, number: int, reader: HuntReader, pictured: bool) -> RuleCard:
    values = [value.rpartition("=")[2] for value in rule.values]
    shared = {*values, *((rule.who,) if rule.scope == "entity" else ())}
    passing = _samples(rule.exceptions, shared, reader, Verdict.PASS, EXCEPTIONS) if pictured else []
    shown = {sample.subject for sample in passing}
    return RuleCard(
        number=number,
        who=rule.who or "everything",
        scope=rule.scope if rule.who else "",
        values=values,
        more=max(0, rule.layer - len(values)),
        covers=rule.covers,
        certified=rule.certified,
        exceptions=len(rule.exceptions),
        held_out=held_out(rule.held_out),
        examples=_samples(rule.examples, shared, reader, Verdict.FAIL, EXAMPLES) if pictured else [],
        passing=passing,
        others=[_name(one, shared) for one in rule.exceptions if one not in shown],
    )


def held_out(share: Share | None) -> Estimate | None:
    """A share of nodes that were set aside before the search."""
    if share is None or not share.of:
        return None
    return Estimate("held out", share.rate, share.interval, f"{share.hits:.3g} of {share.of:,} nodes")


def _samples(
    subjects: Sequence[str], shared: set[str], reader: HuntReader, verdict: Verdict, most: int
) -> list[NodePicture]:
    """One picture a node: the first with the verdict that the node has."""
    found = []
    for subject in subjects:
        shots = [shot for shot in reader.shots(subject) if shot.images]
        shot = next((one for one in shots if one.verdict is verdict), shots[0] if shots else None)
        if shot is not None:
            found.append(NodePicture(_name(subject, shared), subject, shot))
        if len(found) == most:
            break
    return found


def _name(subject: str, shared: set[str]) -> str:
    """`cat; Base: Colour=red` → `cat, red`, without what is said anyway."""
    parts = [part.rpartition("=")[2] for part in subject.split("; ")]
    return ", ".join([part for part in parts if part not in shared] or parts)
