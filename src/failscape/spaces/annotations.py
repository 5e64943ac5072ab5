"""Questions that people wrote about their own photos, with the right answers: `questions.jsonl`. Pure.

    {"file_name": "img/7.jpg", "question": "How many cups are there?", "answer": "two", "tags": ["counting"]}

Nothing is recognised in pixels and no model writes anything: the hunt asks what was annotated, and the exact
verifier compares with the annotated answer. What a mode can be narrowed by are the tags, the words of the
question, the answer, and what is known of the photo.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from failscape.errors import ConfigError
from failscape.spaces.albums import QUESTIONS, Photo
from failscape.spaces.ordinals import Clause, with_thresholds
from failscape.spaces.question_words import (
    A_COLOUR,
    A_NUMBER,
    A_SHAPE,
    ANSWER_TYPE,
    ASKS_OF,
    YES_OR_NO,
    question_clauses,
    type_of_answer,
    words_in,
)
from failscape.spaces.questions import ANY, Asked, FollowUp, Pattern, Sight, make_pattern
from failscape.spaces.skills import AlbumSights, skills_in

#: Forms of questions, by the type of the annotated answer.
FORMS = {
    YES_OR_NO: "yes-or-no question",
    A_NUMBER: "number question",
    A_COLOUR: "colour question",
    A_SHAPE: "shape question",
}
OPEN = "open question"

#: A word is worth a clause if at least so many questions have it, and at most this share of them: a word of
#: every question tells nothing apart.
LEAST_QUESTIONS, MOST_SHARE = 8, 0.6
_SMALL_WORDS = (
    "a an and are at by can do does for from has have how in is it its many of on or the there this to what "
    "where which who with you picture image photo see shown visible"
)
_SMALL = frozenset(_SMALL_WORDS.split())


class AnnotatedQuestion(NamedTuple):
    photo: Photo
    text: str
    answer: str
    form: str
    skills: tuple[str, ...]
    clauses: tuple[Clause, ...]
    """What its words and its answer say; what its photo shows comes from the sight."""


class AnnotationGrammar:
    """Asks what was annotated. `sights` has the photos, one part to search with and one to confirm with."""

    exact = True

    def __init__(self, sights: Any, images: int = 1) -> None:
        if not isinstance(sights, AlbumSights) or images != 1:
            raise ConfigError(
                "`grammar: annotations` asks about one photo of a folder at a time",
                "set `images: {folder: …}` and leave `images_per_question` out",
            )
        self._sights = sights
        self._parts = {fresh: _annotated(sights.photos(fresh)) for fresh in (False, True)}
        if not all(self._parts.values()):
            have = ", ".join(f"{len(part):,}" for part in self._parts.values())
            raise ConfigError(
                f"too few photos have questions: the two parts of the folder have {have} questions",
                f"write `{QUESTIONS}` into the folder: a line "
                '{"file_name": …, "question": …, "answer": …, "tags": […]} for each question',
            )
        both = [*self._parts[False], *self._parts[True]]
        words = _common_words(both)
        self._parts = {
            fresh: [one._replace(clauses=_clauses(one, words)) for one in part]
            for fresh, part in self._parts.items()
        }
        self._listed = tuple(sorted({skill for one in both for skill in one.skills}))
        text = repr(sorted((one.photo.digest, one.text, one.answer, one.skills) for one in both))
        self.digest = hashlib.blake2b(f"annotations/2 {text}".encode(), digest_size=8).hexdigest()

    @property
    def skills(self) -> tuple[str, ...]:
        return self._listed

    def patterns(self) -> Sequence[Pattern]:
        """Every form, with each skill that questions of that form have."""
        searched = self._parts[False]
        found = {make_pattern(one.form, [skill]) for one in searched for skill in one.skills}
        found |= {make_pattern(one.form) for one in searched if not one.skills}
        return sorted(found)

    def draft(self, pattern: Pattern, rng: random.Random, fresh: bool, like: str = "") -> Asked | None:
        """One of the questions of this pattern, by chance."""
        fitting = [one for one in self._parts[fresh] if self._fits(one, pattern)]
        return self._asked(rng.choice(fitting)) if fitting else None

    def _fits(self, one: AnnotatedQuestion, pattern: Pattern) -> bool:
        same = pattern.form in (ANY, one.form) and set(pattern.skills) <= set(one.skills)
        return same and (not pattern.clauses or self._known(one).issuperset(pattern.clauses))

    def _known(self, one: AnnotatedQuestion) -> set[Clause]:
        return set(with_thresholds(self._features(one)))

    def _features(self, one: AnnotatedQuestion) -> tuple[Clause, ...]:
        shown: tuple[Clause, ...] = self._sights.sight_of(one.photo).details["features"]
        return tuple(sorted({*one.clauses, *shown}))

    def _asked(self, one: AnnotatedQuestion) -> Asked:
        sight = self._sights.sight_of(one.photo)
        pattern = make_pattern(one.form, one.skills)
        return Asked(pattern, one.text, one.answer, sight, self._features(one))

    def read(self, text: str, sight: Sight, wanted: Pattern | None) -> Asked | None:
        """Only what was annotated for that photo has a right answer."""
        for part in self._parts.values():
            for one in part:
                if one.text == text and one.photo.digest == sight.key:
                    return self._asked(one)
        return None

    def narrower(self, pattern: Pattern, rng: random.Random) -> list[Pattern]:
        """With one more skill, or one more clause that questions of the pattern have, commonest first."""
        mine = [one for one in self._parts[False] if self._fits(one, pattern)]
        skills = Counter(skill for one in mine for skill in one.skills if skill not in pattern.skills)
        clauses = Counter(clause for one in mine for clause in self._features(one))
        named = {name for name, _ in pattern.clauses}
        found = [make_pattern(pattern.form, [*pattern.skills, skill], pattern.clauses) for skill in skills]
        return found + [pattern.with_clause(one) for one, _ in clauses.most_common() if one[0] not in named]

    def simpler(self, pattern: Pattern) -> list[Pattern]:
        size = len(pattern.skills) - 1
        subsets = combinations(pattern.skills, size) if size >= 1 else ()
        found = [make_pattern(pattern.form, some, pattern.clauses) for some in subsets]
        return found + [pattern.without_clause(clause) for clause in pattern.clauses]

    def follow_up(self, asked: Asked, answer: str, rng: random.Random) -> FollowUp | None:
        return None


def _annotated(photos: Sequence[Photo]) -> list[AnnotatedQuestion]:
    return [_question(photo, row) for photo in photos for row in photo.details.get(QUESTIONS, ())]


def _question(photo: Photo, row: Mapping[str, Any]) -> AnnotatedQuestion:
    text, answer = str(row["question"]), str(row["answer"])
    tags = tuple(sorted({_plain(tag) for tag in row.get("tags", ()) if _plain(tag)}))
    return AnnotatedQuestion(photo, text, answer, _form(answer), tags or skills_in(text), ())


def _plain(tag: Any) -> str:
    """Without the signs that part the name of a pattern."""
    return " ".join(re.sub(r"[|,;=]", " ", str(tag)).split()).lower()


def _form(answer: str) -> str:
    return FORMS.get(type_of_answer(answer), OPEN)


def _words(text: str) -> set[str]:
    return set(words_in(text)) - _SMALL


def _common_words(questions: Sequence[AnnotatedQuestion]) -> frozenset[str]:
    counts = Counter(word for one in questions for word in _words(one.text))
    most = MOST_SHARE * len(questions)
    return frozenset(word for word, count in counts.items() if LEAST_QUESTIONS <= count <= most)


def _clauses(one: AnnotatedQuestion, common: frozenset[str]) -> tuple[Clause, ...]:
    """What its words say, the words that many questions share, and its answer if that is short.

    The type of the answer is the form of the question.
    """
    found = {clause for clause in question_clauses(one.text) if clause[0] not in (ANSWER_TYPE, ASKS_OF)}
    found |= {(ASKS_OF, word) for word in _words(one.text) & common}
    answer = _plain(one.answer)
    if answer and len(answer) <= 20:
        found.add(("answer", answer))
    return tuple(sorted(found))
