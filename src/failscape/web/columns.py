"""The trials of a hunt as columns of numbers in memory, so that any filter over a million answers at once.

A trial costs about 30 bytes here; words are kept once each. New trials are added as they are recorded. What
is shown of a trial is read from the atlas when somebody looks at it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from failscape.atlas import Atlas
from failscape.trials import Verdict

Positions = NDArray[np.int64]
VERDICTS = [verdict.value for verdict in Verdict]
MOST_FACETS = 40
_MANY = 8192
#: Bytes of a call's key; a trial has those of its calls in a row.
KEY = 16


@dataclass(frozen=True, slots=True)
class TrialFilter:
    """Which trials to show; "" takes all. `text` is looked for in subjects and reasons."""

    verdict: str = ""
    stream: str = ""
    check: str = ""
    reason: str = ""
    subject: str = ""
    under: str = ""
    endpoint: str = ""
    text: str = ""

    @classmethod
    def from_query(cls, query: Any) -> TrialFilter:
        return cls(**{field.name: str(query.get(field.name, "")) for field in fields(cls)})


class WordNumbers:
    """Texts by number, each kept once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def numbers(self, texts: Sequence[str]) -> list[int]:
        known, found = self._numbers, []
        for text in texts:
            number = known.get(text)
            if number is None:
                number = known[text] = len(self.texts)
                self.texts.append(text)
            found.append(number)
        return found

    def find(self, text: str) -> int:
        """-1 where there is no such text."""
        return self._numbers.get(text, -1)

    def matching(self, holds: Callable[[str], bool]) -> NDArray[np.bool_]:
        return np.fromiter((holds(text) for text in self.texts), dtype=np.bool_, count=len(self.texts))


class _Column:
    """Numbers that grow at the end; room is doubled when it runs out."""

    def __init__(self, kind: type[Any]) -> None:
        self._room = np.zeros(_MANY, dtype=kind)
        self._size = 0

    def extend(self, numbers: Sequence[int]) -> None:
        needed = self._size + len(numbers)
        if needed > len(self._room):
            grown = np.zeros(max(needed, 2 * len(self._room)), dtype=self._room.dtype)
            grown[: self._size] = self._room[: self._size]
            self._room = grown
        self._room[self._size : needed] = numbers
        self._size = needed

    @property
    def values(self) -> NDArray[Any]:
        return self._room[: self._size]


StreamOf = Callable[[str], str]


