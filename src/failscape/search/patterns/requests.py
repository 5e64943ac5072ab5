"""What a search asks for, and what it is told. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class RequestPurpose(StrEnum):
    """Why a trial is wanted. Only `TEST` trials prove anything; all trials guide the search."""

    #: The context without any fact: how often it fails usually.
    PLAIN = "plain"
    #: Many facts at once: which of them could matter?
    EXPLORE = "explore"
    #: Some facts of a failure that nothing explains, or of a proposal: which of them cause it?
    LOOK_INTO = "look into"
    #: Exactly the pattern under test.
    TEST = "test"
    #: A part of a pattern, or the pattern with another fact in place of one: is the name minimal and exact?
    CHECK_NAME = "check name"
    #: Fresh trials of a claim, for a rate that no choice has touched.
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True)
class PatternRequest:
    """One trial that the search wants: `context` with all of `facts`.

    `number` counts all requests of a search. `pattern` is the pattern that a test or confirmation belongs to,
    and the whole whose name is checked; it is empty otherwise.
    """

    number: int
    context: str
    facts: tuple[str, ...]
    purpose: RequestPurpose
    pattern: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialRow:
    """What came of a request.

    Args:
        failed: `None` for a trial that cannot be used: it counts as spent and for nothing else.
        facts: Facts that the trial is taken to show. `None` stands for all that were asked for. Leave out
            those that a trustworthy judge does not see; a complete grammar gives all facts of its question.
        described: Further facts from a caption; `None` if there was no caption. An empty collection says that
            a caption had nothing to add.
    """

    failed: bool | None
    facts: Collection[str] | None = None
    described: Collection[str] | None = None
