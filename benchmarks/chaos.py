"""Kills hunts at random moments, spoils their servers and their words, and says what was lost or made up.

    python -m benchmarks.chaos                                 # 100 kills, 25 server faults, wire and replies
    nice python -m benchmarks.chaos --kills 1000 --faults 0    # the long form
    python -m benchmarks.chaos --kills 0 --faults 0            # 74 faults on the wire, odd replies: 2 minutes

Each hunt runs in a process of its own (forked, so that starting it takes no time) and gets SIGKILL: while it
starts, while it replays, while it records. After each kill all trials that it had acknowledged must be there,
once, in their order, with counts that add up and pictures that match their digests. The child says what it
acknowledged in a file of its own, not in the atlas. Needs a system with `fork`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import odd_replies, wire_faults
from failscape.atlas import Atlas
from failscape.atlas.database import DATABASE
from failscape.config import HuntConfig
from failscape.config.files import parse_config
from failscape.errors import FailscapeError
from failscape.runtime.progress import RunSnapshot
from failscape.runtime.session import run_session
from failscape.testing.faulty import KINDS, FaultyServer
from failscape.trials import Verdict
from failscape.views.read.found import choose_hunt, read_found

_PLANTED = "failscape.simulate.models"
SPACE = {"corpus": "starter", "depth": 1, "entities": ["cat", "apple", "car", "chair"]}
HUNTS: dict[str, dict[str, Any]] = {
    "t2i": {
        "hunt": "t2i",
        "target": {
            "provider": "python",
            "path": f"{_PLANTED}:PlantedGenerator",
            "params": {"regime": "weak"},
        },
        "judge": {"provider": "python", "path": f"{_PLANTED}:PlantedJudge", "params": {"regime": "weak"}},
        "space": SPACE,
        "search": {"strategy": "failureatlas", "images_per_node": 9},
    },
    "classifier": {
        "hunt": "classifier",
        "target": {"provider": "toybox", "model": "cnn"},
        "generator": {"provider": "toybox", "model": "renderer"},
        "judge": {"provider": "toybox", "model": "toy-eyes"},
        "captioner": {"provider": "toybox", "model": "toy-eyes"},
        "embedder": {"provider": "toybox", "model": "toy-eyes"},
        "classes": ["penguin", "camel"],
        "space": {"corpus": "toybox", "families": ["Base", "Image"]},
        "budget": {"images": 800},
    },
    "vlm": {
        "hunt": "vlm",
        "target": {"provider": "toybox", "model": "toy-vlm"},
        "verifier": "exact",
        "images": {"source": "toybox"},
        "questions": 800,
        "budget": {"images": 600},
    },
}
EARLY = 0.2
"""The share of kills while a run still starts. All others come when it has recorded something new."""

MEAN_SECONDS = 0.2
"""Of the life that is left after that moment: a few groups of trials more."""

MOST_SECONDS = 60.0
"""A run that records nothing for so long is killed too."""


TELL_EVERY = 20
"""Kills between two lines of progress."""


class Quiet:
    """A reporter that says nothing, but keeps what it was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def update(self, snapshot: RunSnapshot) -> None: ...

    def note(self, kind: str, text: str) -> None:
        self.notes.append(f"{kind}: {text}")

    def close(self) -> None: ...


@dataclass(slots=True)
class KillRow:
    """What became of one kind of hunt."""

    hunt: str
    kills: int = 0
    while_starting: int = 0
    ended: int = 0
    trials: int = 0
    pictures: int = 0
    problems: list[str] = field(default_factory=list)


class Victim:
    """One hunt in one folder, killed until it comes to its end."""

    def __init__(self, kind: str, folder: Path, seed: int) -> None:
        self.folder = folder
        self.config = parse_config({**HUNTS[kind], "seed": seed, "runtime": {"in_flight": 16}}, kind)
        self.acknowledged = folder.with_suffix(".acknowledged")
        self.seen = 0
        self.last = 0

    def live(self, seconds: float, until_recorded: bool = True) -> bool:
        """Run until something new is recorded and `seconds` more, then kill it. Whether it ended before."""
        child = os.fork()
        if child == 0:
            _live(self.config, self.folder, self.acknowledged)
        before, began = self._size(), time.monotonic()
        deadline = began + (MOST_SECONDS if until_recorded else seconds)
        while time.monotonic() < deadline:
            if until_recorded and self._size() > before:
                until_recorded, deadline = False, time.monotonic() + seconds
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                if os.waitstatus_to_exitcode(status):
                    raise RuntimeError(f"the run in {self.folder} failed by itself")
                return True
            time.sleep(0.005)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return False

    def _size(self) -> int:
        return self.acknowledged.stat().st_size if self.acknowledged.exists() else 0

    def check(self, row: KillRow) -> bool:
        """Compare the atlas with what was acknowledged. Whether anything new was recorded."""
        promised = _whole_lines(self.acknowledged)
        if not (self.folder / DATABASE).exists() or not promised:
            return False
        with Atlas.open(self.folder) as atlas:
            keys = [trial.key for trial in atlas.replay(1)]
            counts = sum(atlas.counts(1).values())
            problems = row.problems
            if keys[: len(promised)] != promised:
                lost = len(set(promised) - set(keys))
                problems.append(f"{lost} acknowledged trials lost, or others in between")
            if len(set(keys)) != len(keys):
                problems.append(f"{len(keys) - len(set(keys))} trials recorded twice")
            if counts != len(keys):
                problems.append(f"{counts} counted, {len(keys)} recorded")
            row.pictures += self._check_pictures(atlas, problems)
        # What a killed run had recorded and not yet acknowledged is there too: from now on it must stay.
        self.acknowledged.write_text("".join(f"{key}\n" for key in keys))
        fresh, self.seen = len(keys) - self.seen, len(keys)
        row.trials += fresh
        return fresh > 0

    def _check_pictures(self, atlas: Atlas, problems: list[str]) -> int:
        number = 0
        for stored in atlas.trials(1, offset=self.seen):
            for digest in stored.images:
                number += 1
                try:
                    atlas.images.get(digest)
                except FailscapeError as error:
                    problems.append(f"trial {stored.trial.key!r}: {error.message}")
        return number


