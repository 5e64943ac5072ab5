"""What a hunt can say about the whole space, in the parts that every command and screen can show.

A survey is a kind's own type. It inherits from `Survey` and overrides the parts that it has; its page in the
report knows the rest of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Interval = tuple[float, float]


class TestedRule(Protocol):
    """A rule that was tested as one group and is claimed: it stands for many subjects."""

    @property
    def text(self) -> str:
        """What fails, in words."""

    @property
    def proof(self) -> str:
        """What is known of it, in words."""

    @property
    def scope(self) -> str:
        """What `who` is: `entity`, `sub-class`, `class`, or `all`."""

    @property
    def who(self) -> str:
        """The thing or class that it is about; empty for anything."""

    @property
    def values(self) -> tuple[str, ...]:
        """The labels that all its subjects have, such as `Base: colour=red`."""

    @property
    def covers(self) -> int:
        """How many subjects of the space it speaks of."""

    def as_data(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class SpaceRate:
    """The mean failure rate over a group of the space, free of the search's bias.

    `group` is what is grouped by: `all` for the whole space, `class` and `kind` for the columns and rows of
    the map. `subjects` of the space belong to it.
    """

    group: str
    name: str
    subjects: int
    rate: float
    interval: Interval


class Survey:
    """Parts that a kind cannot tell stay empty."""

    __slots__ = ()

    def as_data(self) -> dict[str, Any]:
        """All of it as plain JSON data."""
        raise NotImplementedError(f"{type(self).__name__}.as_data")

    @property
    def tested_rules(self) -> Sequence[TestedRule]:
        """Rules that were tested as one group, and are claimed."""
        return ()

    @property
    def space_rates(self) -> Sequence[SpaceRate]:
        """How often the whole space fails, and parts of it."""
        return ()

    @property
    def opening(self) -> str:
        """What the target does in all that was tried, as the end of a sentence that begins with its name.

        It is for hunts that try everything there is, which no random sample has to speak for.
        """
        return ""

    @property
    def unexamined(self) -> Sequence[str]:
        """Classes about which too little was tried to say anything, each with what was tried."""
        return ()

    @property
    def skill_tree(self) -> dict[str, Any] | None:
        """Families of skills down to kinds of question, each with its trials; `None` before any was tried."""
        return None
