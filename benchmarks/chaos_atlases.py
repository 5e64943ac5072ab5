"""Hostile atlases and flipped bytes: what every command does with them. Prints two tables.

    python -m benchmarks.chaos_atlases                  # every hostile atlas, 90 flipped bytes
    python -m benchmarks.chaos_atlases --flips 1000     # the long form

Each hostile atlas is a good one with one thing spoilt, beside a file and another atlas of the user. Every
command then runs on it. The user's things must be as they were, no code of the atlas may have run, and no
command may fall over: it does its work, or says which rule is broken. A flipped byte is found by `doctor`,
changes nothing, changes words or times that no finding rests on (replies, costs, clocks), or changes evidence
(keys, subjects, seeds, steps, facts, verdicts): the last must not be.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import io
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from failscape.cli import cli
from failscape.config.files import parse_config
from failscape.errors import FailscapeError
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session

_PLANTED = "failscape.simulate.models"
SETTINGS: dict[str, Any] = {
    "hunt": "t2i",
    "target": {"provider": "python", "path": f"{_PLANTED}:PlantedGenerator", "params": {"regime": "weak"}},
    "judge": {"provider": "python", "path": f"{_PLANTED}:PlantedJudge", "params": {"regime": "weak"}},
    "space": {"corpus": "starter", "depth": 1, "entities": ["cat"]},
    "search": {"strategy": "failureatlas", "images_per_node": 5},
    "budget": {"images": 60},
    "seed": 3,
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "findings": ("findings", "{atlas}", "--json"),
    "report": ("report", "{atlas}"),
    "export": ("export", "{atlas}", "-o", "{out}/trials.jsonl"),
    "dataset": ("dataset", "{atlas}", "--draw", "1"),
    "compare": ("compare", "{atlas}", "{mine}", "--budget", "4", "--atlas", "{out}/compared"),
    "gate freeze": ("gate", "freeze", "{atlas}", "--output", "{out}/gate.json", "--budget", "2"),
    "review": ("review", "export", "{atlas}", "--out", "{out}/review"),
    "merge": ("merge", "{atlas}", "-o", "{out}/merged"),
    "merge into": ("merge", "{mine}", "-o", "{atlas}"),
    "prune": ("prune", "{atlas}", "--passes"),
    "doctor": ("doctor", "{atlas}"),
    "mend": ("doctor", "{atlas}", "--mend"),
}


def _change_settings(atlas: Path, **changes: Any) -> None:
    with closing(sqlite3.connect(atlas / "atlas.db")) as db:
        config = {**json.loads(db.execute("SELECT config FROM hunts").fetchone()[0]), **changes}
        db.execute("UPDATE hunts SET config = ?", (json.dumps(config),))
        db.execute("DELETE FROM results")
        db.commit()


def _link(name: str, target: str) -> Callable[[Path, Path], None]:
    """Puts a link to something of the user's in place of a file or folder of the atlas."""

    def spoil(atlas: Path, home: Path) -> None:
        place = atlas / name
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.symlink_to(home / target)

    return spoil


