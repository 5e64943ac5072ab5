"""Which groups are worth a test: those whose members the model expects to fail, the largest first.

Groups are a value, or two values, with a sub-class, a class, or everything. Members are nodes of the group
whose parents seem to pass: what a failing parent explains is no news.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.groups import SCOPES, Group, GroupCode
from failscape.kinds.t2i.search.ledger import Ledger
from failscape.kinds.t2i.search.posterior import Posterior
from failscape.search.belief.belief import Taxonomy
from failscape.search.belief.nodes import NO_VALUE, Ints, Nodes
from failscape.stats.rate_priors import RATES

Flags = NDArray[np.bool_]
#: Groups of two values that are looked at: those with most failures.
MOST_PAIRS = 100
#: Most of the members that a group has at least.
_SEEN_FAILING = tuning.LEAST_MEMBERS // 2 + 1


class Promise(NamedTuple):
    #: Members expected to fail that are not claimed yet.
    gain: float
    code: GroupCode
    places: Ints


@dataclass(frozen=True)
class GroupChoice:
    """`allowed`: [place in `places`, value] whether the node is one of the space."""

    taxonomy: Taxonomy
    ledger: Ledger
    posterior: Posterior
    places: Ints
    allowed: Flags
    threshold: float
    #: Slots that are claimed by themselves.
    claimed: Container[int]

    def members(self, code: GroupCode) -> Ints:
        """The places of a group's members."""
        fits = self._inside(code) & self._sound() & self.allowed[:, list(code.values)].all(axis=1)
        if len(code.values) > 1:
            singles = self._rates()[:, list(code.values)]
            fits &= (singles >= self.threshold).all(axis=1)
        return np.asarray(self.places[fits])

    def promising(self, groups: Mapping[GroupCode, Group]) -> list[Promise]:
        """The best first; none that is known, or lies within one under test or claimed."""
        if self.posterior.belief.singles.size == 0:
            return []
        found = [*self._single_values(), *self._pairs()]
        new = [one for one in found if one.code not in groups and not self.within(one, groups)]
        return sorted(new, key=lambda one: (-one.gain, one.code))

    def within(self, promise: Promise, groups: Mapping[GroupCode, Group]) -> bool:
        code, first = promise.code, int(promise.places[0])
        for scope in range(code.scope + 1, len(SCOPES)):
            wider = groups.get(self.code_of(scope, first, code.values))
            if wider is not None and not wider.given_up:
                return True
        return False

    def code_of(self, scope: int, place: int, values: tuple[int, ...]) -> GroupCode:
        """The group of this scope that a node belongs to."""
        return GroupCode(scope, int(self._numbers(scope, np.array([place]))[0]), values)

    def _numbers(self, scope: int, places: Ints) -> Ints:
        if SCOPES[scope] == "all":
            return np.zeros(len(places), dtype=np.int64)
        return np.asarray((self.taxonomy.sub if scope == 0 else self.taxonomy.upper)[places])

    def _inside(self, code: GroupCode) -> Flags:
        return np.asarray(self._numbers(code.scope, self.places) == code.who)

    def _sound(self) -> Flags:
        """Entities that seem to pass; those that nobody has drawn do not count."""
        slots = (self.ledger.slot_by_key.get((place,)) for place in self.places.tolist())
        return np.array(
            [slot is not None and self.posterior.of(slot).passes >= tuning.EVEN_ODDS for slot in slots],
            np.bool_,
        )

    def _rates(self) -> NDArray[np.float64]:
        return np.asarray(special.expit(self.posterior.belief.singles[self.places]))

    def _single_values(self) -> Iterator[Promise]:
        member, rates = self.allowed & self._sound()[:, None], self._rates()
        failing, claimed = self._marked(member.shape)
        passes, images = self._images_of_singles(member.shape)
        for scope in range(len(SCOPES)):
            numbers = self._numbers(scope, self.places)
            belongs = (np.arange(numbers.max(initial=0) + 1)[:, None] == numbers).astype(np.float64)
            size, seen = belongs @ member, belongs @ failing
            mean = belongs @ (member * rates) / np.maximum(size, 1)
            left = belongs @ (member & ~claimed)
            passed = belongs @ (member * passes) / np.maximum(belongs @ (member * images), 1)
            fits = (size >= tuning.LEAST_MEMBERS) & (seen >= _SEEN_FAILING) & self._promises(mean)
            fits &= passed <= tuning.SEEN_PASSING
            for who, value in np.argwhere(fits & (left >= tuning.LEAST_MEMBERS)).tolist():
                places = self.places[(numbers == who) & member[:, value]]
                gain = float(left[who, value] * (1 - mean[who, value]))
                yield Promise(gain, GroupCode(scope, who, (value,)), places)

    def _promises(self, mean: NDArray[np.float64]) -> Flags:
        return np.asarray(mean <= tuning.PROMISING * self.threshold)

    def _marked(self, shape: tuple[int, ...]) -> tuple[Flags, Flags]:
        """Nodes with one value that failed more often than not, and those that are claimed."""
        row = {place: at for at, place in enumerate(self.places.tolist())}
        failing, claimed = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        for slot in self._failing_slots(1):
            place, value = self.ledger.keys[slot]
            failing[row[place], value] = True
            claimed[row[place], value] = slot in self.claimed
        return failing, claimed

    def _images_of_singles(self, shape: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[place in `places`, value]: images that passed, and all of them."""
        ledger = self.ledger
        slots = np.flatnonzero(ledger.layers == 1)
        nodes, passes = ledger.nodes[slots], np.zeros(shape, np.int64)
        images = passes.copy()
        at = np.searchsorted(self.places, nodes.entity), nodes.values[:, 0]
        passes[at] = ledger.passes[slots]
        images[at] = passes[at] + ledger.fails[slots]
        return passes, images

    def _failing_slots(self, layer: int) -> list[int]:
        ledger = self.ledger
        return np.flatnonzero((ledger.layers == layer) & (ledger.fails > ledger.passes)).tolist()

    def _pairs(self) -> Iterator[Promise]:
        ledger = self.ledger
        counts: Counter[GroupCode] = Counter()
        taken: Counter[GroupCode] = Counter()
        for slot in self._failing_slots(2):
            place, *values = ledger.keys[slot]
            for scope in range(len(SCOPES)):
                code = self.code_of(scope, place, tuple(values))
                counts[code] += 1
                taken[code] += slot in self.claimed
        enough = [code for code, count in counts.most_common(MOST_PAIRS) if count >= _SEEN_FAILING]
        for code in enough:
            places = self.members(code)
            if len(places) - taken[code] >= tuning.LEAST_MEMBERS:
                mean = self._mean_of_pairs(places, code.values)
                if self._promises(np.array(mean)):
                    yield Promise((len(places) - taken[code]) * (1 - mean), code, places)

    def _mean_of_pairs(self, places: Ints, values: tuple[int, ...]) -> float:
        padded = np.full((len(places), self.ledger.width), NO_VALUE, dtype=np.int64)
        padded[:, : len(values)] = values
        belief, layer = self.posterior.belief, len(values)
        rows = belief.rows(layer, Nodes(places, padded))
        return float((belief.priors[layer] @ RATES)[rows].mean())
