"""What captions tell of generator and captioner, beside what they propose. Pure.

Captions of plain pictures show what the generator draws unasked; captions of pictures that were drawn with a
clause, and in which the judge sees it, show how often the captioner mentions what is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from failscape.kinds.classifier.prompts import Clause
from failscape.kinds.classifier.tallies import Described
from failscape.stats.intervals import clopper_pearson

#: Fewer captioned pictures of a sort say nothing worth printing.
LEAST_SHARE = 0.02
MOST_UNASKED = 12
LEAST_PICTURES = 8

#: An attribute comes along with a clause when captions of half of its pictures mention it, and three times as
#: many as of plain pictures.
COMES_ALONG, MORE_THAN_PLAIN = 0.5, 3.0

ENOUGH_CAPTIONS = 6


@dataclass(frozen=True, slots=True)
class Unasked:
    """`label` is mentioned in this share of plain pictures of all classes, though nobody asked for it."""

    label: str
    share: float
    pictures: int


@dataclass(frozen=True, slots=True)
class CaptionSurvey:
    """`mentioned` of `shown` clauses that are in the picture are in its caption."""

    mentioned: int
    shown: int
    recall: float
    interval: tuple[float, float]
    unasked: tuple[Unasked, ...]


class CaptionStudy:
    """Failed pictures are captioned more often than others, so both are weighed by how common they are."""

    def __init__(self) -> None:
        self._mentioned = self._shown = 0
        self._plain: Counter[bool] = Counter()
        self._labels: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        self._clauses: dict[str, Clause] = {}
        self._drawn: Counter[str] = Counter()
        self._beside: dict[str, Counter[str]] = {}

    def learn(self, image: Described, said: Iterable[Clause]) -> None:
        known = {clause.label: clause for clause in said}
        labels = set(known)
        self._clauses.update(known)
        for label in image.asked:
            self._drawn[label] += 1
            self._beside.setdefault(label, Counter()).update(labels.difference(image.asked))
        self._shown += len(image.asked)
        self._mentioned += sum(label in labels for label in image.asked)
        if image.plain:
            self._plain[image.failed] += 1
            self._labels[image.failed].update(labels)

    def companions(self, label: str) -> list[Clause]:
        """What comes along with a clause though nobody asks for it, by captions; the commonest first."""
        drawn, plain = self._drawn[label], max(1, self._plain[False])
        if drawn < ENOUGH_CAPTIONS:
            return []
        shares = {other: hits / drawn for other, hits in self._beside[label].items()}
        often = [
            other
            for other, share in shares.items()
            if share >= COMES_ALONG and share >= MORE_THAN_PLAIN * self._labels[False][other] / plain
        ]
        return [self._clauses[other] for other in sorted(often, key=lambda one: (-shares[one], one))]

    def survey(self, base_rate: float) -> CaptionSurvey | None:
        """`base_rate` is the failure rate of plain pictures; `None` where nothing was captioned."""
        if not self._shown and not self._plain:
            return None
        low, high = clopper_pearson(self._mentioned, self._shown)
        recall = self._mentioned / self._shown if self._shown else 0.0
        unasked = self._unasked(base_rate)
        return CaptionSurvey(self._mentioned, self._shown, recall, (float(low), float(high)), tuple(unasked))

    def _unasked(self, base_rate: float) -> Sequence[Unasked]:
        if self._plain[False] < LEAST_PICTURES:
            return []
        weights = {True: base_rate if self._plain[True] else 0.0, False: 1 - base_rate}
        found = []
        for label in {*self._labels[True], *self._labels[False]}:
            share = sum(
                weight * self._labels[failed][label] / max(1, self._plain[failed])
                for failed, weight in weights.items()
            )
            if share >= LEAST_SHARE:
                found.append(Unasked(label, share, self._plain.total()))
        return sorted(found, key=lambda one: (-one.share, one.label))[:MOST_UNASKED]
