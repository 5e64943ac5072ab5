"""`failscape compare` on whole hunts of planted and toybox models, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

import failscape
from failscape.cli import cli
from failscape.errors import FailscapeError
from failscape.views.viewer.library import Library, OpenHunt
from failscape.views.viewer.screens import compare as screen

PLANTED = "failscape.simulate.planted"


def settings(regime: str, **changes: Any) -> dict[str, Any]:
    """A small hunt of a planted world; the judge is the same whatever the painter is."""
    world = {"seed": 3, "corpus": "toybox", "depth": 1}
    made = {
        "hunt": "t2i",
        "target": {
            "provider": "python",
            "path": f"{PLANTED}:PlantedGenerator",
            "model": regime,
            "params": {"regime": regime, **world},
        },
        "judge": {
            "provider": "python",
            "path": f"{PLANTED}:PlantedJudge",
            "params": {"regime": "weak", **world},
        },
        "space": {"corpus": "toybox", "entities": ["penguin", "owl", "camel"], "depth": 1},
        "budget": {"images": 400},
        "seed": 11,
    }
    return {**made, **changes}


def compare(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["compare", *map(str, arguments)])


def compared(*arguments: object) -> dict[str, Any]:
    result = compare(*arguments, "--json")
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


@pytest.fixture(scope="module")
def atlases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    for regime in ("weak", "strong"):
        failscape.run(settings(regime), folder / regime, on_note=lambda kind, text: None)
    return folder


def test_what_is_there_is_paired_by_subject_and_seed(atlases: Path) -> None:
    data = compared(atlases / "weak", atlases / "strong")
    assert data["models"] == ["weak", "strong"]
    rows = [
        row
        for status in ("fixed", "better", "unchanged", "worse", "new", "undecided")
        for row in data[status]
    ]
    assert rows
    for row in rows:
        assert sum(row["counts"].values()) == row["pairs"] > 0
        if row["claimed_before"] and not row["counted"]:
            assert row["rates"] == [None, None], "no rate of what a search picked"
    assert data["overall"]["interval"][1] < 0
    assert failscape.compare(atlases / "weak", atlases / "strong").as_data()["overall"] == data["overall"]
    assert "with 80 %" in data["power"]["sentence"]


def test_new_trials_go_where_the_answer_is_open_and_are_found_again(atlases: Path, tmp_path: Path) -> None:
    place = ("--atlas", tmp_path / "pairs")
    before = compared(atlases / "weak", atlases / "strong")
    data = compared(atlases / "weak", atlases / "strong", "--budget", 500, "--trust-models", *place)
    proven = {row["subject"] for row in (*data["fixed"], *data["better"])}
    assert len(proven) > len(before["fixed"]) + len(before["better"])
    for row in (*data["fixed"], *data["better"]):
        assert row["difference"] is None or row["difference"] < 0
    again = compared(atlases / "weak", atlases / "strong", *place)
    assert again["fixed"] == data["fixed"]
    assert again["overall"] == data["overall"]
    result = CliRunner().invoke(cli, ["findings", str(tmp_path / "pairs")])
    assert result.exit_code == 0, result.output


def test_a_model_is_run_now_on_the_cases_of_another(atlases: Path, tmp_path: Path) -> None:
    config = tmp_path / "strong.yaml"
    config.write_text(yaml.safe_dump(settings("strong")))
    place = ("--atlas", tmp_path / "pairs")
    words = ("--target", config, "--budget", 1500, *place)
    assert "PlantedGenerator" in refused(atlases / "weak", *words)
    data = compared(atlases / "weak", *words, "--trust-models")
    assert data["models"] == ["weak", "strong"]
    assert data["fixed"] or data["better"]
    assert not data["worse"] and not data["new"]  # noqa: PT018


def test_more_than_two_models_make_a_trend(atlases: Path, tmp_path: Path) -> None:
    failscape.run(settings("medium"), tmp_path / "medium", on_note=lambda kind, text: None)
    order = [atlases / "weak", tmp_path / "medium", atlases / "strong"]
    data = compared(*order)
    points = data["trend"]["models"]
    assert [point["model"] for point in points] == ["weak", "medium", "strong"]
    assert len({point["cases"] for point in points}) == 1
    assert len(data["trend"]["steps"]) == 2
    printed = compare(*order)
    assert "since the one before" in printed.output


def test_hunts_of_one_atlas_are_compared(tmp_path: Path) -> None:
    for regime in ("weak", "strong"):
        failscape.run(
            settings(regime, budget={"images": 150}),
            tmp_path / "both",
            fork=True,
            on_note=lambda kind, text: None,
        )
    assert compared(tmp_path / "both")["models"] == ["weak", "strong"]
    assert compared(f"{tmp_path / 'both'}@2", f"{tmp_path / 'both'}@1")["models"] == ["strong", "weak"]


def vlm(questions: int, **changes: Any) -> dict[str, Any]:
    made = {"hunt": "vlm", "target": {"provider": "toybox", "model": "toy-vlm"}, "verifier": "exact"}
    return {**made, "images": {"source": "toybox"}, "questions": questions, "seed": 5, **changes}


def test_questions_are_asked_again_about_the_same_pictures(tmp_path: Path) -> None:
    """A model that says yes to everything, on the pictures and questions that toy-vlm was asked."""
    failscape.run(vlm(60), tmp_path / "vlm", on_note=lambda kind, text: None)
    (tmp_path / "yes.py").write_text("def answer(images, question):\n    return 'yes'\n")
    other = tmp_path / "yes.yaml"
    other.write_text(f"target: {{provider: python, path: '{tmp_path}/yes.py:answer'}}\n")
    data = compared(tmp_path / "vlm", "--target", other, "--budget", 40)
    assert data["kind"] == "vlm"
    assert data["overall"]["pairs"] == 40
    assert data["overall"]["difference"] > 0


def refused(*arguments: object) -> str:
    result = compare(*arguments)
    assert isinstance(result.exception, FailscapeError), result.output
    assert result.exception.fix
    return str(result.exception)


def test_what_does_not_measure_the_same_is_refused(atlases: Path, tmp_path: Path) -> None:
    quiet = {"on_note": lambda kind, text: None}
    other = settings("strong", budget={"images": 60})
    failscape.run({**other, "search": {"threshold": 0.6}}, tmp_path / "threshold", **quiet)  # type: ignore[arg-type]
    assert "threshold 0.8" in refused(atlases / "weak", tmp_path / "threshold")
    assert compared(atlases / "weak", tmp_path / "threshold", "--threshold", 0.8)["power"]
    judge = {**other["judge"], "params": {**other["judge"]["params"], "accuracy": {"*": [0.9, 0.9]}}}
    failscape.run({**other, "judge": judge}, tmp_path / "judge", **quiet)  # type: ignore[arg-type]
    assert "--rejudge" in refused(atlases / "weak", tmp_path / "judge")
    data = compared(atlases / "weak", tmp_path / "judge", "--rejudge", "--trust-models")
    assert data["models"] == ["weak", "strong"]
    space = {"corpus": "starter", "entities": ["cat"], "depth": 1}
    failscape.run({**settings("strong", budget={"images": 30}), "space": space}, tmp_path / "space", **quiet)  # type: ignore[arg-type]
    assert "another corpus" in refused(atlases / "weak", tmp_path / "space")
    failscape.run(vlm(30), tmp_path / "vlm", **quiet)  # type: ignore[arg-type]
    assert "vlm hunt" in refused(atlases / "weak", tmp_path / "vlm")
    assert "nothing to compare" in refused(atlases / "weak")


def test_no_shared_subject_is_said(atlases: Path, tmp_path: Path) -> None:
    space = {"corpus": "toybox", "entities": ["car"], "depth": 1}
    failscape.run(
        settings("strong", space=space, budget={"images": 60}),
        tmp_path / "car",
        on_note=lambda kind, text: None,
    )
    assert "share no subject" in refused(atlases / "weak", tmp_path / "car")


def test_the_page_shows_changes_with_pictures_side_by_side(atlases: Path, tmp_path: Path) -> None:
    drawn = ("--budget", 400, "--atlas", tmp_path / "pairs", "--trust-models")
    arguments = (*drawn, "-o", tmp_path / "page")
    result = compare(atlases / "weak", atlases / "strong", *arguments)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page" / "index.html").read_text()
    for words in ("weak → strong", "What changed", "All shared subjects", "Power:"):
        assert words in page
    assert len(list((tmp_path / "page" / "thumbs").iterdir())) >= 2
    with Library([atlases / "weak", atlases / "strong", tmp_path / "pairs"]) as library:
        hunt = library.hunt("weak", 1)
        assert {one["target"] for one in compare_screen(library, hunt, {})["others"]} == {"weak", "strong"}
        wait_for(library.hunt("strong", 1))
        wait_for(hunt)
        data = compare_screen(library, hunt, {"with": "strong/1"})
        rows = [row for row in data["compared"]["rows"] if row["proven"]]
        assert rows, "what the comparison drew in its own atlas counts too"
        shown = compare_screen(library, hunt, {"with": "strong/1", "subject": rows[0]["subject"]})["cases"]
        assert {case["seed"] for case in shown[0]} == {shown[0][0]["seed"]}
        assert all(case["image"] for case in shown[0])


def wait_for(hunt: OpenHunt) -> None:
    assert hunt.loaded(wait=600.0) is not None


def compare_screen(library: Library, hunt: OpenHunt, query: dict[str, str]) -> dict[str, Any]:
    found = screen.compare(library, hunt, query)
    assert found is not None
    return found


def test_a_judge_that_drifted_is_found(tmp_path: Path) -> None:
    """The same file of a judge, of the same version by its own word, that says no to everything today."""
    (tmp_path / "judge.py").write_text(JUDGE.format(answer="True"))
    judge = {"provider": "python", "path": f"{tmp_path}/judge.py:judge", "model": "steady"}
    first = settings("weak", judge=judge, budget={"images": 120})
    failscape.run(first, tmp_path / "first", on_note=lambda kind, text: None)
    (tmp_path / "judge.py").write_text(JUDGE.format(answer="False"))
    target = tmp_path / "strong.yaml"
    target.write_text(yaml.safe_dump(settings("strong")))
    assert "drifted" in refused(tmp_path / "first", "--target", target, "--budget", 40, "--trust-models")


JUDGE = """
def judge(image, checks):
    return [{answer} for _ in checks]
judge.version = "1"
"""
