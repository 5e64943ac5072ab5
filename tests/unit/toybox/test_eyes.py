"""toy-eyes: accurate on fresh scenes, fast, honest about what it does not know."""

from math import sqrt

import numpy as np
import pytest
from tools.toybox_training.degrade import degraded

from failscape.toybox import world
from failscape.toybox.eyes import HEADS, UNKNOWN, Eyes, card
from failscape.trials import Check

SCENES = 800


def at_least(bar: float, n: int) -> float:
    """The bar less three standard errors: a model exactly at the bar passes 999 times in 1,000."""
    return bar - 3 * sqrt(bar * (1 - bar) / n)


@pytest.fixture(scope="module")
def eyes() -> Eyes:
    return Eyes()


@pytest.fixture(scope="module")
def fresh() -> tuple[np.ndarray, list[world.Attributes]]:
    rng = np.random.default_rng(424_242)
    scenes = [world.sample_scene(rng) for _ in range(SCENES)]
    return world.render_many(scenes), [scene.attributes for scene in scenes]


@pytest.mark.parametrize("head", list(HEADS))
def test_accuracy_on_fresh_scenes(
    eyes: Eyes, fresh: tuple[np.ndarray, list[world.Attributes]], head: str
) -> None:
    pictures, truths = fresh
    labels = eyes.look(pictures).labels[head]
    right = sum(label == getattr(truth, head) for label, truth in zip(labels, truths, strict=True))
    assert right / SCENES >= at_least(0.98 if head == "entity" else 0.95, SCENES)


def test_a_judge_that_is_not_fooled_by_spoilt_pictures(eyes: Eyes) -> None:
    rng = np.random.default_rng(99)
    rows = [degraded(rng) for _ in range(400)]
    labels = eyes.look(np.stack([picture for picture, _ in rows]).astype(np.uint8)).labels["entity"]
    truths = [row["entity"] for _, row in rows]
    gone = [label == "none" for label, t in zip(labels, truths, strict=True) if t == len(world.ENTITIES)]
    there = [
        label == HEADS["entity"][t]
        for label, t in zip(labels, truths, strict=True)
        if t not in (UNKNOWN, len(world.ENTITIES))
    ]
    assert np.mean(gone) >= 0.85
    assert np.mean(there) >= 0.85


def test_checks_are_decided_or_left_open(eyes: Eyes) -> None:
    picture = world.render_attributes(world.Attributes("cow", colour="blue", place="beach"))
    checks = [
        Check("entity", "cow", "there is a cow"),
        Check("entity", "camel", "there is a camel"),
        Check("Base: Colour", "Blue", "it is blue"),
        Check("base: color", "red", "it is red"),
        Check("Background: place", "beach", "it is on a beach"),
        Check("count", "1", "there is one"),
        Check("entity", "unicorn", "there is a unicorn"),
        Check("Base: Material", "wood", "it is made of wood"),
    ]
    assert eyes.judge(picture[None], [checks]) == [[True, False, True, False, True, True, None, None]]


def test_captions_are_true_sentences(eyes: Eyes) -> None:
    picture = world.render_attributes(world.Attributes("fish", colour="red", place="ocean", count="two"))
    said = eyes.caption(picture)
    assert said[0] == "there are two fish."
    assert "the fish are red." in said
    assert "the fish are on the ocean." in said
    empty = world.render(world.Scene((), "snow", "day", "plain", None, (0.0,) * world.NUISANCE_DIM))
    assert eyes.caption(empty)[:2] == ["there is nothing to name.", "the picture is in the snow."]


def test_wrong_shapes_are_refused_and_nothing_gives_nothing(eyes: Eyes) -> None:
    with pytest.raises(ValueError, match="64, 64, 3"):
        eyes.look(np.zeros((1, 32, 32, 3), dtype=np.uint8))
    assert eyes.judge(np.zeros((0, 64, 64, 3), dtype=np.uint8), []) == []


def test_the_card_holds_counts_for_judge_correction() -> None:
    for source in ("rendered", "degraded"):
        for head in HEADS:
            row = card()[source]["checks"][head]
            assert row["true_accepted"] <= row["true_asked"]
            assert row["sensitivity"] == pytest.approx(row["true_accepted"] / row["true_asked"], abs=1e-4)
            assert row["specificity"] == pytest.approx(row["false_rejected"] / row["false_asked"], abs=1e-4)


def test_pictures_are_seen_in_batches(eyes: Eyes, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, session = [], eyes._session

    class Noting:
        def run(self, outputs: None, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
            seen.append(len(feed["image"]))
            return session.run(outputs, feed)

    monkeypatch.setattr(eyes, "_session", Noting())
    assert len(eyes.look(np.zeros((150, 64, 64, 3), dtype=np.uint8)).labels["entity"]) == 150
    assert seen == [128, 22]
