"""What the certified hunt tells people: findings with their evidence, and the survey of the whole space."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.t2i.findings import ClaimDetails, NodeEvidence, describe_failure
from failscape.kinds.t2i.purposes import EVIDENCE, FIRST_LOOK
from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.claims import CERTIFIED, Claim
from failscape.kinds.t2i.search.forecast import log_evidence
from failscape.kinds.t2i.search.groups import SCOPES, Group
from failscape.kinds.t2i.search.rules_version import RULES_VERSION
from failscape.kinds.t2i.survey.assemble import SurveyInput, survey_of
from failscape.kinds.t2i.survey.judge_view import JudgeView, TriedCounts
from failscape.kinds.t2i.survey.rules import MOST_NAMES, say_rule
from failscape.kinds.t2i.survey.survey import GroupTest, Rule, Share, T2ISurvey, WithdrawnClaim
from failscape.search.belief.nodes import NO_VALUE, Nodes
from failscape.search.counts import Tally
from failscape.spaces.lattice import Node
from failscape.stats.deconvolve import share_below
from failscape.stats.evalues import e_value_of_log
from failscape.stats.intervals import anytime_interval
from failscape.stats.rate_priors import RATES
from failscape.trials import Finding, Status

if TYPE_CHECKING:
    from failscape.kinds.t2i.search.hunt import CertifiedHunt

#: Withdrawn claims that are told of in a sentence; the survey has all of them.
MOST_TOLD = 5


def describe_claim(hunt: CertifiedHunt, claim: Claim, rule: str = "") -> Finding:
    details = ClaimDetails(
        minimal=True,
        doubt_minimal=claim.nested_probability,
        posterior=hunt.posterior.of(claim.slot).fails,
        images=images_of(hunt, claim.slot),
        tested_against=_tested_against(hunt, claim.slot),
        parents_pass_at=passing_at(hunt),
        since=claim.since,
        rule=rule,
    )
    return describe_node(hunt, claim.slot, claim.status, details)


def describe_node(hunt: CertifiedHunt, slot: int, status: Status, details: ClaimDetails) -> Finding:
    """The e-value rests on the images that are evidence; so do rate and interval of a certified node.

    Those of others rest on all of its images: a posterior reckons with all of them.
    """
    ledger = hunt.ledger
    certified = status == CERTIFIED
    found = describe_failure(
        _tally(hunt, slot),
        _evidence(hunt, slot, details.tested_against, certified),
        hunt.lattice,
        hunt.prompting.wording,
        status,
        lambda subject: _tally(hunt, ledger.slot_of[subject]) if subject in ledger.slot_of else None,
        (EVIDENCE.name,) if certified else (EVIDENCE.name, FIRST_LOOK.name),
    )
    parents = tuple(parent | _standing(hunt, str(parent["subject"])) for parent in found.parents)
    return replace(found, parents=parents, details=replace(found.details, claim=details))


def images_of(hunt: CertifiedHunt, slot: int) -> int:
    """All valid images of a node that the search drew."""
    return hunt.ledger.images(slot)


def passing_at(hunt: CertifiedHunt) -> float:
    """The success rate from which an ancestor passes."""
    return round(hunt.settings.threshold - hunt.settings.tolerance, 6)


def _tested_against(hunt: CertifiedHunt, slot: int) -> float:
    return hunt.limits_of(slot).fail


def _evidence(hunt: CertifiedHunt, slot: int, tested_against: float, certified: bool) -> NodeEvidence:
    ledger = hunt.ledger
    passes, fails, *bets = ledger.tallies[slot]
    if certified:
        passes, fails = bets
    log_e = log_evidence(*bets, tested_against)
    return NodeEvidence(passes, fails, _interval(fails, passes + fails), e_value_of_log(log_e))


@lru_cache(maxsize=65536)
def _interval(hits: int, trials: int) -> tuple[float, float]:
    low, high = anytime_interval(hits, trials)
    return float(low), float(high)


def _standing(hunt: CertifiedHunt, subject: str) -> dict[str, float]:
    slot = hunt.ledger.slot_of.get(subject)
    return {} if slot is None else {"passes": hunt.posterior.of(slot).passes}


def _tally(hunt: CertifiedHunt, slot: int) -> Tally:
    ledger = hunt.ledger
    node = ledger.node(slot)
    tally = Tally(node)
    tally.passes, tally.fails = int(ledger.passes[slot]), int(ledger.fails[slot])
    tally.invalid = ledger.invalid[slot]
    tally.dropped = ledger.dropped[slot, : len(node.values) + 1].tolist()
    return tally


def survey_hunt(hunt: CertifiedHunt) -> T2ISurvey:
    ledger = hunt.ledger
    failing = hunt.failing
    passing = [slot for slot in range(len(ledger)) if slot not in failing and _passes(hunt, slot)]
    counts = {
        ledger.node(slot): TriedCounts(int(ledger.passes[slot]), int(ledger.fails[slot]))
        for slot in range(len(ledger))
    }
    claimed, withdrawn = len(hunt.claims()), _withdrawn(hunt)
    failing |= {claim.slot for claim in hunt.claims()}
    states = {
        "opened": len(ledger),
        "tested": len(ledger.adopted),
        "minimal failures": claimed,
        "failing, not known to be minimal": len(failing) - claimed,
        "passing": len(passing),
        "not decided": len(ledger) - len(failing) - len(passing),
    }
    return survey_of(
        SurveyInput(
            lattice=hunt.lattice,
            threshold=hunt.settings.threshold,
            failing=[ledger.node(slot) for slot in sorted(failing)],
            passing=[ledger.node(slot) for slot in passing],
            search=counts,
            panel=hunt.unguided.panel.counts,
            fresh=hunt.unguided.replicates.counts,
            list_audit=hunt.unguided.audit.result(ledger.subjects[claim.slot] for claim in hunt.claims()),
            predict=lambda nodes: predict_rates(hunt, nodes),
            chance_to_pass=lambda node: chance_to_pass(hunt, node),
            passing_at=passing_at(hunt),
            accuracy=hunt.accuracy,
            variants=_variants(hunt),
            states=states,
            withdrawn=withdrawn,
            tested=tuple(describe_group(hunt, group, failing) for group in hunt.groups.claimed),
            covered={hunt.node_of(key) for group in hunt.groups.claimed for key in group.cases()},
            notes=[*_read_anew(hunt), *_bound_of_shown(hunt), *_notes(withdrawn)],
        )
    )


def describe_group(hunt: CertifiedHunt, group: Group, failing: Collection[int] = ()) -> Rule:
    """A claimed group as a rule; `failing` are slots that were found to fail by themselves."""
    ledger, lattice = hunt.ledger, hunt.lattice
    slots = [slot for key in group.cases() if (slot := ledger.slot_by_key.get(key)) is not None]
    passing = [slot for slot in slots if slot not in failing and _passes(hunt, slot)]
    entity = lattice.corpus.entities[lattice.entities[int(group.places[0])]]
    whos = {"sub-class": entity.sub_class, "class": entity.upper_class, "all": ""}
    nodes = (hunt.node_of((place, *group.code.values)) for place in group.failed)
    rule = Rule(
        scope=SCOPES[group.code.scope],
        who=whos[SCOPES[group.code.scope]],
        values=tuple(lattice.corpus.values[value].label for value in group.code.values),
        covers=len(group.places) - len(passing),
        certified=sum(slot in failing for slot in slots),
        examples=tuple(lattice.subject(node) for node in nodes)[:MOST_NAMES],
        exceptions=tuple(ledger.subjects[slot] for slot in passing),
        held_out=_measured(hunt, group),
        layer=len(group.code.values),
        test=GroupTest(
            group.fails,
            group.images,
            group.interval,
            group.at_least,
            e_value_of_log(group.log_e),
            group.since or 0,
        ),
    )
    return replace(rule, text=say_rule(rule))


def _measured(hunt: CertifiedHunt, group: Group) -> Share | None:
    """The share of members that fail, from random ones with a few images each."""
    counts = group.measured
    if not counts:
        return None
    node = hunt.node_of((int(group.places[0]), *group.code.values))
    rows = JudgeView(hunt.lattice, hunt.accuracy).rows([node] * len(counts))
    passes, fails = zip(*counts, strict=True)
    share, interval = share_below(passes, fails, hunt.settings.threshold, rows)
    return Share(share * len(counts), len(counts), interval)


def _withdrawn(hunt: CertifiedHunt) -> tuple[WithdrawnClaim, ...]:
    rows = sorted(hunt.book.withdrawn.values(), key=lambda one: (one.at, one.slot))
    groups = [group for group in hunt.groups if group.since is not None and group.given_up]
    return (
        *(WithdrawnClaim(hunt.ledger.subjects[one.slot], one.since, one.at, one.reason) for one in rows),
        *(
            WithdrawnClaim(describe_group(hunt, one).text, one.since or 0, one.given_up_at, one.given_up)
            for one in groups
        ),
    )


def _bound_of_shown(hunt: CertifiedHunt) -> list[str]:
    """e-BH bounds the false share of all that it certifies. What is shown is the minimal part of that.

    That part keeps the level by itself only if its e-values reach tests / (level · number shown).
    """
    shown = [claim.slot for claim in hunt.claims() if claim.status == CERTIFIED]
    if not shown:
        return []
    evidence, layers = hunt.evidence(), hunt.ledger.layers
    false = 0.0
    for above, tests in enumerate(hunt.tests):
        mine = [slot for slot in shown if (layers[slot] > 0) == bool(above)]
        false += tests * math.exp(-float(evidence[mine].min())) if mine else 0.0
    bound = min(false / len(shown), 1.0)
    if bound <= hunt.settings.fdr:
        return []
    return [
        f"At most {hunt.settings.fdr:.0%} of all nodes certified to fail are expected not to. For the "
        f"{len(shown):,} of them that are known to be minimal, taken alone, the bound is {bound:.0%}; it "
        "falls as more of the others are settled."
    ]


def _read_anew(hunt: CertifiedHunt) -> list[str]:
    if hunt.settings.rules == RULES_VERSION:
        return []
    return [
        f"Read anew: its trials were recorded under version {hunt.settings.rules} of the rules, its claims "
        f"are made of them under version {RULES_VERSION}."
    ]


def _notes(withdrawn: Sequence[WithdrawnClaim]) -> list[str]:
    if not withdrawn:
        return []
    shown = "; ".join(f"“{one.subject}” ({one.reason})" for one in withdrawn[-MOST_TOLD:])
    more = f", the last {MOST_TOLD} of them" if len(withdrawn) > MOST_TOLD else ""
    claims, them = ("claim was", "it") if len(withdrawn) == 1 else ("claims were", "them")
    return [f"{len(withdrawn):,} {claims} withdrawn because new images spoke against {them}{more}: {shown}."]


def _passes(hunt: CertifiedHunt, slot: int) -> bool:
    images = hunt.ledger.passes[slot] + hunt.ledger.fails[slot]
    return bool(images >= tuning.LEAST_IMAGES) and hunt.posterior.of(slot).passes >= tuning.SURE


def chance_to_pass(hunt: CertifiedHunt, node: Node) -> float:
    """What is believed of a node that nobody has tried: the part of its prior that passes."""
    values = np.full((1, max(hunt.lattice.depth, 1)), NO_VALUE, dtype=np.int64)
    values[0, : len(node.values)] = node.values
    nodes = Nodes(np.array([hunt.ledger.place_of[node.entity]], dtype=np.int64), values)
    belief, layer = hunt.posterior.belief, len(node.values)
    limit = hunt.bars.limits[int(hunt.bars.of(nodes)[0])]
    prior = belief.priors[layer][int(belief.rows(layer, nodes)[0])]
    return float(prior[limit.passes <= RATES].sum())


def predict_rates(hunt: CertifiedHunt, nodes: Sequence[Node]) -> NDArray[np.float64]:
    """Judged success rates that the model expects. It never learns from the panel."""
    rates = np.zeros(len(nodes))
    layers = np.array([len(node.values) for node in nodes])
    belief = hunt.posterior.belief
    for layer in np.unique(layers).tolist():
        chosen = np.flatnonzero(layers == layer)
        values = np.full((len(chosen), max(hunt.lattice.depth, 1)), NO_VALUE, dtype=np.int64)
        for row, at in enumerate(chosen.tolist()):
            values[row, :layer] = nodes[at].values
        places = np.array([hunt.ledger.place_of[nodes[at].entity] for at in chosen.tolist()], dtype=np.int64)
        rates[chosen] = (belief.priors[layer] @ RATES)[belief.rows(layer, Nodes(places, values))]
    return rates


def _variants(hunt: CertifiedHunt) -> dict[Node, tuple[TriedCounts, ...]]:
    """Per node that failed in some way and was tried in several wordings: counts per wording."""
    if not hunt.prompting.vary:
        return {}
    ledger, found = hunt.ledger, {}
    for slot in range(len(ledger)):
        if ledger.fails[slot] and ledger.passes[slot] + ledger.fails[slot] > 1 and not ledger.invalid[slot]:
            node = ledger.node(slot)
            counts: dict[int, Counter[bool]] = {}
            for number in range(ledger.told[slot].bit_length()):
                if ledger.told[slot] >> number & 1:
                    variant = hunt.prompting.variant(node, number)
                    counts.setdefault(variant, Counter())[bool(ledger.failed[slot] >> number & 1)] += 1
            size = max(counts) + 1
            rows = [counts.get(variant, Counter()) for variant in range(size)]
            found[node] = tuple(TriedCounts(row[False], row[True]) for row in rows)
    return found
