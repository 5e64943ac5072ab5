"""What a graded question is worth to a questioner that learns, a policy or a language model. Pure.

    worth = valid × (½ · failed + ½ · failure rate of its skills) ÷ √(1 + repeats · failures found there)

The failure rate makes a pass in a weak combination of skills worth more than one elsewhere. The divisor pays
less for what was found before, so that a questioner moves on: with the default of 0.1, another failure is
worth half where thirty were found. An invalid question is worth nothing, which is less
than the average: there is no penalty besides.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from failscape.search.counts import Counts

Skills = tuple[str, ...]


class GradedKind(NamedTuple):
    """A question with its outcome."""

    skills: Skills
    valid: bool
    failed: bool


class Worth:
    """Counts what was found, and tells what a question is worth by it.

    Args:
        repeats: How much every failure already found in a combination of skills lowers the worth of
            another one. 0 pays for the same failure for ever.
    """

    def __init__(self, repeats: float) -> None:
        self._repeats = repeats
        self._overall = Counts()
        self._counts: dict[Skills, Counts] = defaultdict(Counts)

    @property
    def counts(self) -> Mapping[Skills, Counts]:
        return self._counts

    def note(self, question: GradedKind) -> None:
        """Count a question. One that was invalid tells nothing about its skills."""
        if not question.valid:
            return
        for count in (self._overall, self._counts[question.skills]):
            count.fails += question.failed
            count.passes += not question.failed

    def failure_rate(self, skills: Skills) -> float:
        """Of a combination, as if one question more had failed there as often as questions do overall."""
        count = self._counts.get(skills, Counts())
        usual = self._overall.fails / self._overall.valid if self._overall.valid else 0.0
        return (count.fails + usual) / (count.valid + 1)

    def of(self, question: GradedKind) -> float:
        """By all that was noted so far."""
        if not question.valid:
            return 0.0
        found = self._counts[question.skills].fails if question.skills in self._counts else 0
        promise = 0.5 * question.failed + 0.5 * self.failure_rate(question.skills)
        return promise / math.sqrt(1 + self._repeats * found)
