"""From captions to clauses: which corpus values a caption mentions, and what else it says. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from failscape.kinds.classifier.prompts import SAID, Clause, clause_of, said_clause
from failscape.spaces.corpus import Corpus
from failscape.spaces.mentions import ENTITY, Mentions
from failscape.spaces.wording import plural_of
from failscape.stats.texts import words_of
from failscape.trials import value_label

#: Sentences with more words than this are stories, not clauses.
LONGEST = 18

_EMPTY = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "in", "into", "is"),
        *("it", "its", "of", "on", "one", "or", "shown", "shows", "that", "the", "there", "these", "they"),
        *("this", "to", "was", "which", "with", "image", "picture", "photo", "photograph", "realistic"),
    )
)
_COUNTED = r"(?:the|a|an|this|that|its|one|two|three|four|five)?"
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s*")


class Words:
    """Reads captions about one class after another, in the words of one corpus (or of none)."""

    def __init__(self, corpus: Corpus | None) -> None:
        self._mentions = Mentions(corpus) if corpus else None
        self._clauses = [clause_of(value) for value in corpus.values] if corpus else []
        self._known = {word for clause in self._clauses for word in words_of(clause.value)}

    def clauses(self, sentences: Iterable[str], name: str, superclass: str = "") -> list[Clause]:
        """What is said about a thing of class `name`, each clause once. Naming the thing is no news."""
        found: dict[str, Clause] = {}
        for sentence in sentences:
            for clause in self._sentence(sentence, name, superclass):
                found.setdefault(clause.label, clause)
        return list(found.values())

    def _sentence(self, sentence: str, name: str, superclass: str) -> list[Clause]:
        text = about_it(sentence, name, superclass)
        found = self._mentioned(text)
        rest = [word for word in words_of(text) if word not in _EMPTY and word not in self._known]
        words = len(text.split())
        # A sentence that says no more than a value of the corpus is that value.
        if rest and 3 <= words <= LONGEST and not (found and len(rest) <= 1):
            found.append(said_clause(text))
        return found

    def _mentioned(self, text: str) -> list[Clause]:
        if self._mentions is None:
            return []
        return [self._clauses[index] for kind, index in sorted(self._mentions.find(text)) if kind != ENTITY]

    def shorter(self, clause: Clause) -> list[Clause]:
        """Shorter ways to say part of a sentence: the values it mentions, its parts, one word less."""
        if clause.kind != SAID:
            return []
        found = {one.label: one for one in self._mentioned(clause.value)}
        parts = re.split(r",| and | while | with ", clause.value)
        if len(parts) > 1:
            shorter = [_as_sentence(part) for part in parts]
            found.update({one.label: one for one in map(said_clause, filter(None, shorter))})
        for text in _one_word_less(clause.value):
            found.setdefault(value_label(SAID, text), said_clause(text))
        return [one for one in found.values() if one.label != clause.label]


def about_it(sentence: str, name: str, superclass: str = "") -> str:
    """The sentence with the class called `it`, in lower case and without its full stop."""
    text = _BULLET.sub("", sentence).strip().lower().rstrip(".!")
    for noun in filter(None, (plural_of(name).lower(), name.lower(), superclass.lower())):
        text = re.sub(
            rf"\b(?:the|a|an|this|that|its|one|two|three|four|five)?\s*\b{re.escape(noun)}\b", " it", text
        )
    text = re.sub(r"\bit (?:is|are) (?=it\b)", "", " ".join(text.split()))
    return re.sub(r"^it are\b", "it is", text)


def _as_sentence(part: str) -> str:
    text = part.strip()
    if len(text.split()) < 2:
        return ""
    return text if text.startswith(("it ", "the ", "there ")) else f"it is {text}"


def _one_word_less(text: str) -> list[str]:
    """Without one describing word (neither the first two words nor a small one): at most three versions."""
    words = text.split()
    places = [at for at in range(2, len(words) - 1) if words[at] not in _EMPTY]
    return [" ".join(words[:at] + words[at + 1 :]) for at in places[:3]]


def parse_list(text: str, most: int) -> list[str]:
    """The lines of a language model's list, without bullets and numbers."""
    lines = [_BULLET.sub("", line).strip() for line in text.splitlines()]
    kept = [line for line in lines if 2 <= len(line.split()) <= LONGEST and not line.endswith(":")]
    return list(dict.fromkeys(kept))[:most]
