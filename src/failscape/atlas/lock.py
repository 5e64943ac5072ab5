"""One writer per atlas. The lock belongs to an open file, so it ends with its process, however that ends."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from failscape.errors import AtlasError

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        # Lock a byte far behind the text, so that others can still read who holds it.
        os.lseek(handle, 1 << 20, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class WriterLock:
    """Held from creation to `release`. Raises `AtlasError` naming the process that holds it."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(self._handle)
        except OSError as error:
            os.close(self._handle)
            raise _refusal(path, error) from None
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        os.lseek(self._handle, 0, os.SEEK_SET)
        os.truncate(self._handle, 0)
        os.write(self._handle, json.dumps(holder).encode())

    def release(self) -> None:
        """Give it up. The file stays: removing it would let two writers lock two files of one name."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _refusal(path: Path, error: OSError) -> AtlasError:
    if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
        return AtlasError(f"{path.parent} cannot be locked: {error}", "put the atlas on a local disk")
    holder = _read(path)
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(holder.get("since", 0))))
    who = f"process {holder.get('pid', '?')} on {holder.get('host', '?')} since {since}"
    return AtlasError(
        f"{path.parent} is being written by {who}",
        "wait for that run to end, or stop it; looking at the atlas is possible meanwhile",
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        holder = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return holder if isinstance(holder, dict) else {}
