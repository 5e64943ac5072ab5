"""The facts that trials can show: their kinds, which exclude each other, and what suits a context. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

#: Facts of a pattern by number, in ascending order.
PatternKey = tuple[int, ...]


class FactSpace:
    """All facts of a search. New ones may join while it runs.

    Args:
        contexts: What a failure rate is usual for: the classes of a classifier, or a single context.
        kinds: Fact → kind. A trial shows at most one fact of a kind, and so does a pattern.
        plausible: Context → facts that can be asked for in it. Contexts that are not listed take every fact.
        conflicts: Pairs of facts of different kinds that contradict each other.
        implied: Fact → facts that hold wherever it does ("three" implies "more than two", a form of question
            implies its skills). A fact and what it implies never stand in one pattern.
        never_alone: Facts that name nothing by themselves ("the answer is yes").
        complete: Whether trials are known to lack every fact that they do not show. Questions of a grammar
            are complete; pictures are not, for a generator adds things unasked.

    Raises:
        ValueError: If an option, a conflict or an implication names a fact without a kind.
    """

    def __init__(
        self,
        contexts: Iterable[str],
        kinds: Mapping[str, str],
        *,
        plausible: Mapping[str, Collection[str]] | None = None,
        conflicts: Iterable[tuple[str, str]] = (),
        implied: Mapping[str, Collection[str]] | None = None,
        never_alone: Collection[str] = (),
        complete: bool = False,
    ) -> None:
        self.contexts = tuple(dict.fromkeys(contexts))
        self.names: list[str] = []
        self.kinds: list[str] = []
        self.complete = complete
        self._number: dict[str, int] = {}
        self._implied: dict[int, frozenset[int]] = {}
        self._conflicts: set[frozenset[int]] = set()
        self._never_alone: set[int] = set()
        self._sizes: dict[tuple[str, int], tuple[float, ...]] = {}
        self._options: dict[str, list[int]] = {}
        self._alternatives: dict[str, list[int]] = {}
        self._compatible: dict[int, NDArray[np.bool_]] = {}
        for name, kind in kinds.items():
            self.add(name, kind)
        for name, others in (implied or {}).items():
            self.imply(name, others)
        for first, second in conflicts:
            self._conflicts.add(frozenset((self.number(first), self.number(second))))
        self._never_alone.update(self.number(name) for name in never_alone)
        self._read_options(plausible or {})

    def _read_options(self, plausible: Mapping[str, Collection[str]]) -> None:
        everything = list(range(len(self.names)))
        for context in self.contexts:
            listed = plausible.get(context)
            if listed is None:
                self._options[context] = list(everything)
            else:
                self._options[context] = sorted({self.number(name) for name in listed})

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self._number

    def add(self, name: str, kind: str) -> int:
        """The number of a fact; one that is new joins with this kind. It is no option of a context yet."""
        known = self._number.get(name)
        if known is not None:
            return known
        number = len(self.names)
        self.names.append(name)
        self.kinds.append(kind)
        self._number[name] = number
        self._alternatives.setdefault(kind, []).append(number)
        return number

    def imply(self, name: str, others: Iterable[str]) -> None:
        """Say that `others` hold wherever `name` does."""
        number = self.number(name)
        more = frozenset(self.number(other) for other in others)
        self._implied[number] = (self._implied.get(number, frozenset()) | more) - {number}
        self._compatible.clear()

    def offer(self, number: int) -> None:
        """Let a fact be asked for in every context."""
        for options in self._options.values():
            if number not in options:
                options.append(number)

    def number(self, name: str) -> int:
        """The number of a known fact."""
        known = self._number.get(name)
        if known is None:
            raise ValueError(f"every fact must have a kind, but {name!r} has none")
        return known

    def key(self, names: Iterable[str]) -> PatternKey:
        """A pattern by numbers."""
        return tuple(sorted({self.number(name) for name in names}))

    def named(self, key: Iterable[int]) -> tuple[str, ...]:
        """The facts of a pattern by name, in alphabetical order."""
        return tuple(sorted(self.names[number] for number in key))

    def closed(self, names: Iterable[str]) -> frozenset[int]:
        """Facts by number, with everything that they imply."""
        numbers = {self.number(name) for name in names}
        waiting = list(numbers)
        while waiting:
            more = self._implied.get(waiting.pop(), frozenset()) - numbers
            numbers |= more
            waiting.extend(more)
        return frozenset(numbers)

    def options(self, context: str) -> list[int]:
        """Facts that can be asked for in a context."""
        return self._options[context]

    def are_compatible(self, first: int, second: int) -> bool:
        """Whether two facts can stand in one pattern."""
        if self.kinds[first] == self.kinds[second]:
            return False
        if second in self._implied.get(first, ()) or first in self._implied.get(second, ()):
            return False
        return not self._conflicts or frozenset((first, second)) not in self._conflicts

    def compatible_with(self, number: int) -> NDArray[np.bool_]:
        """Which facts can stand beside a fact, for all facts by number."""
        known = self._compatible.get(number)
        if known is None or len(known) < len(self.names):
            known = np.array([self.are_compatible(number, other) for other in range(len(self.names))])
            self._compatible[number] = known
        return known

    def is_pattern(self, key: PatternKey) -> bool:
        """Whether these facts make a pattern: all compatible, and not only facts that never stand alone."""
        if not key or self._never_alone.issuperset(key):
            return False
        return all(
            self.are_compatible(first, second)
            for place, first in enumerate(key)
            for second in key[place + 1 :]
        )

    def alternatives(self, context: str, number: int) -> list[int]:
        """Other facts of the same kind that can be asked for in a context."""
        same_kind = self._alternatives[self.kinds[number]]
        options = set(self._options[context])
        return [other for other in same_kind if other != number and other in options]

    def pattern_count(self, context: str, size: int) -> float:
        """How many patterns of a size a context has: one fact from each of `size` kinds, over all choices."""
        place = (context, len(self.names) + len(self._options[context]))
        sizes = self._sizes.get(place)
        if sizes is None:
            numbers = {*self._options[context], *range(len(self.names))}
            sizes = _symmetric_sums(Counter(self.kinds[number] for number in numbers).values())
            self._sizes[place] = sizes
        return max(1.0, sizes[min(size, len(sizes) - 1)])


def _symmetric_sums(sizes: Iterable[int], largest: int = 3) -> tuple[float, ...]:
    """How many ways there are to choose one member from each of 0, 1, … `largest` groups."""
    sums = [1.0] + [0.0] * largest
    for size in sizes:
        for chosen in range(largest, 0, -1):
            sums[chosen] += size * sums[chosen - 1]
    return tuple(sums)
