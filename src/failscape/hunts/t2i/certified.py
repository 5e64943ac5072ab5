"""The certified search: chooses by model, certifies by e-value, and works on all layers at once.

What it believes guides it and nothing else: a claim rests on the images of its node alone. Every decision
follows from the trials told so far, their order and the settings, so resuming is replaying.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from failscape.errors import ConfigError
from failscape.hunts.t2i.agenda import Agenda, Policy
from failscape.hunts.t2i.belief import Belief, Counts, Taxonomy
from failscape.hunts.t2i.claims import Claim, Claims
from failscape.hunts.t2i.failureatlas import entities_of_shard
from failscape.hunts.t2i.ledger import Ledger, Nodes
from failscape.hunts.t2i.outlook import Bars, Outlook, log_evidence
from failscape.hunts.t2i.pool import Pool
from failscape.hunts.t2i.standing import Key
from failscape.spaces.lattice import Lattice, Node
from failscape.spaces.wording import Wording
from failscape.stats.judges import JudgeAccuracy
from failscape.trials import Decide, Finding, Generate, Probe, Progress, Step, Trial, Verdict, derive_seed


@dataclass(frozen=True, slots=True)
class Settings:
    """`openings`: at most so many nodes are opened per image asked for, besides the entities."""

    threshold: float = 0.8
    fdr: float = 0.05
    openings: float = 0.1
    explore: float = 0.02
    tier: str = "certified"
    images: int | None = None


class CertifiedHunt:
    """`tier` is `certified` (e-BH over all opened nodes) or `probable` (posterior, cheaper, no guarantee)."""

    def __init__(
        self,
        lattice: Lattice,
        wording: Wording,
        settings: Settings = Settings(),  # noqa: B008
        *,
        accuracy: JudgeAccuracy | None = None,
        seed: int = 0,
        shard: tuple[int, int] = (0, 1),
    ) -> None:
        self.lattice = lattice
        self.wording = wording
        self.settings = settings
        self.ledger = Ledger(lattice)
        self._seed = seed
        places = [self.ledger.place_of[entity] for entity in entities_of_shard(lattice, shard)]
        self._places = frozenset(places)
        self._pool = Pool(lattice, np.array(places, dtype=np.int64), seed)
        self.bars = Bars(lattice.corpus, accuracy or JudgeAccuracy.perfect(), settings.threshold)
        self._taxonomy = Taxonomy(lattice)
        self._policy = Policy(probable=0.96 if settings.tier == "probable" else None)
        self._told = 0
        self._in_flight = 0
        self._next_look = 100
        self._look = 0
        self._snapshot = self._count()
        self._agenda: Agenda | None = None
        self._touched: set[int] = set()

    # Telling

    def tell(self, trial: Trial) -> None:
        slot = self.ledger.slot_of.get(trial.subject)
        if slot is None:
            slot = self._meet(trial.subject)
        label = trial.key[len(trial.subject) + 1 :]
        bet = not label.startswith("s")
        number = int(label if bet else label[1:])
        bit = 1 << number
        ledger = self.ledger
        if ledger.told[slot] & bit:
            return
        if ledger.flying[slot] & bit:
            ledger.flying[slot] &= ~bit
            self._in_flight -= 1
        if bet:
            ledger.adopted.add(slot)
        if trial.verdict is Verdict.INVALID:
            ledger.told[slot] |= bit
            ledger.invalid[slot] += 1
        else:
            passed = trial.verdict is Verdict.PASS
            ledger.count(slot, number, passed, bet, () if passed else _dropped(trial))
        self._told += 1
        self._touched.add(slot)
        if self._told >= self._next_look:
            self._snapshot = self._count()
            self._look += 1
            self._next_look = self._told + _interval(self._told)
            self._agenda = None

    def _meet(self, subject: str) -> int:
        node = self.lattice.parse(subject)
        if self.ledger.place_of[node.entity] not in self._places:
            raise ConfigError(
                f"{subject!r} belongs to another shard", "resume with the shard it was run with"
            )
        return self.ledger.open(subject, node)

    def _count(self) -> Counts:
        ledger = self.ledger
        nodes = ledger.nodes
        copied = Nodes(nodes.entity.copy(), nodes.values.copy())
        seen = (ledger.seen[0].copy(), ledger.seen[1].copy())
        return Counts(copied, ledger.layers, ledger.passes.copy(), ledger.fails.copy(), seen)

    # Believing

    @property
    def tested(self) -> int:
        """The number of tests that e-BH counts: a limit on opened nodes that no outcome can move."""
        return len(self._places) + math.ceil(self.settings.openings * (self._told + self._in_flight))

    def _need(self) -> float:
        """The evidence at which a node is left alone: e-BH will claim it, with a margin."""
        level = self.settings.fdr
        evidence = self.evidence()
        found = max(int((evidence >= math.log(1 / level)).sum()), 1)
        return math.log(max(1.5, 1.25 * self.tested / found) / level)

    def evidence(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """log e of every opened node."""
        bars, ledger = self.bars.of(self.ledger.nodes), self.ledger
        limits = [limit.fail for limit in self.bars.limits]
        triples = zip(ledger.bets[:, 0].tolist(), ledger.bets[:, 1].tolist(), bars.tolist(), strict=True)
        return np.array([log_evidence(s, f, limits[bar]) for s, f, bar in triples], dtype=np.float64)

    @property
    def agenda(self) -> Agenda:
        if self._agenda is None:
            belief = Belief(self._taxonomy, self.lattice.depth, self._snapshot, self.settings.threshold)
            self.bars.of(self.ledger.nodes)
            outlook = Outlook(belief.priors, self.bars.limits, self._need())
            explore = math.ceil(self.settings.explore * _interval(self._told) / 3)
            reserved = np.zeros(0, dtype=np.uint64)
            self._agenda = Agenda(
                self.ledger,
                belief,
                outlook,
                self.bars,
                self._pool,
                self._policy,
                reserved,
                self._look,
                explore,
            )
            self._touched.clear()
        elif self._touched:
            self._agenda.update(sorted(self._touched))
            self._touched.clear()
        return self._agenda

    # Asking

    def ask(self, count: int) -> list[Probe]:
        probes: list[Probe] = []
        agenda = self.agenda
        while len(probes) < count:
            taken = agenda.take(self.tested - len(self.ledger.adopted))
            if taken is None:
                break
            probes.append(self._probe(*taken))
        return probes

    def _probe(self, key: Key, bet: bool) -> Probe:
        ledger = self.ledger
        slot = ledger.slot_by_key.get(key)
        node = Node(self.lattice.entities[key[0]], key[1:])
        if slot is None:
            slot = ledger.open(self.lattice.subject(node), node)
        number = ledger.next_try(slot)
        ledger.flying[slot] |= 1 << number
        if bet:
            ledger.adopted.add(slot)
        self._in_flight += 1
        subject = ledger.subjects[slot]
        label = number if bet else f"s{number}"
        return Probe(f"{subject}#{label}", subject, self._steps(node), derive_seed(self._seed, number))

    def _steps(self, node: Node) -> tuple[Step, ...]:
        return (Generate(self.wording.caption(node)), Decide(self.wording.checks(node)))

    # Looking

    @property
    def done(self) -> bool:
        return self._in_flight == 0 and self.agenda.empty

    def claims(self) -> list[Claim]:
        return Claims(self).minimal()

    def findings(self) -> list[Finding]:
        return [claim.finding() for claim in self.claims()]

    def progress(self) -> Progress:
        return Progress("searching", len(self.ledger), None, len(self.claims()))


def _interval(told: int) -> int:
    """Trials until the next look: short at first, then a twentieth of what is known, never above 4,000."""
    return min(max(100, told // 10), 4000)


def _dropped(trial: Trial) -> Sequence[int]:
    facts = trial.facts[-1]
    return [place for place, held in enumerate(facts) if not held]
