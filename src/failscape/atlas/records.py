"""What goes into an atlas and what comes out of it, as plain data; and what its rows must look like.

An atlas may come from a stranger, or from a damaged disk. Rows are checked where they are brought in from
elsewhere (merge) and where somebody asks (doctor); everywhere else a row that cannot be understood is named.
Nothing here touches a file.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from failscape.errors import AtlasError
from failscape.models.roles import Identity, Usage
from failscape.pictures import Picture
from failscape.trials import (
    Answer,
    Caption,
    Classify,
    Consult,
    Decide,
    DefineSkill,
    Edit,
    Embed,
    ExpectChange,
    Facts,
    Generate,
    NameSkills,
    Probe,
    Propose,
    Recall,
    Reword,
    Show,
    Step,
    Trial,
    Verify,
    VerifyAgain,
)
from failscape.trust import NOTHING_VOUCHED, Vouched

KeepImages = Literal["all", "failures", "none"]


@dataclass(slots=True)
class Call:
    """One finished model call.

    `key` is 16 bytes made from the model's identity and the request. `cached` calls came from the atlas:
    there is nothing to store and nothing was paid.
    """

    key: bytes
    role: str
    identity: Identity
    facts: Facts
    invalid: str
    raw: str
    usage: Usage
    picture: Picture | None = None
    cached: bool = False
    confidence: tuple[float, ...] = ()


@dataclass(slots=True)
class Recorded:
    """One finished probe, ready to be recorded. `started` is in unix seconds."""

    probe: Probe
    trial: Trial
    calls: tuple[Call, ...]
    started: float
    seconds: float


@dataclass(slots=True)
class Spent:
    """What a hunt has cost over all its runs. Cached calls cost nothing; `images` counts generator calls."""

    images: int = 0
    requests: int = 0
    seconds: float = 0.0
    money: float = 0.0


@dataclass(frozen=True, slots=True)
class HuntRow:
    """One hunt of an atlas. `parent` is the hunt it was forked from."""

    id: int
    kind: str
    config: dict[str, Any]
    identities: dict[str, Identity]
    shard: tuple[int, int]
    parent: int | None
    created: float
    vouched: Vouched = NOTHING_VOUCHED
    """What the user has said about the models and files that its settings name."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One session of a hunt. `why` is empty while it runs, and for ever when it was killed."""

    id: int
    hunt: int
    started: float
    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth remembering: a start, a stop, an error, a warning."""

    id: int
    at: float
    kind: str
    hunt: int | None
    detail: dict[str, Any]


@dataclass(slots=True)
class StoredCall(Call):
    """A call as the atlas keeps it. `image` is the digest of what a generator drew, `file` the name of its
    picture when that was kept."""

    image: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial with everything known about it. `calls` has one entry per model call, in order."""

    id: int
    hunt: int
    trial: Trial
    steps: tuple[Step, ...]
    calls: tuple[StoredCall, ...]
    started: float
    seconds: float

    @property
    def images(self) -> tuple[str, ...]:
        """The digests of its pictures, drawn or shown, in order."""
        return images_of(self.steps, self.trial.facts)


def images_of(steps: Sequence[Step], facts: Sequence[Facts]) -> tuple[str, ...]:
    """The digests that the facts of `generate`, `edit` and `show` steps name."""
    found: list[str] = []
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Generate | Edit) and isinstance(fact, str):
            found.append(fact)
        elif isinstance(step, Show):
            found.extend(fact or ())
    return tuple(found)


def prompts_of(steps: Sequence[Step], facts: Sequence[Facts]) -> list[str]:
    """What images were really drawn from: the reworded prompt where there is one."""
    found, reworded = [], ""
    for place, step in enumerate(steps):
        if isinstance(step, Reword) and place < len(facts) and facts[place]:
            reworded = facts[place][0]
        elif isinstance(step, Generate):
            found.append(reworded or step.prompt)
            reworded = ""
    return found


FIX = "failscape doctor ATLAS names all such rows; ask whoever made the atlas for a sound copy"
_PARSING = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)


class RowRule(NamedTuple):
    """`holds` is SQL that is true for every sound row of `table`; `name` is what a row is named by."""

    table: str
    name: str
    holds: tuple[str, ...]
    since: int = 1


def _each(form: str, columns: str) -> tuple[str, ...]:
    return tuple(form.format(column) for column in columns.split())


_texts = partial(_each, "typeof({0}) = 'text'")
_numbers = partial(_each, "typeof({0}) IN ('integer', 'real')")
_amounts = partial(_each, "typeof({0}) IN ('integer', 'real') AND {0} BETWEEN 0 AND 1e15")
_counts = partial(_each, "typeof({0}) = 'integer' AND {0} >= 0")
_objects = partial(_each, "json_valid({0}) AND json_type({0}) = 'object'")
_lists = partial(_each, "json_valid({0}) AND json_type({0}) = 'array'")


def _is_hex(column: str, length: int) -> str:
    return f"(typeof({column}) = 'text' AND length({column}) = {length} AND {column} NOT GLOB '*[^0-9a-f]*')"


def _in(column: str, table: str, key: str = "id") -> str:
    return f"{column} IN (SELECT {key} FROM {{schema}}{table})"


