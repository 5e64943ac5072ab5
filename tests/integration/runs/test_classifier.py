"""Whole classifier hunts on the toybox: run, resume, report, dataset, compare; and models that misbehave."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.config.files import parse_config
from failscape.errors import AtlasError, FailscapeError
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import Summary, run_session
from failscape.toybox.renderer import draw
from failscape.trials import Verdict
from failscape.views.read import load_hunt

SETTINGS: dict[str, Any] = {
    "hunt": "classifier",
    "target": {"provider": "toybox", "model": "cnn"},
    "generator": {"provider": "toybox", "model": "renderer"},
    "judge": {"provider": "toybox"},
    "captioner": {"provider": "toybox"},
    "embedder": {"provider": "toybox"},
    "classes": ["car", "apple"],
    "space": {"corpus": "toybox"},
    "search": {"baseline": 20, "baseline_more": 30, "confirm": 12, "toggles": 12, "round": 32},
    "budget": {"images": 700},
    "runtime": {"in_flight": 32},
    "seed": 3,
}


def run(folder: Path, **changes: Any) -> Summary:
    config = parse_config({**SETTINGS, **changes}, "test")
    return asyncio.run(run_session(config, folder, PlainReporter()))


@pytest.fixture(scope="module")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in two sessions."""
    folder = tmp_path_factory.mktemp("classifier") / "atlas"
    run(folder, budget={"images": 300})
    again = run(folder)
    assert again.resumed >= 300
    return folder


CHAT = """
def chat(messages):
    assert messages[-1]["role"] == "user", messages
    return "it is at night\\nit is in the snow\\nit is upside down"
"""


