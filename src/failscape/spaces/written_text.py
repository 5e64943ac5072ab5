"""Text that a picture is asked to show: comparing a reading with it, and what was written instead. Pure.

A reader gives the words of a picture in reading order. The text asked for is there if some run of these words
says it. Other words may stand beside it: a shop window has more than one sign.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

#: The family of checks that a reader decides: `Text: says`.
TEXT_FAMILY = "Text"


@dataclass(frozen=True, slots=True)
class TextRules:
    """When two texts count as the same.

    Attributes:
        case: Whether `Open` differs from `OPEN`. Readers confuse the case of letters such as c, o and s.
        spacing: Whether `JAZZNIGHT` differs from `JAZZ NIGHT`. Readers see gaps where letters stand apart.
        tolerance: How many letters may be missing, added or wrong.
    """

    case: bool = False
    spacing: bool = False
    tolerance: int = 0

    def same(self, expected: str, read: str) -> bool:
        first = self._plain(expected)
        second = self._plain(read)
        if not self.tolerance:
            return first == second
        return edit_distance(first, second) <= self.tolerance

    def _plain(self, text: str) -> str:
        """Compatibility forms (full-width letters, ligatures) are the letters that people see."""
        folded = unicodedata.normalize("NFKC", text)
        if not self.case:
            folded = folded.casefold()
        return " ".join(folded.split()) if self.spacing else "".join(folded.split())


def is_text_check(kind: str) -> bool:
    return kind.partition(":")[0] == TEXT_FAMILY


def says(expected: str, lines: Sequence[str], rules: TextRules) -> bool:
    """Whether some run of words of the reading is the expected text."""
    return any(rules.same(expected, run) for run in _runs(lines, expected))


def nearest_reading(expected: str, lines: Sequence[str], rules: TextRules) -> str:
    """What was written in place of `expected`: the run of words that is most like it.

    Empty if nothing was read, or if what was read has fewer than half of its letters in common with it: that
    is another text, not a spelling of this one.
    """
    plain = expected.casefold()
    runs = sorted(_runs(lines, expected), key=lambda run: (edit_distance(plain, run.casefold()), run))
    if not runs:
        return ""
    best = runs[0]
    return best if 2 * edit_distance(plain, best.casefold()) <= max(len(plain), len(best)) else ""


def _runs(lines: Sequence[str], expected: str) -> Iterator[str]:
    """Runs of consecutive words. One word may be read as several, so a run may have more words than it."""
    words = [word for line in lines for word in line.split()]
    most = len(expected.split()) + max(2, len(expected))
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + most) + 1):
            yield " ".join(words[start:end])


def edit_distance(first: str, second: str) -> int:
    """Levenshtein's distance: letters inserted, removed or replaced."""
    before = list(range(len(second) + 1))
    for row, letter in enumerate(first, 1):
        now = [row]
        for column, other in enumerate(second, 1):
            replaced = before[column - 1] + (letter != other)
            now.append(min(before[column] + 1, now[-1] + 1, replaced))
        before = now
    return before[-1]


def reading_to_raw(lines: Sequence[str]) -> str:
    """A reading as an atlas keeps it."""
    return json.dumps({"read": list(lines)}, ensure_ascii=False)


def reading_in(raw: Iterable[str]) -> tuple[str, ...] | None:
    """The reading among the replies that a judge gave; `None` where nobody read."""
    for text in raw:
        try:
            data = json.loads(text)
        except ValueError:
            continue
        lines = data.get("read") if isinstance(data, dict) else None
        if isinstance(lines, list) and all(isinstance(line, str) for line in lines):
            return tuple(lines)
    return None
