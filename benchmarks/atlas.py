"""How fast an atlas records, opens, counts and replays. Prints one line per measurement.

python benchmarks/atlas.py [--trials 1000000]
"""

from __future__ import annotations

import argparse
import hashlib
import io
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from failscape.atlas import Atlas, Call, Recorded
from failscape.atlas.merge import merge_atlases
from failscape.models.roles import Identity, Usage
from failscape.pictures import Picture
from failscape.trials import Check, Decide, Generate, Probe, Trial, Verdict

PAINTER = Identity("generator", "python", "painter", {"steps": 4})
JUDGE = Identity("judge", "python", "judge", {"contract": "boolean"})
GROUP = 64
PER_NODE = 25


def make_picture(number: int) -> Picture:
    pixels = np.random.default_rng(number).integers(0, 255, (24, 24, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", compress_level=1)
    return Picture(buffer.getvalue())


def make_recorded(number: int, picture: Picture | None) -> Recorded:
    node, index = divmod(number, PER_NODE)
    subject = f"thing {node % 500}; Base: Colour=shade {node // 500}; Background: Place=spot {node % 77}"
    checks = tuple(
        Check(kind, subject, f"It is {kind}.") for kind in ("entity", "Base: Colour", "Background: Place")
    )
    probe = Probe(
        f"{subject}#{index}", subject, (Generate(f"A picture of {subject}."), Decide(checks)), index
    )
    drawn = picture.digest if picture else hashlib.blake2b(probe.key.encode(), digest_size=16).hexdigest()
    facts = [drawn, [True, number % 7 > 0, True]]
    verdict = Verdict.PASS if number % 7 else Verdict.FAIL
    trial = Trial(probe.key, subject, verdict, "" if number % 7 else "not red", facts, index)
    keys = [hashlib.blake2b(f"{probe.key}/{role}".encode(), digest_size=16).digest() for role in "gj"]
    calls = (
        Call(keys[0], "generator", PAINTER, drawn, "", "", Usage(1, 0.2), picture),
        Call(keys[1], "judge", JUDGE, facts[1], "", "[true, true, true]", Usage(1, 0.1, 300, 12)),
    )
    return Recorded(probe, trial, calls, 1.7e9 + number, 0.3)


def groups(start: int, count: int, pictures: list[Picture] | None) -> Iterator[list[Recorded]]:
    for first in range(start, start + count, GROUP):
        size = min(GROUP, start + count - first)
        yield [
            make_recorded(n, pictures[n - start] if pictures else None) for n in range(first, first + size)
        ]


def record_all(
    atlas: Atlas, hunt: int, start: int, count: int, pictures: list[Picture] | None = None
) -> tuple[float, float]:
    """Seconds by the clock and of the CPU: they differ on a busy machine."""
    clock = cpu = 0.0
    for group in groups(start, count, pictures):
        began, busy = time.perf_counter(), time.thread_time()
        atlas.record(hunt, group)
        clock += time.perf_counter() - began
        cpu += time.thread_time() - busy
    return clock, cpu


def rates(count: int, seconds: tuple[float, float]) -> str:
    return f"{count / seconds[0]:10,.0f} trials/s ({count / seconds[1]:,.0f} per CPU second)"


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--pictures", type=int, default=10_000)
    count, drawn = (options := parser.parse_args()).trials, options.pictures
    folder = Path(tempfile.mkdtemp(prefix="atlas-benchmark-"))
    try:
        with Atlas.open(folder / "a", create=True) as atlas:
            hunt = atlas.start_hunt("t2i", {"seed": 0}, {"target": PAINTER, "judge": JUDGE})
            seconds = record_all(atlas, hunt, 0, count)
            print(f"record without pictures  {rates(count, seconds)}, {count:,} trials")
        measure_reading(folder / "a", hunt)
        with Atlas.open(folder / "b", create=True) as atlas:
            hunt = atlas.start_hunt("t2i", {"seed": 1}, {"target": PAINTER, "judge": JUDGE})
            pictures = [make_picture(number) for number in range(drawn)]
            seconds = record_all(atlas, hunt, 0, drawn, pictures)
            size = len(pictures[0].data)
            print(f"record with pictures     {rates(drawn, seconds)}, {size:,} bytes each")
        began = time.perf_counter()
        merged = merge_atlases([folder / "b", folder / "a"], folder / "c")
        print(f"merge                    {time.perf_counter() - began:10.1f} s for {merged.trials:,} trials")
    finally:
        shutil.rmtree(folder)


def measure_reading(folder: Path, hunt: int) -> None:
    size = (folder / "atlas.db").stat().st_size / 2**20
    began = time.perf_counter()
    with Atlas.open(folder) as atlas:
        opened = time.perf_counter()
        print(f"open for writing         {opened - began:10.3f} s ({size:,.0f} MiB)")
        atlas.counts(hunt), atlas.spent(hunt)
        counted = time.perf_counter()
        print(f"counts and spent         {counted - opened:10.4f} s")
        before = memory()
        number = sum(1 for _ in atlas.replay(hunt))
        replayed, grown = time.perf_counter(), memory() - before
        print(f"replay                   {replayed - counted:10.2f} s for {number:,}, +{grown:.0f} MiB")
        subjects = sum(1 for _ in atlas.subject_counts(hunt))
        print(f"counts per subject       {time.perf_counter() - replayed:10.2f} s for {subjects:,} subjects")


if __name__ == "__main__":
    main()
