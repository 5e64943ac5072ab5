"""The certified search: chooses by model, certifies by e-value, and works on all layers at once.

What it believes guides it and nothing else: that a node fails is claimed from the images of that node alone.
Every decision follows from the trials told, their order and the settings, so resuming is replaying.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from failscape.errors import ConfigError
from failscape.hunts.belief.belief import Belief, CountsAtRefit, Taxonomy
from failscape.hunts.belief.nodes import Nodes
from failscape.hunts.certify import certify, evidence_needed
from failscape.hunts.protocol import Hunt
from failscape.hunts.t2i.baselines.failureatlas import entities_of_shard
from failscape.hunts.t2i.certified import tuning
from failscape.hunts.t2i.certified.agenda import Agenda, Policy
from failscape.hunts.t2i.certified.candidates import Candidates
from failscape.hunts.t2i.certified.claims import Claim, believe, minimal_claims
from failscape.hunts.t2i.certified.findings import describe_claim, survey_hunt
from failscape.hunts.t2i.certified.forecast import Bars, Forecast, log_evidence
from failscape.hunts.t2i.certified.ledger import Ledger
from failscape.hunts.t2i.certified.posterior import Posterior
from failscape.hunts.t2i.certified.standing import Key
from failscape.hunts.t2i.probes import Prompting
from failscape.hunts.t2i.survey.random_panel import MOST_REPLICATED, REPLICATED_IMAGES, Draws, draw_panel
from failscape.hunts.t2i.survey.replication import choose_sample
from failscape.hunts.t2i.survey.survey import T2ISurvey
from failscape.spaces.lattice import Lattice, Node
from failscape.spaces.wording import Wording
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Finding, Probe, Progress, Trial, Verdict, derive_seed

SEEDS_OF = {"s": 0, "": 0, "p": 1_000_000, "r": 2_000_000}
"""Where the image numbers of a stream start, so that its images are nobody else's."""


@dataclass(frozen=True, slots=True)
class CertifiedSettings:
    """`tier` is `certified` (e-BH, guaranteed) or `probable` (posterior, cheaper, not guaranteed).

    `minimal_doubt` bounds the mean posterior chance that a claim is not minimal. `openings`: at most so many
    nodes become tests per image, besides the entities: e-BH counts that limit, which no outcome can move.
    `panel` and `replication` are the shares of `images` (the budget, if there is one) that go there.
    """

    threshold: float = 0.8
    fdr: float = 0.05
    tier: str = "certified"
    minimal_doubt: float = 0.04
    openings: float = 0.12
    explore: float = 0.02
    panel: float = 0.04
    replication: float = 0.03
    images: int | None = None


