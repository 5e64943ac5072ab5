"""What to try next: every node gets an index, the expected number of new minimal failures per image.

An agenda is made from one belief and kept up to date as trials come in, until the next belief is formed.
Children may be tried before their parents are settled; parents are settled once failures wait for them.
"""

import heapq
import math
from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.candidates import Candidates
from failscape.kinds.t2i.search.forecast import Bars, Forecast
from failscape.kinds.t2i.search.ledger import Ledger
from failscape.kinds.t2i.search.posterior import Posterior
from failscape.kinds.t2i.search.standing import Floats, Standing, State
from failscape.search.belief.belief import Belief
from failscape.search.belief.nodes import NO_VALUE, Key, Nodes

#: A node with its index, negated: the smallest comes first.
Entry = tuple[float, Key]


@dataclass(frozen=True, slots=True)
class Policy:
    """When an ancestor counts as settled; `level` is that of the list (`fdr`)."""

    level: float
    threshold: float
    #: When no further node may become evidence, is one that should put off, or drawn without being it?
    parks: bool = True

    def settled(self, layer: int, failure_probability: float, waiting: int) -> bool:
        """Of a node with enough images of its own, for which so many failures wait.

        They would all fall with it: of all of them together no more than `level` may be expected to.
        """
        return failure_probability <= min(settled_at(layer), self.level / max(waiting, 1))

    def further_images(self, failure_probability: float, expected: float) -> float:
        """Images that make a settled ancestor sure enough for one failure, which was expected to fail with
        some probability: the less it was, the more would a failing ancestor explain it.

        Half of what a claim may be wrong by is left to its ancestors. An image that passes brings −log τ nats
        against a rate of τ.
        """
        unsettled = min(failure_probability, settled_at(1))
        excess = unsettled / (0.5 * self.level * expected)
        return math.log(max(excess, 1.0)) / -math.log(self.threshold)


def settled_at(layer: int) -> float:
    """The failure probability at which an ancestor counts as settled, if few failures wait for it."""
    return tuning.SETTLED[min(layer, len(tuning.SETTLED) - 1)]


