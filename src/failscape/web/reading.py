"""Reads what a hunt found without keeping pages waiting: long hunts in a process of their own.

Telling a hunt its trials again is pure arithmetic, and in a thread it would take turns with every answer.
"""

from __future__ import annotations

import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from failscape.atlas import Atlas, HuntRow
from failscape.errors import AtlasError, FailscapeError
from failscape.evidence import Found
from failscape.evidence.found import read_found

SHORT = 5000
"""A hunt with fewer trials is read before a process would have started."""


class FoundReader:
    """Shared by all hunts of a viewer; one long reading at a time."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._turn = threading.Lock()

    def read(self, atlas: Atlas, row: HuntRow) -> Found:
        if sum(atlas.counts(row.id).values()) < SHORT:
            return read_found(atlas, row)
        try:
            found, message, fix = self._workers().submit(_read_apart, atlas.folder, row.id).result()
        except BrokenProcessPool:
            self.close()
            raise AtlasError(
                f"reading {atlas.folder} ended before it was done", "is there memory left?"
            ) from None
        if found is None:
            raise AtlasError(message, fix)
        return found

    def _workers(self) -> ProcessPoolExecutor:
        with self._turn:
            if self._pool is None:
                # Spawned, not forked: threads of the server may hold locks.
                self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
            return self._pool

    def close(self) -> None:
        with self._turn:
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
                self._pool = None


def _read_apart(folder: Path, hunt_id: int) -> tuple[Found | None, str, str]:
    """Errors come back as words: exceptions lose their parts between processes."""
    try:
        with Atlas.open(folder, readonly=True) as atlas:
            return read_found(atlas, atlas.hunt(hunt_id)), "", ""
    except FailscapeError as error:
        return None, error.message, error.fix
