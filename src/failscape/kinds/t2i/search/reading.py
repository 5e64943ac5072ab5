"""Does the judge recognise every word? Its accuracy is known by kind of check, in the mean over words.

A judge that is right on 96 % in the mean may be right on every word alike, or miss one word in twenty half of
the time: then every node with that word looks failing. Images of the word tell that it is recognised; that it
is not, they cannot tell from a model that never draws it. Only labels can.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.kinds.t2i.search.ledger import Ledger
from failscape.search.belief.belief import Belief
from failscape.search.belief.nodes import Key
from failscape.stats.judging.accuracy import JudgeAccuracy, word_key

Floats = NDArray[np.float64]

#: A word that is called true less often than this where it holds is misread: nodes that pass look failing.
MISREAD = 0.5

#: So large a share of words is taken to be misread, unless that were more than half of the judge's errors.
#: How unevenly a judge errs is not known from its mean; this is a choice, and labels of a word overrule it.
SHARE = 0.04

#: Where a word works the model draws it about so often: a recognised word is then called true this often
#: times the judge's sensitivity.
NEARLY = 0.97

#: With such a share of what it is asked with a value may work; all are reckoned with.
WORKS_WITH = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.95)


class Reading(NamedTuple):
    """The chances that entities and values are misread, and that a node with one value passes."""

    entities: Floats
    values: Floats
    passing: float

    def doubt(self, key: Key) -> float:
        """That a node looks failing because a word of it is misread, and passes."""
        if len(key) == 1:
            return float(self.entities[key[0]])
        sure = 1.0  # its entity passes: so that is recognised
        for value in key[1:]:
            sure *= 1 - self.passing * float(self.values[value])
        return 1 - sure

    def worst(self, key: Key) -> int:
        """The place of the check that may be misread most likely: 0 is the entity's."""
        return 1 + int(np.argmax(self.values[list(key[1:])])) if len(key) > 1 else 0


def read_words(ledger: Ledger, accuracy: JudgeAccuracy, belief: Belief, threshold: float) -> Reading:
    """From the checks that were made so far."""
    corpus, lattice = ledger.lattice.corpus, ledger.lattice
    entities = _chances(
        ledger.entity_checks[:, None, :],
        np.array([_sensitivity(accuracy, "entity", corpus.entities[e].name) for e in lattice.entities]),
    )
    values = _chances(
        ledger.value_checks.transpose(1, 0, 2),
        np.array([_sensitivity(accuracy, value.kind, value.name) for value in corpus.values]),
    )
    passing = special.expit(belief.singles) >= threshold
    return Reading(entities, values, float(passing.mean()) if passing.size else 1.0)


def _sensitivity(accuracy: JudgeAccuracy, kind: str, word: str) -> float:
    """In the mean over words of a kind; 1 for a word that was measured by itself, whose limits know it."""
    measured = word_key(kind, word) in accuracy.kinds
    return 1.0 if measured else accuracy.of(kind).sensitivity.rate


def _chances(checks: NDArray[np.int32], sensitivity: Floats) -> Floats:
    """`checks`: [word, what it was asked with, (held, asked)].

    A mean sensitivity s allows at most the share (1 − s) / (1 − `MISREAD`) of words to be misread. All words
    together are expected to be misread no more often than beforehand: a word that was never seen to be
    recognised may be one that the model never draws. Each thing that a word was asked with is a chance to see
    it recognised: a value need not work with all of them.
    """
    share = np.minimum(SHARE, (1 - sensitivity) / (1 - MISREAD) / 2)
    read = np.clip(NEARLY * sensitivity, MISREAD + 0.01, 0.999)[:, None]
    held, missed = checks[..., 0], checks[..., 1] - checks[..., 0]
    logs = held * np.log(read / MISREAD) + missed * np.log((1 - read) / (1 - MISREAD))
    works = [np.logaddexp(np.log1p(-one), np.log(one) + logs).sum(axis=1) for one in WORKS_WITH]
    evidence = special.logsumexp(works, axis=0) - np.log(len(works))
    known = np.where(share > 0, special.expit(special.logit(np.maximum(share, 1e-12)) - evidence), 0.0)
    return np.asarray(known * min(1.0, float(share.sum()) / max(float(known.sum()), 1e-12)))