def _live(config: HuntConfig, folder: Path, acknowledged: Path) -> None:
    """The life of a child: it never returns."""
    record, log = Atlas.record, os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def acknowledge(self: Atlas, hunt_id: int, group: Sequence[Any], *rest: Any, **options: Any) -> None:
        record(self, hunt_id, group, *rest, **options)
        os.write(log, "".join(f"{recorded.trial.key}\n" for recorded in group).encode())

    Atlas.record = acknowledge  # type: ignore[method-assign]
    try:
        asyncio.run(run_session(config, folder, Quiet()))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _whole_lines(path: Path) -> list[str]:
    """What is behind the last line break was cut off by the kill, and so was not acknowledged."""
    return path.read_text().rpartition("\n")[0].splitlines() if path.exists() else []


def kill_hunts(kills: int, seconds: float, seed: int, home: Path) -> list[KillRow]:
    """`kills` in all, shared by the hunts; at most `seconds` long."""
    rows, luck, deadline = [], random.Random(seed), time.monotonic() + seconds
    for place, kind in enumerate(HUNTS):
        share = kills * (place + 1) // len(HUNTS) - kills * place // len(HUNTS)
        until = time.monotonic() + (deadline - time.monotonic()) / (len(HUNTS) - place)
        rows.append(_kill_one(kind, share, until, luck, home))
    return rows


def _kill_one(kind: str, kills: int, until: float, luck: random.Random, home: Path) -> KillRow:
    row, number = KillRow(kind), 0
    victim = Victim(kind, home / f"{kind}-{number}", number)
    while row.kills < kills and time.monotonic() < until:
        ended = victim.live(luck.expovariate(1 / MEAN_SECONDS), luck.random() >= EARLY)
        recorded = victim.check(row)
        if not ended:
            row.kills += 1
            row.while_starting += not recorded
            if row.kills % TELL_EVERY == 0:
                _tell(row)
            continue
        row.ended += 1
        if kind == "t2i":
            _compare(victim, home / "untouched", row)
        shutil.rmtree(victim.folder)
        victim.acknowledged.unlink()
        number += 1
        victim = Victim(kind, home / f"{kind}-{number}", number)
    return row


def _tell(row: KillRow) -> None:
    print(
        f"{time.strftime('%H:%M:%S')} {row.hunt}: {row.kills} kills, {row.while_starting} of these before"
        f" anything new, {row.ended} hunts ended, {len(row.problems)} problems",
        file=sys.stderr,
        flush=True,
    )


def _compare(victim: Victim, folder: Path, row: KillRow) -> None:
    """The same hunt, never killed, must have found the same."""
    untouched = Victim("t2i", folder, int(victim.config.seed))
    untouched.live(600, until_recorded=False)
    if _findings(folder) != _findings(victim.folder):
        row.problems.append("the killed hunt found other things than the untouched one")
    shutil.rmtree(folder)
    untouched.acknowledged.unlink()


def _findings(folder: Path) -> dict[str, tuple[int, int]]:
    with Atlas.open(folder, readonly=True) as atlas:
        findings = read_found(atlas, choose_hunt(atlas)).findings
    return {finding.subject: (finding.failures, finding.trials) for finding in findings}


FAULTS = [(kind, role) for kind in KINDS if kind != "ok" for role in ("target", "judge")]
SHARE = 0.3
IMAGES = 60


@dataclass(slots=True)
class FaultRow:
    """A fault of one server, and what became of the hunt: while it lasted, and once the server was mended."""

    fault: str
    role: str
    first: str
    invalid: int = 0
    trials: int = 0
    problems: list[str] = field(default_factory=list)


def spoil_servers(number: int, seed: int, home: Path, images: int = IMAGES) -> list[FaultRow]:
    """The first `number` faults: each kind for each role, then all kinds at once."""
    rows = [
        _spoil({kind: SHARE}, kind, role, seed, home / f"{kind}-{role}", images)
        for kind, role in FAULTS[:number]
    ]
    if number > len(FAULTS):
        passing = [kind for kind in KINDS if kind not in ("ok", "unauthorised", "invalid", "ignored-seed")]
        rates = {kind: SHARE / len(passing) for kind in passing}
        rows.append(_spoil(rates, "all that pass", "target", seed, home / "mixed", images))
    return rows


