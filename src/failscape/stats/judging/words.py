"""Which words a judge may misread: those whose check drops far more often than others of their kind. Pure.

A judge's accuracy is measured by kind of check, but within a kind it may err unevenly: a word that it hardly
ever recognises makes every node with that word look failing. The counts alone cannot tell such a
word from one that the model never draws. A few labels of its pictures can, and here is where they help most.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import special

#: A word that was judged less often than this is not spoken of.
LEAST_ASKED = 8
#: A word that drops with one subject only is that subject's failure, not the judge's.
LEAST_SUBJECTS = 2
#: The other words of the kind count as so many answers about the word itself.
USUAL_WEIGHT = 4.0
#: Standard deviations above the usual drop rate of the kind at which a word is spoken of.
UNUSUAL = 3.5
#: A word that drops less often than this is no reason to doubt the judge.
LEAST_DROP = 0.3
#: Labels of pictures in which the judge missed the word: with a usual judge nearly all confirm it; where it
#: recognises the word only half of the time, half of them do not.
LABELS = 10


class WordCounts(NamedTuple):
    """How a judge answered the checks of one word: `asked` times, of which `dropped` were not so.

    `subjects` were asked about it, in `everywhere` of them it dropped more often than not; `alone` images
    failed by this check only.
    """

    kind: str
    word: str
    asked: int
    dropped: int
    subjects: int
    everywhere: int
    alone: int

    @property
    def drop_rate(self) -> float:
        return self.dropped / self.asked if self.asked else 0.0


class DoubtedWord(NamedTuple):
    """A word to label first. `usual` is how often checks of its kind drop; `labels` pictures would tell."""

    counts: WordCounts
    usual: float
    labels: int


def doubted_words(words: Iterable[WordCounts]) -> list[DoubtedWord]:
    """Words that drop unusually often for their kind, those with most at stake first."""
    kinds: dict[str, list[WordCounts]] = {}
    for one in words:
        kinds.setdefault(one.kind, []).append(one)
    found = [doubt for some in kinds.values() for doubt in _of_kind(some)]
    return sorted(found, key=lambda one: (-one.counts.alone, one.counts.kind, one.counts.word))


def _of_kind(words: list[WordCounts]) -> list[DoubtedWord]:
    """The usual drop rate is the median of the words: a few that are misread must not make it look usual."""
    known = [one for one in words if one.asked >= LEAST_ASKED]
    if len(known) < 3:
        return []
    usual = float(np.median([one.drop_rate for one in known]))
    spread = _spread(known, usual)
    doubted = []
    for one in known:
        rate = (one.dropped + USUAL_WEIGHT * usual) / (one.asked + USUAL_WEIGHT)
        chance = np.sqrt(max(usual * (1 - usual), 0.01) / one.asked)
        unusual = (rate - usual) / np.hypot(chance, spread) >= UNUSUAL
        widely = one.subjects >= LEAST_SUBJECTS and 2 * one.everywhere >= one.subjects
        if unusual and widely and rate >= LEAST_DROP:
            doubted.append(DoubtedWord(one, usual, min(LABELS, one.dropped)))
    return doubted


def _spread(words: list[WordCounts], usual: float) -> float:
    """How far words of a kind usually differ beyond chance: from the middle half, so few do not count."""
    rates = np.array([one.drop_rate for one in words])
    middle = float(np.subtract(*np.percentile(rates, [75, 25]))) / float(2 * special.ndtri(0.75))
    chance = float(np.mean([usual * (1 - usual) / one.asked for one in words]))
    return float(np.sqrt(max(middle**2 - chance, 0.0)))
