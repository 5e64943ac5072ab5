"""Reads what a hunt found without keeping pages waiting: long hunts in a process of their own.

Telling a hunt its trials again is pure arithmetic, and in a thread it would take turns with every answer.
"""

from __future__ import annotations

import threading
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import NamedTuple

from failscape.atlas import Atlas, HuntRow
from failscape.errors import AtlasError, FailscapeError
from failscape.evidence import Found, WatchTelling
from failscape.evidence.found import read_found

SHORT = 5000
"""A hunt with fewer trials is read before a process would have started."""


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
