"""Merging the atlas of a stranger: it brings trials of its own, and nothing that steers or displaces ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from failscape.atlas import Atlas
from failscape.atlas.hunts import open_hunt
from failscape.atlas.judging import (
    Review,
    ReviewItem,
    ReviewLabel,
    add_labels,
    add_review,
    hunt_accuracy,
    keep_accuracy,
    keep_reviewed,
    labels_of,
    people_said,
    review_scope,
    reviewed_accuracy,
)
from failscape.atlas.merge import MergeRules, merge_atlases
from failscape.errors import AtlasError
from failscape.spaces.corpus import load_corpus
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.views.review.labels import measure
from tests.unit.atlas.suite import CONFIG, JUDGE, damage_picture, make_picture, make_recorded
from tests.unit.atlas.test_corpora import wish, write_corpus
from tests.unit.atlas.test_merge import make_atlas

OTHER = {**CONFIG, "seed": 4}
TRUSTED = MergeRules(trusted=True)
WITHOUT = MergeRules(reviews=False)


def accuracy(rate: float, source: str = "review of 9 checks by 1 person") -> JudgeAccuracy:
    found = JudgeAccuracy.from_rates({"*": (rate, rate)})
    return JudgeAccuracy(found.kinds, judge=JUDGE.digest, source=source)


def review(folder: Path, uid: str, reviewer: str, said: str = "yes", rate: float = 0.6) -> None:
    """People looked at two checks of the first hunt, and the judge is measured by that."""
    with Atlas.open(folder) as atlas:
        items = [ReviewItem(f"{n}", f"thing {n}#{n}", 0, "entity", bool(n), False, 1.0) for n in (0, 1)]
        add_review(atlas, Review(uid, 1, JUDGE.digest), 0, items)
        add_labels(atlas, uid, [ReviewLabel(item.item, reviewer, said) for item in items])
        keep_reviewed(atlas, accuracy(rate), review_scope(atlas, 1))


def spoil(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "atlas.db")) as db:
        for statement in statements:
            assert db.execute(statement).rowcount
        db.commit()


FALSE_ROWS: dict[str, tuple[str, str]] = {
    "steps": ("UPDATE plans SET steps = replace(steps, 'red', 'blue')", "the steps of plan 1"),
    "model": ("UPDATE identities SET model = 'better' WHERE role = 'judge'", "identity 2 .* digest"),
    "verdict": ("UPDATE trials SET verdict = 'fail' WHERE id = 2", "its facts say pass"),
    "cost": ("UPDATE totals SET money = -5.0", "row totals"),
    "earlier cost": ("INSERT INTO merged VALUES (1, 'x/1', -900, 0, 0.0)", "row merged"),
}


@pytest.mark.parametrize("name", FALSE_ROWS)
def test_false_rows_are_refused_and_displace_nothing(tmp_path: Path, name: str) -> None:
    statement, match = FALSE_ROWS[name]
    mine = make_atlas(tmp_path / "mine", range(3))
    spoil(make_atlas(tmp_path / "theirs", range(3), config=OTHER), statement)
    with pytest.raises(AtlasError, match=match):
        merge_atlases([tmp_path / "theirs", mine], tmp_path / "all")
    merge_atlases([mine], tmp_path / "all")
    with Atlas.open(tmp_path / "all", readonly=True) as atlas:
        [hunt] = atlas.hunts()
        for stored in atlas.trials(hunt.id):
            assert stored.steps == make_recorded(stored.trial.seed, stored.trial.subject).probe.steps


def test_a_review_of_another_atlas_holds_for_its_hunts_only(tmp_path: Path) -> None:
    mine = make_atlas(tmp_path / "mine", range(3))
    theirs = make_atlas(tmp_path / "theirs", range(3), config=OTHER)
    review(theirs, "theirs", "eve")
    merge_atlases([theirs], mine)
    with Atlas.open(mine) as atlas:
        own, foreign = atlas.hunts()
        assert hunt_accuracy(atlas, own) is None
        assert reviewed_accuracy(atlas, JUDGE.digest) is None
        assert hunt_accuracy(atlas, foreign) == accuracy(0.6)
        assert review_scope(atlas, own.id) is None
        assert review_scope(atlas, foreign.id) == foreign.id
    review(mine, "mine", "ada", "no", 0.9)
    with Atlas.open(mine, readonly=True) as atlas:
        assert hunt_accuracy(atlas, atlas.hunts()[0]) == accuracy(0.9)
        assert measure(atlas, JUDGE.digest).counts == {"entity": (0, 2)}, "only what ada said"
        assert measure(atlas, JUDGE.digest, 2).counts == {"entity": (2, 0)}, "only what eve said"


def test_a_review_of_a_trusted_source_holds_for_all(tmp_path: Path) -> None:
    mine = make_atlas(tmp_path / "mine", range(3))
    theirs = make_atlas(tmp_path / "theirs", range(3), config=OTHER)
    review(theirs, "theirs", "eve")
    merge_atlases([theirs], mine, TRUSTED)
    with Atlas.open(mine, readonly=True) as atlas:
        assert [hunt_accuracy(atlas, row) for row in atlas.hunts()] == [accuracy(0.6)] * 2
        assert measure(atlas, JUDGE.digest).counts == {"entity": (2, 0)}


def _theirs_into_mine(mine: Path, theirs: Path, rules: MergeRules) -> Path:
    merge_atlases([theirs], mine, rules)
    return mine


def _theirs_first(mine: Path, theirs: Path, rules: MergeRules) -> Path:
    merge_atlases([theirs, mine], mine.with_name("all"), rules)
    return mine.with_name("all")


def _mine_first(mine: Path, theirs: Path, rules: MergeRules) -> Path:
    merge_atlases([mine, theirs], mine.with_name("all"), rules)
    return mine.with_name("all")


ORDERS = pytest.mark.parametrize("merge", [_theirs_into_mine, _theirs_first, _mine_first])
Merge = Callable[[Path, Path, MergeRules], Path]


@ORDERS
def test_a_reviewed_shard_is_not_joined_without_a_word(tmp_path: Path, merge: Merge) -> None:
    mine = make_atlas(tmp_path / "mine", range(3), (0, 2))
    theirs = make_atlas(tmp_path / "theirs", range(3, 6), (1, 2))
    review(theirs, "modes-theirs", "eve", "no")
    with pytest.raises(AtlasError, match="they were reviewed differently") as refused:
        merge(mine, theirs, MergeRules())
    assert "--trust-sources" in refused.value.fix
    assert "--without-reviews" in refused.value.fix


@ORDERS
def test_reviews_of_sources_can_be_left_out_or_trusted(tmp_path: Path, merge: Merge) -> None:
    for name, rules, seen in (("without", WITHOUT, None), ("trusted", TRUSTED, accuracy(0.6))):
        mine = make_atlas(tmp_path / name / "mine", range(3), (0, 2))
        theirs = make_atlas(tmp_path / name / "theirs", range(3, 6), (1, 2))
        review(theirs, "modes-theirs", "eve", "no")
        with Atlas.open(merge(mine, theirs, rules), readonly=True) as atlas:
            [hunt] = atlas.hunts()
            assert len(list(atlas.replay(hunt.id))) == 6
            assert hunt_accuracy(atlas, hunt) == seen
            assert bool(people_said(atlas, hunt.id)) is (seen is not None)


@ORDERS
def test_an_accuracy_that_a_shard_says_it_was_run_with_is_asked_for_too(tmp_path: Path, merge: Merge) -> None:
    mine = make_atlas(tmp_path / "mine", range(3), (0, 2))
    theirs = make_atlas(tmp_path / "theirs", range(3, 6), (1, 2))
    for folder, rate in ((mine, 0.9), (theirs, 0.6)):
        with Atlas.open(folder) as atlas:
            keep_accuracy(atlas, 1, accuracy(rate, "a file"))
    with pytest.raises(AtlasError, match="they were reviewed differently"):
        merge(mine, theirs, MergeRules())


@ORDERS
def test_shards_that_were_run_with_the_same_accuracy_are_joined(tmp_path: Path, merge: Merge) -> None:
    mine = make_atlas(tmp_path / "mine", range(3), (0, 2))
    theirs = make_atlas(tmp_path / "theirs", range(3, 6), (1, 2))
    for folder in (mine, theirs):
        with Atlas.open(folder) as atlas:
            keep_accuracy(atlas, 1, accuracy(0.9, "a file"))
    with Atlas.open(merge(mine, theirs, MergeRules()), readonly=True) as atlas:
        assert hunt_accuracy(atlas, atlas.hunt()) == accuracy(0.9, "a file")


def test_labels_cannot_be_slipped_into_a_review_of_ours(tmp_path: Path) -> None:
    mine = make_atlas(tmp_path / "mine", range(3))
    theirs = make_atlas(tmp_path / "theirs", range(3), config=OTHER)
    review(mine, "the same", "ada", "no")
    review(theirs, "the same", "eve")
    with pytest.raises(AtlasError, match="review 'the same' belongs to hunt 1 here"):
        merge_atlases([theirs], mine)
    with Atlas.open(mine, readonly=True) as atlas:
        assert {label.reviewer for label in labels_of(atlas, "the same")} == {"ada"}


def test_their_replies_answer_no_request_of_ours(tmp_path: Path) -> None:
    recorded = make_recorded(1, "thing 1", (True, True))
    lie = replace(recorded.calls[1], facts=[[False, False]], raw="a lie")
    mine = make_atlas(tmp_path / "mine", range(0))
    with Atlas.open(tmp_path / "theirs", create=True) as atlas:
        hunt = atlas.start_hunt("t2i", OTHER, {"judge": JUDGE})
        atlas.save_calls(hunt, (recorded.calls[0], lie))
    merge_atlases([tmp_path / "theirs"], mine)
    with Atlas.open(mine) as atlas:
        strange = atlas.hunts_of_others(1)
        assert strange == {2}
        assert atlas.find_call(lie.key, strange) is None
        assert atlas.find_call(lie.key, atlas.hunts_of_others(2)) is not None, "the hunt itself may use it"
        atlas.record(1, [recorded])
        [stored] = atlas.trials(1)
        assert stored.calls[1].raw == recorded.calls[1].raw
        assert atlas.find_call(lie.key, strange) is not None


def test_their_reply_does_not_take_the_place_of_one_of_ours_that_failed(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for folder, config, holds in ((mine, CONFIG, None), (theirs, OTHER, (True, True))):
        with Atlas.open(folder, create=True) as atlas:
            atlas.save_calls(
                atlas.start_hunt("t2i", config, {"judge": JUDGE}), make_recorded(1, holds=holds).calls
            )
    merge_atlases([theirs], mine)
    with Atlas.open(mine, readonly=True) as atlas:
        assert atlas.find_call(make_recorded(1).calls[1].key) is None


def test_a_false_picture_does_not_keep_the_right_one_out(tmp_path: Path) -> None:
    mine = make_atlas(tmp_path / "mine", range(3))
    theirs = make_atlas(tmp_path / "theirs", range(3), config=OTHER)
    with Atlas.open(theirs, readonly=True) as atlas:
        damage_picture(atlas, make_picture(1).digest)
    merged = merge_atlases([theirs, mine], tmp_path / "all")
    assert merged.missing_images == 1
    with Atlas.open(tmp_path / "all", readonly=True) as atlas:
        assert atlas.images.get(make_picture(1).digest).data == make_picture(1).data


def _with_corpus(folder: Path, settings: tuple[dict[str, Any], Any]) -> Path:
    with Atlas.open(folder, create=True) as atlas:
        open_hunt(atlas, *settings)
    return folder


def test_a_false_corpus_takes_no_place_of_ours(tmp_path: Path) -> None:
    settings = wish(write_corpus(tmp_path / "words", "cat", "dog"))
    digest = settings[1]["space"].settings["digest"]
    mine = _with_corpus(tmp_path / "mine", settings)
    theirs = _with_corpus(tmp_path / "theirs", settings)
    write_corpus(theirs / "corpora" / digest, "cat", "a lie")
    with pytest.raises(AtlasError, match="one name and different content"):
        merge_atlases([theirs], mine)
    merge_atlases([theirs], tmp_path / "all")
    _with_corpus(tmp_path / "all", settings)
    assert load_corpus(str(tmp_path / "all" / "corpora" / digest)).digest == digest, "a run mends it"
