"""Why a trial was made. Each kind of hunt declares its purposes once, in `HuntKind.purposes`.

The text form is one letter in the key of the trial (`p` in `cat#p3`). All other code asks `Purpose.is_of` or
`Purposes.of_key`; only queries name the letter, since the database holds nothing else.
Hunts whose keys have no letter say the purpose of each trial themselves (`Hunt.purposes`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

#: What stands between the subject and the rest of a key.
KEY_MARK = "#"


def letter_of_key(text: str) -> str | None:
    """The letter in a stored key, `""` where a number stands alone, None where the key has no parts.

    Viewers read it of a million trials, so it takes no more than it needs.
    """
    _, mark, tail = text.rpartition(KEY_MARK)
    if not mark:
        return None
    return "" if "0" <= tail[:1] <= "9" else tail[:1]


@dataclass(frozen=True, slots=True)
class Purpose:
    """Why a trial was made.

    Attributes:
        name: In words, for people and for `findings --json`.
        letter: Its letter in keys; `""` for the search itself, `None` where keys do not tell.
        follows_search: Whether the search chose the subject. Trials that it did not choose, such as a random
            sample, speak for the whole space and never count for their subject.
        fixed_beforehand: Whether the number of such trials did not depend on how they went. Rates over them
            are honest, whatever the search picked their subject for.
        after_search: Whether tries that are made after a search are of this purpose: those of a comparison, a
            gate, a repair or a dataset. A kind declares at most one.
        shows_photos: Whether its pictures are a folder's photos, not drawn.
        is_of_target: Whether its verdict is the target's. A second question to a judge is not.
        sample_name: What such trials are called as a sample of more than their subject; `""` where they speak
            for their subject alone.
    """

    name: str
    letter: str | None = None
    follows_search: bool = True
    fixed_beforehand: bool = False
    after_search: bool = False
    shows_photos: bool = False
    is_of_target: bool = True
    sample_name: str = ""

    def is_of(self, key: str) -> bool:
        """Whether the trial of a stored key was made for this purpose."""
        return self.letter is not None and letter_of_key(key) == self.letter

    @property
    def samples_space(self) -> bool:
        """Whether its trials speak for more than their subject."""
        return bool(self.sample_name)


#: What a trial is for where a kind of hunt says nothing.
UNNAMED = Purpose("", "")
#: Results of somebody else, read from a table.
IMPORTED = Purpose("imported", "t", fixed_beforehand=True, sample_name="random sample")
#: Cases that a gate asks again, in hunts of every kind.
ASKED_BY_GATE = Purpose("asked by a gate", "r")
#: Tries after the search, of kinds that declare no purpose for them.
TRIED_AFTERWARDS = Purpose("tried afterwards", "d", after_search=True)


class Purposes:
    """The purposes of one kind of hunt, found by letter or by name."""

    def __init__(self, *declared: Purpose) -> None:
        self._declared = declared
        self._by_letter = {one.letter: one for one in reversed(declared) if one.letter is not None}
        self._by_name = {one.name: one for one in reversed(declared)}
        letters = [one.letter for one in declared if one.letter is not None]
        if len(set(letters)) < len(letters):
            raise ValueError(f"each purpose has a letter of its own, but got {letters}")

    def __iter__(self) -> Iterator[Purpose]:
        return iter(self._declared)

    def of_key(self, text: str) -> Purpose:
        """Why the trial of a stored key was made; one whose letter is not declared is of the search."""
        return self.of_letter(letter_of_key(text) or "")

    def of_letter(self, letter: str) -> Purpose:
        """The purpose of a letter that a query brought (`LETTER_IN_SQL`), with the same rule as `of_key`."""
        return self._by_letter.get(letter) or self._by_letter.get("", UNNAMED)

    def named(self, name: str) -> Purpose:
        """The purpose of that name; one that follows the search where none is declared."""
        return self._by_name.get(name) or Purpose(name)

    @property
    def of_fresh_tries(self) -> Purpose:
        """The purpose of tries that are made after a search."""
        return next((one for one in self._declared if one.after_search), TRIED_AFTERWARDS)

    @property
    def of_photos(self) -> Purpose | None:
        """The purpose of the photos that a hunt was given as a sample; None where it takes none."""
        return next((one for one in self._declared if one.shows_photos and one.samples_space), None)
