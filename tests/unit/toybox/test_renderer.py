"""The renderer as a generator: exact, seeded, typical where the caption is silent."""

from __future__ import annotations

from collections import Counter

import numpy as np

from failscape.toybox.renderer import draw, redraw, scene_of

PENGUIN = "a realistic photograph of a penguin (bird)."


def test_what_is_mentioned_is_there() -> None:
    for seed in range(20):
        scene = scene_of("a realistic photograph of a red car (road vehicle) in a meadow at night.", seed)
        assert scene is not None
        shown = scene.attributes
        assert (shown.entity, shown.colour, shown.place, shown.time) == ("car", "red", "meadow", "night")


def test_what_is_not_mentioned_is_typical() -> None:
    places = Counter(scene.attributes.place for seed in range(300) if (scene := scene_of(PENGUIN, seed)))
    assert places["snow"] > 290


def test_the_same_seed_gives_the_same_picture_and_shares_what_is_open() -> None:
    first, again, other = draw(PENGUIN, 3), draw(PENGUIN, 3), draw(PENGUIN, 4)
    assert first is not None
    assert again is not None
    assert other is not None
    assert (first == again).all()
    assert (first != other).any()
    plain, sketch = scene_of(PENGUIN, 7), scene_of("a sketch of a penguin (bird).", 7)
    assert plain is not None
    assert sketch is not None
    assert (plain.attributes.size, plain.attributes.place) == (
        sketch.attributes.size,
        sketch.attributes.place,
    )


def test_prompts_about_other_worlds_give_nothing() -> None:
    assert draw("a realistic photograph of a unicorn.", 1) is None


def test_contradictions_give_way_to_what_is_asked_for() -> None:
    for seed in range(50):
        scene = scene_of("a penguin in outer space", seed)
        assert scene is not None
        assert (scene.attributes.place, scene.attributes.time) == ("space", "day")


def test_redrawing_changes_what_is_mentioned() -> None:
    seen = {"entity": "cow", "colour": "natural", "count": "one", "size": "large", "place": "meadow"}
    seen |= {"time": "night", "style": "plain", "position": "centre"}
    drawn = redraw(seen, "Change the picture so that it shows a cow in a studio.", 1)
    assert drawn is not None
    assert drawn.dtype == np.uint8
    assert redraw({**seen, "entity": "none"}, "a cow", 1) is None