class TrialColumns:
    """Columns of one hunt. `stream_of` tells from a trial's key what it was drawn for. Safe for threads.

    `pooled`: some model of the hunt lives behind addresses, so that each trial's are looked up.
    """

    def __init__(self, atlas: Atlas, hunt_id: int, stream_of: StreamOf, pooled: bool = False) -> None:
        self._atlas = atlas
        self._pooled = pooled
        self._hunt = hunt_id
        self._stream_of = stream_of
        self._turn = threading.Lock()
        self._last = 0
        self.subjects, self.reasons, self.streams = WordNumbers(), WordNumbers(), WordNumbers()
        self._ids, self._verdict = _Column(np.int64), _Column(np.uint8)
        self._subject, self._reason = _Column(np.int32), _Column(np.int32)
        self._stream, self._case = _Column(np.uint8), _Column(np.int32)
        self._cases: dict[tuple[int, int], int] = {}
        self._missed: list[tuple[str, ...]] = []
        self._marks: dict[str | None, int] = {}
        self._served = _Column(np.int32)
        self._servers: dict[tuple[str, ...], int] = {}

    def __len__(self) -> int:
        return len(self._ids.values)

    def refresh(self) -> None:
        """Bring in what was recorded since. Withdrawn trials stay until the viewer starts anew."""
        with self._turn, self._atlas.reading() as db:
            row = db.execute(
                "SELECT first_trial, last_trial FROM totals WHERE hunt = ?", (self._hunt,)
            ).fetchone()
            if row is None or row[1] is None or row[1] <= self._last:
                return
            cursor = db.execute(
                "SELECT id, key, subject, verdict, reason, plan, calls FROM trials NOT INDEXED"
                " WHERE id > ? AND id <= ? AND hunt = ? ORDER BY id",
                (max(self._last, row[0] - 1), row[1], self._hunt),
            )
            while rows := cursor.fetchmany(_MANY):
                self._add(rows)
            # Which kinds of check each pair of plan and reason missed.
            new = [case for case, number in self._cases.items() if number >= len(self._missed)]
            checks = self._checks({plan for plan, reason in new if self.reasons.texts[reason]})
            for plan, reason in new:
                self._missed.append(_missed_kinds(self.reasons.texts[reason], checks.get(plan, ())))
            self._last = row[1]

    def _add(self, rows: Sequence[tuple[int, str, str, str, str, int, bytes]]) -> None:
        verdicts = {name: number for number, name in enumerate(VERDICTS)}
        ids, keys, subjects, said, reasons, plans, calls = zip(*rows, strict=True)
        reason_numbers = self.reasons.numbers(reasons)
        cases = self._cases
        self._case.extend(
            [cases.setdefault(case, len(cases)) for case in zip(plans, reason_numbers, strict=True)]
        )
        self._subject.extend(self.subjects.numbers(subjects))
        self._reason.extend(reason_numbers)
        self._stream.extend([self._stream_number(key) for key in keys])
        self._verdict.extend([verdicts[verdict] for verdict in said])
        self._served.extend(self._server_numbers(calls))
        self._ids.extend(ids)

    def _server_numbers(self, calls: Sequence[bytes]) -> list[int]:
        """Which addresses took part in each trial, by the number of that set of addresses."""
        servers = self._servers
        if not self._pooled:
            return [servers.setdefault((), 0)] * len(calls)
        split = [[keys[at : at + KEY] for at in range(0, len(keys), KEY)] for keys in calls]
        asked, known = [key for keys in split for key in keys], dict[bytes, str]()
        for at in range(0, len(asked), _MANY):
            known.update(self._atlas.endpoints(asked[at : at + _MANY]))
        served = (tuple(dict.fromkeys(known[key] for key in keys if key in known)) for keys in split)
        return [servers.setdefault(one, len(servers)) for one in served]

    def name_streams(self, purposes: Mapping[str, str]) -> None:
        """Where keys do not tell what a trial was for: by what the hunt says of each."""
        self.refresh()
        with self._turn:
            self._stream_of = lambda key: purposes.get(key, "")
            query = "SELECT key FROM trials NOT INDEXED WHERE id <= ? AND hunt = ? ORDER BY id"
            names = [purposes.get(key, "") for (key,) in self._atlas.query(query, (self._last, self._hunt))]
            self._stream.values[: len(names)] = self.streams.numbers(names)

    def _stream_number(self, key: str) -> int:
        """Keys that end alike were drawn for the same: `cat; Base: Colour=red#s3` by its letter."""
        mark = key.rpartition("#")[2].rstrip("0123456789") if "#" in key else None
        number = self._marks.get(mark)
        if number is None:
            number = self.streams.numbers([self._stream_of(key)])[0]
            if mark is not None:
                self._marks[mark] = number
        return number

    def _checks(self, plans: set[int]) -> dict[int, list[tuple[str, str]]]:
        """Kind and value of each check of these plans, straight from the text: plans are many."""
        if not plans:
            return {}
        query = "SELECT id, steps FROM plans WHERE id BETWEEN ? AND ?"
        return {
            number: [
                (str(check["kind"]), str(check["value"]))
                for step in json.loads(text)
                if step.get("do") == "decide"
                for check in step["checks"]
            ]
            for number, text in self._atlas.query(query, (min(plans), max(plans)))
            if number in plans
        }

    def select(self, wanted: TrialFilter) -> Positions:
        """Where the trials are that are wanted, in the order recorded."""
        mask = np.ones(len(self), dtype=np.bool_)
        for column, words, text in (
            (self._stream, self.streams, wanted.stream),
            (self._reason, self.reasons, wanted.reason),
            (self._subject, self.subjects, wanted.subject),
        ):
            if text:
                mask &= column.values == words.find(text)
        if wanted.verdict:
            code = VERDICTS.index(wanted.verdict) if wanted.verdict in VERDICTS else len(VERDICTS)
            mask &= self._verdict.values == code
        if wanted.check:
            missed = np.array([wanted.check in kinds for kinds in self._missed], dtype=np.bool_)
            mask &= missed[self._case.values]
        if wanted.endpoint:
            took_part = np.array([wanted.endpoint in one for one in self._servers], dtype=np.bool_)
            mask &= took_part[self._served.values]
        if wanted.under:
            mask &= self.subjects.matching(_under(wanted.under))[self._subject.values]
        if wanted.text:
            mask &= self._holds(wanted.text.casefold())
        return np.flatnonzero(mask)

    def _holds(self, text: str) -> NDArray[np.bool_]:
        words = text.split()

        def holds(one: str) -> bool:
            folded = one.casefold()
            return all(word in folded for word in words)

        found: NDArray[np.bool_] = self.subjects.matching(holds)[self._subject.values]
        found |= self.reasons.matching(holds)[self._reason.values]
        return found

    def per_subject(self, without: Collection[str] = ()) -> list[tuple[str, int, int]]:
        """Each subject with its passes and fails, but for trials `without` a part in the search."""
        size, left_out = len(self.subjects.texts), self.streams.matching(lambda name: name in without)
        kept = ~left_out[self._stream.values]
        passes, fails = (
            np.bincount(
                self._subject.values[kept & (self._verdict.values == VERDICTS.index(verdict))], minlength=size
            )
            for verdict in (Verdict.PASS.value, Verdict.FAIL.value)
        )
        return list(zip(self.subjects.texts, passes.tolist(), fails.tolist(), strict=False))

    def per_reason(self) -> dict[tuple[str, str], int]:
        """(subject, reason) → failed trials."""
        failed = self._verdict.values == VERDICTS.index(Verdict.FAIL.value)
        pairs = self._subject.values[failed].astype(np.int64) * len(self.reasons.texts)
        codes, counts = np.unique(pairs + self._reason.values[failed], return_counts=True)
        found = {}
        for code, number in zip(codes.tolist(), counts.tolist(), strict=True):
            subject, reason = divmod(code, len(self.reasons.texts))
            found[self.subjects.texts[subject], self.reasons.texts[reason]] = number
        return found

    def ids(self, positions: Positions) -> list[int]:
        return [int(number) for number in self._ids.values[positions]]

    def stream(self, position: int) -> str:
        return self.streams.texts[int(self._stream.values[position])]

    def facets(self, positions: Positions) -> dict[str, list[tuple[str, int]]]:
        """How many of these trials have each value; the most frequent first."""
        return {
            "verdict": _counted(VERDICTS, self._verdict.values[positions]),
            "stream": _counted(self.streams.texts, self._stream.values[positions]),
            "check": _summed(self._missed, self._case.values[positions]),
            "reason": _counted(self.reasons.texts, self._reason.values[positions]),
            "endpoint": _summed(list(self._servers), self._served.values[positions]),
        }


