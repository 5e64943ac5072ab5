"""What failures have in common: clauses over-represented among failed images, overall and per cluster. Pure.

It proposes. Nothing it says is evidence: every proposal is tried on fresh images.

From captions to clauses: which corpus values a caption mentions, and what else it says. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import stats

from failscape.hunts.classifier.prompts import SAID, Clause, clause_of, said_clause
from failscape.hunts.classifier.tallies import Described
from failscape.spaces.corpus import Corpus
from failscape.spaces.mentions import ENTITY, Mentions, words_of
from failscape.spaces.wording import plural_of

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
            found.setdefault(f"{SAID}={text}", said_clause(text))
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


#: A clause seen in fewer failures than this tells nothing.
SMALLEST = 2

MOST_CLUSTERS = 4
PER_CLUSTER = 3


def proposals(
    images: Sequence[Described], clauses: Sequence[Sequence[Clause]], most: int
) -> list[list[Clause]]:
    """Candidate descriptions as lists of clauses, the most telling first; `clauses` has one row per image.

    Single clauses come from all failures and from each cluster; each cluster of two or more clauses also
    gives them together, as the pooled description of that cluster.
    """
    failed = [at for at, image in enumerate(images) if image.failed]
    passed = [at for at, image in enumerate(images) if not image.failed]
    if not failed:
        return []
    rows = [{clause.label: clause for clause in row} for row in clauses]
    found: dict[tuple[str, ...], list[Clause]] = {}
    for members in [failed, *clusters(images, rows, failed)]:
        telling = over_represented(rows, members, passed)[:PER_CLUSTER]
        for clause in telling:
            found.setdefault((clause.label,), [clause])
        pooled = _compatible(telling)
        if len(pooled) > 1:
            found.setdefault(tuple(sorted(clause.label for clause in pooled)), pooled)
    return list(found.values())[:most]


def over_represented(
    rows: Sequence[dict[str, Clause]], failed: Sequence[int], passed: Sequence[int]
) -> list[Clause]:
    """Clauses commoner among failures than among passes, by one-sided Fisher tests; weakest signs dropped."""
    in_failed = Counter(label for at in failed for label in rows[at])
    in_passed = Counter(label for at in passed for label in rows[at])
    known = {label: clause for at in failed for label, clause in rows[at].items()}
    least = min(SMALLEST, len(failed))
    scored = []
    for label, hits in in_failed.items():
        others = in_passed[label]
        if hits < least or hits * max(1, len(passed)) <= others * len(failed):
            continue
        table = np.array([[hits, len(failed) - hits], [others, len(passed) - others]])
        p_value = float(stats.fisher_exact(table, alternative="greater")[1]) if passed else 1.0
        scored.append((p_value, -hits, label))
    # Of a few captions nothing can be significant; half of everything being chance is the point to stop.
    return [known[label] for p_value, _, label in sorted(scored) if p_value < 0.5 or not passed]


def clusters(
    images: Sequence[Described], rows: Sequence[dict[str, Clause]], failed: Sequence[int]
) -> list[list[int]]:
    """Failures grouped by wrong label, and large groups by their features once more."""
    by_label: dict[str, list[int]] = {}
    for at in failed:
        by_label.setdefault(images[at].wrong, []).append(at)
    found: list[list[int]] = []
    for _, members in sorted(by_label.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_CLUSTERS]:
        if len(members) >= SMALLEST:
            found += [members, *_by_features(images, rows, members)]
    return found


def _by_features(
    images: Sequence[Described], rows: Sequence[dict[str, Clause]], members: Sequence[int]
) -> list[list[int]]:
    """Agglomerative clusters of image vectors; without an embedder, of which clauses were said."""
    if len(members) < 6:
        return []
    from scipy.cluster.hierarchy import fcluster, linkage  # here: it loads slowly, and few hunts need it

    features = _features(images, rows, members)
    if features.shape[1] == 0 or np.allclose(features, features[0]):
        return []
    count = min(3, len(members) // 3)
    labels = fcluster(linkage(features, "ward"), count, "maxclust")
    groups = [[at for at, label in zip(members, labels, strict=True) if label == one] for one in set(labels)]
    return [group for group in groups if SMALLEST <= len(group) < len(members)]


def _features(
    images: Sequence[Described], rows: Sequence[dict[str, Clause]], members: Sequence[int]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    vectors = [images[at].vector for at in members]
    if all(vectors) and len({len(vector) for vector in vectors}) == 1:
        return np.array(vectors, np.float64)
    labels = sorted({label for at in members for label in rows[at]})
    return np.array([[float(label in rows[at]) for label in labels] for at in members], np.float64)


def _compatible(clauses: Sequence[Clause]) -> list[Clause]:
    """At most one clause of each kind: a thing has one place. Sentences may stand side by side."""
    kept: list[Clause] = []
    for clause in clauses:
        if clause.kind == SAID or all(clause.kind != other.kind for other in kept):
            kept.append(clause)
    return kept
