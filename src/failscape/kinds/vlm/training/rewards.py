"""What a question of a learning questioner is worth. Pure; `docs/vlm.md` defines every term.

An invalid question costs a little. A valid one earns what its skills promise: an optimistic failure rate, so
that what was hardly tried is tried. A failure earns most, the more the less alike it is to recent questions,
and less where its skills already make up much of recent failures. A pass earns nothing for being different:
paid for that, a questioner learns to write safe questions.
"""

import math
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from failscape.search.counts import Counts
from failscape.stats.texts import bleu, mean_similarity, unit, word_vectors

#: Recent questions that words are compared with; meaning is compared with all of the history.
LEXICAL_HISTORY = 48


@dataclass(frozen=True, slots=True)
class Weights:
    failure: float = 1.0
    semantic: float = 0.3
    lexical: float = 0.15
    invalid: float = 0.05
    share: float = 0.2
    history: int = 256
    promise: float = 0.5


@dataclass(frozen=True, slots=True)
class GradedQuestion:
    """A question as the reward sees it. `group` names the picture it is about, `vector` is its meaning.

    `followed` is False when a skill was asked for by name and the question does not take it.
    """

    text: str
    group: str
    skills: tuple[str, ...]
    valid: bool
    failed: bool
    vector: tuple[float, ...] = ()
    followed: bool = True


class Rewards:
    """Keeps the recent questions that diversity is measured against."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._texts: deque[str] = deque(maxlen=weights.history)
        self._vectors: deque[NDArray[np.float64]] = deque(maxlen=weights.history)
        self._failures: deque[tuple[str, ...]] = deque(maxlen=weights.history)
        self._counts: dict[tuple[str, ...], Counts] = defaultdict(Counts)

    def of(self, questions: Sequence[GradedQuestion]) -> list[float]:
        """One reward per question of a step; then the step belongs to the history."""
        vectors = _vectors(questions)
        shares = self._shares(questions)
        rewards = [self._reward(at, questions, vectors, shares) for at in range(len(questions))]
        for question, vector in zip(questions, vectors, strict=True):
            if question.valid:
                self._texts.append(question.text)
                self._vectors.append(vector)
                self._counts[question.skills].fails += question.failed
                self._counts[question.skills].passes += not question.failed
            if question.failed:
                self._failures.append(question.skills)
        return rewards

    def _shares(self, questions: Sequence[GradedQuestion]) -> dict[tuple[str, ...], float]:
        counts = Counter([*self._failures, *(one.skills for one in questions if one.failed)])
        return {skills: number / counts.total() for skills, number in counts.items()}

    def _reward(
        self,
        at: int,
        questions: Sequence[GradedQuestion],
        vectors: NDArray[np.float64],
        shares: dict[tuple[str, ...], float],
    ) -> float:
        question, weights = questions[at], self._weights
        if not question.valid or not question.followed:
            return -weights.invalid
        total = weights.promise * _promise(self._counts[question.skills])
        if question.failed:
            credit = min(1.0, weights.share / shares[question.skills])
            total += credit * (weights.failure + self._novelty(at, questions, vectors))
        return float(total)

    def _novelty(self, at: int, questions: Sequence[GradedQuestion], vectors: NDArray[np.float64]) -> float:
        """How unlike recent questions and the valid ones of its group it is, in meaning and in words."""
        question, weights = questions[at], self._weights
        peers = [
            i
            for i, other in enumerate(questions)
            if other.group == question.group and i != at and other.valid
        ]
        found = 0.0
        if weights.semantic:
            near = np.array([*self._vectors, *(vectors[i] for i in peers)])
            found += weights.semantic * (1 - mean_similarity(vectors[at], near))
        if weights.lexical:
            others = [*list(self._texts)[-LEXICAL_HISTORY:], *(questions[i].text for i in peers)]
            found += weights.lexical * (1 - bleu(question.text, others))
        return found


def _promise(count: Counts) -> float:
    """An optimistic failure rate: the mean and one standard deviation, 1 for what was never asked."""
    if not count.valid:
        return 1.0
    mean = (count.fails + 0.5) / (count.valid + 1)
    more = math.sqrt(mean * (1 - mean) / (count.valid + 1)) + 0.5 / (count.valid + 1)
    return min(1.0, mean + more)


def _vectors(questions: Sequence[GradedQuestion]) -> NDArray[np.float64]:
    if questions and all(one.vector for one in questions):
        return unit([one.vector for one in questions])
    return word_vectors([one.text for one in questions])
