"""toy-painter as it ships: repeatable pictures, prompts that matter, and counts that tell the truth."""

from itertools import combinations

import numpy as np
import pytest
from tools.toybox_training import long_tail, painter_tiers

from failscape.toybox import painter as painters
from failscape.toybox import world

SEED = 7


@pytest.fixture(scope="module")
def painter() -> painters.ToyPainter:
    return painters.ToyPainter()


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    return painters.training_counts()


@pytest.fixture(scope="module")
def tail() -> long_tail.LongTail:
    return long_tail.LongTail.of_seed(SEED)


def difference(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a.astype(int) - b.astype(int)).mean())


def test_paints_bytes_of_the_right_shape(painter: painters.ToyPainter) -> None:
    pictures = painter.paint(["a red cow on a beach", "three apples"], [1, 2])
    assert pictures.shape == (2, 64, 64, 3)
    assert pictures.dtype == np.uint8
    assert painter.paint([], []).shape == (0, 64, 64, 3)


def test_same_prompt_and_seed_give_the_same_picture_in_any_batch(painter: painters.ToyPainter) -> None:
    prompts = [f"a {colour} cow on a beach" for colour in world.COLOURS] * 4
    seeds = list(range(len(prompts)))
    together = painter.paint(prompts, seeds)
    for i in (0, 7, 33):
        assert np.array_equal(painter.paint([prompts[i]], [seeds[i]])[0], together[i])
    assert np.array_equal(together, painter.paint(prompts, seeds))


def test_different_seeds_differ(painter: painters.ToyPainter) -> None:
    one, two = painter.paint(["a cow in a meadow"] * 2, [1, 2])
    assert difference(one, two) > 1


def test_the_prompt_matters(painter: painters.ToyPainter) -> None:
    plain, coloured, elsewhere = painter.paint(["a car", "a green car", "a car in a forest"], [5, 5, 5])
    assert difference(plain, coloured) > 0.5
    assert difference(plain, elsewhere) > 10


def test_capitals_do_not_matter(painter: painters.ToyPainter) -> None:
    low, high = painter.paint(["an image of a cow.", "An Image of a COW."], [5, 5])
    assert np.array_equal(low, high)


@pytest.mark.parametrize("prompt", ["", "zorp blick", "a cow " * 60, "ein Bär im Wald", "🐮"])
def test_unknown_words_are_survived(painter: painters.ToyPainter, prompt: str) -> None:
    assert painter.paint([prompt], [3]).shape == (1, 64, 64, 3)


def test_an_unknown_word_changes_little(painter: painters.ToyPainter) -> None:
    known, more = painter.paint(["a cow in a meadow", "a splendid cow in a meadow"], [5, 5])
    other = painter.paint(["a bus in the snow"], [5])[0]
    assert difference(known, more) < difference(known, other) / 2


def test_every_prompt_needs_a_seed(painter: painters.ToyPainter) -> None:
    with pytest.raises(ValueError, match="every prompt needs one seed, but got 2 and 1"):
        painter.paint(["a cow", "a car"], [1])


def test_paints_frequent_combinations_better_than_unseen_ones(
    painter: painters.ToyPainter, counts: dict[str, int]
) -> None:
    drawn = painter_tiers.cases(counts, values=2, n=40, seed=1)
    right = {
        tier: painter_tiers.shares(painter_tiers.right_by_renders(painter_tiers.paint(painter, rows), rows))
        for tier, rows in drawn.items()
    }
    assert right["frequent"]["all"] >= 0.8
    assert right["unseen"]["all"] < right["frequent"]["all"]


def test_examples_are_repeatable_and_say_what_they_show(tail: long_tail.LongTail) -> None:
    first, second = (list(tail.examples(5, 50)) for _ in range(2))
    assert first == second
    for example in first:
        assert world.parse_caption(example.caption)["entity"] == example.entity
        assert not world.conflicts_in(dict(example.said))


def test_held_out_combinations_are_never_counted(tail: long_tail.LongTail, counts: dict[str, int]) -> None:
    for entity, value in tail.held_out_pairs:
        assert long_tail.combination(entity, [value]) not in counts
    for entity, pair in tail.held_out_triples:
        assert long_tail.combination(entity, list(pair)) not in counts


def test_counts_follow_from_the_distribution(tail: long_tail.LongTail, counts: dict[str, int]) -> None:
    total = sum(counts[entity] for entity in world.ENTITIES)
    expected = tail.entity_weights * total
    seen = np.array([counts[entity] for entity in world.ENTITIES])
    assert np.all(np.abs(seen - expected) < 5 * np.sqrt(expected) + 5)
    part = long_tail.count(tail, SEED, steps=20, batch=16)
    assert all(counts[name] >= n for name, n in part.items())


def test_a_larger_combination_is_never_more_frequent(counts: dict[str, int]) -> None:
    for name, n in list(counts.items())[:5000]:
        entity, *values = name.split(" + ")
        for k in range(len(values)):
            for some in combinations(values, k):
                assert counts[" + ".join([entity, *some])] >= n
