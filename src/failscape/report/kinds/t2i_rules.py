"""Shows the rules of a t2i hunt: who fails with what, pictures of nodes it covers, exceptions beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from failscape.evidence import HuntReader, Shot
from failscape.hunts.t2i.survey.survey import Rule, Share
from failscape.report.figures.basic import Estimate
from failscape.stats.intervals import clopper_pearson
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
    proof: str = ""
    """What its test as one group says; empty for rules that sum up findings."""


@dataclass(frozen=True, slots=True)
class MergedRule:
    """Rules that say the same of several groups, or with several values of one kind, told once.

    `whos` fail with all of `shared` values and any one of `either`. Counts are sums: the rules speak of
    different nodes.
    """

    whos: tuple[str, ...]
    scope: str
    shared: tuple[str, ...]
    either: tuple[str, ...]
    layer: int
    parts: tuple[Rule, ...]

    @property
    def values(self) -> int:
        return len(self.shared) + bool(self.either)

    @property
    def held_out(self) -> Share | None:
        known = [one.held_out for one in self.parts if one.held_out is not None and one.held_out.of]
        if len(known) < 2:
            return known[0] if known else None
        hits, of = sum(one.hits for one in known), sum(one.of for one in known)
        low, high = clopper_pearson(hits, of)
        return Share(hits, of, (float(low), float(high)))


def merge_rules(rules: Sequence[Rule]) -> list[MergedRule]:
    """First the same values of several groups, then one kind of value that varies. The strongest first.

    Rules that were tested as one lead; each of them stands by itself.
    """
    tested = [_merged([rule], rule.values, ()) for rule in rules if rule.test]
    by_values: dict[tuple[str, int, frozenset[str]], list[Rule]] = {}
    for rule in (one for one in rules if not one.test):
        by_values.setdefault((rule.scope, rule.layer, frozenset(rule.values)), []).append(rule)
    found = [_merged(same, same[0].values, ()) for same in by_values.values() if len(same) > 1]
    found += _by_kind([same[0] for same in by_values.values() if len(same) == 1])
    return [*tested, *sorted(found, key=lambda one: -sum(rule.certified for rule in one.parts))]


def _by_kind(rules: Sequence[Rule]) -> list[MergedRule]:
    """Rules of one group that differ in the value of one kind; large families first."""
    families: dict[tuple[str, str, int, frozenset[str], str], list[Rule]] = {}
    for rule in rules:
        for value in rule.values:
            rest = frozenset(rule.values) - {value}
            key = (rule.scope, rule.who, rule.layer, rest, value.partition("=")[0])
            families.setdefault(key, []).append(rule)
    taken: set[int] = set()
    found = []
    for (*_, rest, _), family in sorted(families.items(), key=lambda one: -len(one[1])):
        free = [rule for rule in family if id(rule) not in taken]
        if len(free) > 1:
            taken.update(map(id, free))
            either = tuple(value for rule in free for value in rule.values if value not in rest)
            found.append(_merged(free, tuple(v for v in free[0].values if v in rest), either))
    return [*found, *(_merged([rule], rule.values, ()) for rule in rules if id(rule) not in taken)]


def _merged(rules: Sequence[Rule], shared: Sequence[str], either: Sequence[str]) -> MergedRule:
    whos = tuple(dict.fromkeys(rule.who for rule in rules))
    return MergedRule(whos, rules[0].scope, tuple(shared), tuple(either), rules[0].layer, tuple(rules))


def rule_cards(rules: Sequence[Rule], reader: HuntReader) -> list[RuleCard]:
    """The first rules with pictures, some more without; what lies beyond is only counted on the page."""
    merged = merge_rules(rules)[:LISTED]
    return [_card(rule, at + 1, reader, at < PICTURED) for at, rule in enumerate(merged)]


def pictures_of(cards: Sequence[RuleCard]) -> tuple[str, ...]:
    samples = (sample for card in cards for sample in (*card.examples, *card.passing))
    return tuple(digest for sample in samples for digest in sample.shot.images[:1])


def _card(rule: MergedRule, number: int, reader: HuntReader, pictured: bool) -> RuleCard:
    values = [value.rpartition("=")[2] for value in rule.shared]
    either = " or ".join(value.rpartition("=")[2] for value in rule.either)
    alone = rule.whos if rule.scope == "entity" and len(rule.whos) == 1 else ()
    shared = {*values, *alone}
    exceptions = [name for part in rule.parts for name in part.exceptions]
    in_turn = zip_longest(*(part.examples for part in rule.parts))
    examples = [name for names in in_turn for name in names if name]
    passing = _samples(exceptions, shared, reader, Verdict.PASS, EXCEPTIONS) if pictured else []
    shown = {sample.subject for sample in passing}
    return RuleCard(
        number=number,
        who=", ".join(rule.whos) or "everything",
        scope=rule.scope if any(rule.whos) else "",
        values=[*values, *([either] if either else [])],
        more=max(0, rule.layer - rule.values),
        covers=sum(part.covers for part in rule.parts),
        certified=sum(part.certified for part in rule.parts),
        exceptions=len(exceptions),
        held_out=held_out(rule.held_out),
        examples=_samples(examples, shared, reader, Verdict.FAIL, EXAMPLES) if pictured else [],
        passing=passing,
        others=[_name(one, shared) for one in exceptions if one not in shown],
        proof=rule.parts[0].proof,
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
