"""Words that a judge may misread: named when they drop everywhere, and only then; labels give them limits."""

import numpy as np
from scipy import stats

from failscape.stats.judging.accuracy import JudgeAccuracy, word_key
from failscape.stats.judging.words import WordCounts, doubted_words


def word(
    name: str, dropped: int, asked: int = 60, subjects: int = 6, everywhere: int | None = None
) -> WordCounts:
    wide = subjects if everywhere is None else everywhere
    return WordCounts("colour", name, asked, dropped, subjects, wide, dropped)


USUAL = [word(f"w{at}", 4 + at % 5) for at in range(12)]


def test_a_word_that_drops_everywhere_is_named_first() -> None:
    found = doubted_words([*USUAL, word("teal", 33), word("mauve", 40)])
    assert [one.counts.word for one in found] == ["mauve", "teal"], "most at stake first"
    assert all(one.labels == 10 and one.usual < 0.2 for one in found)


def test_what_one_subject_explains_or_is_usual_or_hardly_tried_is_not_named() -> None:
    assert not doubted_words(USUAL)
    assert not doubted_words([*USUAL, word("one cat", 33, subjects=1)])
    assert not doubted_words([*USUAL, word("some", 33, subjects=8, everywhere=2)])
    assert not doubted_words([*USUAL, word("new", 4, asked=5)])
    assert not doubted_words([word("teal", 50)]), "one word has nothing to be compared with"
    wild = [word(f"w{at}", dropped) for at, dropped in enumerate([2, 10, 20, 30, 40, 50, 58, 15, 45, 25])]
    assert not doubted_words(wild), "where words differ that much anyway, none stands out"


def test_chance_alone_seldom_names_a_word() -> None:
    rng = np.random.default_rng(4)
    named = 0
    for _ in range(200):
        some = [word(f"w{at}", int(rng.binomial(40, 0.2)), 40) for at in range(15)]
        named += len(doubted_words(some))
    assert named <= 3, "of 3,000 words"


def test_a_labelled_word_has_limits_of_its_own() -> None:
    judge = JudgeAccuracy.from_rates(
        {"colour": (0.98, 0.98), "*": (0.98, 0.98), word_key("colour", "teal"): (0.5, 0.98)}
    )
    assert judge.named("colour", "teal") == "colour=teal"
    assert judge.named("colour", "red") == "colour"
    usual, misread = (
        judge.limits(["entity", judge.named("colour", name)], 0.8).fail for name in ("red", "teal")
    )
    assert misread < 0.5 < 0.75 < usual
    assert JudgeAccuracy.from_json(judge.to_json()).named("colour", "teal") == "colour=teal"


def test_passes_are_believed_at_what_was_measured() -> None:
    counted = JudgeAccuracy.from_counts({"*": (42, 50, 42, 50)})
    exact = JudgeAccuracy.from_rates({"*": (0.84, 0.84)})
    kinds = ["entity", "colour"]
    assert counted.believed(kinds, 0.8).passes == exact.limits(kinds, 0.8).passes
    assert counted.limits(kinds, 0.8).fail < counted.believed(kinds, 0.8).fail < exact.limits(kinds, 0.8).fail
    assert counted.limits(kinds, 0.8).passes > counted.chances(kinds).right, "with bounds nothing could pass"
    assert counted.believed(kinds, 0.8).passes < counted.chances(kinds).right


def test_limits_of_a_review_hold_for_a_node_as_often_as_they_say() -> None:
    """Labels drawn again and again: the limit may lie above the true one in 5 % of the reviews."""
    rng, above, repeats = np.random.default_rng(6), 0, 300
    truth = {"entity": (0.96, 0.96), "colour": (0.84, 0.84)}
    kinds = ["entity", "colour"]
    right = JudgeAccuracy.from_rates(truth).limits(kinds, 0.8).fail
    for _ in range(repeats):
        counts = {k: (rng.binomial(50, a), 50, rng.binomial(50, b), 50) for k, (a, b) in truth.items()}
        above += JudgeAccuracy.from_counts(counts).believed(kinds, 0.8).fail > right
    assert above <= stats.binom.isf(1e-4, repeats, 0.05)
