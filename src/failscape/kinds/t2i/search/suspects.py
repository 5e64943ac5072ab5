"""What looks failing and is not claimed, with the images that would decide it. Reads only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from failscape.kinds.t2i.findings import ClaimDetails
from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.claims import nested_probability
from failscape.kinds.t2i.search.findings import describe_node, images_of, passing_at
from failscape.stats.judging.words import LABELS
from failscape.trials import Finding, Status

if TYPE_CHECKING:
    from failscape.kinds.t2i.search.hunt import CertifiedHunt

#: More images than this are not promised to decide anything: the node is as good as at the threshold.
MOST_WANTED = 2_000
#: Fewer are no forecast: the node is as good as settled, and waits for the list's mean doubt to fall.
A_FEW = 1


@dataclass(frozen=True, slots=True)
class Suspicion:
    slot: int
    #: That it fails and is minimal.
    chance: float
    doubt: float
    missing: str


def describe_suspects(hunt: CertifiedHunt) -> list[Finding]:
    """Nodes more likely to fail than not that are not claimed, the most promising first.

    What lies below a failing node is none: it is not minimal, whatever it does.
    """
    found = sorted(_suspicions(hunt), key=lambda one: (-one.chance, one.slot))
    return [_describe(hunt, one) for one in found]


def _describe(hunt: CertifiedHunt, suspicion: Suspicion) -> Finding:
    slot = suspicion.slot
    limit = hunt.bars.limits[int(hunt.bars.of(hunt.ledger.nodes[np.array([slot])])[0])]
    details = ClaimDetails(
        minimal=False,
        doubt_minimal=suspicion.doubt,
        posterior=hunt.posterior.of(slot).fails,
        images=images_of(hunt, slot),
        tested_against=limit.fail,
        parents_pass_at=passing_at(hunt),
        missing=suspicion.missing,
    )
    return describe_node(hunt, slot, Status.SUSPECT, details)


def _suspicions(hunt: CertifiedHunt) -> list[Suspicion]:
    ledger, posterior, failing = hunt.ledger, hunt.posterior, hunt.failing
    found = []
    for slot in (ledger.fails > 0).nonzero()[0].tolist():
        fails = posterior.of(slot).fails
        if slot in hunt.book or (fails < tuning.EVEN_ODDS and slot not in failing):
            continue
        bases = {key: ledger.slot_by_key.get(key) for key in ledger.ancestors_of(ledger.keys[slot])}
        known = [base for base in bases.values() if base is not None]
        if any(base in failing and posterior.of(base).passes < tuning.EVEN_ODDS for base in known):
            continue
        doubt = nested_probability(posterior, slot, known)
        missing = _withdrawn(hunt, slot) + (
            _misread(hunt, slot) or _own(hunt, slot, slot in failing) or _parents(hunt, bases)
        )
        found.append(Suspicion(slot, fails * (1 - doubt), doubt, missing))
    return found


def _doubt(hunt: CertifiedHunt, base: int | None) -> float:
    """Of an ancestor; one that nobody has drawn is as doubtful as such nodes are in general."""
    return 1 - tuning.UNKNOWN[0] if base is None else 1 - hunt.posterior.of(base).passes


def _withdrawn(hunt: CertifiedHunt, slot: int) -> str:
    before = hunt.book.withdrawn.get(slot)
    if before is None:
        return ""
    return f"claimed after {before.since:,} trials, withdrawn after {before.at:,}: {before.reason}. "


def _misread(hunt: CertifiedHunt, slot: int) -> str:
    """What to label where the judge may not recognise a word of it; empty if that is no matter."""
    reading, key = hunt.posterior.reading, hunt.ledger.keys[slot]
    if reading is None or reading.doubt(key) <= tuning.MOST_MISREAD:
        return ""
    place, node = reading.worst(key), hunt.ledger.node(slot)
    corpus = hunt.lattice.corpus
    word = corpus.values[node.values[place - 1]] if place else corpus.entities[node.entity]
    return (
        f"it looks failing, but the judge was hardly seen to recognise “{word.name}”: {LABELS} labels of "
        "that check (`failscape review`) would show whether it does"
    )


def _own(hunt: CertifiedHunt, slot: int, fails: bool) -> str:
    """What is missing to show that it fails; empty if that is shown."""
    if fails:
        return ""
    wanted = _images(1 / max(hunt.posterior.of(slot).worth, 1e-9))
    return f"{wanted} more images of it would show whether it fails"


def _parents(hunt: CertifiedHunt, bases: dict[tuple[int, ...], int | None]) -> str:
    """It fails; which ancestor is it that may fail too, and how many images would tell?"""
    ledger = hunt.ledger
    if not bases:
        return "it fails; it will be claimed when the claims are looked at again"
    key, slot = max(bases.items(), key=lambda one: _doubt(hunt, one[1]))
    name = hunt.lattice.subject(hunt.node_of(key))
    if slot is None:
        return (
            f"it fails; “{name}” was never drawn: {_images(tuning.UNKNOWN[1])} images would show if it passes"
        )
    wanted = _images(hunt.posterior.of(slot).settling)
    fails, images = int(ledger.fails[slot]), images_of(hunt, slot)
    return (
        f"it fails; {wanted} more images of “{name}” ({fails} of {images} failed) would show whether that "
        "fails by itself"
    )


def _images(number: float) -> str:
    if number > MOST_WANTED:
        return f"over {MOST_WANTED:,}"
    return f"about {math.ceil(number):,}" if number > A_FEW else "a few"
