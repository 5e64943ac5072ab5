"""The atlases that a viewer shows: opened for reading, each hunt with its columns and what it found.

What a hunt found is read beside the server, in a thread, and read again while a run goes on. Until it is
there, callers get `None` and say so; counts come straight from the atlas and are there at once. Telling a
hunt its trials again is pure arithmetic, and in a thread it would take turns with every answer: long hunts
are read in a process of their own.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.judging import REVIEWS_SINCE, state_of_mode_labels
from failscape.errors import AtlasError, FailscapeError
from failscape.trials import Subject
from failscape.views.read import Found, HuntEvidence, HuntReader, Place, WatchTelling
from failscape.views.read.found import read_found
from failscape.views.viewer.columns import TrialColumns

#: What a screen shows, as it goes to the page.
Data = dict[str, Any]

#: A hunt with fewer trials is read before a process would have started.
SHORT = 5000


class Telling(NamedTuple):
    """How far a process is that tells a hunt its trials again."""

    told: int
    total: int


class FoundReader:
    """Shared by all hunts of a viewer. `close` ends readings that are under way."""

    def __init__(self) -> None:
        self._working: set[SpawnProcess] = set()
        self._turn = threading.Lock()

    def read(self, atlas: Atlas, row: HuntRow, watch: WatchTelling | None = None) -> Found:
        if sum(atlas.counts(row.id).values()) < SHORT:
            return read_found(atlas, row, watch=watch)
        try:
            found, message, fix = self._read_elsewhere(atlas.folder, row.id, watch)
        except EOFError:
            message = f"reading {atlas.folder} ended before it was done"
            raise AtlasError(message, "open the page again; is there memory left?") from None
        if found is None:
            raise AtlasError(message, fix)
        return found

    def _read_elsewhere(
        self, folder: Path, hunt_id: int, watch: WatchTelling | None
    ) -> tuple[Found | None, str, str]:
        # Spawned, not forked: threads of the server may hold locks. A daemon ends with the viewer.
        context = get_context("spawn")
        here, there = context.Pipe(duplex=False)
        worker = context.Process(target=_read_apart, args=(there, folder, hunt_id), daemon=True)
        worker.start()
        there.close()
        with self._turn:
            self._working.add(worker)
        try:
            while isinstance(message := here.recv(), Telling):
                if watch is not None:
                    watch(*message)
            told: tuple[Found | None, str, str] = message
            return told
        finally:
            here.close()
            with self._turn:
                self._working.discard(worker)
            worker.join(1)

    def close(self) -> None:
        with self._turn:
            for worker in self._working:
                worker.kill()


def _read_apart(goal: Connection, folder: Path, hunt_id: int) -> None:
    """Errors go back as words: exceptions lose their parts between processes."""
    try:
        with Atlas.open(folder, readonly=True) as atlas:
            found = read_found(atlas, atlas.hunt(hunt_id), watch=lambda *far: goal.send(Telling(*far)))
            goal.send((found, "", ""))
    except FailscapeError as error:
        goal.send((None, error.message, error.fix))


T = TypeVar("T")

#: A hunt is read again at most a quarter of the time: after a pause of so many times what reading took.
PATIENCE = 3.0

SHORTEST_PAUSE = 2.0


class OpenHunt:
    """One hunt on show. Safe for threads."""

    def __init__(self, slug: str, atlas: Atlas, row: HuntRow, found: FoundReader) -> None:
        self.slug = slug
        self.atlas = atlas
        self.row = row
        self.reader = HuntReader(atlas, row)
        self.columns = TrialColumns(atlas, row.id, self.reader.purpose_name, _has_endpoints(row.config))
        self.place: Callable[[str], Place | None] = self.reader.place
        self._found = found
        self.problem: FailscapeError | None = None
        self.readings = 0
        #: Trials told again so far, and how many there are, while the hunt is read by telling.
        self.telling: tuple[int, int] | None = None
        self._loaded: HuntEvidence | None = None
        self._derived: dict[str, tuple[HuntEvidence, Any]] = {}
        self._as_of: tuple[Any, Any] = (None, None)
        self._next = 0.0
        self._reading = False
        self._warm = False
        self._turn = threading.Lock()
        self._threads: list[threading.Thread] = []

    def subject_words(self, subject: str) -> str:
        """A stored subject for people: `cat · red`."""
        return Subject.parse(subject, self.reader.kind.subject_form).words

    def finish(self) -> None:
        """Wait for what reads in the background: it would crash if its connection were closed meanwhile."""
        for thread in self._threads:
            thread.join()

    def _begin(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads = [one for one in self._threads if one.is_alive()]
        self._threads.append(thread)
        thread.start()

    def loaded(self, wait: float = 0.0) -> HuntEvidence | None:
        """What the hunt found, as it was last read; `None` until that is done for the first time.

        Starts reading when there is news. `wait` seconds are given to the first reading.
        """
        with self._turn:
            due = not self._reading and time.monotonic() >= self._next and self._state() != self._as_of
            if due:
                self._reading = True
                self._begin(self._read)
        end = time.monotonic() + wait
        while self._loaded is None and self.problem is None and time.monotonic() < end:
            time.sleep(0.02)
        return self._loaded

    def derived(self, name: str, make: Callable[[HuntEvidence], T]) -> T | None:
        """What `make` makes of the hunt as it was last read, made once; `None` until it is read."""
        loaded = self.loaded(wait=0.25)
        if loaded is None:
            return None
        known = self._derived.get(name)
        if known is None or known[0] is not loaded:
            known = self._derived[name] = loaded, make(loaded)
        found: T = known[1]
        return found

    def warm_up(self) -> None:
        """Begin to read all trials for filters, beside the answers that need none of them."""
        if not self._warm:
            self._warm = True
            self._begin(self._fill_columns)

    def _fill_columns(self) -> None:
        with contextlib.suppress(FailscapeError, sqlite3.Error):  # whoever asks next is told what is wrong
            self.columns.refresh()

    def model_name(self, role: str) -> str:
        """What a model is called in the settings; a file that it was loaded from says less."""
        settings, identity = self.row.config.get(role), self.row.identities.get(role)
        named = settings.get("model") if isinstance(settings, dict) else ""
        return str(named or (identity.model or identity.provider if identity else role))

    @property
    def as_of(self) -> int:
        """The number of trials behind what `loaded` gives."""
        return self._loaded.curve[-1][0] if self._loaded is not None else 0

    def _state(self) -> tuple[Any, ...]:
        """The last trial, the last word on the judge and on modes: what is found changes with these."""
        ask = self.atlas.query
        return (
            *ask("SELECT last_trial FROM totals WHERE hunt = ?", (self.row.id,)),
            *ask("SELECT count(*), max(at) FROM accuracies", since=REVIEWS_SINCE),
            *state_of_mode_labels(self.atlas),
        )

    def _read(self) -> None:
        began = time.monotonic()
        try:
            state = self._state()
            evidence = HuntEvidence(self.atlas, self.row, self._found.read(self.atlas, self.row, self._note))
            if evidence.found.purposes:
                self.columns.name_streams(evidence.found.purposes)
            self._loaded, self._as_of, self.problem = evidence, state, None
        except FailscapeError as error:
            self.problem = error
        finally:
            self.readings += 1
            self.telling = None
            took = time.monotonic() - began
            self._next = time.monotonic() + max(SHORTEST_PAUSE, PATIENCE * took)
            self._reading = False

    def _note(self, told: int, total: int) -> None:
        self.telling = told, total


def _has_endpoints(config: dict[str, Any]) -> bool:
    return any(isinstance(one, dict) and one.get("endpoints") for one in config.values())


class Library:
    """Atlases by a short name that is part of each address. Use it as a context manager, or `close` it."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.atlases: dict[str, Atlas] = {}
        self._hunts: dict[tuple[str, int], OpenHunt] = {}
        self._found = FoundReader()
        self._turn = threading.Lock()
        for folder in folders:
            plain = "".join(
                char if char.isalnum() or char in "-_." else "-" for char in folder.resolve().name
            )
            name, number = plain.strip(".-") or "atlas", 2
            while name in self.atlases:
                name, number = f"{plain}-{number}", number + 1
            self.atlases[name] = Atlas.open(folder, readonly=True)

    def atlas(self, slug: str) -> Atlas:
        found = self.atlases.get(slug)
        if found is None:
            raise AtlasError(f"there is no atlas {slug!r} here", f"there are: {', '.join(self.atlases)}")
        return found

    def hunt(self, slug: str, hunt_id: int) -> OpenHunt:
        atlas = self.atlas(slug)
        with self._turn:
            found = self._hunts.get((slug, hunt_id))
            if found is None:
                found = self._hunts[slug, hunt_id] = OpenHunt(slug, atlas, atlas.hunt(hunt_id), self._found)
        return found

    def open_hunts(self, slug: str) -> list[OpenHunt]:
        """Hunts of an atlas that somebody has looked at."""
        with self._turn:
            return [hunt for (name, _), hunt in self._hunts.items() if name == slug]

    def close(self) -> None:
        self._found.close()
        for hunt in self._hunts.values():
            hunt.finish()
        for atlas in self.atlases.values():
            atlas.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
