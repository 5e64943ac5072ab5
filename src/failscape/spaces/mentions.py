"""Which entities and values of a corpus a caption mentions, and how many captions mention a node. Pure.

Matching is by whole words in lower case: names, plurals, and the wordings that the corpus gives. It does not
read grammar: "a red cat and a dog" mentions red, cat and dog, and so counts for a red dog too.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

from failscape.spaces.corpus import Corpus
from failscape.spaces.lattice import Node
from failscape.spaces.wording import plural_of
from failscape.stats.texts import words_of

Words = tuple[str, ...]
#: A kind (`entity`, or a sub-category such as `Base: Colour`) and the index of the entity or value.
Target = tuple[str, int]

ENTITY = "entity"


class Match(NamedTuple):
    """Words `start` to `end` (exclusive) of a caption mention these."""

    start: int
    end: int
    targets: tuple[Target, ...]


_SLOT = re.compile(r"\{[^}]*\}")


def phrases_of(corpus: Corpus) -> dict[Words, tuple[Target, ...]]:
    """Every run of words that mentions something, and what it mentions."""
    found: dict[Words, dict[Target, None]] = {}
    for index, entity in enumerate(corpus.entities):
        for text in (entity.name, entity.plural or plural_of(entity.name)):
            found.setdefault(tuple(words_of(text)), {})[ENTITY, index] = None
    for index, value in enumerate(corpus.values):
        for text in _value_texts(value.name, value.family, value.wordings):
            found.setdefault(tuple(words_of(text)), {})[value.kind, index] = None
    return {words: tuple(targets) for words, targets in found.items() if words}


def _value_texts(name: str, family: str, wordings: Iterable[str]) -> Iterator[str]:
    yield name
    if family != "Base":
        # Places and styles are nouns. Base values are mostly not, and "glasses" are not made of glass.
        yield plural_of(name)
    for wording in wordings:
        if "{value}" not in wording and "{a value}" not in wording:
            yield _SLOT.sub(" ", wording)


class Mentions:
    """Finds what captions mention. Inside a longer match of its kind a match is void: a hot dog is no dog."""

    def __init__(self, corpus: Corpus) -> None:
        # First word -> the phrases that begin with it, so that most words of a caption cost one look-up.
        self._starts: dict[str, list[tuple[int, Words, tuple[Target, ...]]]] = {}
        for words, targets in phrases_of(corpus).items():
            self._starts.setdefault(words[0], []).append((len(words), words, targets))

    def find(self, caption: str) -> set[Target]:
        return {target for match in self.spans(words_of(caption)) for target in match.targets}

    def spans(self, words: Sequence[str]) -> list[Match]:
        """Where in a caption something is mentioned, in the order of its words."""
        starts = self._starts
        matches = [
            Match(at, at + length, targets)
            for at, word in enumerate(words)
            if word in starts
            for length, phrase, targets in starts[word]
            if length == 1 or tuple(words[at : at + length]) == phrase
        ]
        long = any(match.end - match.start > 1 for match in matches)
        return _outermost(matches) if long else matches


def _outermost(matches: list[Match]) -> list[Match]:
    spans: dict[str, list[tuple[int, int]]] = {}
    for start, end, targets in matches:
        for kind, _ in targets:
            spans.setdefault(kind, []).append((start, end))
    kept = []
    for start, end, targets in matches:
        own = tuple(
            (kind, index)
            for kind, index in targets
            if not any(s <= start and end <= e and e - s > end - start for s, e in spans[kind])
        )
        if own:
            kept.append(Match(start, end, own))
    return kept


class MentionCounter:
    """Counts, for chosen nodes, the captions that mention their entity and all their values."""

    def __init__(self, corpus: Corpus, nodes: Iterable[Node]) -> None:
        self.captions = 0
        self._mentions = Mentions(corpus)
        # entity -> number of values -> values -> count
        self._counts: dict[int, dict[int, dict[tuple[int, ...], int]]] = {}
        for node in nodes:
            layers = self._counts.setdefault(node.entity, {})
            layers.setdefault(len(node.values), {})[node.values] = 0

    def add(self, caption: str) -> None:
        self.captions += 1
        found = self._mentions.find(caption)
        entities = [index for kind, index in found if kind == ENTITY]
        if not entities:
            return
        values = sorted(index for kind, index in found if kind != ENTITY)
        for entity in entities:
            for size, counts in self._counts.get(entity, {}).items():
                for chosen in _subsets(values, size, counts):
                    counts[chosen] += 1

    def count(self, node: Node) -> int:
        return self._counts[node.entity][len(node.values)][node.values]


def _subsets(values: list[int], size: int, wanted: dict[tuple[int, ...], int]) -> Iterable[tuple[int, ...]]:
    """The wanted tuples whose values all occur, by whichever side is shorter to walk."""
    if comb(len(values), size) <= len(wanted):
        return [chosen for chosen in combinations(values, size) if chosen in wanted]
    present = set(values)
    return [chosen for chosen in wanted if present.issuperset(chosen)]
