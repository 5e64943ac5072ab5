"""Pictures: deterministic, fast, and different wherever the scene graph is different."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from failscape.toybox import world
from failscape.toybox.world.render import SHEET, sprite
from tests.counting import calls_of


def distance(a: world.Attributes, b: world.Attributes) -> float:
    first = world.render_attributes(a).astype(float)
    return float(np.abs(first - world.render_attributes(b)).mean())


def test_a_scene_gives_the_same_picture_every_time() -> None:
    rng = np.random.default_rng(0)
    for make in (world.sample_scene, world.sample_layout):
        for _ in range(20):
            scene = make(rng)
            picture = world.render(scene)
            assert picture.shape == (64, 64, 3)
            assert picture.dtype == np.uint8
            assert np.array_equal(picture, world.render(world.Scene.from_json(scene.to_json())))


def test_drawing_does_not_change_what_is_cached() -> None:
    scene = world.build_scene(world.Attributes("cow", place="meadow"))
    before = world.render(scene)
    world.render_many([world.sample_scene(np.random.default_rng(i), place="meadow") for i in range(20)])
    assert np.array_equal(before, world.render(scene))


@pytest.mark.parametrize("name", world.ATTRIBUTES)
def test_values_of_an_attribute_look_different(name: str) -> None:
    place = "studio" if name == "place" else "meadow"
    variants = [world.Attributes("camel", **{"place": place, name: value}) for value in world.ALLOWED[name]]
    assert min(distance(a, b) for a, b in combinations(variants, 2)) > 2.0


@pytest.mark.parametrize("place", world.PLACES)
def test_times_remain_distinguishable_everywhere(place: str) -> None:
    variants = [world.Attributes("camel", place=place, time=value) for value in world.TIMES]
    assert min(distance(a, b) for a, b in combinations(variants, 2)) > 6.0


def test_things_look_different() -> None:
    variants = [world.Attributes(entity) for entity in world.ENTITIES]
    assert min(distance(a, b) for a, b in combinations(variants, 2)) > 3.0


@pytest.mark.parametrize(("colour", "channel"), [("red", 0), ("green", 1), ("blue", 2)])
def test_colours_dominate_their_things(colour: str, channel: int) -> None:
    for entity in world.ENTITIES:
        rgba = np.asarray(sprite(entity, colour), dtype=float)
        mean = rgba[rgba[..., 3] > 200][:, :3].mean(axis=0)
        assert mean.argmax() == channel


def test_every_nuisance_dimension_matters_somewhere() -> None:
    attributes = world.Attributes("owl", count="four", place="city", time="rain")
    base = world.render_attributes(attributes)
    for i in range(world.NUISANCE_DIM):
        noise = np.zeros(world.NUISANCE_DIM)
        noise[i] = 1.0
        assert not np.array_equal(base, world.render_attributes(attributes, noise)), world.NUISANCE[i]


def test_what_scenes_share_is_drawn_once() -> None:
    rng = np.random.default_rng(1)
    scenes = [world.sample_scene(rng) for _ in range(100)]
    first = calls_of(lambda: world.render_many(scenes))
    again = calls_of(lambda: world.render_many(scenes))
    assert again < 200 * len(scenes), "a hundred-odd calls a picture; sprites and places drawn anew are more"
    assert again <= first


def test_nothing_to_draw_gives_an_empty_array() -> None:
    assert world.render_many([]).shape == (0, 64, 64, 3)


def test_sprites_ship_small_and_with_their_licence() -> None:
    assert SHEET.stat().st_size < 400_000
    licence = (SHEET.parent / "LICENSE-fluent-emoji.txt").read_text(encoding="utf-8")
    assert "MIT License" in licence
    assert "Microsoft" in licence
    assert "LobeHub" in licence


def test_sprite_sheet_can_be_rebuilt(tmp_path: Path) -> None:
    from tools.toybox_training.build_sprites import build

    (tmp_path / "assets").mkdir()
    for i, kind in enumerate(world.KINDS):
        picture = Image.new("RGBA", (32, 32), (0, 0, 0, 0))
        picture.paste((i, 100, 200, 255), (4, 8, 20, 30))
        picture.save(tmp_path / "assets" / f"{kind.code}.webp", lossless=True)
    sheet = build(tmp_path)
    with Image.open(SHEET) as shipped:
        assert sheet.size == shipped.size
    assert sheet.getpixel((32, 32)) == (0, 100, 200, 255)
