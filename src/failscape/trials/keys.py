"""The key of a probe: what it is about, what it is for, and which try it is.

The text form is `subject#letter number rest`, without the spaces: `cat; Base: Colour=red#p3` is the fourth
try of the red cat in the random sample. A key is unique in its hunt, and stored keys never change. `rest` is
what makes two probes of one try differ (a follow-up question, a picture that another hunt numbered alike).
Keys of question hunts without a `#` are their own and have no parts.
"""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from failscape.trials.purposes import KEY_MARK, Purpose

_TAIL = re.compile(r"([^0-9]?)(0|[1-9][0-9]*)?(.*)", re.DOTALL)

#: What `ProbeKey.letter` reads, as SQL over the columns `key` and `subject`. It may also be a digit, of a key
#: without a letter.
LETTER_IN_SQL = "substr(key, length(subject) + 2, 1)"


def left_out_in_sql(purposes: Iterable[Purpose]) -> tuple[str, tuple[str, ...]]:
    """` AND …`, for a query over the table `trials` that leaves these purposes out, and its parameters."""
    letters = tuple(purpose.letter for purpose in purposes if purpose.letter)
    if not letters:
        return "", ()
    return f" AND {LETTER_IN_SQL} NOT IN ({','.join('?' * len(letters))})", letters


#: Tries that are made after a search are numbered from here on. A search numbers its own from 0.
FIRST_FRESH_NUMBER = 1_000


class ProbeKey(NamedTuple):
    """The parts of a key. `number` is None where no number follows the letter."""

    subject: str
    letter: str
    number: int | None
    rest: str = ""

    @property
    def text(self) -> str:
        """As it is stored."""
        number = "" if self.number is None else self.number
        return f"{self.subject}{KEY_MARK}{self.letter}{number}{self.rest}"

    @classmethod
    def parse(cls, text: str) -> "ProbeKey | None":
        """The parts of a stored key; None where it has none, as those of question hunts."""
        subject, mark, tail = text.rpartition(KEY_MARK)
        found = _TAIL.fullmatch(tail) if mark else None
        if found is None:
            return None
        letter, digits, rest = found.groups()
        return cls(subject, letter, None if digits is None else int(digits), rest)

    @property
    def is_fresh(self) -> bool:
        """Whether its try was made after a search, by a comparison, a gate, a repair or a dataset."""
        return self.number is not None and self.number >= FIRST_FRESH_NUMBER


def key_of_try(subject: str, purpose: Purpose, number: int) -> str:
    """The key of the `number`-th try of a subject for a purpose, as it is stored."""
    return ProbeKey(subject, purpose.letter or "", number).text


def next_unused_key(text: str, taken: Collection[str]) -> str:
    """A stored key that ends in a number, or the first after it that is not among those `taken`."""
    stem = text.rstrip("0123456789")
    number = int(text[len(stem) :] or 0)
    while text in taken:
        number += 1
        text = f"{stem}{number}"
    return text


def number_of_plain_try(text: str, subject: str) -> int | None:
    """The number in the key of a try of `subject` that has no letter; None where it is another key.

    Hunts read it of every trial that they are told, so it takes no more than it needs.
    """
    tail = text[len(subject) + len(KEY_MARK) :]
    return int(tail) if tail.isdecimal() else None


def key_beside(text: str, mark: str) -> str:
    """A key beside a stored one whose place is taken: `cat#p3.1f0a` for `cat#p3`, told apart by the mark."""
    return f"{text}.{mark}"


def key_of_second_look(text: str, purpose: Purpose) -> str:
    """The key of a probe that looks again at what the probe of a stored key drew: `cat#?f3` for `cat#f3`."""
    subject, _, tail = text.rpartition(KEY_MARK)
    return f"{subject}{KEY_MARK}{purpose.letter}{tail}"


def subject_of_key(text: str) -> str:
    """The subject in a stored key, the whole text where it has no parts."""
    subject, mark, _ = text.rpartition(KEY_MARK)
    return subject if mark else text
