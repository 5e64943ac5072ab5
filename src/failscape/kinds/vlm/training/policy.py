"""A policy that chooses which kind of question to write, and learns from everything that was graded. Pure.

It is log-linear: the log-odds of a kind of question are a weight of its own plus one for each of its skills,
so that what one combination teaches carries over to others with the same skills. It starts with all numbers
of skills alike, then all combinations of that number, then all forms of a combination: simple questions come
first because there are few of them.

After each round it climbs the gradient of the expected worth (`worth.py`) over *all* questions graded so far,
weighed by how much likelier their kind is now than when they were written. Every question counts by how far
its worth is from what the policy earns on average now.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.vlm.training.worth import GradedKind, Worth
from failscape.spaces.questions import Pattern

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """How fast a policy learns and how far it may go. `docs/vlm.md` tells what each one does."""

    #: Steps up the gradient after each round.
    updates: int = 12
    #: Length of a step: the log-odds of a kind change by at most this much, times its weights.
    rate: float = 0.3
    #: Most that a question counts for whose kind is likelier now than when it was written.
    most_weight: float = 2.0
    #: Weight of the Kullback-Leibler divergence to where it started.
    pull: float = 0.02
    #: How much a failure is worth less for every one already found with the same skills.
    repeats: float = 0.1


class QuestionPolicy:
    """Chooses among `kinds`; `extend` adds to them."""

    def __init__(self, kinds: Sequence[Pattern], settings: PolicySettings) -> None:
        self.worth = Worth(settings.repeats)
        self._settings = settings
        self._skill_weights: dict[str, float] = {}
        self._kind_weights: dict[Pattern, float] = {}
        self._graded: list[tuple[GradedKind, Pattern, float]] = []
        self.extend(kinds)

    def extend(self, kinds: Sequence[Pattern]) -> None:
        """Take these kinds of question to choose from; what was learned of those known before is kept."""
        self.kinds = tuple(kinds)
        self._numbers = {kind: at for at, kind in enumerate(self.kinds)}
        skills = sorted({skill for kind in self.kinds for skill in kind.skills})
        self._takes = np.array([[skill in kind.skills for skill in skills] for kind in self.kinds], float)
        self._skills = skills
        self._start = start_of(self.kinds)
        self._log_chances = self._log_chances_now()

    def choose(self, rng: random.Random) -> tuple[Pattern, float]:
        """A kind of question, and the logarithm of its probability."""
        (at,) = rng.choices(range(len(self.kinds)), np.exp(self._log_chances).tolist())
        return self.kinds[at], float(self._log_chances[at])

    def log_chance(self, kind: Pattern) -> float:
        """The logarithm of how likely a kind is to be chosen now."""
        return float(self._log_chances[self._numbers[kind]])

    def note(self, question: GradedKind, kind: Pattern, log_chance: float) -> None:
        """A question of `kind` was graded; `log_chance` is what `choose` said of it."""
        self.worth.note(question)
        self._graded.append((question, kind, log_chance))

    def learn(self) -> None:
        """Take the steps of a round."""
        known = [row for row in self._graded if row[1] in self._numbers]
        if not known:
            return
        kinds = np.array([self._numbers[kind] for _, kind, _ in known])
        written = np.array([log_chance for _, _, log_chance in known])
        worths = np.array([self.worth.of(question) for question, _, _ in known])
        own, shared = self._weights()
        for _ in range(self._settings.updates):
            slope = self._slope(kinds, written, worths)
            own += self._settings.rate * slope
            shared += self._settings.rate * (self._takes.T @ slope)
            self._log_chances = _log_softmax(self._start + own + self._takes @ shared)
        self._kind_weights.update(zip(self.kinds, own.tolist(), strict=True))
        self._skill_weights.update(zip(self._skills, shared.tolist(), strict=True))

    def _slope(self, kinds: NDArray[np.int64], written: Vector, worths: Vector) -> Vector:
        """The gradient of what is earned, by the log-odds of each kind.

        Dividing by the sum of absolute advantages is what drawing questions in proportion to them does on
        average; a language model has to draw, here the whole sum costs next to nothing.
        """
        chances = np.exp(self._log_chances)
        weights = np.minimum(np.exp(self._log_chances[kinds] - written), self._settings.most_weight)
        advantages = worths - np.average(worths, weights=weights)
        total = np.abs(advantages).sum()
        slope = np.zeros(len(self.kinds))
        if total > 0:
            credit = np.bincount(kinds, weights * advantages / total, len(self.kinds))
            slope += credit - chances * credit.sum()
        moved = self._log_chances - self._start
        return slope - self._settings.pull * chances * (moved - chances @ moved)

    def _weights(self) -> tuple[Vector, Vector]:
        own = np.array([self._kind_weights.get(kind, 0.0) for kind in self.kinds])
        return own, np.array([self._skill_weights.get(skill, 0.0) for skill in self._skills])

    def _log_chances_now(self) -> Vector:
        own, shared = self._weights()
        return _log_softmax(self._start + own + self._takes @ shared)


def start_of(kinds: Sequence[Pattern]) -> Vector:
    """Log-probabilities before anything is known."""
    forms = Counter(kind.skills for kind in kinds)
    combinations = Counter(len(skills) for skills in forms)
    alike = [1 / (forms[kind.skills] * combinations[len(kind.skills)]) for kind in kinds]
    return np.log(np.array(alike) / len(combinations))


def _log_softmax(values: Vector) -> Vector:
    shifted = values - values.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()), np.float64)
