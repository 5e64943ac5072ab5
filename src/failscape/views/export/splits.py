"""Who sees what: findings that a repair is shown or not, and the halves of a dataset. Pure.

A rule is a class with the kinds of its clauses (`penguin × Background: Place`), or a form of question with
its skills. A repair that learned the rule mends hidden findings too; one that learned pictures by heart
does not.

Halves to train with and to test again with never share a picture. Where asked they share no subject or no
seed either: then a repair that only learned the pictures, the kinds of request or the noise that it was
shown does not pass for a better model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from failscape.plugins import Row
from failscape.trials import Subject, SubjectForm

SHOWN, HIDDEN, REST, CLEAN = "shown", "hidden", "rest", "clean"
PARTS = {
    SHOWN: "findings whose failures the repair learned from",
    HIDDEN: "findings of the same rules that it never saw",
    REST: "other requests of the hunt: harm would show here",
    CLEAN: "plain pictures of every class",
}

#: Of a rule's findings one in three is hidden, the second one first: a rule with two findings hides one.
EVERY = 3


class Parts(NamedTuple):
    """Subjects by what becomes of them."""

    shown: tuple[str, ...]
    hidden: tuple[str, ...]
    rest: tuple[str, ...]

    def of(self, subject: str) -> str:
        """The part of a subject; plain pictures of a class are none of the three."""
        for name, subjects in zip((SHOWN, HIDDEN, REST), self, strict=True):
            if subject in subjects:
                return name
        return CLEAN

    def sampled(self, most: int) -> Parts:
        """At most so many findings, two thirds of them shown: of many, those first by digest, which is chance
        that nobody chose."""
        shown, hidden = self.shown, self.hidden
        if len(shown) + len(hidden) <= most:
            return self
        few = min(len(hidden), most // EVERY)
        return Parts(_by_digest(shown)[: most - few], _by_digest(hidden)[:few], self.rest)


def _by_digest(subjects: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(subjects, key=lambda one: hashlib.blake2b(one.encode(), digest_size=8).digest()))


def choose_parts(findings: Sequence[str], others: Sequence[str], most_others: int, seed: int) -> Parts:
    """Divide findings by chance within their rules, and take at most `most_others` of the rest."""

    def by_chance(subject: str) -> bytes:
        return hashlib.blake2b(f"{seed}/{subject}".encode(), digest_size=8).digest()

    rules: dict[tuple[str, ...], list[str]] = {}
    for subject in sorted(findings, key=by_chance):
        rules.setdefault(rule_of(subject), []).append(subject)
    hidden = {subject for members in rules.values() for subject in members[1::EVERY]}
    rest = sorted(set(others) - set(findings), key=by_chance)[:most_others]
    return Parts(
        tuple(one for one in findings if one not in hidden),
        tuple(one for one in findings if one in hidden),
        tuple(sorted(rest)),
    )


def rule_of(subject: str) -> tuple[str, ...]:
    """`penguin; Background: Place=meadow` → `penguin`, `Background: Place`.

    A kind of question is its form and skills: `hop thing | relation, two-hop | answer=bear` → the first two.
    """
    question = Subject.parse(subject, SubjectForm.QUESTION)
    if question.depth:
        return question.name, ", ".join(question.skills)
    parsed = Subject.parse(subject)
    return parsed.name, *sorted(parsed.kinds)


TRAIN, RETEST = "train", "retest"
SUBJECT, SEED = "subject", "seed"
#: What the halves can be kept apart by, besides pictures. `shown`: as `failscape repair` divides findings,
#: those that it shows to a training in `train`, hidden ones of the same rules in `retest`.
SPLITS = (SUBJECT, SEED, SHOWN)

HalfOf = Callable[[Row], str]


def halves(rows: Sequence[Row], by: Sequence[str] = (), shown: Collection[str] = ()) -> list[str]:
    """The half of each row; empty for rows of no half, since they would tie the two together.

    `shown` are the subjects of findings that a training may see, where that divides them.

    By subject and by seed at once leaves about half of the rows out: those whose subject belongs to one half
    and whose seed to the other.
    """
    known: dict[str, HalfOf] = {
        SUBJECT: _by_subject(rows),
        SEED: _by_seed,
        SHOWN: lambda row: TRAIN if row["subject"] in shown else RETEST,
    }
    deciders = [known[name] for name in by] or [_by_picture]
    chosen = [_agreed([decide(row) for decide in deciders]) for row in rows]
    kept_back = {
        image for row, half in zip(rows, chosen, strict=True) if half == RETEST for image in row["images"]
    }
    return [
        "" if half == TRAIN and kept_back.intersection(row["images"]) else half
        for row, half in zip(rows, chosen, strict=True)
    ]


def _agreed(found: Sequence[str]) -> str:
    return found[0] if len(set(found)) == 1 else ""


def _by_picture(row: Row) -> str:
    """The same in every dataset."""
    return _coin(row["images"][0])


def _by_seed(row: Row) -> str:
    """The same in every dataset: siblings that share a seed share their half."""
    return _coin(str(row["seed"]))


def _by_subject(rows: Sequence[Row]) -> HalfOf:
    """Every other subject in an order by chance, so that few subjects make two halves as well."""
    subjects = sorted({str(row["subject"]) for row in rows}, key=_digest)
    half = {subject: (TRAIN, RETEST)[place % 2] for place, subject in enumerate(subjects)}
    return lambda row: half[str(row["subject"])]


def _coin(text: str) -> str:
    return TRAIN if _digest(text)[0] & 1 else RETEST


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=2).digest()
