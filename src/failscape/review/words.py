"""Names the words whose labels would help most: read from what the judge of a hunt decided."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.decisions import Decision, decisions
from failscape.stats.judging.words import DoubtedWord, WordCounts, doubted_words

MOST_WORDS = 12
ENTITY = "entity"

Word = tuple[str, str]
"""Kind of check, and what it asks for."""


def words_to_label(atlas: Atlas, row: HuntRow) -> list[DoubtedWord]:
    """Words that the judge of a hunt may misread, those with most at stake first."""
    return doubted_words(count_words(decisions(atlas, row.id)))[:MOST_WORDS]


def count_words(decided: Iterable[Decision]) -> Iterator[WordCounts]:
    """How each word fared; decisions of one trial follow each other."""
    asked, dropped, alone = Counter[Word](), Counter[Word](), Counter[Word]()
    by_subject: dict[Word, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for _, group in groupby(decided, key=lambda one: one.trial):
        answers = list(group)
        missed = [one for one in answers if not one.answer]
        for one in answers:
            word = one.check.kind, one.check.value
            asked[word] += 1
            dropped[word] += not one.answer
            counts = by_subject[word][one.subject]
            counts[0] += 1
            counts[1] += not one.answer
        if len(missed) == 1:
            alone[missed[0].check.kind, missed[0].check.value] += 1
    for word, times in asked.items():
        subjects = by_subject[word].values()
        everywhere = sum(2 * gone > tried for tried, gone in subjects)
        yield WordCounts(*word, times, dropped[word], len(subjects), everywhere, alone[word])


def own_kinds(words: Iterable[DoubtedWord]) -> frozenset[Word]:
    """Words that get labels, and so an accuracy, of their own. Entities share one: limits know them so."""
    return frozenset((one.counts.kind, one.counts.word) for one in words if one.counts.kind != ENTITY)
