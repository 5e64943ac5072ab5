"""How tries went: the one count of passes and fails that all hunts keep, and what t2i adds for a node."""

from dataclasses import dataclass

from failscape.spaces.lattice import Node
from failscape.trials import Trial, Verdict


@dataclass(slots=True)
class Counts:
    """Fails and passes are valid tries; invalid ones are counted apart and never a failure."""

    fails: int = 0
    passes: int = 0
    invalid: int = 0

    @property
    def valid(self) -> int:
        return self.passes + self.fails

    @property
    def tries(self) -> int:
        return self.passes + self.fails + self.invalid

    @property
    def rate(self) -> float:
        """The share of valid tries that failed; 0 before the first."""
        return self.fails / self.valid if self.valid else 0.0

    def count(self, verdict: Verdict) -> None:
        if verdict is Verdict.FAIL:
            self.fails += 1
        elif verdict is Verdict.PASS:
            self.passes += 1
        else:
            self.invalid += 1


class Tally(Counts):
    """Counts of one node. `told` and `flying` are sets of try numbers, as bits of an integer."""

    __slots__ = ("dropped", "flying", "node", "outcome", "told")

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node
        self.told = 0
        self.flying = 0
        self.outcome = ""
        self.dropped: list[int] | None = None

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


#: End of a trial's facts, such as `[true,false]]` → which checks dropped. Few exist, and parsing is slow.
_PATTERNS: dict[str, tuple[bool, ...]] = {}
