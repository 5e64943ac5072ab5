"""The toy classifiers: good on their training distribution, worse where a tie is broken."""

import json
from math import sqrt

import numpy as np
import pytest
from tools.toybox_training.classifier_scenes import sample_broken, sample_training

from failscape.toybox import renderer, world
from failscape.toybox.networks import CLASSIFIERS, MODELS, ToyClassifier, labels

SCENES = 600


def accuracy(model: ToyClassifier, scenes: list[world.Scene]) -> float:
    best = model.classify(world.render_many(scenes), top=1)
    return float(
        np.mean([row[0][0] == scene.things[0].entity for row, scene in zip(best, scenes, strict=True)])
    )


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_good_on_the_training_distribution(name: str) -> None:
    rng = np.random.default_rng(515)
    scenes = [sample_training(rng) for _ in range(SCENES)]
    assert accuracy(ToyClassifier(name), scenes) >= 0.95 - 3 * sqrt(0.95 * 0.05 / SCENES)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_broken_ties_are_real_bugs(name: str) -> None:
    rng = np.random.default_rng(616)
    model = ToyClassifier(name)
    kept = [sample_broken(rng, tie, keep=True) for tie in renderer.TIES for _ in range(15)]
    broken = [sample_broken(rng, tie) for tie in renderer.TIES for _ in range(15)]
    assert accuracy(model, kept) - accuracy(model, broken) >= 0.1


def test_rankings_are_sorted_probabilities() -> None:
    picture = world.render_attributes(world.Attributes("penguin", place="snow"))[None]
    (ranking,) = ToyClassifier("cnn").classify(picture)
    scores = [score for _, score in ranking]
    assert ranking[0][0] == "penguin"
    assert scores == sorted(scores, reverse=True)
    assert sum(scores) == pytest.approx(1, abs=1e-4)
    assert labels() == world.ENTITIES
    assert ToyClassifier("cnn").classify(picture[:0]) == []


def test_the_ties_are_what_the_sampler_does() -> None:
    rng = np.random.default_rng(1)
    for tie in (renderer.BY_ENTITY["penguin"], renderer.BY_ENTITY["car"]):
        drawn = [sample_training(rng, tie.entity).attributes for _ in range(300)]
        share = np.mean([getattr(attributes, tie.attribute) == tie.value for attributes in drawn])
        assert share == pytest.approx(tie.share, abs=0.04)
        others = [sample_broken(rng, tie).attributes for _ in range(50)]
        assert all(getattr(attributes, tie.attribute) != tie.value for attributes in others)


def test_the_card_names_every_tie_and_unknown_names_are_refused() -> None:
    card = json.loads((MODELS / "classifiers.json").read_text(encoding="utf-8"))
    for name in CLASSIFIERS:
        rows = card["networks"][name]["ties"]
        assert [(row["entity"], row["value"]) for row in rows] == [(t.entity, t.value) for t in renderer.TIES]
    with pytest.raises(ValueError, match="cnn"):
        ToyClassifier("mlp")