#: Checked by SQLite itself: a second or so for a million trials.
RULES = (
    RowRule("hunts", "id", (*_objects("config identities"), *_texts("kind"), *_counts("shard shards"))),
    RowRule("hunts", "id", (_in("id", "totals", "hunt"), "shard < shards")),
    RowRule("totals", "hunt", _counts("images requests pass fail invalid none")),
    RowRule("totals", "hunt", (*_amounts("money"), "coalesce(first_trial, 0) <= coalesce(last_trial, 0)")),
    RowRule("identities", "id", (*_objects("settings"), *_texts("digest role provider model"))),
    RowRule("plans", "id", _lists("steps")),
    RowRule("events", "id", (*_objects("detail"), *_texts("kind"), *_numbers("at"))),
    RowRule("merged", "hunt", (*_counts("images requests"), *_amounts("money"), *_texts("origin"))),
    RowRule("runs", "id", (*_numbers("started"), *_amounts("seconds"))),
    RowRule("runs", "id", (*_texts("why"), _in("hunt", "hunts"))),
    RowRule("nodes", "id", (*_objects("details"), *_texts("subject"))),
    RowRule("images", "digest", (_is_hex("digest", 32), *_counts("bytes width height"), *_texts("format"))),
    RowRule("images", "digest", (f"(pack IS NULL OR {_counts('start')[0]})",), since=3),
    RowRule("packs", "name", (_is_hex("name", 16), *_counts("bytes")), since=3),
    RowRule("calls", "hex(key)", ("length(key) = 16", "json_valid(facts)", *_texts("role invalid raw"))),
    RowRule(
        "calls", "hex(key)", (f"(image IS NULL OR {_is_hex('image', 32)})", _in("identity", "identities"))
    ),
    RowRule("calls", "hex(key)", _numbers("requests seconds tokens_in tokens_out cost")),
    RowRule("trials", "id", (*_lists("facts"), *_texts("key subject reason"), *_numbers("started seconds"))),
    RowRule("trials", "id", ("verdict IN ('pass', 'fail', 'invalid', 'none')", "typeof(seed) = 'integer'")),
    RowRule("confidences", "hex(call)", ("length(call) = 16", "json_valid(chances)"), since=5),
    RowRule("trials", "id", ("length(calls) % 16 = 0", _in("plan", "plans"), _in("hunt", "hunts"))),
    RowRule("reviews", "uid", (*_texts("uid judge"), _in("hunt", "hunts")), since=2),
    RowRule("review_items", "item", (*_texts("item trial kind"), *_numbers("stands_for")), since=2),
    RowRule("review_labels", "item", ("label IN ('yes', 'no', 'unsure')", *_texts("reviewer")), since=2),
    RowRule("accuracies", "id", (*_objects("content"), *_texts("judge")), since=2),
)


#: Tables that are checked each time an atlas is opened; the others when their rows are read.
SMALL = frozenset({"hunts", "totals", "identities", "packs", "runs"})


def unsound_rows(
    db: sqlite3.Connection, version: int, schema: str = "", most: int = 5, small: bool = False
) -> Iterator[str]:
    """Rows that break a rule, named; at most so many per rule. `schema` names an attached database."""
    for rule in RULES:
        if rule.since <= version and (not small or rule.table in SMALL):
            holds = " AND ".join(rule.holds).format(schema=schema)
            rows = f"FROM {schema}{rule.table} WHERE NOT coalesce({holds}, 0)"
            for (name,) in db.execute(f"SELECT {rule.name} {rows} LIMIT {most}"):
                yield f"{rule.table} {str(name)[:60]!r}"


def refuse_unsound(
    db: sqlite3.Connection, version: int, where: str, schema: str = "", small: bool = False
) -> None:
    """Raise for the first row that breaks a rule."""
    bad = next(unsound_rows(db, version, schema, 1, small), None)
    if bad is not None:
        raise unsound(where, bad, "it does not have the form that such rows have")


def unsound(where: object, row: str, why: object) -> AtlasError:
    return AtlasError(f"row {row} of {where} is malformed: {why}", FIX)


@contextmanager
def understood(row: str) -> Iterator[None]:
    """What cannot be made of a row inside the block is an error that names it."""
    try:
        yield
    except _PARSING as error:
        raise unsound("the atlas", row, f"{type(error).__name__}: {error}") from error


def check_texts(*values: object) -> None:
    """Raise `ValueError` unless all are text: SQLite keeps bytes in a column of text."""
    for value in values:
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is no text")


def check_facts(steps: tuple[Step, ...], facts: Facts) -> None:
    """Raise `ValueError` unless facts are what their steps give. `None` is for a step that gave nothing."""
    if not isinstance(facts, list) or len(facts) > len(steps):
        raise ValueError(f"{len(steps)} steps have no such facts")
    for step, fact in zip(steps, facts, strict=False):
        if fact is not None and not _fits(step, fact):
            raise ValueError(f"{type(step).__name__.lower()} has no such fact: {str(fact)[:60]!r}")


def _fits(step: Step, fact: Facts) -> bool:
    match step:
        case Generate() | Edit() | Answer() | Consult():
            return isinstance(fact, str)
        case Decide(checks):
            answers = isinstance(fact, list) and all(one is None or isinstance(one, bool) for one in fact)
            return answers and len(fact) == len(checks)
        case Show() | Caption() | Propose() | Reword() | NameSkills():
            return isinstance(fact, list) and all(isinstance(one, str) for one in fact)
        case Classify():
            return isinstance(fact, list) and all(map(_is_ranked, fact))
        case Verify() | VerifyAgain() | ExpectChange():
            return isinstance(fact, list) and len(fact) in (3, 4, 6) and isinstance(fact[2], str)
        case DefineSkill():
            return isinstance(fact, list) and len(fact) == 2 and isinstance(fact[0], str)
        case Recall() | Embed():
            return isinstance(fact, list) and all(isinstance(one, list) for one in fact)


def _is_ranked(pair: Facts) -> bool:
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and isinstance(pair[1], int | float)
    )
