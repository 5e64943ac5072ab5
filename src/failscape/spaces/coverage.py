"""How much of what captions talk about a corpus knows. Pure, and without a grammar: see `docs/spaces.md`.

A caption is cut into phrases at small words and marks. What the corpus mentions is known. Of the other
words, the last of a phrase is taken for a thing, and those before it, or in -ing, -ed or -ly, for attributes.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from failscape.spaces.corpus import Corpus
from failscape.spaces.mentions import ENTITY, Mentions, words_of

_WORD_OR_MARK = re.compile(r"[^\W_]+|[.,;:!?()\[\]|/\"]")
_NOT_THINGS = ("ing", "ed", "ly")
_SHORTEST = 3

SMALL_WORDS = frozenset(
    words_of(
        """
        a an the this that these those some any each every either another other others such all both few more
        most many much several no not none nor only own same very too just almost also even still ever never
        again quite i me my mine we us our ours you your yours he him his she her hers it its they them their
        theirs who whom whose which what where when why how there here one ones someone something somebody
        everyone everything am is are was were be been being do does did doing done have has had having can
        could will would shall should may might must let lets get gets got getting make makes made go goes
        going gone and or but if then than so because while as until although though of at by for with without
        within about against between among into onto through during before after above below over under
        underneath beneath behind beside besides next near across along around toward towards to from up down
        in out on off inside outside upon via per like unlike
        image images picture pictures photo photos photograph photographs
        don doesn isn aren wasn weren
        """
    )
)
"""Words that are neither things nor attributes; "photo of" says nothing about what is in it either."""


@dataclass(slots=True)
class Coverage:
    """Counts over captions. `unknown_…` count words, most of them nouns and adjectives of things left out."""

    captions: int = 0
    with_entity: int = 0
    with_value: int = 0
    with_both: int = 0
    known_things: int = 0
    known_attributes: int = 0
    entities: Counter[int] = field(default_factory=Counter)
    values: Counter[int] = field(default_factory=Counter)
    unknown_things: Counter[str] = field(default_factory=Counter)
    unknown_attributes: Counter[str] = field(default_factory=Counter)

    @property
    def things_share(self) -> float | None:
        return _share(self.known_things, self.unknown_things.total())

    @property
    def attributes_share(self) -> float | None:
        return _share(self.known_attributes, self.unknown_attributes.total())

    def as_data(self, most: int) -> dict[str, Any]:
        return {
            "captions": self.captions,
            "with_entity": self.with_entity,
            "with_value": self.with_value,
            "with_both": self.with_both,
            "entities_mentioned": len(self.entities),
            "values_mentioned": len(self.values),
            "things_known": self.things_share,
            "attributes_known": self.attributes_share,
            "unknown_things": dict(self.unknown_things.most_common(most)),
            "unknown_attributes": dict(self.unknown_attributes.most_common(most)),
        }


class CoverageCounter:
    """Adds captions to a `Coverage`, one by one."""

    def __init__(self, corpus: Corpus) -> None:
        self.coverage = Coverage()
        self._mentions = Mentions(corpus)

    def add(self, caption: str) -> None:
        # Words as `words_of` gives them, and marks, which match nothing but end a phrase.
        words = _WORD_OR_MARK.findall(caption.lower())
        known = [False] * len(words)
        entities: set[int] = set()
        values: set[int] = set()
        coverage = self.coverage
        for start, end, targets in self._mentions.spans(words):
            known[start:end] = [True] * (end - start)
            about_entity = {index for kind, index in targets if kind == ENTITY}
            about_value = {index for kind, index in targets if kind != ENTITY}
            entities |= about_entity
            values |= about_value
            coverage.known_things += bool(about_entity)
            coverage.known_attributes += bool(about_value)
        coverage.captions += 1
        coverage.with_entity += bool(entities)
        coverage.with_value += bool(values)
        coverage.with_both += bool(entities and values)
        coverage.entities.update(entities)
        coverage.values.update(values)
        self._count_unknown(words, known)

    def _count_unknown(self, words: list[str], known: list[bool]) -> None:
        for at, word in enumerate(words):
            if known[at] or not _has_content(word):
                continue
            last = at + 1 == len(words) or not _has_content(words[at + 1])
            thing = last and not word.endswith(_NOT_THINGS)
            (self.coverage.unknown_things if thing else self.coverage.unknown_attributes)[word] += 1


def _has_content(word: str) -> bool:
    return len(word) >= _SHORTEST and word not in SMALL_WORDS and not word.isdigit()


def _share(known: int, unknown: int) -> float | None:
    return known / (known + unknown) if known + unknown else None