class Agenda:
    """`take` gives the key of the best node; `update` tells it of nodes whose counts changed."""

    def __init__(
        self,
        ledger: Ledger,
        belief: Belief,
        forecast: Forecast,
        bars: Bars,
        candidates: Candidates,
        policy: Policy,
        reserved: NDArray[np.uint64],
        refit: int,
        explore: int,
        members: Collection[Key] = (),
        claimed: Container[int] = (),
        kept: int = tuning.KEPT,
    ) -> None:
        """`reserved` are codes of nodes that are not opened; `members`, of groups that fail as a whole, get
        no further images for their own sake, and nothing below them is tried. Slots that are `claimed` are
        only worth a certificate."""
        self.forecast = forecast
        self._ledger = ledger
        self._belief = belief
        self._bars = bars
        self._candidates = candidates
        self._policy = policy
        self._kept = kept
        self._members = members
        self._claimed = claimed
        self._posterior = Posterior(ledger, belief, forecast, bars)
        self._reached: set[int] = set()
        self._proven: set[int] = set()
        self._heap: list[Entry] = []
        self._parked: list[Entry] = []
        self._betting: set[Key] = set()
        self._now: dict[Key, float] = {}
        #: By ancestor: slots that are taken to fail and wait to learn whether it passes.
        self._waiting: dict[Key, set[int]] = {}
        self.standing = self._predicted_standing()
        for key in members:
            self.standing.put(key, 0.0, 1.0, settled=False, dead=True)
        slots = range(len(ledger))
        for slot in slots:
            self._place(slot)
        for slot in sorted(self._reached):
            self._let_wait(slot, 1)
        for slot in slots:
            if self._ledger.keys[slot] in self._waiting:
                self._place(slot)  # again, now that it is known who waits
        for slot in slots:
            self._score(slot)
        self._add_candidates(reserved, refit, explore)
        heapq.heapify(self._heap)

    # Building

    def _predicted_standing(self) -> Standing:
        lattice, width = self._ledger.lattice, self._ledger.width
        size, count = len(lattice.entities), len(lattice.corpus.values) if lattice.depth else 0
        alone = Nodes(np.arange(size), np.full((size, width), NO_VALUE, dtype=np.int64))
        passes, prices = self._fresh(0, alone)
        nothing = np.zeros((size, 0))
        if not count:
            return self._standing((passes, nothing), (prices, nothing))
        values = np.full((size * count, width), NO_VALUE, dtype=np.int64)
        values[:, 0] = np.tile(np.arange(count), size)
        singles = self._fresh(1, Nodes(np.repeat(np.arange(size), count), values))
        pass_with, price_with = (part.reshape(size, count) for part in singles)
        return self._standing((passes, pass_with), (prices, price_with))

    def _standing(self, passes: tuple[Floats, Floats], prices: tuple[Floats, Floats]) -> Standing:
        return Standing(passes, prices, self._ledger.ancestors_of, self._ledger.reflection)

    def _fresh(self, layer: int, nodes: Nodes) -> list[NDArray[np.float64]]:
        """The chance that nodes without images can be shown to pass, and the images that this takes."""
        rows, bars = self._belief.rows(layer, nodes), self._bars.of(nodes)
        return self.forecast.fresh(layer, rows, bars, "settles", "settling")

    def _add_candidates(self, reserved: NDArray[np.uint64], refit: int, explore: int) -> None:
        taken = np.union1d(self._ledger.nodes.codes, reserved)
        scores: list[NDArray[np.float64]] = []
        found: list[Nodes] = []
        for layer in range(self._ledger.lattice.depth + 1):
            nodes = self._candidates.of_layer(layer, refit, taken)
            if len(nodes):
                scores.append(self._score_fresh(layer, nodes))
                found.append(nodes)
        if not found:
            return
        rng = np.random.default_rng([refit, 77])
        for score in scores:
            eligible = np.flatnonzero(score > 0)
            if explore and len(eligible) and score.max() < 1:
                # A few are tried for the model's sake: it learns nothing about what is never drawn.
                score[rng.choice(eligible, min(explore, len(eligible)), replace=False)] += 1.0
        self._push_best(np.concatenate(scores), found)

    def _push_best(self, scores: NDArray[np.float64], found: Sequence[Nodes]) -> None:
        best = np.flatnonzero(scores > 0)
        if len(best) > self._kept:
            best = best[np.argpartition(-scores[best], self._kept)[: self._kept]]
        start = 0
        for nodes in found:  # of one layer each
            chosen = best[(best >= start) & (best < start + len(nodes))]
            keys, entered = nodes[chosen - start].keys(), scores[chosen]
            self._now.update(zip(keys, entered.tolist(), strict=True))
            self._heap += zip((-entered).tolist(), keys, strict=True)
            start += len(nodes)
        for key in sorted(self._waiting):
            if key not in self._ledger.slot_by_key:
                self._enter(max(self._worth_settling(key), self._now.get(key, 0.0)), key, push=False)

    def _score_fresh(self, layer: int, nodes: Nodes) -> NDArray[np.float64]:
        if layer == 0:
            return np.full(len(nodes), 10.0)
        rows = self._belief.rows(layer, nodes, optimism=tuning.OPTIMISM, if_pass=layer == 1)
        worth, fails = self.forecast.fresh(layer, rows, self._bars.of(nodes), "worth", "fails")
        chance, cost, dead = self.standing.weigh_all(layer, nodes)
        if layer > 1:
            chance = chance / (chance + (1 - chance) / np.maximum(fails, tuning.LEAST_EXPECTED) + 1e-12)
        score = chance / (1 / np.maximum(worth, 1e-9) + cost)
        return np.where(dead, 0.0, score)

    # Keeping up

    def update(self, slots: Sequence[int]) -> None:
        """Slots whose counts changed."""
        woken: set[Key] = set()
        for slot in slots:
            before = slot in self._reached
            self._place(slot)
            after = slot in self._reached
            if before != after:
                woken.update(self._let_wait(slot, 1 if after else -1))
        for slot in slots:
            self._score(slot, push=True)
        for key in sorted(woken):
            self._wake(key)

    def _wake(self, key: Key) -> None:
        """More failures wait for a node: its index may have risen."""
        slot = self._ledger.slot_by_key.get(key)
        if slot is not None:
            self._place(slot)
            self._score(slot, push=True)
        else:
            score = max(self._worth_settling(key), self._now.get(key, 0.0))
            self._enter(score, key, push=True)

    def _place(self, slot: int) -> None:
        """Enter a slot's standing as an ancestor."""
        view = self._posterior.of(slot)
        images = self._ledger.images(slot)
        key = self._ledger.keys[slot]
        proven = self.forecast.goal.proven(len(key) - 1, view)
        reached = proven or self.forecast.goal.likely(view.fails, images)
        (self._reached.add if reached else self._reached.discard)(slot)
        (self._proven.add if proven else self._proven.discard)(slot)
        waiting = self.standing.get(key).waiting
        doubt = 1 - view.passes if images >= tuning.LEAST_IMAGES else 1.0
        settled = self._policy.settled(len(key) - 1, doubt, waiting)
        chance = view.passes if settled else view.settles
        # With a tolerance a node can both fail and pass as an ancestor: then nodes below it are still tried.
        dead = (reached and view.passes < tuning.EVEN_ODDS) or key in self._members
        self.standing.put(key, chance, view.settling, settled, dead, doubt)

    def _let_wait(self, slot: int, by: int) -> list[Key]:
        """A certified failure waits for its ancestors, unless one of them is certified itself."""
        waited = self._ledger.ancestors_of(self._ledger.keys[slot])
        for ancestor in waited:
            self.standing.wait(ancestor, by)
            slots = self._waiting.setdefault(ancestor, set())
            (slots.add if by > 0 else slots.discard)(slot)
        return waited

    def _score(self, slot: int, push: bool = False) -> None:
        key = self._ledger.keys[slot]
        layer, tries = len(key) - 1, self._tries(slot)
        if layer == 0 and tries < tuning.FIRST_IMAGES:
            self._enter(10.0, key, push, bet=True)
            return
        best, bet = self._worth_settling(key), False
        if slot not in self._proven and key not in self._members and not self._ledger.unjudgeable(slot):
            chance, cost, dead = self.standing.weigh(key)
            if not dead:
                own = self._own_index(slot, chance, cost)
                best, bet = max(best, own), own >= best
        self._enter(best, key, push, bet)

    def _worth_settling(self, key: Key) -> float:
        """The index of a node as an ancestor that failures wait for: of so many of them as make it highest.

        Of several ancestors that a failure waits for, the one that is most likely to fail comes first by
        this: should it, images of the others would be lost.
        """
        state, slot = self.standing.get(key), self._ledger.slot_by_key.get(key)
        if state.waiting <= 0 or state.dead or (slot is not None and self._ledger.unjudgeable(slot)):
            return 0.0
        if self.standing.weigh(key)[2]:
            return 0.0
        ways = [self._way_of(waiting, key) for waiting in self._waiting.get(key, ())]
        ways = [way for way in ways if way[1] > 0]
        ways.sort(key=lambda way: (way[0] / sum(way[1:]), way), reverse=True)  # not in the order of a set
        best = gain = price = others = 0.0
        for chance, own, further in ways:
            gain, price, others = gain + chance, max(price, own), others + further
            best = max(best, state.passes * gain / (price + state.passes * others))
        return best

    def _way_of(self, slot: int, key: Key) -> tuple[float, float, float]:
        """What a failure that waits for an ancestor still needs: the chance that all others pass, the images
        that this ancestor takes, and those that the others take."""
        chance, own, further = 1.0, 0.0, 0.0
        for ancestor in self._ledger.ancestors_of(self._ledger.keys[slot]):
            state = self.standing.get(ancestor)
            price = self._price_for(slot, state)
            if ancestor == key:
                own = price
            else:
                chance *= 0.0 if state.dead else state.passes
                further += price / max(state.waiting, 1)
        return chance, own, further

    def _price_for(self, slot: int, state: State) -> float:
        """Images until an ancestor is settled for a failure that waits for it; 0 if it is. The less the
        failure was expected, the surer one must be of the ancestor: its failing would explain it."""
        expected = max(self._posterior.before(slot).fails, tuning.LEAST_EXPECTED)
        further = self._policy.further_images(state.doubt, expected)
        return further if state.settled else max(state.price, 1.0) + further

    def _own_index(self, slot: int, chance: float, cost: float) -> float:
        """The index of a node for its own sake: `chance` and `cost` are those of its ancestors.

        A failing ancestor explains a failing node: should it fail, that speaks against the ancestors, the
        more so the less it was expected.
        """
        worth = self._posterior.of(slot).worth
        if slot in self._claimed and slot not in self._reached:
            worth *= self.forecast.goal.certificate
        if worth <= 0:
            return 0.0
        expected = max(self._posterior.before(slot).fails, tuning.LEAST_EXPECTED)
        chance = chance / (chance + (1 - chance) / expected + 1e-12)
        return chance / (1 / worth + cost)

    def _tries(self, slot: int) -> int:
        return self._ledger.images(slot) + self._ledger.invalid[slot]

    def _enter(self, score: float, key: Key, push: bool, bet: bool = False) -> None:
        """Give a node its index; older entries of the heap are void from now on. `bet`: its next image is to
        be evidence, and not only a look."""
        self._now[key] = score
        if score <= 0:
            return
        if bet:
            self._betting.add(key)
        else:
            self._betting.discard(key)
        if push:
            heapq.heappush(self._heap, (-score, key))
        else:
            self._heap.append((-score, key))

    # Choosing

    def take(self, room: int, least: float = 0.0) -> tuple[Key, bool] | None:
        """The best node, and whether its image is to be evidence; None if its index is below `least`.

        With no `room`, no node becomes evidence that is not yet."""
        while True:
            heaps = [self._heap, self._parked] if room > 0 else [self._heap]
            best = min((found for heap in heaps if (found := self._best(heap)) is not None), default=None)
            if best is None or -best[0] < least:
                return None
            for heap in heaps:
                if heap and heap[0] == best:
                    heapq.heappop(heap)
            key = best[1]
            bet = key in self._betting or len(key) == 1
            if bet and room <= 0 and not self._is_evidence(key):
                if self._policy.parks:
                    heapq.heappush(self._parked, best)
                    continue
                bet = False
            if self._most_flying(key) > 1:
                heapq.heappush(self._heap, best)
            return key, bet

    def _is_evidence(self, key: Key) -> bool:
        slot = self._ledger.slot_by_key.get(key)
        return slot is not None and (len(key) == 1 or slot in self._ledger.adopted)

    def _best(self, heap: list[Entry]) -> Entry | None:
        """The first entry that still holds; those before it are dropped."""
        while heap:
            score, key = heap[0]
            if self._now.get(key) == -score and self._wanted(key):
                return heap[0]
            heapq.heappop(heap)
        return None

    def _most_flying(self, key: Key) -> int:
        """Images under way at once: one, for each may change our mind; more where many failures wait."""
        state = self.standing.get(key)
        return 1 if state.settled or state.waiting < 3 else min(state.waiting, tuning.MOST_FLYING)

    def _wanted(self, key: Key) -> bool:
        slot = self._ledger.slot_by_key.get(key)
        if slot is not None:
            flying = self._ledger.flying[slot].bit_count()
            if slot in self._proven or (flying and flying >= self._most_flying(key)):
                return False
        return not self.standing.weigh(key)[2]

    @property
    def empty(self) -> bool:
        return self._best(self._heap) is None and self._best(self._parked) is None

    @property
    def reached(self) -> set[int]:
        return self._reached
