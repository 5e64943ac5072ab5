"""The two halves of a dataset share nothing that they were asked not to share."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.views.export.splits import RETEST, SEED, SHOWN, SUBJECT, TRAIN, halves

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "images": st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=2),
            "seed": st.integers(0, 5),
            "subject": st.sampled_from(["cat", "red cat", "two cats", "dog"]),
        }
    ),
    max_size=40,
)


def shared(rows: list[dict[str, Any]], parts: list[str], what: str) -> set[Any]:
    found: dict[str, set[Any]] = {TRAIN: set(), RETEST: set(), "": set()}
    for row, part in zip(rows, parts, strict=True):
        found[part].update(row[what] if what == "images" else [row[what]])
    return found[TRAIN] & found[RETEST]


@given(ROWS, st.sampled_from([(), (SUBJECT,), (SEED,), (SUBJECT, SEED)]))
def test_halves_share_no_picture_and_nothing_they_were_asked_not_to(
    rows: list[dict[str, Any]], by: tuple[str, ...]
) -> None:
    parts = halves(rows, by)
    for what in ("images", *by):
        assert not shared(rows, parts, what)


@pytest.mark.parametrize("by", [(), (SUBJECT,), (SEED,)])
def test_both_halves_get_about_as_much_and_nothing_is_left_out_without_need(by: tuple[str, ...]) -> None:
    rows = [
        {"images": [f"{subject}{seed}"], "seed": seed, "subject": f"thing {subject}"}
        for subject, seed in product(range(8), range(200))
    ]
    parts = halves(rows, by)
    assert "" not in parts
    assert 0.35 < parts.count(TRAIN) / len(parts) < 0.65


def test_two_subjects_make_two_halves() -> None:
    rows = [{"images": [name], "seed": 1, "subject": name} for name in ("a", "b")]
    assert sorted(halves(rows, (SUBJECT,))) == sorted([TRAIN, RETEST])


def test_findings_that_a_repair_hides_are_kept_for_the_retest() -> None:
    rows = [{"images": [f"{name}{n}"], "seed": n, "subject": name} for name in "abc" for n in range(3)]
    parts = halves(rows, (SHOWN,), {"a", "c"})
    assert [part for row, part in zip(rows, parts, strict=True) if row["subject"] == "b"] == 3 * [RETEST]
    assert parts.count(TRAIN) == 6
