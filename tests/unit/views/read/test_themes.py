"""Themes: few, stable, and only what fails more often than not."""

import random

from hypothesis import given
from hypothesis import strategies as st

from failscape.views.read.themes import Theme, Trait, TriedSubject, choose_themes

COLOURS = ("red", "green", "blue", "pink", "grey", "white")
THINGS = ("owl", "car", "cow", "kite", "boat", "apple", "crab", "drum")


def grid(failing: set[tuple[str, str]]) -> list[TriedSubject]:
    """Every thing in every colour; those in `failing` are findings."""
    found = []
    for thing in THINGS:
        for colour in COLOURS:
            number = len(found) + 1 if (thing, colour) in failing else None
            traits = frozenset(
                {Trait("thing", thing), Trait("Base: colour", colour), Trait("any", "Base: colour")}
            )
            found.append(TriedSubject(f"{thing}; Base: colour={colour}", traits, number))
    return found


def named(themes: list[Theme]) -> list[tuple[str, ...]]:
    return [tuple(trait.name for trait in theme.traits) for theme in themes]


def test_a_value_that_fails_with_everything_is_one_theme() -> None:
    themes = choose_themes(grid({(thing, "green") for thing in THINGS}))
    assert named(themes) == [("green",)]
    assert len(themes[0].findings) == len(THINGS)
    assert themes[0].exceptions == ()


def test_exceptions_are_named_and_do_not_hide_a_theme() -> None:
    themes = choose_themes(grid({(thing, "green") for thing in THINGS[1:]}))
    assert named(themes) == [("green",)]
    assert themes[0].exceptions == ("owl; Base: colour=green",)


def test_a_thing_and_a_value_are_two_themes_that_share_a_finding() -> None:
    failing = {(thing, "green") for thing in THINGS} | {("car", colour) for colour in COLOURS}
    themes = choose_themes(grid(failing))
    assert sorted(named(themes)) == [("car",), ("green",)]
    first, second = themes
    assert not set(first.newly) & set(second.newly)
    assert len(set(first.findings) & set(second.findings)) == 1
    assert len(first.newly) + len(second.newly) == len(failing)


def test_two_traits_together_are_told_where_neither_fails_alone() -> None:
    tried = []
    for thing in THINGS:
        for colour in COLOURS:
            for place in ("sea", "road", "sky"):
                fails = (colour, place) == ("green", "sea")
                traits = frozenset({Trait("thing", thing), Trait("colour", colour), Trait("place", place)})
                tried.append(
                    TriedSubject(f"{thing} {colour} {place}", traits, len(tried) + 1 if fails else None)
                )
    assert named(choose_themes(tried)) == [("green", "sea")]


def test_what_works_more_often_than_not_is_no_theme() -> None:
    """Three green things of eight fail: that is not what green things do."""
    failing = {("owl", "green"), ("car", "green"), ("cow", "green")}
    assert named(choose_themes(grid(failing))) == []


def test_one_finding_has_no_theme_and_neither_has_none() -> None:
    assert choose_themes(grid({("owl", "green")})) == []
    assert choose_themes(grid(set())) == []
    assert choose_themes([]) == []


def test_failures_at_random_have_hardly_a_theme() -> None:
    """Naming a candidate must cost what choosing among many gains by chance."""
    themes = 0
    for seed in range(40):
        cells = [(thing, colour) for thing in THINGS for colour in COLOURS]
        themes += len(choose_themes(grid(set(random.Random(seed).sample(cells, 10)))))
    assert themes <= 8


@given(
    st.sets(st.tuples(st.sampled_from(THINGS), st.sampled_from(COLOURS))), st.randoms(use_true_random=False)
)
def test_the_same_trials_give_the_same_themes(failing: set[tuple[str, str]], rng: random.Random) -> None:
    tried = grid(failing)
    themes = choose_themes(tried)
    shuffled = list(tried)
    rng.shuffle(shuffled)
    assert choose_themes(shuffled) == themes
    newly = [number for theme in themes for number in theme.newly]
    assert len(newly) == len(set(newly))
    for theme in themes:
        assert set(theme.newly) <= set(theme.findings)
        assert 2 * len(theme.findings) > theme.tried or len(theme.newly) < len(theme.findings)
