"""What was written in pictures in place of the text asked for."""

from __future__ import annotations

from failscape.atlas import StoredTrial
from failscape.atlas.records import StoredCall
from failscape.models.contracts.asking import replies_as_text
from failscape.models.roles import Identity, Usage
from failscape.spaces.written_text import reading_to_raw
from failscape.trials import Check, Decide, Finding, Generate, Status, Trial, Verdict
from failscape.views.read.written import is_text_finding, written_sentences

STEPS = (
    Generate("a mug"),
    Decide((Check("entity", "mug", "It is a mug."), Check("Text: says", "OPEN", "It says OPEN."))),
)
JUDGE = Identity("judge", "by_family", "reader and viewer")


def trial(number: int, holds: bool, raw: str) -> StoredTrial:
    verdict = Verdict.PASS if holds else Verdict.FAIL
    key = f"mug; Text: says=OPEN#{number}"
    told = Trial(key, "mug; Text: says=OPEN", verdict, "", ["0" * 32, [True, holds]], number)
    call = StoredCall(b"", "judge", JUDGE, [True, holds], "", raw, Usage())
    return StoredTrial(number, 1, told, STEPS, (call,), 0.0, 0.0)


def read(*lines: str) -> str:
    """As judges by family leave it: the words of the other judge beside what was read."""
    return replies_as_text(['{"answers": [true]}', reading_to_raw(lines)])


def test_misspellings_are_counted() -> None:
    trials = [
        trial(0, False, read("OPNE")),
        trial(1, False, read("OPNE", "24 h")),
        trial(2, False, read("Bakery")),
        trial(3, True, read("OPEN")),
    ]
    [sentence] = written_sentences(trials)
    assert sentence == "“OPEN” is missing in 3 pictures. Read instead: “OPNE” (2), nothing like it (1)."


def test_nothing_is_said_where_nobody_read() -> None:
    assert list(written_sentences([trial(0, False, '{"answers": [true, false]}')])) == []


def test_only_findings_with_text_are_looked_up() -> None:
    def finding(subject: str) -> Finding:
        return Finding(subject, subject, "", Status.LISTED, 1.0, (0.5, 1.0), 10.0, 5, 5)

    assert is_text_finding(finding("mug; Base: Colour=red; Text: says=OPEN"))
    assert not is_text_finding(finding("mug; Base: Colour=red"))
    assert not is_text_finding(finding("Text"))
