"""Ends what is left of a local Ray cluster when the process that started it is killed.

Ray's own agents wait up to a minute for a cluster that is gone. The watcher is a small process beside the
driver. It notes which processes of Ray descend from the driver, and when the driver's end of their pipe
closes, whatever the reason, it ends those that are still there. Linux only: it reads `/proc`.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

#: Seconds between two looks at the driver's descendants.
LOOK_SECONDS = 2.0

#: Seconds that they have to end by themselves once the driver is gone.
GRACE_SECONDS = 3.0

PROC = Path("/proc")

#: A process: its number, and when it was started, since numbers are given again.
ProcessKey = tuple[int, int]


def start_watcher() -> subprocess.Popen[bytes] | None:
    """Watch this process until it ends; `None` where there is no `/proc`. It must not be waited for.

    It writes a line once it knows the processes of Ray that are there; nobody has to read it.
    """
    if not (PROC / "self" / "stat").exists():
        return None
    command = [sys.executable, "-m", "failscape.engines.ray_watcher", str(os.getpid())]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is the driver's
    )


def ray_descendants(driver: int) -> set[ProcessKey]:
    """The processes of Ray among those that the driver, or a descendant of it, has started."""
    parents: dict[int, int] = {}
    started: dict[int, int] = {}
    for entry in PROC.iterdir():
        if entry.name.isdecimal() and (read := _parent_and_start(int(entry.name))) is not None:
            parents[int(entry.name)], started[int(entry.name)] = read
    found: set[ProcessKey] = set()
    for number in parents:
        above, seen = parents[number], {number}
        while above not in (0, driver) and above not in seen:
            seen.add(above)
            above = parents.get(above, 0)
        if above == driver and _is_of_ray(number):
            found.add((number, started[number]))
    return found


def _parent_and_start(number: int) -> tuple[int, int] | None:
    try:
        text = (PROC / str(number) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before may hold anything
    return int(fields[1]), int(fields[19])


def _is_of_ray(number: int) -> bool:
    try:
        command = (PROC / str(number) / "cmdline").read_bytes()
    except OSError:
        return False
    return command.startswith(b"ray::") or b"/ray/" in command


def _still_there(process: ProcessKey) -> bool:
    read = _parent_and_start(process[0])
    return read is not None and read[1] == process[1]


def end_all(processes: set[ProcessKey], grace: float = GRACE_SECONDS) -> None:
    """End those that do not end by themselves within `grace` seconds."""
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and any(map(_still_there, processes)):
        time.sleep(0.1)
    for process in processes:
        if _still_there(process):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process[0], signal.SIGKILL)


def watch(driver: int, pipe: IO[bytes], look_seconds: float = LOOK_SECONDS) -> None:
    """Return once the other end of `pipe` is closed and the driver's processes of Ray have ended."""
    seen = ray_descendants(driver)
    with contextlib.suppress(OSError):  # the driver may be gone already
        os.write(sys.stdout.fileno(), b"watching\n")
    while True:
        readable, _, _ = select.select([pipe], [], [], look_seconds)
        if readable and not pipe.read(1):
            break
        seen = {process for process in seen if _still_there(process)} | ray_descendants(driver)
    end_all(seen)


if __name__ == "__main__":
    watch(int(sys.argv[1]), sys.stdin.buffer)
