"""Small leaks: keys stored or shown, commands to the terminal, results that belong to other trials."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from failscape.atlas import Atlas, open_hunt
from failscape.atlas.formats.plain import write_jsonl
from failscape.atlas.hunts import keep_results, kept_results
from failscape.atlas.judging import ReviewLabel, add_label, labels_of, take_back
from failscape.atlas.upkeep import unnamed_pictures
from failscape.cli import cli
from failscape.cli.terminal import without_commands
from failscape.cli.view import _private_page
from failscape.config import is_secret_name
from failscape.config.base import keys_in_paths
from failscape.config.files import load_config, parse_config
from failscape.errors import AtlasError, ConfigError
from failscape.kinds.t2i.build import build_hunt
from failscape.search.hunt_results import from_bytes
from failscape.secrets import printable
from tests.unit.atlas.suite import CONFIG, make_recorded

KEY = "4f9d8a7b6c5e4d3f2a1b0c9d8e7f6a5b"
SETTINGS = {"hunt": "t2i", "target": {"provider": "toybox"}, "judge": {"provider": "toybox"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        hunt = atlas.start_hunt("t2i", CONFIG, {})
        atlas.record(hunt, [make_recorded(n) for n in range(3)])
    return tmp_path / "atlas"


@pytest.mark.parametrize("name", ["x-api-key", "key", "access_token", "client_secret", "X-Auth-Token"])
def test_params_that_would_hold_a_key_are_refused_without_repeating_it(name: str) -> None:
    target = {"provider": "openai", "model": "m", "params": {"headers": {name: "sk-very-secret"}}}
    with pytest.raises(ConfigError, match="looks like a key") as caught:
        parse_config({**SETTINGS, "target": target}, "test")
    assert "very-secret" not in str(caught.value)


def test_names_of_ordinary_params_are_no_keys() -> None:
    for name in ("max_tokens", "eos_token", "keyframes", "num_inference_steps", "tokenizer"):
        assert not is_secret_name(name)


def test_a_key_in_the_path_of_an_address_is_not_stored(tmp_path: Path) -> None:
    target = {"provider": "openai", "model": "m", "endpoints": [f"http://127.0.0.1:9/{KEY}/v1"]}
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        for images in (5, 6):
            config = parse_config({**SETTINGS, "target": target, "budget": {"images": images}}, "test")
            open_hunt(atlas, config, {})
    stored = b"".join(path.read_bytes() for path in (tmp_path / "atlas").iterdir() if path.is_file())
    assert KEY.encode() not in stored
    names = ("https://x.azure.com/openai/deployments/my-gpt-4o-mini-deployment-1", "http://gpu1:8000/v1")
    assert list(keys_in_paths(names)) == []


def test_overrides_are_not_repeated_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "hunt.yaml"
    path.write_text(json.dumps(SETTINGS))
    for override in ("target.api_key=sk-very-secret", "hunt.api_key=sk-very-secret", "seed=[sk-very-secret"):
        with pytest.raises(ConfigError) as caught:
            load_config(path, [override])
        assert "very-secret" not in str(caught.value)


def test_commands_to_the_terminal_are_dropped() -> None:
    assert without_commands("a\x1b]52;c;ZXZpbA==\x07b") == "ab"
    assert without_commands("a\x1bP1$r\x1b\\b\x9b2Jc\x07") == "ab2Jc"
    assert without_commands("\x1b[6n\x1bc") == "c"
    kept = "\x1b[1;32mok\x1b[0m\r\x1b[K\tline\n\x1b[?25l"
    assert without_commands(kept) == kept
    assert without_commands("\x1b[1A\x1b[2Kcertified\x1b[2J\x1b[9;1H\x1b[?1049h") == "certified"
    assert without_commands("\x1b[1Aup", moves=True) == "\x1b[1Aup"
    assert printable("a\x1b]52;c;x\x07") == "a\\x1b]52;c;x\\x07"


def test_errors_show_escapes_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    from failscape.cli import main

    with pytest.raises(SystemExit):
        main(["findings", "no\x1b]52;c;x\x07where"])
    assert "\x1b" not in capsys.readouterr().err


def test_a_small_result_does_not_unfold_to_any_size() -> None:
    bomb = zlib.compress(b"[" + b"0," * (40 << 20) + b"0]", 9)
    with pytest.raises(ValueError, match="unfold to more than"):
        from_bytes(bomb)


def test_kept_arrays_hold_numbers_only() -> None:
    """A type of text may name any size, and each item would take so much memory."""
    for name in ("U500000000", "V500000000", "O", "S9"):
        data = {"@": "array", "_": [name, ["a"]]}
        with pytest.raises(ValueError, match="nothing that a hunt tells"):
            from_bytes(zlib.compress(json.dumps(data).encode()))


def test_undo_takes_back_the_newest_label_when_the_clock_was_set_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Atlas.open(folder) as atlas:
        for now, item in ((2000.0, "first"), (1000.0, "second")):
            monkeypatch.setattr("time.time", lambda now=now: now)
            add_label(atlas, "r", ReviewLabel(item, "ann", "yes"))
        assert take_back(atlas, "r", "ann") == "second"
        assert [label.item for label in labels_of(atlas, "r")] == ["first"]


def test_kept_results_do_not_survive_other_trials_of_the_same_number(folder: Path) -> None:
    with Atlas.open(folder) as atlas:
        atlas.record(1, [make_recorded(9, holds=None)])
        assert keep_results(atlas, 1, b"told", "rules", "judge", 4)
        atlas.withdraw(1, [make_recorded(9).trial.key], "test")
        atlas.record(1, [make_recorded(10, holds=None)])
        assert kept_results(atlas, 1, "rules", "judge") is None


def test_half_a_surrogate_pair_is_exported(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "atlas.db")) as db:
        facts = json.dumps(["0" * 32, [True, True]])
        db.execute("UPDATE plans SET steps = replace(steps, 'An image', 'An \\ud800 image')")
        db.execute("UPDATE trials SET facts = ?", (facts,))
        db.commit()
    with Atlas.open(folder, readonly=True) as atlas:
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        assert write_jsonl(atlas, atlas.hunts()[0], out) == 3


def test_a_corpus_without_values_can_be_hunted(tmp_path: Path) -> None:
    (tmp_path / "entities.json").write_text('{"A": {"B": ["cat", "dog"]}}')
    config = parse_config({**SETTINGS, "space": {"corpus": str(tmp_path), "depth": 1}}, "test")
    assert build_hunt(config).ask(2)  # type: ignore[arg-type]


def test_the_token_of_the_viewer_is_on_no_command_line(tmp_path: Path) -> None:
    address = _private_page("http://127.0.0.1:1/?token=secret", str(tmp_path))
    assert "secret" not in address
    assert "token=secret" in (tmp_path / "view.html").read_text()


def test_what_is_recorded_comes_out_of_the_log(folder: Path) -> None:
    with Atlas.open(folder) as atlas:
        atlas.record(1, [make_recorded(5)])
        atlas.checkpoint()
        shutil.copy(folder / "atlas.db", folder.parent / "alone.db")
        with closing(sqlite3.connect(folder.parent / "alone.db")) as db:
            assert db.execute("SELECT count(*) FROM trials").fetchone() == (4,)


def remove(folder: Path) -> None:
    shutil.rmtree(folder)


def replace(folder: Path) -> None:
    shutil.move(folder, folder.with_name("moved"))
    Atlas.open(folder, create=True).close()


@pytest.mark.parametrize("loss", [remove, replace])
def test_a_folder_that_was_removed_ends_the_run(folder: Path, loss: Callable[[Path], None]) -> None:
    with Atlas.open(folder) as atlas:
        loss(folder)
        with pytest.raises(AtlasError, match="was removed or replaced"):
            atlas.checkpoint()


def test_pictures_without_any_trial_are_spoken_of(folder: Path) -> None:
    with Atlas.open(folder, readonly=True) as atlas:
        assert list(unnamed_pictures(atlas)) == []
    without_rows(folder, "trials", "images", "packs")
    with Atlas.open(folder, readonly=True) as atlas:
        [text] = unnamed_pictures(atlas)
    assert "atlas.db-wal was lost" in text


def test_photos_that_wait_for_their_first_trial_are_not_spoken_of(folder: Path) -> None:
    without_rows(folder, "trials")
    with Atlas.open(folder, readonly=True) as atlas:
        assert list(unnamed_pictures(atlas)) == []


def without_rows(folder: Path, *tables: str) -> None:
    with closing(sqlite3.connect(folder / "atlas.db")) as db:
        for table in tables:
            db.execute(f"DELETE FROM {table}")
        db.commit()


def test_findings_run_through_the_command_line(folder: Path) -> None:
    assert CliRunner().invoke(cli, ["doctor", str(folder)]).exit_code == 0
