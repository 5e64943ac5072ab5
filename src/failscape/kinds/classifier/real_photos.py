"""Does a bug that was found on drawn pictures show on real photos too? Pure.

Photos of the class that match the description are found by what their captions mention, or by embedding:
those that are nearer to the description than to the plain prompt of the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from failscape.kinds.classifier.details import RealRate
from failscape.kinds.classifier.prompts import Description
from failscape.kinds.classifier.purposes import PHOTO, TEXT_VECTORS
from failscape.kinds.classifier.record import HuntRecord
from failscape.kinds.classifier.tallies import DescriptionTest, LabelledPhoto, Use
from failscape.search.rounds import Outcome, Planned
from failscape.stats.intervals import clopper_pearson
from failscape.trials import Caption, Classify, Embed, Probe, Show, Step, Verdict, key_of_try

#: Photos of a class that are classified, the first by name.
MOST_PHOTOS = 200

#: Photos that an embedding may match to one description.
NEAREST = 20

#: A photo matches when it gains at least this share of what the best one gains by the description.
NEAR = 0.5


#: What came of a photo, what is said of it, and its vector where there is an embedder.
SeenPhotoRow = tuple[Outcome, set[str], list[float]]


class RealPhotos:
    """`embeds`: match by embedding, which must know texts and images; otherwise by captions."""

    def __init__(
        self, record: HuntRecord, photos: Sequence[LabelledPhoto], embeds: bool, captions: bool
    ) -> None:
        self._record = record
        self._embeds, self._captions = embeds, captions
        self._photos: dict[int, list[LabelledPhoto]] = {}
        for photo in photos:
            mine = self._photos.setdefault(photo.label, [])
            if len(mine) < MOST_PHOTOS:
                mine.append(photo)
        self._started: set[int] = set()
        self._asked: set[str] = set()
        self._seen: dict[int, list[tuple[Outcome, set[str], list[float]]]] = {}
        self._texts: dict[str, list[list[float]]] = {}

    def plan(self, room: int) -> list[Planned]:
        """All photos of a class as soon as it has a bug; two texts for every bug."""
        planned: list[Planned] = []
        for test in self._record.bugs() if self._photos else ():
            label = test.description.label
            if label in self._photos and label not in self._started and len(planned) < room:
                self._started.add(label)
                planned += [self._photo(label, number) for number in range(len(self._photos[label]))]
            if self._embeds and label in self._photos and test.subject not in self._asked:
                self._asked.add(test.subject)
                texts = (self._record.prompt(test.description), self._record.prompt(Description(label)))
                probe = Probe(key_of_try(test.subject, TEXT_VECTORS, 0), test.subject, (Embed(texts),))
                planned.append(Planned(probe, Use("text", test.subject, 0)))
        return planned

    def _photo(self, label: int, number: int) -> Planned:
        photo, target = self._photos[label][number], self._record.targets[label]
        steps: list[Step] = [Show((photo.digest,))]
        steps += [Embed()] if self._embeds else []
        steps += [Caption()] if self._describes(photo) else []
        steps.append(Classify(target.accept, self._record.rules.top_k, target.aim))
        probe = Probe(key_of_try(target.name, PHOTO, number), target.name, tuple(steps))
        return Planned(probe, Use("photo", label, number))

    def _describes(self, photo: LabelledPhoto) -> bool:
        return self._captions and not self._embeds and not photo.captions

    def absorb(self, use: Use, outcome: Outcome) -> None:
        if use.what == "text":
            if outcome.verdict is Verdict.NONE:
                self._texts[use.owner] = outcome.facts[0]
            return
        if not outcome.valid:
            return
        photo, target = self._photos[use.owner][use.number], self._record.targets[use.owner]
        said = outcome.facts[1] if self._describes(photo) else photo.captions
        found = self._record.words.clauses(map(str, said), target.name, target.superclass)
        vector = list(outcome.facts[1][0]) if self._embeds else []
        self._seen.setdefault(use.owner, []).append((outcome, {clause.label for clause in found}, vector))

    def about(self, test: DescriptionTest) -> RealRate | None:
        """Failures among matching photos, and among all photos of the class; `None` when there are none."""
        seen = self._seen.get(test.description.label, [])
        chosen = self._nearest(test, seen) if self._embeds else self._mentioning(test, seen)
        if not chosen:
            return None
        fails = sum(one.verdict is Verdict.FAIL for one in chosen)
        low, high = clopper_pearson(fails, len(chosen))
        everywhere = sum(one.verdict is Verdict.FAIL for one, _, _ in seen)
        by = "embedding" if self._embeds else "captions"
        interval = (float(low), float(high))
        return RealRate(by, fails, len(chosen), fails / len(chosen), interval, everywhere, len(seen))

    def _mentioning(self, test: DescriptionTest, seen: Sequence[SeenPhotoRow]) -> list[Outcome]:
        wanted = {clause.label for clause in test.clauses}
        return [outcome for outcome, said, _ in seen if wanted <= said]

    def _nearest(self, test: DescriptionTest, seen: Sequence[SeenPhotoRow]) -> list[Outcome]:
        texts = self._texts.get(test.subject)
        if not texts or not seen:
            return []
        vectors = _normal(np.array([vector for _, _, vector in seen], np.float64))
        described, plain = _normal(np.array(texts, np.float64))
        gain = vectors @ described - vectors @ plain
        order = np.argsort(-gain, kind="stable")[:NEAREST]
        return [seen[at][0] for at in order if gain[at] > 0 and gain[at] >= NEAR * gain.max()]


def _normal(rows: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