def _journal(atlas: Path, home: Path) -> None:
    """A rollback journal whose super-journal is the user's diary: SQLite deletes it."""
    pages = (atlas / "atlas.db").stat().st_size // 2048
    magic = bytes.fromhex("d9d505f920a163d7")
    numbers = b"".join(number.to_bytes(4) for number in (0, 0, pages, 512, 2048))
    name = str(home / "diary.txt").encode()
    tail = (0x40000000 // 2048 + 1).to_bytes(4) + name + len(name).to_bytes(4) + sum(name).to_bytes(4) + magic
    (atlas / "atlas.db-journal").write_bytes((magic + numbers).ljust(512, b"\0") + tail)


def _rollback_header(atlas: Path, home: Path) -> None:
    with closing(sqlite3.connect(atlas / "atlas.db")) as db:
        db.execute("PRAGMA journal_mode = DELETE")


def _settings(**changes: Any) -> Callable[[Path, Path], None]:
    def spoil(atlas: Path, home: Path) -> None:
        named = json.loads(json.dumps(changes).replace("HOME", str(home)))
        _change_settings(atlas, **named)

    return spoil


def _sql(statement: str) -> Callable[[Path, Path], None]:
    def spoil(atlas: Path, home: Path) -> None:
        with closing(sqlite3.connect(atlas / "atlas.db")) as db:
            db.execute(statement)
            db.commit()

    return spoil


def _pipe(name: str) -> Callable[[Path, Path], None]:
    def spoil(atlas: Path, home: Path) -> None:
        (atlas / name).unlink(missing_ok=True)
        os.mkfifo(atlas / name)

    return spoil


#: Far more than any machine has; as a hole in a file it takes no room on the disk.
HOLE = 1 << 42


def _hole_in_pack(atlas: Path, home: Path) -> None:
    os.truncate(next((atlas / "images").glob("*.pack")), HOLE)
    _sql(f"UPDATE images SET bytes = {HOLE // 2}")(atlas, home)


def _hole_in_corpus(atlas: Path, home: Path) -> None:
    words = atlas / "corpora" / "words"
    words.mkdir(parents=True)
    (words / "entities.json").touch()
    os.truncate(words / "entities.json", HOLE)
    _change_settings(atlas, space={"corpus": "atlas:words", "depth": 1})


def _unmounted(atlas: Path, home: Path) -> None:
    shutil.rmtree(atlas / "images")


CASES: dict[str, Callable[[Path, Path], None]] = {
    "a rollback journal that deletes a file": _journal,
    "a database in rollback mode": _rollback_header,
    "the database is a link": _link("atlas.db", "mine/atlas.db"),
    "the log is a link": _link("atlas.db-wal", "diary.txt"),
    "the lock is a link": _link("atlas.lock", "diary.txt"),
    "the lock is a pipe": _pipe("atlas.lock"),
    "pictures are a link": _link("images", "mine/images"),
    "corpora are a link": _link("corpora", "mine"),
    "the report is a link": _link("report", "mine"),
    "drawn pictures are a link": _link("drawn-1", "mine"),
    "a dataset is a link": _link("dataset-1", "mine"),
    "pictures are not there": _unmounted,
    "code as the target": _settings(target={"provider": "python", "path": "HOME/evil.py:Model"}),
    "a stranger's server and our key": _settings(
        judge={"provider": "openai", "model": "m", "endpoints": ["http://127.0.0.1:9"], "api_key_env": "KEY"}
    ),
    "a corpus outside": _settings(space={"corpus": "HOME/private", "depth": 1, "entities": ["cat"]}),
    "a list of prompts outside": _settings(space={"prompts": "HOME/diary.txt"}),
    "a device as corpus": _settings(space={"corpus": "/dev/zero", "depth": 1}),
    "an earlier atlas outside": _settings(warm_start="HOME/mine"),
    "code as a grammar": _settings(
        hunt="vlm",
        questioner={"grammar": "evil:make", "writer": {"provider": "toybox"}},
        verifier={"provider": "toybox"},
        images={"generator": {"provider": "toybox"}, "prompts": ["a cat"]},
    ),
    "a trigger": _sql("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM trials; END"),
    "a view in place of a table": _sql("CREATE VIEW extra AS SELECT 1"),
    "a digest that leads elsewhere": _sql(
        "UPDATE images SET digest = '../../diary.txt' WHERE digest = (SELECT min(digest) FROM images)"
    ),
    "a pack with a hole of terabytes": _hole_in_pack,
    "a corpus with a hole of terabytes": _hole_in_corpus,
    "a number in place of kept findings": _sql(f"UPDATE results SET content = {HOLE}"),
    "moments far outside of time": _sql("UPDATE runs SET started = 1e300"),
    "no name": _sql("DELETE FROM atlas"),
    "verdicts turned round": _sql(
        "UPDATE trials SET verdict = CASE verdict WHEN 'pass' THEN 'fail' ELSE 'pass' END"
    ),
}


@dataclass(slots=True)
class AtlasRow:
    """What became of one hostile atlas: commands that did their work, that refused, and what went wrong."""

    case: str
    worked: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def make_sound(folder: Path) -> Path:
    asyncio.run(run_session(parse_config(SETTINGS, "sound"), folder, PlainReporter(io.StringIO())))
    return folder


def _digests(folder: Path, beside: str = "atlas.db-") -> dict[str, str]:
    """Every file of the user's by its content; SQLite may touch shared memory of what it reads."""
    return {
        str(path): hashlib.blake2b(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(beside)
    }


def try_case(case: str, sound: Path, home: Path) -> AtlasRow:
    """One atlas in a new home, each command on a fresh copy of it."""
    row = AtlasRow(case)
    for name, words in COMMANDS.items():
        shutil.rmtree(home, ignore_errors=True)
        mine, atlas, out = home / "mine", home / "atlas", home / "out"
        for folder in (mine, atlas):
            shutil.copytree(sound, folder)
        out.mkdir()
        (home / "diary.txt").write_text("a diary\n")
        (home / "evil.py").write_text(f"open({str(home / 'ran')!r}, 'w').close()\n")
        CASES[case](atlas, home)
        before = _digests(mine)
        result = CliRunner().invoke(
            cli,
            [word.format(atlas=atlas, mine=mine, out=out) for word in words],
            env={"KEY": "sk-a-secret-key"},
        )
        error = result.exception
        if isinstance(error, Exception) and not isinstance(error, FailscapeError):
            row.problems.append(f"{name} fell over: {error!r}")
        (row.refused if error else row.worked).append(name)
        if (home / "ran").exists():
            row.problems.append(f"{name} ran code of the atlas")
        if not (home / "diary.txt").exists() or (home / "diary.txt").read_text() != "a diary\n":
            row.problems.append(f"{name} changed a file outside")
        if _digests(mine) != before:
            row.problems.append(f"{name} changed another atlas")
        if "sk-a-secret" in f"{result.output}{error}":
            row.problems.append(f"{name} showed the key")
    return row


@dataclass(slots=True)
class FlipRow:
    file: str
    flips: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)


def flip_bytes(sound: Path, home: Path, flips: int, seed: int) -> list[FlipRow]:
    """Flip one byte at a time. `silent` is what must not be: doctor is content, and evidence differs."""
    rng = random.Random(seed)
    rows = [FlipRow("atlas.db"), FlipRow("pack")]
    truth = _export(sound, home)
    evidence = _evidence(truth)
    for number in range(flips):
        shutil.rmtree(home, ignore_errors=True)
        atlas = Path(shutil.copytree(sound, home / "atlas"))
        row = rows[number % len(rows)]
        path = atlas / "atlas.db" if row.file == "atlas.db" else next((atlas / "images").glob("*.pack"))
        data = bytearray(path.read_bytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        row.flips += 1
        result = CliRunner().invoke(cli, ["doctor", str(atlas)])
        if result.exit_code:
            row.outcomes["found"] += 1
        else:
            now = _export(atlas, home)
            same = "harmless" if now == truth else "words" if _evidence(now) == evidence else "silent"
            row.outcomes[same] += 1
    return rows


EVIDENCE = ("key", "subject", "seed", "verdict", "steps", "facts")


def _evidence(export: str) -> list[list[Any]]:
    rows = [json.loads(line) for line in export.splitlines()]
    return [[row[name] for name in EVIDENCE] for row in rows]


def _export(atlas: Path, home: Path) -> str:
    home.mkdir(parents=True, exist_ok=True)
    goal = home / "export.jsonl"
    CliRunner().invoke(cli, ["export", str(atlas), "-o", str(goal)])
    return goal.read_text() if goal.exists() else ""


def print_tables(rows: Sequence[AtlasRow], flips: Sequence[FlipRow]) -> None:
    print("| hostile atlas | commands that worked | refused | run, deleted, changed, leaked or fallen over |")
    print("|---|---|---|---|")
    for row in rows:
        problems = "; ".join(row.problems) or "nothing"
        print(f"| {row.case} | {len(row.worked)} | {len(row.refused)} | {problems} |")
    if flips:
        heads = "found by `doctor` | changed nothing | changed words or times | changed evidence"
        print(f"\n| flipped in | bytes | {heads} |")
        print("|---|---|---|---|---|---|")
        for flip in flips:
            cells = " | ".join(str(flip.outcomes[name]) for name in ("found", "harmless", "words", "silent"))
            print(f"| {flip.file} | {flip.flips} | {cells} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--flips", type=int, default=90, help="flipped bytes in all")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="failscape-chaos-") as text:
        folder = Path(text)
        sound = make_sound(folder / "sound")
        rows = [try_case(case, sound, folder / "home") for case in CASES]
        flips = flip_bytes(sound, folder / "home", arguments.flips, arguments.seed)
    print_tables(rows, flips)
    if any(row.problems for row in rows) or any(row.outcomes["silent"] for row in flips):
        sys.exit(1)


if __name__ == "__main__":
    main()
