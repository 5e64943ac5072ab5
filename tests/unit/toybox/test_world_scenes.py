"""Scenes: sampling keeps its promises, and a scene graph says exactly what was asked for."""

import numpy as np
import pytest

from failscape.toybox import world


def test_world_has_the_promised_size() -> None:
    assert len(world.ENTITIES) == len(set(world.ENTITIES)) == 40
    assert len(world.COLOURS) == 10
    assert len(world.PLACES) >= 8
    assert {kind.group for kind in world.KINDS} >= {
        "animals",
        "food",
        "plants",
        "vehicles",
        "household",
        "toys",
    }


def test_unmentioned_attributes_have_their_defaults() -> None:
    attributes = world.Attributes("cow")
    assert attributes.special() == {}
    scene = world.build_scene(attributes)
    assert scene.attributes == attributes
    assert len(scene.things) == 1


def test_fixed_attributes_are_kept() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        scene = world.sample_scene(rng, entity="penguin", colour="red", place="desert")
        a = scene.attributes
        assert (a.entity, a.colour, a.place) == ("penguin", "red", "desert")


def test_sampled_attributes_never_contradict_each_other() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        assert world.conflicts_in(world.sample_attributes(rng, vary=0.8).special()) == []


def test_every_value_is_reachable() -> None:
    rng = np.random.default_rng(2)
    seen = {name: set() for name in world.ATTRIBUTES}
    for _ in range(1500):
        attributes = world.sample_attributes(rng)
        for name in world.ATTRIBUTES:
            seen[name].add(getattr(attributes, name))
    assert seen == {name: set(values) for name, values in world.ALLOWED.items()}


def test_scenes_survive_json() -> None:
    rng = np.random.default_rng(3)
    for make in (world.sample_scene, world.sample_layout):
        for _ in range(30):
            scene = make(rng)
            assert world.Scene.from_json(scene.to_json()) == scene


def test_attributes_and_nuisance_give_the_scene_back() -> None:
    rng = np.random.default_rng(4)
    for _ in range(100):
        scene = world.sample_scene(rng)
        assert scene.nuisance.shape == (world.NUISANCE_DIM,)
        assert np.abs(scene.nuisance).max() <= 1
        assert world.build_scene(scene.attributes, scene.nuisance) == scene


def test_same_generator_gives_same_scenes() -> None:
    assert world.sample_layout(np.random.default_rng(5)) == world.sample_layout(np.random.default_rng(5))


@pytest.mark.parametrize("position", ["left", "right", "top", "bottom"])
@pytest.mark.parametrize("size", ["small", "medium", "large"])
@pytest.mark.parametrize("count", ["one", "two"])
def test_positions_hold_for_any_nuisance(position: str, size: str, count: str) -> None:
    rng = np.random.default_rng(6)
    axis, sign = (0 if position in ("left", "right") else 1), (-1 if position in ("left", "top") else 1)
    for _ in range(30):
        scene = world.sample_scene(rng, vary=0, entity="owl", position=position, size=size, count=count)
        middle = np.mean([thing.centre for thing in scene.things], axis=0)
        assert sign * (middle[axis] - 32) > 6


def test_sizes_do_not_overlap() -> None:
    rng = np.random.default_rng(7)
    for count in world.COUNTS:
        sides = {}
        for size in ("small", "medium", "large"):
            scenes = [world.sample_scene(rng, vary=0, size=size, count=count) for _ in range(40)]
            sides[size] = [thing.box[2] - thing.box[0] for scene in scenes for thing in scene.things]
        assert max(sides["small"]) + 3 < min(sides["medium"])
        assert max(sides["medium"]) + 3 < min(sides["large"])


def test_layouts_hold_one_to_five_things_apart_from_each_other() -> None:
    rng = np.random.default_rng(8)
    for n in range(1, 6):
        for _ in range(30):
            things = world.sample_layout(rng, n).things
            assert len(things) == n
            for i, first in enumerate(things):
                assert all(world.relations(first, second) for second in things[i + 1 :])


def test_relations_mirror() -> None:
    first = world.Thing("cow", "red", "small", (2, 4, 16, 18))
    second = world.Thing("owl", "red", "small", (40, 40, 54, 54))
    assert world.relations(first, second) == ("left of", "above")
    assert world.relations(second, first) == ("right of", "below")
    assert world.relations(first, first) == ()


def test_changed_keeps_the_nuisance() -> None:
    scene = world.sample_scene(np.random.default_rng(9), entity="cow")
    other = world.changed(scene, entity="owl", place="beach")
    assert other.noise == scene.noise
    assert other.attributes.entity == "owl"


def test_wrong_values_are_refused_with_the_allowed_ones() -> None:
    with pytest.raises(ValueError, match=r"colour must be one of .*but got 'mauve'"):
        world.Attributes("cow", colour="mauve")
    with pytest.raises(ValueError, match="shape"):
        world.build_scene(world.Attributes("cow"), [0.0, 1.0])
    with pytest.raises(ValueError, match="1 to 5"):
        world.sample_layout(np.random.default_rng(0), entities=["cow"] * 6)
    layout = world.sample_layout(np.random.default_rng(0))
    with pytest.raises(ValueError, match="single-thing"):
        _ = layout.attributes
