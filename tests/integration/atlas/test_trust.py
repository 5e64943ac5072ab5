"""An atlas names no code, no file and no address: reading runs nothing of it, drawing asks the user first."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import failscape
from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.config import HuntConfig
from failscape.config.files import parse_config
from failscape.errors import AtlasError, FailscapeError
from failscape.plugins import OUR_KINDS, find_kind
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.trust import OUTSIDE, Vouched, is_shipped, outside_settings, refuse_models, what_runs

VLM: dict[str, Any] = {
    "hunt": "vlm",
    "target": {"provider": "toybox", "model": "toy-vlm"},
    "verifier": "exact",
    "images": {"source": "toybox"},
    "questions": 40,
    "budget": {"images": 40},
}
CLASSIFIER: dict[str, Any] = {
    "hunt": "classifier",
    "target": {"provider": "toybox", "model": "cnn"},
    "generator": {"provider": "toybox", "model": "renderer"},
    "judge": {"provider": "toybox", "model": "toy-eyes"},
    "classes": ["penguin", "camel"],
    "space": {"corpus": "toybox", "families": ["Base"]},
    "budget": {"images": 60},
}


async def _run(settings: dict[str, Any], folder: Path) -> None:
    await run_session(parse_config(settings, "test"), folder, PlainReporter(io.StringIO()))


def make(settings: dict[str, Any], folder: Path) -> Path:
    import asyncio

    asyncio.run(_run(settings, folder))
    return folder


@pytest.fixture(scope="module")
def vlm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(VLM, tmp_path_factory.mktemp("vlm") / "atlas")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(CLASSIFIER, tmp_path_factory.mktemp("classifier") / "atlas")


def copy(source: Path, folder: Path, **changes: Any) -> Path:
    """A copy with other settings (`questioner__grammar="x:y"`), and without what the run kept of findings."""
    import shutil

    shutil.copytree(source, folder)
    with closing(sqlite3.connect(folder / "atlas.db")) as db:
        config = json.loads(db.execute("SELECT config FROM hunts").fetchone()[0])
        for path, value in changes.items():
            at, names = config, path.split("__")
            for name in names[:-1]:
                at = at[name]
            at[names[-1]] = value
        db.execute("UPDATE hunts SET config = ?", (json.dumps(config),))
        db.execute("DELETE FROM results")
        db.commit()
    return folder


def run(*words: object) -> Result:
    result = CliRunner().invoke(cli, [str(word) for word in words])
    if isinstance(result.exception, Exception) and not isinstance(result.exception, FailscapeError):
        raise result.exception
    return result


READING = {
    "findings": ("findings", "{atlas}", "--json"),
    "report": ("report", "{atlas}", "-o", "{out}/report"),
    "dataset": ("dataset", "{atlas}", "-o", "{out}/dataset"),
    "compare": ("compare", "{atlas}", "{atlas}"),
    "export": ("export", "{atlas}", "--format", "jsonl", "-o", "{out}/trials.jsonl"),
    "doctor": ("doctor", "{atlas}"),
    "mend": ("doctor", "{atlas}", "--mend"),
    "review": ("review", "export", "{atlas}", "--out", "{out}/review"),
}


def read_all(atlas: Path, out: Path) -> dict[str, Result]:
    out.mkdir()
    done = {}
    for name, words in READING.items():
        done[name] = run(*(word.format(atlas=atlas, out=out) for word in words))
    with pytest.raises(FailscapeError):
        failscape.load(atlas).findings()
    return done


def test_reading_imports_no_code_that_the_atlas_names(
    vlm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_grammar.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w').close()\ndef make(*a, **k): raise SystemExit\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    atlas = copy(
        vlm,
        tmp_path / "atlas",
        questioner__grammar="evil_grammar:make",
        images={"generator": {"provider": "toybox"}, "prompts": ["a cat"]},
        verifier={"provider": "toybox", "model": "toy-vlm"},
    )
    done = read_all(atlas, tmp_path / "out")
    assert not (tmp_path / "ran").exists()
    assert "evil_grammar" not in sys.modules
    assert isinstance(done["findings"].exception, AtlasError)
    assert "code that makes questions outside of it, 'evil_grammar:make'" in str(done["findings"].exception)


@pytest.mark.parametrize(
    "changes",
    [
        {"space": {"corpus": "PRIVATE", "families": ["Base"]}},
        {"labels": "PRIVATE/labels.txt"},
        {"photos": "PRIVATE"},
        {"target__labels": "PRIVATE/labels.txt", "classes": "all"},
    ],
)
def test_reading_opens_no_file_that_the_atlas_names(
    changes: dict[str, Any], classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    for name in ("labels.txt", "entities.json", "failscape-album.json"):
        os.mkfifo(private / name)  # whoever opens it hangs, and `opened` says who
    opened: list[str] = []
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
    named = json.loads(json.dumps(changes).replace("PRIVATE", str(private)))
    atlas = copy(classifier, tmp_path / "atlas", **named)
    with Atlas.open(atlas, readonly=True) as opened_atlas:
        config = opened_atlas.hunts()[0].config
    if "target__labels" not in changes:
        assert OUTSIDE in json.dumps(config)
    result = run("findings", atlas, "--json")
    assert [path for path in opened if path.startswith(str(private))] == []
    if "target__labels" not in changes:
        assert "an atlas may only name what is shipped" in str(result.exception)


def test_a_device_or_a_pipe_in_place_of_a_kept_corpus_is_refused(classifier: Path, tmp_path: Path) -> None:
    atlas = copy(classifier, tmp_path / "atlas", space={"corpus": "atlas:corpora/words"})
    (atlas / "corpora" / "words").mkdir(parents=True)
    os.mkfifo(atlas / "corpora" / "words" / "entities.json")
    assert "must be a plain file" in str(run("findings", atlas).exception)


def test_every_setting_that_names_a_file_or_code_is_marked() -> None:
    """A new setting whose description speaks of a file, a folder or a module must say so to the gate."""
    for kind in OUR_KINDS:
        settings = find_kind(kind).settings
        marked = {".".join(path) for path, _ in outside_settings(settings)}
        marked.add("questioner.training.model")  # a model: made only where the user vouches for it
        assert "warm_start" in marked
        for name, text in _described(settings, ""):
            if any(word in text for word in ("file", "folder", "module:", "atlas (`")):
                assert name in marked, f"mark {kind}: {name} with `Outside`"


def _described(settings: Any, above: str) -> list[tuple[str, str]]:
    from failscape.config import ModelConfig, Settings

    found = []
    for name, field in settings.model_fields.items():
        if issubclass(settings, ModelConfig):
            continue  # models are made only where the user vouches for them
        if isinstance(field.annotation, type) and issubclass(field.annotation, Settings):
            found += _described(field.annotation, f"{above}{name}.")
        elif field.annotation is str:
            found.append((f"{above}{name}", field.description or ""))
    return found


DRAWING = {
    "gate freeze": ("gate", "freeze", "{atlas}", "--output", "{out}/base.json", "--budget", "2"),
    "compare": ("compare", "{atlas}", "{other}", "--budget", "4"),
}


@pytest.mark.parametrize("name", DRAWING)
def test_drawing_names_what_the_atlas_would_run_and_where_keys_would_go(
    name: str, classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_model.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.setenv("MY_KEY", "sk-very-secret-key")
    atlas = copy(
        classifier,
        tmp_path / "atlas",
        target={"provider": "python", "path": f"{tmp_path}/evil_model.py:Model"},
        judge={
            "provider": "openai",
            "model": "eyes",
            "endpoints": ["http://127.0.0.1:9/v1"],
            "api_key_env": "MY_KEY",
        },
    )
    other = copy(classifier, tmp_path / "other")
    (tmp_path / "out").mkdir()
    words = [word.format(atlas=atlas, other=other, out=tmp_path / "out") for word in DRAWING[name]]
    text = str(run(*words).exception)
    assert "this would use models that the atlas names" in text
    assert f"runs the code {tmp_path}/evil_model.py:Model" in text
    assert "http://127.0.0.1:9/v1" in text
    assert "sends the key in $MY_KEY there" in text
    assert "--trust-models" in text
    assert "sk-very" not in text
    assert not (tmp_path / "ran").exists()


def test_fresh_tries_of_findings_are_drawn_only_with_vouched_models(tmp_path: Path) -> None:
    model = {"provider": "python", "params": {"regime": "weak"}}
    settings = {
        "hunt": "t2i",
        "target": {**model, "path": "failscape.simulate.models:PlantedGenerator"},
        "judge": {**model, "path": "failscape.simulate.models:PlantedJudge"},
        "space": {"corpus": "starter", "depth": 1, "entities": ["cat"]},
        "search": {"strategy": "failureatlas", "images_per_node": 5},
        "budget": {"images": 60},
        "seed": 3,
    }
    atlas = make(settings, tmp_path / "atlas")
    words = ("dataset", atlas, "--draw", "1", "-o")
    refused = run(*words, tmp_path / "refused")
    assert "generator: provider python; runs the code failscape.simulate" in str(refused.exception)
    assert not (atlas / "drawn-1").exists()
    (tmp_path / "mine.yaml").write_text(json.dumps(settings))
    assert run(*words, tmp_path / "mine", "--config", tmp_path / "mine.yaml").exit_code == 0
    assert run(*words, tmp_path / "trusted", "--trust-models").exit_code == 0


def test_a_config_of_ones_own_vouches_for_the_models_that_it_names() -> None:
    section = {"provider": "openai", "model": "eyes", "endpoints": ["http://a/v1"], "api_key_env": "K"}
    own = Vouched(sections=(section,))
    assert own.covers({**section, "timeout": 3.0, "path": ""})
    assert not own.covers({**section, "endpoints": ["http://b/v1"]})
    assert not own.covers({**section, "api_key_env": "OTHER"})
    assert Vouched(everything=True).covers({**section, "model": "x"})
    assert not Vouched().covers(section)


def test_shipped_models_need_no_trust_unless_they_name_a_file() -> None:
    assert is_shipped({"provider": "toybox", "model": "cnn"})
    assert not is_shipped({"provider": "toybox", "path": "weights.onnx"})
    assert not is_shipped({"provider": "python", "path": "a:b"})
    panel = {"provider": "panel", "params": {"members": [{"provider": "toybox"}]}}
    assert is_shipped(panel)
    panel["params"]["members"].append({"provider": "python", "path": "a:b"})  # type: ignore[index]
    assert not is_shipped(panel)
    assert "runs the code a:b" in what_runs(panel)


def test_settings_from_a_file_are_trusted_and_those_of_an_atlas_are_not(classifier: Path) -> None:
    assert parse_config(CLASSIFIER, "test").trusted == "config"
    with Atlas.open(classifier, readonly=True) as atlas:
        from failscape.atlas.hunts import stored_settings

        config: HuntConfig = stored_settings(atlas.hunts()[0])
    assert config.trusted == "atlas"
    assert config.model_copy(update={"seed": 4}).trusted == "atlas"


def test_an_atlas_leads_to_no_cluster(
    classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No run keeps its engine. A stranger's would send shipped models, and us, to a cluster of theirs."""
    from failscape.engines import ray_models

    def connect(config: object) -> None:
        raise AssertionError(f"connected to {config}")

    monkeypatch.setattr(ray_models, "connect", connect)
    engine = {"kind": "ray", "address": "127.0.0.1:9", "runtime_env": {"py_modules": ["s3://theirs"]}}
    atlas = copy(classifier, tmp_path / "atlas", engine=engine)
    assert run("gate", "freeze", atlas, "--output", tmp_path / "base.json", "--budget", "2").exit_code == 0