def _spoil(rates: dict[str, float], name: str, role: str, seed: int, folder: Path, images: int) -> FaultRow:
    with FaultyServer(rates=rates, seed=seed) as bad, FaultyServer(seed=seed) as good:
        urls = {"target": good.url, "judge": good.url, role: bad.url}
        config = _served(urls, seed, images)
        row = FaultRow(name, role, _run(config, folder))
        with Atlas.open(folder, readonly=True) as atlas:
            row.invalid = atlas.counts(1)[Verdict.INVALID]
            before = [trial.key for trial in atlas.replay(1)]
    with FaultyServer(seed=seed) as mended:
        again = _run(_served(dict.fromkeys(urls, mended.url), seed, images), folder)
    _check_spoilt(row, folder, before, again)
    return row


def _served(urls: dict[str, str], seed: int, images: int) -> HuntConfig:
    models = {
        role: {"provider": "openai", "model": "m", "endpoints": [url], "timeout": 1, "patience": 20}
        for role, url in urls.items()
    }
    search = {"strategy": "failureatlas", "images_per_node": 5}
    settings = {"hunt": "t2i", **models, "space": SPACE, "search": search, "budget": {"images": images}}
    return parse_config({**settings, "seed": seed}, "chaos")


def _run(config: HuntConfig, folder: Path) -> str:
    try:
        return asyncio.run(run_session(config, folder, Quiet())).stop.reason
    except FailscapeError as error:
        return f"{type(error).__name__}: {error.message}"


def _check_spoilt(row: FaultRow, folder: Path, before: list[str], again: str) -> None:
    """The scripted judge says yes to everything, so that any failure is one that the fault made up."""
    with Atlas.open(folder, readonly=True) as atlas:
        keys, counts = [trial.key for trial in atlas.replay(1)], atlas.counts(1)
    row.trials = len(keys)
    if counts[Verdict.FAIL]:
        row.problems.append(f"{counts[Verdict.FAIL]} failures that are none")
    if set(before) - set(keys) and not row.first.startswith("ModelError"):
        row.problems.append("recorded trials are gone")  # a hopeless run takes its invalid trials back
    if len(set(keys)) != len(keys):
        row.problems.append("trials recorded twice")
    if "budget" not in again and "done" not in again:
        row.problems.append(f"mended, it does not go on: {again}")


def show_kills(rows: Sequence[KillRow], seconds: float) -> None:
    print(
        "| hunt | kills | of these before anything new was recorded | hunts run to their end | trials |"
        " pictures compared | lost, twice or damaged |"
    )
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        told = "nothing" if not row.problems else "; ".join(f"{n}x {text}" for text, n in _told(row.problems))
        print(
            f"| {row.hunt} | {row.kills} | {row.while_starting} | {row.ended} | {row.trials:,} |"
            f" {row.pictures:,} | {told} |"
        )
    print(f"\n{sum(row.kills for row in rows):,} kills in {seconds:,.0f} s\n")


def show_faults(rows: Sequence[FaultRow]) -> None:
    print(
        f"| fault in {SHARE:.0%} of replies | of the | the run ended with | invalid then |"
        " trials after mending | made-up failures, lost, twice |"
    )
    print("|---|---|---|---|---|---|")
    for row in rows:
        told = "nothing" if not row.problems else "; ".join(row.problems)
        print(f"| {row.fault} | {row.role} | {row.first[:90]} | {row.invalid} | {row.trials} | {told} |")


def _told(problems: Sequence[str]) -> list[tuple[str, int]]:
    return Counter(problems).most_common(5)


def show_words(wire: int, replies: bool) -> bool:
    """The first `wire` faults on the wire, and all odd replies. Whether all of them held."""
    met = wire_faults.meet_all(wire_faults.FAULTS[:wire])
    read = odd_replies.read_all() if replies else []
    for lines in (wire_faults.table_of(met) if met else (), odd_replies.table_of(read) if read else ()):
        print("\n".join(["", *lines]))
    return not any(row.problems for row in met) and not any(row.misread for row in read)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--faults", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=3600, help="most time for the kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--wire", type=int, default=len(wire_faults.FAULTS), help="faults on the wire")
    parser.add_argument("--replies", type=int, default=1, help="0: no odd replies")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="chaos-"))
    try:
        clock = time.monotonic()
        killed = kill_hunts(options.kills, options.seconds, options.seed, home) if options.kills else []
        if killed:
            show_kills(killed, time.monotonic() - clock)
        spoilt = spoil_servers(options.faults, options.seed, home)
        if spoilt:
            show_faults(spoilt)
        words_held = show_words(options.wire, options.replies > 0)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    sys.exit(any(row.problems for row in [*killed, *spoilt]) or not words_held)


if __name__ == "__main__":
    main()
