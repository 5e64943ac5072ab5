"""Scenes of two things: layouts that keep their word, planted weaknesses, and the judge that reads them."""

from __future__ import annotations

import numpy as np
import pytest

from failscape.config import ModelConfig
from failscape.models.registry import create_model
from failscape.pictures import Picture
from failscape.spaces.corpus import load_corpus
from failscape.spaces.pair_wording import wording_of
from failscape.spaces.pairs import pair_lattice
from failscape.toybox.eyes import target_of
from failscape.toybox.pair_painter import (
    WEAKNESSES,
    PairPainter,
    SceneJudge,
    Weakness,
    decide_checks,
    paint_scene,
    scene_in,
    success_rate,
    understand,
    with_scene,
)
from failscape.toybox.world import render
from failscape.toybox.world.two_things import DRAWN_RELATIONS, WantedThing, holds, lay_out, merged
from failscape.trials import Check

THINGS = ("cow", "penguin", "car", "butterfly", "teapot", "umbrella", "guitar", "apple")
LATTICE = pair_lattice(load_corpus("toybox"), THINGS, ("Base",), 3, DRAWN_RELATIONS)
WORDING = wording_of(LATTICE.corpus)
OPPOSITE = {"left of": "right of", "above": "below", "in front of": "behind", "on": "under"}


@pytest.mark.parametrize("relation", DRAWN_RELATIONS)
def test_what_is_laid_out_holds_and_its_opposite_does_not(relation: str) -> None:
    colour = "red" if relation == "same colour as" else "natural"
    for seed in range(40):
        scene = lay_out(
            WantedThing("cow", colour), WantedThing("car", colour), relation, np.random.default_rng(seed)
        )
        cow, car = (next(t for t in scene.things if t.entity == name) for name in ("cow", "car"))
        assert holds(relation, cow, car, scene) is True
        assert not merged(cow, car)
        if relation in OPPOSITE:
            assert holds(OPPOSITE[relation], cow, car, scene) is False


def test_a_picture_cannot_show_who_holds_what() -> None:
    scene = lay_out(WantedThing("cow"), WantedThing("car"), "", np.random.default_rng(0))
    assert holds("holding", scene.things[0], scene.things[1], scene) is None
    with pytest.raises(ValueError, match="relation must be one of"):
        lay_out(WantedThing("cow"), WantedThing("car"), "holding", np.random.default_rng(0))


def test_pictures_carry_their_scenes_through_a_file() -> None:
    scene = paint_scene("An image of a red cow to the left of a blue car.", 3)
    assert scene is not None
    pixels = render(scene)
    marked = with_scene(pixels, scene)
    assert np.abs(marked.astype(int) - pixels.astype(int)).max() <= 1
    read = scene_in(Picture(Picture.from_array(marked).data).array)
    assert read is not None
    assert read.things == scene.things
    assert scene_in(pixels) is None


def test_without_weaknesses_the_painter_draws_every_node() -> None:
    for layer in range(4):
        for node in LATTICE.sample(layer, 400, np.random.default_rng(layer)):
            scene = paint_scene(WORDING.caption(node), 1, ())
            assert scene is not None
            assert all(decide_checks(scene, WORDING.checks(node))), WORDING.caption(node)


@pytest.mark.parametrize("weakness", WEAKNESSES, ids=lambda one: f"{one.mistake} {one.first}{one.second}")
def test_weaknesses_strike_as_often_as_they_say(weakness: Weakness) -> None:
    """All nodes of two values: those that apply fail at the rate, the others never."""
    checked = 0
    for node in LATTICE.sample(2, 3_000, np.random.default_rng(4)):
        caption = WORDING.caption(node)
        asked = understand(caption)
        assert asked is not None
        seeds = range(60) if weakness.applies(asked) and checked < 3 else range(2)
        scenes = [paint_scene(caption, seed, (weakness,)) for seed in seeds]
        passed = [scene is not None and all(decide_checks(scene, WORDING.checks(node))) for scene in scenes]
        rate = success_rate(asked, (weakness,))
        if rate == 1.0:
            assert all(passed), caption
        elif len(seeds) == 60:
            checked += 1
            assert np.mean(passed) == pytest.approx(rate, abs=0.25)
    assert checked


def test_the_judge_names_what_went_wrong() -> None:
    def decided(weakness: Weakness, caption: str, subject: str) -> dict[str, bool | None]:
        checks = WORDING.checks(LATTICE.parse(subject))
        sure = Weakness(
            weakness.mistake, 1.0, weakness.first, weakness.second, weakness.relation, weakness.colours
        )
        scene = paint_scene(caption, 0, (sure,))
        assert scene is not None
        return {check.kind: held for check, held in zip(checks, decide_checks(scene, checks), strict=True)}

    swapped = decided(
        Weakness("swap colours", 1.0, colours=("red", "blue")),
        "An image of a red cow and a blue car.",
        "cow; Base: colour=red; Second: thing=car; Second: colour=blue",
    )
    assert swapped == {"entity": True, "Base: colour": False, "Second: thing": True, "Second: colour": False}
    wrong_way = decided(
        Weakness("opposite relation", 1.0, relation="right of"),
        "An image of a cow to the right of a car.",
        "cow; Relation: is=right of; Second: thing=car",
    )
    assert wrong_way == {"entity": True, "Relation: is": False, "Second: thing": True}
    for mistake in ("drop second", "merge"):
        lost = decided(
            Weakness(mistake, 1.0),
            "An image of a cow and a car.",
            "cow; Second: thing=car",  # type: ignore[arg-type]
        )
        assert lost == {"entity": True, "Second: thing": False}


def test_the_toybox_serves_both_by_name() -> None:
    painter = create_model("generator", ModelConfig(provider="toybox", model="pair-painter"))
    judge = create_model("judge", ModelConfig(provider="toybox", model="scene-judge"))
    assert isinstance(painter, PairPainter)
    assert isinstance(judge, SceneJudge)
    picture = painter.draw("An image of a cow and an apple.", 1).value
    assert picture is not None
    checks = WORDING.checks(LATTICE.parse("cow; Second: thing=apple"))
    assert judge.decide(picture, checks).value == [True, True]
    assert painter.draw("An image of nothing.", 1).value is None
    plain = Picture.from_array(np.zeros((64, 64, 3), dtype=np.uint8))
    assert "carries no scene" in judge.decide(plain, checks).invalid


def test_toy_eyes_says_nothing_about_a_second_thing() -> None:
    """It looks for one thing: the colour of the picture is not the colour of the second thing."""
    assert target_of(Check("Base: colour", "red", "")) == ("colour", "red")
    assert target_of(Check("Second: colour", "red", "")) is None
    assert target_of(Check("Relation: is", "left of", "")) is None