def test_what_is_passed_on_to_a_trainer_needs_trust() -> None:
    section = {"provider": "grpo", "model": "toybox", "params": {"steps": 4, "options": {}}}
    assert is_shipped(section)
    assert not is_shipped({**section, "params": {"options": {"push_to_hub": True}}})


def test_a_name_cannot_pose_as_another_line() -> None:
    strange = {"provider": "python", "path": "a:b", "model": "x\n    judge: provider toybox"}
    with pytest.raises(AtlasError) as caught:
        refuse_models({"target": strange}, Vouched())
    assert str(caught.value).count("\n    ") == 1


def test_a_comparison_is_written_to_no_link_beside_the_atlas(classifier: Path, tmp_path: Path) -> None:
    atlas, mine = copy(classifier, tmp_path / "atlas"), copy(classifier, tmp_path / "mine")
    (tmp_path / "atlas-compared").symlink_to(mine)
    result = run("gate", "freeze", atlas, "--output", tmp_path / "base.json", "--budget", "2")
    assert "symbolic link" in str(result.exception)
    with Atlas.open(mine, readonly=True) as opened:
        assert len(opened.hunts()) == 1


def test_labels_and_photos_are_kept_so_that_findings_need_no_file(tmp_path: Path) -> None:
    labels = tmp_path / "labels.txt"
    labels.write_text("penguin\ncamel\n")
    atlas = make({**CLASSIFIER, "labels": str(labels), "classes": "all"}, tmp_path / "atlas")
    labels.unlink()
    with closing(sqlite3.connect(atlas / "atlas.db")) as db:
        db.execute("DELETE FROM results")
        db.commit()
    assert run("findings", atlas, "--json").exit_code == 0
