"""What was written in pictures in place of the text asked for, by the readings that an atlas keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from failscape.atlas import StoredTrial
from failscape.models.contracts.asking import replies_in_text
from failscape.spaces.written_text import TextRules, is_text_check, nearest_reading, reading_in
from failscape.trials import Decide, Finding, Subject, Verdict, missed_by

#: So many spellings are told; the others are counted together.
MOST_SPELLINGS = 3

NOTHING = "nothing like it"


def is_text_finding(finding: Finding) -> bool:
    """Whether a finding asks for written text, so that its pictures have to be looked up."""
    return any(is_text_check(kind) for kind in Subject.parse(finding.subject).kinds)


def written_sentences(trials: Iterable[StoredTrial]) -> Iterator[str]:
    """For each text asked for: how often it is missing, and what was read in its place."""
    found: dict[str, Counter[str]] = {}
    for stored in trials:
        for expected, written in _missing_texts(stored):
            found.setdefault(expected, Counter())[written or NOTHING] += 1
    for expected, spellings in found.items():
        yield _sentence(expected, spellings)


def _missing_texts(stored: StoredTrial) -> Iterator[tuple[str, str]]:
    """The texts that a failed trial missed, with what was read instead."""
    if stored.trial.verdict is not Verdict.FAIL:
        return
    replies = [text for call in stored.calls if call.role == Decide.role for text in _replies(call.raw)]
    reading = reading_in(replies)
    if reading is None:
        return
    for missed in missed_by(stored.steps, stored.trial.facts):
        if is_text_check(missed.check):
            yield missed.expected, nearest_reading(missed.expected, reading, TextRules())


def _replies(raw: str) -> list[str]:
    return replies_in_text(raw) or [raw]


def _sentence(expected: str, spellings: Counter[str]) -> str:
    missing = spellings.total()
    told = spellings.most_common(MOST_SPELLINGS)
    parts = [f"“{text}” ({count})" if text != NOTHING else f"{text} ({count})" for text, count in told]
    others = missing - sum(count for _, count in told)
    if others:
        parts.append(f"something else ({others})")
    pictures = "1 picture" if missing == 1 else f"{missing:,} pictures"
    return f"“{expected}” is missing in {pictures}. Read instead: {', '.join(parts)}."