class CertifiedHunt(Hunt):
    """Images are *scouts* (keys `#s…`: a first look, or a parent being settled; never evidence), *bets*
    (keys `#…`: evidence), panel (`#p…`) or replication (`#r…`)."""

    def __init__(
        self,
        lattice: Lattice,
        prompting: Prompting | Wording,
        settings: CertifiedSettings = CertifiedSettings(),  # noqa: B008
        *,
        accuracy: JudgeAccuracy | None = None,
        seed: int = 0,
        shard: tuple[int, int] = (0, 1),
    ) -> None:
        self.lattice = lattice
        self.prompting = prompting if isinstance(prompting, Prompting) else Prompting(prompting)
        self.settings = settings
        self.accuracy = accuracy
        self.ledger = Ledger(lattice)
        self._seed = seed
        entities = entities_of_shard(lattice, shard)
        self._places = [self.ledger.place_of[entity] for entity in entities]
        self._mine = frozenset(entities)
        self._candidates = Candidates(lattice, np.array(self._places, dtype=np.int64), seed)
        self.bars = Bars(lattice.corpus, accuracy or JudgeAccuracy.perfect(), settings.threshold)
        self._taxonomy = Taxonomy(lattice)
        self._policy = Policy(probable=1 - settings.fdr if settings.tier == "probable" else None)
        self.panel = draw_panel(lattice, entities, self._share(settings.panel, 400), seed)
        self.replicates = Draws("r", REPLICATED_IMAGES)
        self._reserved = self._codes_to_reserve()
        self._told = 0
        self._in_flight = 0
        self._refits = 0
        self._next_refit = 100
        self._counts_at_refit, self._need = self._count(), self._evidence_needed()
        self._posterior: Posterior | None = None
        self._agenda: Agenda | None = None
        self._touched: set[int] = set()
        self._claims: tuple[tuple[int, int], list[Claim]] = (-1, -1), []
        self._sampled = self._over = False

    def _share(self, share: float, otherwise: int) -> int:
        images = self.settings.images
        return otherwise if images is None else round(share * images)

    def _codes_to_reserve(self) -> NDArray[np.uint64]:
        """Panel nodes of the deepest layer are kept from the search, so that rules can be held against
        nodes that it did not choose. Smaller ones cannot be: others rest on them."""
        if self.lattice.depth < 2:
            return np.zeros(0, dtype=np.uint64)
        nodes = [self.lattice.parse(subject) for subject in self.panel.subjects]
        deepest = [node for node in nodes if len(node.values) == self.lattice.depth]
        places = np.array([self.ledger.place_of[node.entity] for node in deepest], dtype=np.int64)
        values = np.array([node.values for node in deepest], dtype=np.int64).reshape(-1, self.lattice.depth)
        return Nodes(places, values).codes

    # Telling

    def tell(self, trial: Trial) -> None:
        stream, number = self._read_key(trial)
        if stream in ("p", "r"):
            draws = self.panel if stream == "p" else self.replicates
            # An earlier session with another budget may have drawn others: they are as good.
            draws.add(trial.subject, self._parse(trial.subject))
            draws.tell(trial, number)
            return
        slot = self.ledger.slot_of.get(trial.subject)
        if slot is None:
            slot = self.ledger.open(trial.subject, self._parse(trial.subject))
        if self._count_trial(slot, trial, number, bet=stream == ""):
            self._told += 1
            self._touched.add(slot)
            if self._told >= self._next_refit:
                self._refit()

    def _count_trial(self, slot: int, trial: Trial, number: int, bet: bool) -> bool:
        ledger, bit = self.ledger, 1 << number
        if ledger.told[slot] & bit:
            return False
        if ledger.flying[slot] & bit:
            ledger.flying[slot] &= ~bit
            self._in_flight -= 1
        if bet:
            ledger.adopted.add(slot)
        if trial.verdict in (Verdict.PASS, Verdict.FAIL):
            passed = trial.verdict is Verdict.PASS
            ledger.count(slot, number, passed, bet, () if passed else _dropped(trial))
        else:
            ledger.told[slot] |= bit
            ledger.invalid[slot] += 1
        return True

    def _read_key(self, trial: Trial) -> tuple[str, int]:
        """`subject#s3` → ("s", 3)."""
        label = trial.key[len(trial.subject) + 1 :]
        stream = label[:1] if label[:1] in ("s", "p", "r") else ""
        number = label[len(stream) :]
        if not number.isdecimal():
            raise ConfigError(f"the trial {trial.key!r} is no try of this hunt", "resume with its settings")
        return stream, int(number)

    def _parse(self, subject: str) -> Node:
        node = self.lattice.parse(subject)
        if node.entity not in self._mine:
            raise ConfigError(
                f"{subject!r} belongs to another shard", "resume with the shard it was run with"
            )
        return node

    def _refit(self) -> None:
        self._counts_at_refit, self._need = self._count(), self._evidence_needed()
        self._refits += 1
        self._next_refit = self._told + self._interval()
        self._posterior = self._agenda = None

    def _interval(self) -> int:
        """Trials until the next refit: few at first, then a tenth of what is known, never above 4,000.

        In a large space a refit takes longer, and so there are fewer of them.
        """
        fewest = 100 + min(self._candidates.size // 400, 900)
        return min(max(fewest, self._told // 10), 4000)

    def _count(self) -> CountsAtRefit:
        ledger = self.ledger
        nodes = Nodes(ledger.nodes.entity.copy(), ledger.nodes.values.copy())
        seen = (ledger.seen[0].copy(), ledger.seen[1].copy())
        return CountsAtRefit(nodes, ledger.layers, ledger.passes.copy(), ledger.fails.copy(), seen)

    # Believing

    @property
    def tests(self) -> int:
        """The number of tests that e-BH counts: a limit that depends on nothing but the images asked for."""
        return len(self._places) + math.ceil(self.settings.openings * (self._told + self._in_flight))

    def _evidence_needed(self) -> float:
        """The evidence at which a node is left alone: e-BH will claim it, with a margin."""
        return evidence_needed(self.evidence(), self.settings.fdr, self.tests)

    def evidence(self) -> NDArray[np.float64]:
        """log e of every opened node."""
        bars, bets = self.bars.of(self.ledger.nodes), self.ledger.bets
        limits = [limit.fail for limit in self.bars.limits]
        rows = zip(bets[:, 0].tolist(), bets[:, 1].tolist(), bars.tolist(), strict=True)
        return np.array([log_evidence(s, f, limits[bar]) for s, f, bar in rows], dtype=np.float64)

    @property
    def posterior(self) -> Posterior:
        """What is believed as of the last refit."""
        if self._posterior is None:
            belief = Belief(
                self._taxonomy, self.lattice.depth, self._counts_at_refit, self.settings.threshold
            )
            forecast = Forecast(belief.priors, self.bars.limits, self._need)
            self._posterior = Posterior(self.ledger, belief, forecast, self.bars)
        return self._posterior

    def _current_agenda(self) -> Agenda:
        if self._agenda is None:
            explore = math.ceil(self.settings.explore * self._interval() / 3)
            self._agenda = Agenda(
                self.ledger,
                self.posterior.belief,
                self.posterior.forecast,
                self.bars,
                self._candidates,
                self._policy,
                self._reserved,
                self._refits,
                explore,
            )
        elif self._touched:
            self._agenda.update(sorted(self._touched))
        self._touched.clear()
        return self._agenda

    # Asking

    def ask(self, count: int) -> list[Probe]:
        probes: list[Probe] = []
        while len(probes) < count:
            probe = self._next_panel() or self._next_replicate() or self._next_search()
            probe = probe or self._next_panel(due=True) or self._next_replicate(due=True)
            if probe is None:
                self._over = not self._flying
                break
            probes.append(probe)
        return probes

    @property
    def _flying(self) -> int:
        return self._in_flight + self.panel.in_flight + self.replicates.in_flight

    @property
    def _asked(self) -> int:
        return self._told + self._in_flight + self.panel.asked + self.replicates.asked

    def _next_panel(self, due: bool = False) -> Probe | None:
        """The panel keeps pace with the search, so that a run that is cut short has its share."""
        if not due and self.panel.asked >= self.settings.panel * (self._asked + 1):
            return None
        return self._draw(self.panel)

    def _next_replicate(self, due: bool = False) -> Probe | None:
        """Near the end of the budget, or when the search is over, some findings are tried again."""
        images = self.settings.images
        share = self._share(self.settings.replication, MOST_REPLICATED * REPLICATED_IMAGES)
        if not due and (images is None or self._asked < images - share):
            return None
        if not self._sampled and not (due and self._in_flight):
            self._choose_replicates(min(MOST_REPLICATED, share // REPLICATED_IMAGES))
        return self._draw(self.replicates)

    def _choose_replicates(self, wanted: int) -> None:
        """Those of an earlier session stay, so that no image of theirs is wasted."""
        self._sampled = True
        found = [self.ledger.subjects[claim.slot] for claim in self.claims()]
        for subject in choose_sample(found, wanted, self._seed):
            if len(self.replicates) < wanted:
                self.replicates.add(subject, self.lattice.parse(subject))

    def _draw(self, draws: Draws) -> Probe | None:
        drawn = None if draws.complete else draws.next_try()
        if drawn is None:
            return None
        subject, node, number = drawn
        return self._probe(subject, node, draws.mark, number)

    @property
    def _room(self) -> int:
        """How many more nodes may become tests. Without certificates nothing is counted."""
        return self.tests - len(self.ledger.adopted) if self._policy.probable is None else 1

    def _next_search(self) -> Probe | None:
        ledger = self.ledger
        taken = self._current_agenda().take(self._room)
        if taken is None:
            return None
        key, bet = taken
        node = Node(self.lattice.entities[key[0]], key[1:])
        slot = self._open(key, node)
        number = ledger.next_try(slot)
        ledger.flying[slot] |= 1 << number
        self._in_flight += 1
        if bet:
            ledger.adopted.add(slot)
        return self._probe(ledger.subjects[slot], node, "" if bet else "s", number)

    def _open(self, key: Key, node: Node) -> int:
        slot = self.ledger.slot_by_key.get(key)
        return self.ledger.open(self.lattice.subject(node), node) if slot is None else slot

    def _probe(self, subject: str, node: Node, stream: str, number: int) -> Probe:
        seed = derive_seed(self._seed, SEEDS_OF[stream] + number)
        return Probe(f"{subject}#{stream}{number}", subject, self.prompting.steps(node, number), seed)

    # Looking

    @property
    def done(self) -> bool:
        """Known once `ask` found nothing to try while nothing was in flight."""
        return self._over

    @property
    def failing(self) -> set[int]:
        """Slots that are claimed to fail, minimal or not."""
        if self._policy.probable is None:
            return certify(self.evidence(), self.ledger.adopted, self.settings.fdr, self.tests)
        doubts = np.array([1 - self.posterior.of(slot).fails for slot in range(len(self.ledger))])
        return believe(doubts, self.settings.fdr / 2)

    def claims(self) -> list[Claim]:
        """Minimal failures, as of the trials told so far."""
        at = self._told, self.tests
        if self._claims[0] != at:
            found = minimal_claims(self.ledger, self.posterior, self.failing, self.settings.minimal_doubt)
            self._claims = at, found
        return self._claims[1]

    def findings(self) -> list[Finding]:
        found = [describe_claim(self, claim) for claim in self.claims()]
        return sorted(found, key=lambda finding: (-finding.e_value, finding.subject))

    def survey(self) -> T2ISurvey:
        return survey_hunt(self)

    def progress(self) -> Progress:
        """The number of findings may lag behind by some trials: counting them takes a moment."""
        counted = self._claims[0][0]
        if self.done or counted < 0 or self._told >= counted + max(tuning.PROGRESS_EVERY, self._told // 20):
            self.claims()
        phase = "done" if self.done else "trying findings again" if len(self.replicates) else "searching"
        return Progress(phase, len(self.ledger), None, len(self._claims[1]))


def _dropped(trial: Trial) -> list[int]:
    return [place for place, held in enumerate(trial.facts[-1]) if not held]
