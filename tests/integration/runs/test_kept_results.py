"""What a run found is kept for readers, and used only while it belongs to the trials that are there."""

from __future__ import annotations

import asyncio
import io
import json
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import pytest

from failscape.atlas import Atlas, hunts
from failscape.config.files import parse_config
from failscape.runtime import kept_results
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.search.hunt_results import HuntResults, from_bytes, to_bytes
from failscape.trials import Finding, Progress
from failscape.views.read import found
from failscape.views.read.found import Found, choose_hunt, read_found

_PLANTED = "failscape.simulate.models"
WORLD = {"params": {"regime": "weak"}}


def run(folder: Path, images: int = 700, strategy: str = "certified") -> None:
    settings = {
        "hunt": "t2i",
        "target": {
            "provider": "python",
            "path": f"{_PLANTED}:PlantedGenerator",
            "params": {"regime": "weak"},
        },
        "judge": {"provider": "python", "path": f"{_PLANTED}:PlantedJudge", "params": {"regime": "weak"}},
        "space": {"corpus": "starter", "depth": 1, "entities": ["cat", "apple", "car"]},
        "search": {"strategy": strategy},
        "budget": {"images": images},
        "runtime": {"in_flight": 16},
        "seed": 3,
    }
    asyncio.run(run_session(parse_config(settings, "test"), folder, PlainReporter(io.StringIO())))


def read(atlas: Atlas) -> Found:
    return read_found(atlas, choose_hunt(atlas))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "atlas"
    run(folder)
    return folder


@pytest.fixture
def told_again(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often trials were told again."""
    counted: list[int] = []
    tell_all = found.tell_all

    def counting(*given: Any) -> Any:
        counted.append(1)
        return tell_all(*given)

    monkeypatch.setattr(found, "tell_all", counting)
    return counted


def test_what_is_kept_is_what_the_trials_tell(made: Path, told_again: list[int], monkeypatch: Any) -> None:
    with Atlas.open(made, readonly=True) as atlas:
        kept = read(atlas)
        assert not told_again
        monkeypatch.setattr(found, "kept_by_run", lambda *_: None)
        told = read(atlas)
        assert told_again
    assert kept.findings == told.findings
    assert kept.findings
    assert kept.survey == told.survey
    assert kept.survey is not None
    assert (kept.progress, kept.undecided, kept.suspects) == (told.progress, told.undecided, told.suspects)
    assert (kept.curve[0], kept.curve[-1]) == (told.curve[0], told.curve[-1])
    assert kept.curve == sorted(kept.curve)


def test_other_rules_tell_again(made: Path, told_again: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "rules_version", lambda module: "others")
    with Atlas.open(made, readonly=True) as atlas:
        read(atlas)
    assert told_again


def test_a_trial_less_tells_again(tmp_path: Path, told_again: list[int]) -> None:
    run(tmp_path / "a", 60, "failureatlas")
    with Atlas.open(tmp_path / "a") as atlas:
        read(atlas)
        assert not told_again
        *_, last = atlas.replay(1)
        with atlas.transaction() as (db, _):
            db.execute("UPDATE trials SET verdict = 'invalid' WHERE key = ?", (last.key,))
        atlas.withdraw(1, [last.key], "a test")
        read(atlas)
    assert told_again


def test_a_resumed_run_keeps_its_own(tmp_path: Path, told_again: list[int]) -> None:
    run(tmp_path / "a", 100)
    run(tmp_path / "a", 200)
    with Atlas.open(tmp_path / "a", readonly=True) as atlas:
        loaded = read(atlas)
    assert not told_again
    assert loaded.curve[-1] == (200, len(loaded.findings))
    assert [told for told, _ in loaded.curve] == sorted({told for told, _ in loaded.curve})


def test_checkpoints_are_kept_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    keep = kept_results.keep_results

    def counting(*given: Any) -> bool:
        done = keep(*given)
        kept.append(done)
        return done

    monkeypatch.setattr(kept_results, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(kept_results, "SHARE", 0)
    monkeypatch.setattr(kept_results, "keep_results", counting)
    monkeypatch.setattr("failscape.runtime.session.SNAPSHOT_SECONDS", 0.0)
    run(tmp_path / "a", 100)
    assert len(kept) > 2
    assert all(kept)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no zlib",
        to_bytes(HuntResults([], [], Progress("", 0, None, 0), [(0, 0)])).replace(b"\x78", b"\x79", 1),
    ],
)
def test_kept_results_that_cannot_be_read_count_for_nothing(
    tmp_path: Path, told_again: list[int], content: bytes
) -> None:
    run(tmp_path / "a", 60, "failureatlas")
    with sqlite3.connect(tmp_path / "a" / "atlas.db") as db:
        db.execute("UPDATE results SET content = ?", (content,))
    with Atlas.open(tmp_path / "a", readonly=True) as atlas:
        read(atlas)
    assert told_again


@pytest.mark.parametrize(
    "name",
    ["os:system", "subprocess:Popen", "failscape.cli:main", "failscape.trials:json.loads", "builtins:eval"],
)
def test_a_strangers_results_name_no_types_but_those_of_hunts(name: str) -> None:
    data = zlib.compress(json.dumps({"@": name, "_": ["echo"]}).encode())
    with pytest.raises(ValueError, match=r"no type of a hunt|not what a hunt told"):
        from_bytes(data)


def test_values_of_all_kinds_come_back_as_they_were() -> None:
    details = {"a": (1, 2.5, None), 3: {"b": [True, "x"]}, "set": frozenset({1, 2}), "@": "odd"}
    finding = Finding("s", "t", "c", "certified", 0.5, (0.1, 0.9), float("inf"), 4, 2, details=details)
    told = HuntResults([finding], [], Progress("p", 1, None, 1), [(0, 0), (4, 1)])
    assert from_bytes(to_bytes(told)) == told
    with pytest.raises(TypeError, match="plain values"):
        to_bytes(
            HuntResults(
                [Finding("s", "t", "c", "listed", 0, (0, 1), 1, 1, 1, details={"o": object()})],
                [],
                told.progress,
                [],
            )
        )


def test_rules_change_with_the_code_of_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "strange_hunt.py").write_text("RULE = 1")
    first = hunts.rules_version("strange_hunt")
    assert first != hunts.rules_version("failscape.kinds.t2i.kind")
    hunts.rules_version.cache_clear()
    (tmp_path / "strange_hunt.py").write_text("RULE = 2")
    assert hunts.rules_version("strange_hunt") != first
