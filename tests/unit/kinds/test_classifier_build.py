"""From settings to a classifier hunt: classes, labels, helpers, and mistakes that are caught before a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from failscape.config.files import parse_config
from failscape.errors import ConfigError
from failscape.kinds.classifier.build import build_hunt, contents, forewarn, pictures, rules_of, targets_of
from failscape.kinds.classifier.hunt import ClassifierHunt
from failscape.kinds.classifier.photos import PhotoHunt
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Classify, Generate

TOYBOX: dict[str, Any] = {
    "hunt": "classifier",
    "target": {"provider": "toybox"},
    "generator": {"provider": "toybox", "model": "renderer"},
    "judge": {"provider": "toybox"},
    "space": {"corpus": "toybox"},
}


def config(**changes: Any) -> Any:
    return parse_config({**TOYBOX, **changes}, "test")


def test_all_classes_of_the_toybox_with_singular_superclasses() -> None:
    targets = targets_of(config())
    assert len(targets) == 40
    assert {target.name: target.superclass for target in targets}["penguin"] == "bird"
    penguin = next(target for target in targets if target.name == "penguin")
    assert set(penguin.others) >= {"flamingo", "owl"}


def test_a_hunt_and_what_it_depends_on() -> None:
    hunt = build_hunt(config(classes=["penguin", "owl"]))
    assert isinstance(hunt, ClassifierHunt)
    assert {name: content.kind for name, content in contents(config()).items()} == {
        "space": "corpus",
        "labels": "labels",
    }
    prompts = {probe.steps[0].prompt for probe in hunt.ask(4) if isinstance(probe.steps[0], Generate)}
    assert "a realistic photograph of an owl (bird)." in prompts


def test_one_race_is_not_sharded() -> None:
    with pytest.raises(ConfigError, match="cannot be sharded"):
        build_hunt(config(), shard=(1, 3))


def test_synonyms_count_as_right_and_aims_are_passed_on() -> None:
    settings = config(labels="imagenet", classes=["Persian cat"], aim={"Persian cat": "snow leopard"})
    hunt = build_hunt(settings)
    last = hunt.ask(1)[0].steps[-1]
    assert isinstance(last, Classify)
    assert "n02123394" in last.accept
    assert {"snow leopard", "ounce", "snow_leopard"} <= set(last.aim)


def test_an_aim_that_no_class_is_called_is_refused() -> None:
    with pytest.raises(ConfigError, match="'teapott'") as error:
        targets_of(config(aim="teapott"))
    assert "teapot" in error.value.fix
    with pytest.raises(ConfigError, match="'pengiun'"):
        targets_of(config(classes=["penguin"], aim={"pengiun": "owl"}))


def test_no_class_is_aimed_at_itself() -> None:
    """Right answers would count as failures."""
    assert {target.name for target in targets_of(config(classes=["owl", "car"], aim="owl"))} == {"car"}


def test_only_the_chosen_families_give_candidates() -> None:
    hunt = build_hunt(config(classes=["penguin"], space={"corpus": "toybox", "families": ["Background"]}))
    assert isinstance(hunt, ClassifierHunt)
    space = hunt.search.space
    assert len(space)
    assert all(kind.startswith("Background") for kind in space.kinds)


def test_classes_that_nobody_knows_are_refused() -> None:
    with pytest.raises(ConfigError, match="'pengiun'") as error:
        build_hunt(config(classes=["pengiun"]))
    assert "penguin" in error.value.fix


def test_a_class_that_the_classifier_does_not_carry_is_refused(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("cat\ndog\n")
    target = {"provider": "onnx", "path": "x.onnx", "labels": str(tmp_path / "labels.txt")}
    with pytest.raises(ConfigError, match="no class 'king penguin'"):
        build_hunt(config(target=target, labels="imagenet", classes=["king penguin"]))


def test_all_classes_of_an_unknown_classifier_is_refused() -> None:
    with pytest.raises(ConfigError, match="needs to know the classes"):
        build_hunt(config(target={"provider": "http", "endpoints": ["http://localhost:1"]}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"generator": None}, "needs a `generator`"),
        ({"match": "embedding"}, "needs an `embedder`"),
        ({"search": {"together": 9}}, "search.together"),
        ({"search": {"fdr": 2}}, "search.fdr"),
    ],
)
def test_settings_that_cannot_work(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(**changes)


def test_warnings_before_the_first_image() -> None:
    few = forewarn(config(budget={"images": 100}))
    assert any("too few for 40 baselines" in line for line in few)
    assert any("without a `judge`" in line for line in forewarn(config(judge=None)))
    kept = {"keep_images": "failures"}
    assert any(
        "keep_images" in line for line in forewarn(config(captioner={"provider": "toybox"}, runtime=kept))
    )
    old = forewarn(config(search={"candidates": 80}))
    assert any("`search.candidates` has no effect any more" in line for line in old)
    (line,) = forewarn(config())
    assert "can prove bugs of" in line


def test_the_judges_errors_become_bounds() -> None:
    counts = {"entity": (95, 100, 97, 100)}
    rules = rules_of(config(), JudgeAccuracy.from_counts(counts))
    assert 0.95 < rules.sensitivity < 1
    assert 0.03 < rules.slip < 0.12
    assert rules_of(config()).slip == 0


def test_a_folder_of_photos(tmp_path: Path) -> None:
    for name, shade in (("penguin", 10), ("owl", 90)):
        (tmp_path / name).mkdir()
        for number in range(3):
            pixels = np.full((8, 8, 3), shade + number, np.uint8)
            Image.fromarray(pixels).save(tmp_path / name / f"{number}.png")
    (tmp_path / "owl" / "broken.png").write_bytes(b"no image")
    settings = config(generator=None, judge=None, photos=str(tmp_path), classes=["penguin"])
    hunt = build_hunt(settings)
    assert isinstance(hunt, PhotoHunt)
    assert len(hunt.ask(10)) == 3
    assert len(list(pictures(settings))) == 3
    assert any("broken.png" in line for line in forewarn(settings))
    assert contents(settings)["photos"].kind == "images"
    everyone = build_hunt(config(generator=None, judge=None, photos=str(tmp_path)))
    assert len(everyone.ask(10)) == 6


@pytest.mark.parametrize("classes", [["owl", "owl"], ["owl", "penguin", "owl"]])
def test_a_class_that_is_named_twice_is_refused(classes: list[str]) -> None:
    with pytest.raises(ConfigError, match="names 'owl' 2 times"):
        build_hunt(config(classes=classes))


def test_labels_that_two_classes_share_are_warned_of(tmp_path: Path) -> None:
    labels = [{"name": "cat", "synonyms": ["feline"]}, {"name": "tiger", "synonyms": ["Feline"]}]
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    warned = forewarn(config(labels=str(tmp_path / "labels.json"), classes=["cat", "tiger"]))
    assert any("'feline' counts as right for cat and tiger" in line for line in warned)


def test_the_classifiers_own_list_may_spell_a_class_in_another_case(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("Persian cat\ntiger\n")
    (tmp_path / "own.txt").write_text("persian cat\nTIGER\n")
    target = {"provider": "onnx", "path": "net.onnx", "labels": str(tmp_path / "own.txt")}
    spelled = config(target=target, labels=str(tmp_path / "labels.txt"), classes=["Persian Cat", "tiger"])
    assert [one.name for one in targets_of(spelled)] == ["Persian cat", "tiger"]


def test_photos_that_belong_to_no_class_are_counted(tmp_path: Path) -> None:
    for number, name in enumerate(("owl/a.png", "heron/b.png", "c.png")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / name)
    warned = forewarn(config(generator=None, photos=str(tmp_path), classes=["owl"]))
    assert f"{tmp_path}: 1 photo has no label: left out" in warned
    assert f"{tmp_path}: 1 photo is of no class that is hunted, most often of 'heron': left out" in warned


def test_a_corpus_of_five_thousand_values_is_planned_at_once(tmp_path: Path) -> None:
    (tmp_path / "entities.json").write_text(json.dumps({"animal": {"mammal": ["cat", "dog"]}}))
    kinds = {f"kind {kind}": [f"value {kind} {number}" for number in range(100)] for kind in range(50)}
    (tmp_path / "attributes_base.json").write_text(json.dumps(kinds))
    target = {"provider": "python", "path": "net.py:classify"}
    hunt = build_hunt(config(target=target, classes=["cat", "dog"], space={"corpus": str(tmp_path)}))
    assert isinstance(hunt, ClassifierHunt)
    assert len(hunt.search.space) == 5_000
    assert len(hunt.ask(64)) == 64
