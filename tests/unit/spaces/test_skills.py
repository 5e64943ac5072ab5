"""Questions that a model writes: drafts say what is wanted, fresh photos are never searched with."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from failscape.errors import ConfigError
from failscape.spaces.albums import Album, Photo
from failscape.spaces.questions import ANY, CONSISTENCY, Asked, make_pattern
from failscape.spaces.skills import AlbumSights, DrawnSights, SkillGrammar, family_of, skills_in


def album(size: int) -> Album:
    photos = [
        Photo(f"{number:02}", Path(), f"{number}.png", captions=(f"photo {number}",))
        for number in range(size)
    ]
    return Album("test", tuple(photos), (), "d")


def test_fresh_photos_are_never_seen_by_the_search() -> None:
    sights, rng = AlbumSights(album(10), 0.3), random.Random(0)
    searched = {sights.pick(rng, False).key for _ in range(200)}
    fresh = {sights.pick(rng, True).key for _ in range(200)}
    assert len(searched) == 7
    assert len(fresh) == 3
    assert not searched & fresh


def test_too_few_photos_are_refused() -> None:
    with pytest.raises(ConfigError, match="too few"):
        AlbumSights(album(2), 0.5, images=2)


def test_drafts_name_skills_and_examples() -> None:
    grammar = SkillGrammar(DrawnSights(["a street"], 0.5, 2), ["colour", "counting"], images=2)
    pattern = make_pattern(ANY, ["colour", "counting", CONSISTENCY])
    draft = grammar.draft(pattern, random.Random(0), True, like="how many red cars?")
    assert draft is not None
    assert draft.guidance.startswith("it compares the pictures, it takes colour and counting together")
    assert "how many red cars?" in draft.guidance
    assert CONSISTENCY not in draft.guidance
    assert len(draft.sight.steps) == 2


def test_simpler_and_narrower_patterns() -> None:
    grammar = SkillGrammar(DrawnSights(["a"], 0.5), ["a", "b", "c"])
    pair = make_pattern(ANY, ["a", "b"])
    assert {one.skills for one in grammar.simpler(pair)} == {("a",), ("b",)}
    assert [one.skills for one in grammar.narrower(pair, random.Random(0))] == [("a", "b", "c")]
    assert grammar.simpler(make_pattern(ANY, ["a"])) == []


def test_free_questions_get_the_skills_that_their_words_tell_of() -> None:
    grammar = SkillGrammar(DrawnSights(["a"], 0.5))
    sight = grammar.draft(make_pattern(ANY, ["colour"]), random.Random(0), False).sight  # type: ignore[union-attr]
    asked = grammar.read("How many  red cars are left of the tree?", sight, None)
    assert asked is not None
    assert set(asked.pattern.skills) >= {"counting", "relation"}
    assert grammar.read("  ", sight, None) is None
    assert skills_in("Is there a dog?") == ("existence",)


def test_an_answer_said_back_must_be_stood_by() -> None:
    grammar = SkillGrammar(DrawnSights(["a"], 0.5))
    sight = grammar.draft(make_pattern(ANY, ["colour"]), random.Random(0), False).sight  # type: ignore[union-attr]
    asked = Asked(make_pattern(ANY, ["colour"]), "what colour is it?", "", sight)
    found = grammar.follow_up(asked, "blue", random.Random(0))
    assert found is not None
    assert found.expected == "yes"
    assert found.pattern.second_turn
    assert grammar.follow_up(asked, " ", random.Random(0)) is None


def test_skills_have_families() -> None:
    assert family_of("counting") == "quantity"
    assert family_of("never heard of") == "other"