def _counted(names: Sequence[str], numbers: NDArray[Any]) -> list[tuple[str, int]]:
    counts = np.bincount(numbers, minlength=1)
    return _ranked((names[at], int(counts[at])) for at in np.flatnonzero(counts).tolist() if names[at])


def _summed(names: Sequence[tuple[str, ...]], numbers: NDArray[Any]) -> list[tuple[str, int]]:
    """The same where each number stands for several names."""
    sums: dict[str, int] = {}
    counts = np.bincount(numbers, minlength=1)
    for at in np.flatnonzero(counts).tolist():
        for name in names[at]:
            sums[name] = sums.get(name, 0) + int(counts[at])
    return _ranked(sums.items())


def _ranked(counted: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(counted, key=lambda one: (-one[1], one[0]))[:MOST_FACETS]


def _missed_kinds(reason: str, checks: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The kinds of check that a reason names: `not red, not cat`, `not shown: cat`, `undecided: red`."""
    if not reason:
        return ()
    named = reason.removeprefix("not shown: ").removeprefix("undecided: ")
    values = {part.removeprefix("not ") for part in named.split(", ")}
    return tuple(dict.fromkeys(kind for kind, value in checks if value in values))


def _under(path: str) -> Callable[[str], bool]:
    """Subjects about one thing and all that carry a value: `cat; Base: Colour=red` is under both parts."""
    wanted = set(path.split("; "))
    return lambda subject: wanted <= set(subject.split("; "))
