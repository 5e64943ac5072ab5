"""An open list of skills: names that questions bring along, merged, defined, checked and then taken up. Pure.

Names come from a language model, or from the words of a question. Those that mean the same are one skill, by
the vectors of an embedder, or by their words alone where there is none (`merged_by` says which). A new skill
is taken up when several questions take it and its definition tells them from others.
"""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from failscape.stats.texts import unit, word_vectors, words_of
from failscape.trials import without_question_separators

EMBEDDER, HASHED_WORDS = "the embedder", "hashed words"
#: Cosine from which two names are one skill, by words or by meaning. MiniLM puts one pair of 883 different
#: skills there and a third of the pairs that mean the same (`docs/vlm.md`); words are alike when they share
#: the one that matters.
ALIKE: Final = 0.6

#: So many different questions must take a skill before it is looked at.
SUPPORT: Final = 3

#: Questions that take a new skill, and questions that do not, shown to whoever defines it.
EXAMPLES: Final = 4

#: A definition must tell so many of these right.
LEAST_TOLD: Final = 0.75

#: However many names there are, no more new skills than this are taken up.
MOST_TAKEN: Final = 150

_FILLERS: Final = frozenset(
    [
        "a",
        "an",
        "and",
        "of",
        "the",
        "in",
        "on",
        "to",
        "for",
        "with",
        "by",
        "from",
        "or",
        "skill",
        "skills",
        "ability",
        "visual",
        "object",
        "objects",
        "thing",
        "things",
        "item",
        "items",
        "kind",
        "kinds",
        "type",
        "types",
        "variant",
        "task",
        "question",
        "general",
        "basic",
        "simple",
        "image",
        "picture",
        "scene",
    ]
)
_ASKED_FOR: Final = re.compile(r"\b(?:what|which)\s+(?:kind of |type of |sort of )?([a-z]{4,})\b")
_NO_SKILL: Final = frozenset(
    [
        "does",
        "would",
        "will",
        "were",
        "have",
        "else",
        "about",
        "other",
        "objects",
        "object",
        "thing",
        "things",
        "color",
        "colour",
        "kind",
        "type",
        "number",
        "side",
        "picture",
        "image",
        "photo",
        "many",
        "much",
        "there",
        "that",
        "this",
        "these",
        "those",
        "from",
        "with",
        "they",
    ]
)


@dataclass(slots=True)
class NamedSkill:
    """One skill. `names` are all that were merged into it, `texts` the questions that take it."""

    name: str
    listed: bool
    taken: bool
    words: NDArray[np.float64]
    vector: NDArray[np.float64] | None = None
    definition: str = ""
    names: dict[str, None] = field(default_factory=dict)
    texts: dict[str, None] = field(default_factory=dict)
    refused: str = ""
    asked: bool = False


@dataclass(frozen=True, slots=True)
class SkillCheck:
    """What a new skill is checked on: questions in a random order, and whether each is said to take it."""

    name: str
    questions: tuple[str, ...]
    takes: tuple[bool, ...]


