"""Questions about toybox clips: two readings agree, and minimal pairs over time change the answer."""

import random

import pytest

from failscape.clips import as_clip
from failscape.errors import BadReply
from failscape.pictures import Picture
from failscape.spaces.questions import make_pattern
from failscape.toybox.clip_asking import TWINS, ClipGrammar, draw_clip, script_of, twin_of
from failscape.toybox.clip_forms import BY_KEY, FORMS
from failscape.toybox.clip_world import FRAMES, played_backwards


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.key)
def test_the_scenes_say_what_the_script_says(form: object) -> None:
    grammar, rng = ClipGrammar(), random.Random(5)
    pattern = make_pattern(form.key, form.skills)  # type: ignore[attr-defined]
    for _ in range(60):
        asked = grammar.draft(pattern, rng, True)
        assert asked is not None
        again = grammar.read(asked.text, asked.sight, None)
        assert again is not None
        assert again.truth == asked.truth


@pytest.mark.parametrize("form", TWINS)
def test_a_change_in_time_changes_the_right_answer(form: str) -> None:
    grammar, rng = ClipGrammar(), random.Random(6)
    for _ in range(40):
        asked = grammar.draft(make_pattern(form, BY_KEY[form].skills), rng, False)
        assert asked is not None
        twin = twin_of(asked)
        assert twin is not None
        assert twin.text == asked.text
        assert twin.truth != asked.truth


def test_played_backwards_the_scenes_come_in_the_other_order() -> None:
    script = script_of("clip: colour before #3")
    assert played_backwards(script).scenes() == script.scenes()[::-1]


@pytest.mark.parametrize("value", ["five", "more than three", "at most two"])
def test_clauses_over_time_are_met(value: str) -> None:
    clause = ("frames apart", value)
    pattern = make_pattern("appears first", BY_KEY["appears first"].skills, [clause])
    asked = ClipGrammar().draft(pattern, random.Random(1), False)
    assert asked is not None
    first, second = (actor.enters for actor in script_of(asked.sight.key).actors)
    apart = abs(first - second)
    assert {"five": apart == 5, "more than three": apart > 3, "at most two": apart <= 2}[value]


def test_a_clip_is_drawn_with_all_its_frames_and_its_key() -> None:
    clip = as_clip(Picture(draw_clip("clip: motion #7").data))
    assert clip is not None
    assert len(clip.frame_seconds) == FRAMES
    assert clip.note == "clip: motion #7"
    with pytest.raises(BadReply, match="by number"):
        draw_clip("clip: motion")
