"""How a large hunt runs and reads: speed as it grows, memory, handles, log, files; then findings and report.

    python -m benchmarks.large_hunt --images 200000          # in process, with pictures
    python -m benchmarks.large_hunt --images 1000000 --keep none

The hunt is the rule of FailureAtlas over a planted world of the general corpus, which never runs out of
nodes: real pictures, drawn and judged in process. `findings` and `report` then run as commands of their own,
so that their memory is theirs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from failscape.config.files import parse_config
from failscape.runtime.progress import RunSnapshot
from failscape.runtime.session import run_session

_PLANTED = "failscape.simulate.models"
WORLD = {"regime": "medium", "corpus": "general"}
LOOKS = 10


class Watch:
    """Prints a line each time another share of the images has been drawn."""

    def __init__(self, folder: Path, images: int) -> None:
        self._folder = folder
        self._step = max(1, images // LOOKS)
        self._next = self._step
        self._then = (0, time.process_time())

    def update(self, snapshot: RunSnapshot) -> None:
        if snapshot.trials < self._next:
            return
        trials, busy = snapshot.trials - self._then[0], time.process_time() - self._then[1]
        self._then = snapshot.trials, time.process_time()
        self._next = snapshot.trials + self._step
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        handles = len(os.listdir("/proc/self/fd"))
        files = sum(1 for path in (self._folder / "images").rglob("*") if path.is_file())
        wal = self._folder / "atlas.db-wal"
        log = wal.stat().st_size / 2**20 if wal.exists() else 0.0
        print(
            f"| {snapshot.trials:,} | {trials / busy:,.0f} | {snapshot.findings:,} | {memory:,.0f} |"
            f" {handles} | {log:.0f} | {files} |",
            flush=True,
        )

    def note(self, kind: str, text: str) -> None: ...

    def close(self) -> None: ...


def run(folder: Path, images: int, keep: str) -> None:
    settings = {
        "hunt": "t2i",
        "target": {"provider": "python", "path": f"{_PLANTED}:PlantedGenerator", "params": WORLD},
        "judge": {"provider": "python", "path": f"{_PLANTED}:PlantedJudge", "params": WORLD},
        "space": {"corpus": "general", "entities": "sample", "depth": 2},
        "search": {"strategy": "failureatlas"},
        "budget": {"images": images},
        "runtime": {"keep_images": keep, "in_flight": 64},
        "seed": 1,
    }
    print("| trials | trials per CPU second | findings | MiB | handles | MiB of log | picture files |")
    print("|---|---|---|---|---|---|---|")
    done = asyncio.run(run_session(parse_config(settings, "large"), folder, Watch(folder, images)))
    print(f"\n{done.trials:,} trials, {done.findings:,} findings in {done.seconds:,.0f} s\n", flush=True)


_MEASURED = (
    "import resource, sys, io; sys.stdout = io.StringIO(); from failscape.cli import main\n"
    "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
    "use = resource.getrusage(resource.RUSAGE_SELF)\n"
    "print(f'{use.ru_utime + use.ru_stime:.1f} s of processor time, {use.ru_maxrss / 1024:.0f} MiB',"
    " file=sys.stderr)"
)


def measure(*words: object) -> None:
    given = [str(word) for word in words]
    done = subprocess.run([sys.executable, "-c", _MEASURED, *given], capture_output=True, text=True)
    said = done.stderr.strip().splitlines()
    print(f"failscape {' '.join(given[:1])} …: {said[-1] if said else 'nothing was said'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--images", type=int, default=200_000)
    parser.add_argument("--keep", choices=("all", "failures", "none"), default="all")
    parser.add_argument("--atlas", type=Path, help="keep it here; an atlas that is there is only read")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="large-hunt-"))
    folder = options.atlas or home / "atlas"
    try:
        if not folder.exists():
            run(folder, options.images, options.keep)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20
        print(f"the atlas has {size:,.0f} MiB")
        measure("findings", folder, "--limit", 1)
        measure("report", folder, "-o", home / "report")
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
