"""How alike texts are: bounds, symmetry, and the cases that matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.stats.texts import bleu, mean_similarity, self_bleu, word_vectors

TEXTS = st.lists(st.text("abc de", max_size=30), min_size=1, max_size=8)


@given(TEXTS)
def test_vectors_have_length_one_or_none(texts: list[str]) -> None:
    lengths = np.linalg.norm(word_vectors(texts), axis=1)
    assert all(length == pytest.approx(1) or length == 0 for length in lengths)


@given(TEXTS)
def test_bleu_lies_between_none_and_all(texts: list[str]) -> None:
    assert 0 <= bleu(texts[0], texts[1:]) <= 1
    assert 0 <= self_bleu(texts) <= 1


def test_copies_are_alike_and_strangers_are_not() -> None:
    same, other = "how many cows are there", "which colour has my boat"
    assert bleu(same, [same]) == pytest.approx(1)
    assert bleu(same, [other]) < 0.2
    assert self_bleu([same] * 4) == pytest.approx(1)
    rows = word_vectors([same, same, other])
    assert rows[0] @ rows[1] == pytest.approx(1)
    assert abs(rows[0] @ rows[2]) < 0.3
    assert mean_similarity(rows[0], []) == 0
