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
from failscape.trials import (
    Classify,
    Decide,
    Missed,
    Subject,
    Verdict,
    missed_by,
    verdict_steps_from_json,
)

Positions = NDArray[np.int64]
VERDICTS = [verdict.value for verdict in Verdict]
MOST_FACETS = 40
_MANY = 8192
#: Trials that are read by number in one query; SQLite takes at least 999 parameters.
_TOGETHER = 900
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
        #: Of each case its first trial, and what that missed: trials of one plan and reason missed the same.
        self._first_of_case: list[int] = []
        self._missed: list[tuple[Missed, ...]] = []
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
            self._missed += self._missed_in(self._first_of_case[len(self._missed) :])
            self._last = row[1]

    def _add(self, rows: Sequence[tuple[int, str, str, str, str, int, bytes]]) -> None:
        verdicts = {name: number for number, name in enumerate(VERDICTS)}
        ids, keys, subjects, said, reasons, plans, calls = zip(*rows, strict=True)
        reason_numbers = self.reasons.numbers(reasons)
        numbers = []
        for number, plan, reason in zip(ids, plans, reason_numbers, strict=True):
            case = self._cases.setdefault((plan, reason), len(self._cases))
            if case == len(self._first_of_case):
                self._first_of_case.append(number)
            numbers.append(case)
        self._case.extend(numbers)
        self._subject.extend(self.subjects.numbers(subjects))
        self._reason.extend(reason_numbers)
        self._stream.extend(self.streams.numbers([self._stream_of(key) for key in keys]))
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

    def _missed_in(self, trials: Sequence[int]) -> list[tuple[Missed, ...]]:
        """What each of these trials missed, from its steps and facts."""
        found: dict[int, tuple[Missed, ...]] = {}
        for at in range(0, len(trials), _TOGETHER):
            some = trials[at : at + _TOGETHER]
            query = (
                "SELECT t.id, p.steps, t.facts FROM trials t JOIN plans p ON p.id = t.plan"
                f" WHERE t.reason != '' AND t.id IN ({','.join('?' * len(some))})"
            )
            for number, steps, facts in self._atlas.query(query, tuple(some)):
                found[number] = missed_by(verdict_steps_from_json(steps), json.loads(facts))
        return [found.get(number, ()) for number in trials]

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
            kinds = [_kinds_of(missed) for missed in self._missed]
            missed = np.array([wanted.check in some for some in kinds], dtype=np.bool_)
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

    def per_wrong_label(self) -> dict[tuple[str, str], int]:
        """(subject, label that was given instead) → failed trials."""
        failed = self._verdict.values == VERDICTS.index(Verdict.FAIL.value)
        pairs = self._subject.values[failed].astype(np.int64) * max(1, len(self._missed))
        codes, counts = np.unique(pairs + self._case.values[failed], return_counts=True)
        found: dict[tuple[str, str], int] = {}
        for code, number in zip(codes.tolist(), counts.tolist(), strict=True):
            subject, case = divmod(code, max(1, len(self._missed)))
            for one in self._missed[case]:
                if one.role == Classify.role:
                    place = self.subjects.texts[subject], one.seen
                    found[place] = found.get(place, 0) + number
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
            "check": _summed([_kinds_of(one) for one in self._missed], self._case.values[positions]),
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


def _kinds_of(missed: Sequence[Missed]) -> tuple[str, ...]:
    """The kinds of check that a judge found missing, each once."""
    return tuple(dict.fromkeys(one.check for one in missed if one.role == Decide.role))


def _under(path: str) -> Callable[[str], bool]:
    """Subjects about one thing and all that carry a value: `cat; Base: Colour=red` is under both parts."""
    wanted = _parts_of(path)
    return lambda subject: wanted <= _parts_of(subject)


def _parts_of(subject: str) -> set[str]:
    parsed = Subject.parse(subject)
    return {parsed.name, *parsed.labels}