class SkillVocabulary:
    """Skills by name, those of a list first. It changes only by `learn` and `decide`."""

    def __init__(self, listed: Sequence[str], open_: bool = True, checked: bool = False) -> None:
        self.open = open_
        self.merged_by = HASHED_WORDS
        self._checked = checked
        self._skills: dict[str, NamedSkill] = {}
        self._of: dict[str, str] = {}
        for name in listed:
            self._add(plain_name(name) or name, hashed(name), listed=True)
        self._texts: dict[str, None] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """What a questioner can be asked for."""
        return tuple(name for name, skill in self._skills.items() if skill.taken)

    @property
    def skills(self) -> list[NamedSkill]:
        return list(self._skills.values())

    def use_vectors(self, vectors: Sequence[Sequence[float]]) -> None:
        """Vectors of an embedder for the skills listed; said before anything is learned."""
        listed = [skill for skill in self._skills.values() if skill.listed]
        if len(vectors) == len(listed) and not self._texts:
            self.merged_by = EMBEDDER
            for skill, vector in zip(listed, unit(vectors), strict=True):
                skill.vector = vector

    def learn(self, text: str, names: Sequence[str], vectors: Sequence[Sequence[float]] = ()) -> None:
        """A question and what it is said to take. Names without vectors go by their words."""
        if not self.open:
            return
        self._texts.setdefault(text)
        known = self.merged_by == EMBEDDER and len(vectors) == len(names)
        rows = list(unit(vectors)) if known else [None] * len(names)
        for name, row in zip(map(plain_name, names), rows, strict=True):
            if name:
                skill = self._skills[self._home(name, row)]
                skill.names.setdefault(name)
                skill.texts.setdefault(text)
                if not self._checked and len(skill.texts) >= SUPPORT and not skill.taken:
                    self.decide(skill.name, f"questions that ask for the {skill.name}", ())

    def resolve(self, names: Iterable[str]) -> tuple[str, ...]:
        """The skills taken up so far that these names mean."""
        found = {self._of[plain] for name in names if (plain := plain_name(name)) in self._of}
        return tuple(sorted(name for name in found if self._skills[name].taken))

    def to_check(self) -> list[SkillCheck]:
        """New skills that enough questions take, with questions to check a definition on; each once."""
        if not self._checked:
            return []
        ready = [
            skill
            for skill in self._skills.values()
            if not skill.taken and not skill.asked and len(skill.texts) >= SUPPORT
        ]
        for skill in ready:
            skill.asked = True
        return [self._check(skill) for skill in ready]

    def decide(
        self, name: str, definition: str, told: Sequence[bool], check: SkillCheck | None = None
    ) -> None:
        """Take a skill up, if its definition tells questions that take it from others."""
        skill = self._skills[name]
        takes = check.takes if check else ()
        right = sum(one == other for one, other in zip(told, takes, strict=False))
        if not definition:
            skill.refused = "nobody could define it"
        elif len(told) != len(takes) or right < LEAST_TOLD * len(takes):
            skill.refused = f"its definition tells only {right} of {len(takes)} questions right"
        elif sum(one.taken and not one.listed for one in self._skills.values()) >= MOST_TAKEN:
            skill.refused = f"{MOST_TAKEN} new skills were taken up before it"
        else:
            skill.taken, skill.definition = True, definition

    def _home(self, name: str, vector: NDArray[np.float64] | None) -> str:
        if name not in self._of:
            words, known = hashed(name), list(self._skills.values())
            alike = [_alike(skill, words, vector) for skill in known]
            best = int(np.argmax(alike)) if alike else -1
            if best >= 0 and alike[best] >= ALIKE:
                self._of[name] = known[best].name
            else:
                self._add(name, words, listed=False)
                self._skills[name].vector = vector
        return self._of[name]

    def _add(self, name: str, words: NDArray[np.float64], listed: bool) -> None:
        self._skills[name] = NamedSkill(name, listed, listed, words)
        self._of[name] = name

    def _check(self, skill: NamedSkill) -> SkillCheck:
        chance = random.Random(skill.name)
        others = [text for text in self._texts if text not in skill.texts]
        rows = [(text, True) for text in list(skill.texts)[:EXAMPLES]]
        rows += [(text, False) for text in chance.sample(others, min(EXAMPLES, len(others)))]
        chance.shuffle(rows)
        return SkillCheck(skill.name, tuple(text for text, _ in rows), tuple(takes for _, takes in rows))


def _alike(skill: NamedSkill, words: NDArray[np.float64], vector: NDArray[np.float64] | None) -> float:
    """By the words of two names or, where both have vectors, by what they mean."""
    by_words = float(skill.words @ words)
    return by_words if vector is None or skill.vector is None else max(by_words, float(skill.vector @ vector))


def plain_name(name: str) -> str:
    """Lower case, without the marks that patterns are written with."""
    return without_question_separators(name.lower())[:40]


def hashed(name: str) -> NDArray[np.float64]:
    """A vector of the words that matter in a name, without endings and numbers."""
    words = [stem(word) for word in words_of(name) if word not in _FILLERS and not word.isdecimal()]
    return np.asarray(word_vectors([" ".join(words) or name])[0])


def stem(word: str) -> str:
    for ending in ("ations", "ation", "ings", "ing", "ies", "es", "s", "ed", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def mined_names(text: str) -> tuple[str, ...]:
    """What a question asks for by name, "which brand" or "what season": a skill where nobody names any."""
    found = [word for word in _ASKED_FOR.findall(text.lower()) if word not in _NO_SKILL]
    return tuple(dict.fromkeys(found))
