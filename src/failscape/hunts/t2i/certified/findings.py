"""What the certified hunt tells people: findings with their evidence, and the survey of the whole space."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from failscape.hunts.belief.nodes import NO_VALUE, Nodes
from failscape.hunts.counts import Tally
from failscape.hunts.t2i.certified import tuning
from failscape.hunts.t2i.certified.claims import Claim
from failscape.hunts.t2i.certified.forecast import log_evidence
from failscape.hunts.t2i.findings import ClaimDetails, NodeEvidence, describe_failure
from failscape.hunts.t2i.purposes import EVIDENCE, FIRST_LOOK
from failscape.hunts.t2i.survey.assemble import SurveyInput, survey_of
from failscape.hunts.t2i.survey.judge_view import TriedCounts
from failscape.hunts.t2i.survey.survey import T2ISurvey
from failscape.spaces.lattice import Node
from failscape.stats.intervals import anytime_interval
from failscape.stats.rate_priors import RATES
from failscape.trials import Finding

if TYPE_CHECKING:
    from failscape.hunts.t2i.certified.hunt import CertifiedHunt

_LARGEST_LOG = 709.0


def describe_claim(hunt: CertifiedHunt, claim: Claim) -> Finding:
    """Rate, interval and e-value rest on the images that are evidence; scouts are left out."""
    slot, ledger, tier = claim.slot, hunt.ledger, hunt.settings.tier
    limit = hunt.bars.limits[int(hunt.bars.of(ledger.nodes[np.array([slot])])[0])]
    found = describe_failure(
        _tally(hunt, slot),
        _evidence(hunt, slot, limit.fail),
        hunt.lattice,
        hunt.prompting.wording,
        tier,
        lambda subject: _tally(hunt, ledger.slot_of[subject]) if subject in ledger.slot_of else None,
        (EVIDENCE,) if tier == "certified" else (EVIDENCE, FIRST_LOOK),
    )
    details = ClaimDetails(
        minimal=True,
        doubt_minimal=claim.doubt,
        posterior=hunt.posterior.of(slot).fails,
        images=int(ledger.passes[slot] + ledger.fails[slot]),
        tested_against=limit.fail,
    )
    parents = tuple(parent | _standing(hunt, str(parent["subject"])) for parent in found.parents)
    return replace(found, parents=parents, details=replace(found.details, claim=details))


def _evidence(hunt: CertifiedHunt, slot: int, tested_against: float) -> NodeEvidence:
    """A certificate rests on the images that its e-process bet on, a posterior on all of them."""
    ledger = hunt.ledger
    passes, fails = (int(count) for count in ledger.bets[slot])
    if hunt.settings.tier != "certified":
        passes, fails = int(ledger.passes[slot]), int(ledger.fails[slot])
    log_e = log_evidence(passes, fails, tested_against)
    return NodeEvidence(passes, fails, _interval(fails, passes + fails), math.exp(min(log_e, _LARGEST_LOG)))


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
    claimed = len(hunt.claims())
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
            panel=hunt.panel.counts,
            fresh=hunt.replicates.counts,
            predict=lambda nodes: predict_rates(hunt, nodes),
            accuracy=hunt.accuracy,
            variants=_variants(hunt),
            states=states,
            notes=_bound_of_findings(hunt, len(failing)),
        )
    )


def _bound_of_findings(hunt: CertifiedHunt, failing: int) -> list[str]:
    """e-BH bounds the false share of all that it certifies. Findings are a part of that, chosen afterwards.

    By themselves they keep the level only if each has an e-value of tests / (level · findings).
    """
    claims, settings = hunt.claims(), hunt.settings
    if not claims or settings.tier != "certified":
        return []
    weakest = float(hunt.evidence()[[claim.slot for claim in claims]].min())
    tests = max(hunt.tests, len(hunt.ledger.adopted))
    bound = min(math.exp(math.log(tests / len(claims)) - weakest), 1.0)
    if bound <= settings.fdr:
        return []
    return [
        f"At most {settings.fdr:.0%} of all {failing:,} nodes certified to fail are expected not to. For the "
        f"{len(claims):,} of them that are known to be minimal, taken alone, the bound is {bound:.0%}; it "
        "falls as more of the others are settled."
    ]


def _passes(hunt: CertifiedHunt, slot: int) -> bool:
    images = hunt.ledger.passes[slot] + hunt.ledger.fails[slot]
    return bool(images >= tuning.LEAST_IMAGES) and hunt.posterior.of(slot).passes >= tuning.SURE


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
