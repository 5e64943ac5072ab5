"""What is known about one node: which tries are told, and how they went."""

from __future__ import annotations

from failscape.spaces.lattice import Node
from failscape.trials import Trial


class Tally:
    """Counts of one node. `told` and `flying` are sets of try numbers, as bits of an integer."""

    __slots__ = ("dropped", "fails", "flying", "invalid", "node", "outcome", "passes", "told")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.passes = 0
        self.fails = 0
        self.invalid = 0
        self.told = 0
        self.flying = 0
        self.outcome = ""
        self.dropped: list[int] | None = None

    @property
    def valid(self) -> int:
        return self.passes + self.fails

    @property
    def tries(self) -> int:
        return self.passes + self.fails + self.invalid

    def next_try(self) -> int:
        """The lowest number that is neither told nor in flight."""
        taken = self.told | self.flying
        return (~taken & (taken + 1)).bit_length() - 1

    def blame(self, trial: Trial) -> None:
        """Count the checks that did not hold in a failed image."""
        text = trial.text
        ending = text[text.rfind("[") :]
        pattern = _PATTERNS.get(ending)
        if pattern is None:
            pattern = tuple(not held for held in trial.facts[-1])
            if len(_PATTERNS) < 4096:
                _PATTERNS[ending] = pattern
        if self.dropped is None:
            self.dropped = [0] * len(pattern)
        for place, dropped in enumerate(pattern):
            if dropped:
                self.dropped[place] += 1


_PATTERNS: dict[str, tuple[bool, ...]] = {}
"""End of a trial's facts, such as `[true,false]]` → which checks dropped. Few exist, and parsing is slow."""