def test_a_language_model_of_python_proposes_descriptions(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(CHAT)
    llm = {"provider": "python", "path": f"{tmp_path}/words.py:chat"}
    run(tmp_path / "atlas", llm=llm, budget={"images": 150}, captioner=None, embedder=None)
    with Atlas.open(tmp_path / "atlas", readonly=True) as opened:
        row = opened.hunt()
        asked = [trial for trial in opened.replay(row.id) if "#l" in trial.key]
    assert set(row.identities) >= {"llm", "classifier"}
    assert {trial.subject for trial in asked} == {"car", "apple"}
    assert all("in the snow" in trial.facts[0] for trial in asked)
    config = tmp_path / "hunt.yaml"
    config.write_text(json.dumps({**SETTINGS, "llm": llm}))
    result = CliRunner().invoke(cli, ["doctor", str(config), "--json"])
    assert "llm-answers" not in result.output, result.output


def test_a_config_whose_run_recorded_nothing_may_be_mended(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("def classify(images):\n    raise RuntimeError('no such size')\n")
    broken = {"provider": "python", "path": f"{tmp_path}/net.py:classify"}
    with pytest.raises(FailscapeError):
        run(tmp_path / "atlas", target=broken, budget={"images": 40})
    summary = run(tmp_path / "atlas", budget={"images": 40})
    assert summary.trials
    with pytest.raises(AtlasError, match="other settings"):
        run(tmp_path / "atlas", seed=4, budget={"images": 40})


def test_bugs_of_a_real_network_are_found_with_causes(atlas: Path) -> None:
    with Atlas.open(atlas, readonly=True) as opened:
        loaded = load_hunt(opened)
        keys = [trial.key for trial in opened.replay(loaded.row.id)]
    assert len(keys) == len(set(keys))
    assert len(loaded.findings) >= 3
    assert all(finding.status == "certified" for finding in loaded.findings)
    assert any("is the cause" in finding.title for finding in loaded.findings)
    assert loaded.survey is not None
    assert {row["name"] for row in loaded.survey.as_data()["classes"]} == {"car", "apple"}


def test_the_report_shows_them(atlas: Path) -> None:
    result = CliRunner().invoke(cli, ["report", str(atlas)])
    assert result.exit_code == 0, result.output
    page = (atlas / "report" / "index.html").read_text()
    for text in ("Bugs in plain words", "What causes it", 'class="mirrored"', "Wrong in general"):
        assert text in page


def test_the_dataset_holds_failed_pictures_with_prompts_and_licence(atlas: Path, tmp_path: Path) -> None:
    out = tmp_path / "dataset"
    arguments = ["dataset", str(atlas), "-o", str(out), "--license", "CC0"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (out / "metadata.jsonl").read_text().splitlines()]
    assert rows
    for row in rows:
        assert (out / row["file_name"]).is_file()
        assert row["predicted"] != row["label"]
        assert row["failed"]
        assert row["label"] in row["prompt"]
        assert row["license"] == "CC0"
    assert len({row["file_name"] for row in rows}) == len(rows)
    again = CliRunner().invoke(cli, arguments)
    assert "holds a dataset already" in str(again.exception)
    more = CliRunner().invoke(cli, ["dataset", str(atlas), "-o", str(tmp_path / "all"), "--passes"])
    assert more.exit_code == 0, more.output
    assert len((tmp_path / "all" / "metadata.jsonl").read_text().splitlines()) >= len(rows)


def test_other_classifiers_see_the_same_pictures(atlas: Path, tmp_path: Path) -> None:
    arguments = ["compare", str(atlas), "--target", "toybox:vit", "--target", "toybox:cnn", "--json"]
    result = CliRunner().invoke(cli, [*arguments, "--budget", "300", "--atlas", str(tmp_path / "compared")])
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout.splitlines()[-1])
    assert data["models"][1] == "vit"
    assert not data["worse"], "the same network on the same pictures"
    assert not data["better"]
    assert data["overall"]["difference"] == 0
    first, vit, last = data["trend"]["models"]
    assert first["rate"] == last["rate"] != vit["rate"]


def photo_folder(folder: Path) -> Path:
    """Six labelled pictures of each class, and one of a class that nobody hunts."""
    for name, count in {"car": 6, "apple": 6, "owl": 1}.items():
        (folder / name).mkdir(parents=True)
        for seed in range(count):
            drawn = draw(f"a realistic photograph of a {name}.", seed)
            assert drawn is not None
            Image.fromarray(drawn).save(folder / name / f"{seed}.png")
    return folder


def test_one_matrix_has_all_classifiers_on_all_sets(atlas: Path, tmp_path: Path) -> None:
    photos = photo_folder(tmp_path / "val")
    arguments = ["compare", str(atlas), "--target", "toybox:vit", "--target", "toybox:resnet", "--matrix"]
    arguments += ["--photos", str(photos), "--atlas", str(tmp_path / "compared")]
    result = CliRunner().invoke(cli, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    matrix = json.loads(result.stdout.splitlines()[-1])["matrix"]
    assert [one["name"] for one in matrix["sets"]] == [
        "plain pictures",
        "findings of cnn",
        str(photos),
        "all sets",
    ]
    assert all(one["given"] == one["shared"] for one in matrix["sets"]), "whole sets"
    assert matrix["sets"][2]["given"] == 12, "the owl is of no class that was hunted"
    assert matrix["sets"][3]["given"] == sum(one["given"] for one in matrix["sets"][:3])
    cnn, vit, resnet = (one["cells"] for one in matrix["models"])
    assert [one["model"] for one in matrix["models"]] == ["cnn", "vit", "resnet"]
    assert cnn[1]["rate"] > cnn[0]["rate"], "what was found fails more often than plain pictures"
    for row in (vit, resnet):
        for cell, first in zip(row, cnn, strict=True):
            assert cell["difference"] == pytest.approx(cell["rate"] - first["rate"])
            assert cell["difference_interval"][0] <= cell["difference"] <= cell["difference_interval"][1]
    again = CliRunner().invoke(cli, [*arguments, "-o", str(tmp_path / "page")])
    assert again.exit_code == 0, again.output
    assert "findings of cnn" in again.output
    assert "trials" not in again.output.partition("cnn →")[0], "nothing is asked twice"
    assert "Models and sets" in (tmp_path / "page" / "index.html").read_text()
    empty = CliRunner().invoke(cli, [*arguments[:-4], "--photos", str(photo_folder(tmp_path / "x") / "owl")])
    assert "no photo of a class that was hunted" in str(empty.exception)


def test_a_classifier_that_gives_nan_or_too_few_rows_makes_trials_invalid(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "calls = 0\n"
        "def classify(images):\n"
        "    global calls\n"
        "    calls += 1\n"
        "    if calls % 5 == 0:\n"
        "        return []\n"
        "    return [[('car', float('nan') if calls % 7 == 0 else 0.9)] for _ in images]\n"
    )
    target = {"provider": "python", "path": f"{tmp_path}/net.py:classify", "batch": 1}
    summary = run(
        tmp_path / "atlas",
        target=target,
        classes=["car"],
        captioner=None,
        embedder=None,
        budget={"images": 100},
    )
    with Atlas.open(tmp_path / "atlas", readonly=True) as opened:
        counts = opened.counts(summary.hunt_id)
    assert counts[Verdict.INVALID] > 10
    assert counts[Verdict.PASS] > 30
    assert counts[Verdict.FAIL] == 0


def test_a_class_that_the_generator_cannot_draw_is_skipped(tmp_path: Path) -> None:
    """Pictures of apples stay empty; the car goes on."""
    (tmp_path / "draw.py").write_text(
        "import numpy as np\n"
        "from failscape.toybox.renderer import draw\n"
        "def paint(prompt, seeds):\n"
        "    empty = np.zeros((64, 64, 3), np.uint8)\n"
        "    return [empty if 'apple' in prompt else draw(prompt, seed) for seed in seeds]\n"
    )
    generator = {"provider": "python", "path": f"{tmp_path}/draw.py:paint"}
    run(tmp_path / "atlas", generator=generator, budget={"images": 300})
    with Atlas.open(tmp_path / "atlas", readonly=True) as opened:
        loaded = load_hunt(opened)
    assert loaded.survey is not None
    rows = {row["name"]: row for row in loaded.survey.as_data()["classes"]}
    assert "images show it" in rows["apple"]["skip"]
    assert rows["car"]["skip"] == ""
    assert not any(finding.subject.startswith("apple") for finding in loaded.findings)


def test_photos_that_fail_become_a_dataset_and_are_shown_to_others(tmp_path: Path) -> None:
    """Dark photos are called owl by one classifier; the other is always right."""
    (tmp_path / "models.py").write_text(
        "def dark(images):\n"
        "    return [[('owl' if one.getpixel((0, 0))[0] < 100 else 'car', 0.9)] for one in images]\n"
        "def right(images):\n"
        "    return [[('car', 0.9)] for one in images]\n"
    )
    photos, rows = tmp_path / "photos", []
    (photos / "car").mkdir(parents=True)
    for number in range(120):
        shade = number if number < 60 else 100 + number
        Image.new("RGB", (8, 8), (shade, number, 0)).save(photos / "car" / f"{number}.png")
        rows.append({"file_name": f"car/{number}.png", "caption": "it is night" if number < 60 else "a car"})
    (photos / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(
        tmp_path / "atlas",
        target={"provider": "python", "path": f"{tmp_path}/models.py:dark"},
        photos=str(photos),
        classes=["car"],
        **dict.fromkeys(("generator", "judge", "captioner", "embedder")),
    )
    out = CliRunner().invoke(cli, ["dataset", str(tmp_path / "atlas"), "-o", str(tmp_path / "out")])
    assert out.exit_code == 0, out.output
    written = [json.loads(line) for line in (tmp_path / "out" / "metadata.jsonl").read_text().splitlines()]
    assert len(written) == 60
    assert {row["predicted"] for row in written} == {"owl"}
    other = tmp_path / "other.yaml"
    other.write_text(f"target: {{provider: python, path: '{tmp_path}/models.py:right'}}\n")
    moved = CliRunner().invoke(
        cli, ["compare", str(tmp_path / "atlas"), "--target", str(other), "--json", "--trust-models"]
    )
    assert moved.exit_code == 0, moved.output
    fixed = {row["subject"]: row for row in json.loads(moved.stdout.splitlines()[-1])["fixed"]}
    assert set(fixed) == {"car", "car; Background: time=night"}
    assert fixed["car; Background: time=night"]["rates"] == [1.0, 0.0]
    assert fixed["car"]["rates"] == [0.5, 0.0]
