"""How far a finding can be trusted. This file is the only place that knows the words.

To add a status, add a member and its row in `_ABOUT` here, and its word in `docs/report.md`.
"""

from enum import StrEnum
from typing import NamedTuple


class Status(StrEnum):
    """What a finding claims. Members are in the order in which lists show them, strongest first."""

    CERTIFIED = "certified"
    LISTED = "listed"
    CONDITIONAL = "conditional"
    THRESHOLD = "threshold"
    SUSPECT = "suspect"

    @property
    def rank(self) -> int:
        """Its place among all statuses: 0 is the strongest."""
        return _RANKS[self]

    @property
    def is_claimed(self) -> bool:
        """Whether a finding of this status is a claim; a suspect is none."""
        return _ABOUT[self].is_claimed

    @property
    def sentence(self) -> str:
        """What the word says, for tables and tooltips."""
        return _ABOUT[self].sentence

    @property
    def look(self) -> str:
        """The class that gives it sign and colour in report and viewer: `full`, `half`, `plain`, `hollow`."""
        return _ABOUT[self].look

    def guarantee(self, number: int, unit: str, level: str = "") -> str:
        """What can be relied on, as the rest of a sentence that begins with the `number` of findings.

        `unit` is what one trial is called; `level` is the run's error level as it is written, `""` where the
        run names none.
        """
        about = _ABOUT[self]
        said = about.without_level if about.without_level and not level else about.guarantee
        verb = about.verb if number == 1 else about.verbs
        return f"{verb} {said.format(unit=unit, level=level)}."

    @classmethod
    def words(cls) -> list[str]:
        """All statuses as they are written in files and on the command line."""
        return [status.value for status in cls]


class _StatusText(NamedTuple):
    sentence: str
    guarantee: str
    look: str
    is_claimed: bool = True
    #: The guarantee where the run names no level.
    without_level: str = ""
    verb: str = "is"
    verbs: str = "are"


_ABOUT = {
    Status.CERTIFIED: _StatusText(
        "its own images prove it: at most the run's level of such claims is expected to be false",
        "certified: of all that is certified, at most {level} is expected to be false",
        "full",
        without_level="certified at the run’s error level",
    ),
    Status.LISTED: _StatusText(
        "likely by what all images say: at most the run's level of such claims is expected to be false",
        "listed: likely by what all {unit}s say",
        "half",
    ),
    Status.CONDITIONAL: _StatusText(
        "certified if an unaudited verifier is right",
        "conditional: certified if the verifier is right about such questions, which nobody has measured",
        "plain",
    ),
    Status.THRESHOLD: _StatusText(
        "a bare comparison with the threshold, without error control",
        "beyond the threshold; that rule has no error control, so read the intervals",
        "plain",
        verb="lies",
        verbs="lie",
    ),
    Status.SUSPECT: _StatusText(
        "looks failing, but is not claimed: its details say what is missing",
        "no claim: more {unit}s are needed",
        "hollow",
        is_claimed=False,
    ),
}
_RANKS = {status: place for place, status in enumerate(Status)}
