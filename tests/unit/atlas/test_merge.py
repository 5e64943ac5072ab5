"""Joining atlases: nothing lost, nothing twice, contradictions named."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from failscape.atlas import Atlas, Recorded
from failscape.atlas.merge import merge_atlases
from failscape.errors import AtlasError
from failscape.trials import Verdict
from tests.unit.atlas.suite import CONFIG, JUDGE, PAINTER, make_picture, make_recorded

MODELS = {"target": PAINTER, "judge": JUDGE}


def make_atlas(
    folder: Path,
    numbers: range,
    shard: tuple[int, int] = (0, 1),
    config: dict | None = None,
    passes: bool = True,
) -> Path:
    with Atlas.open(folder, create=True) as atlas:
        hunts = atlas.hunts()
        hunt = hunts[0].id if hunts else atlas.start_hunt("t2i", config or CONFIG, MODELS, shard)
        run = atlas.begin_run(hunt)
        atlas.record(hunt, [make_recorded(n, f"thing {n % 4}", (True, passes)) for n in numbers])
        atlas.end_run(run, "done", 10.0)
    return folder


def state(folder: Path) -> tuple:
    with Atlas.open(folder, readonly=True) as atlas:
        return (
            [(hunt.config, hunt.shard) for hunt in atlas.hunts()],
            [list(atlas.replay(hunt.id)) for hunt in atlas.hunts()],
            [(atlas.spent(hunt.id), atlas.counts(hunt.id)) for hunt in atlas.hunts()],
            [(event.kind, event.detail) for event in atlas.events()],
            sorted(atlas.image_digests()),
        )


def test_shards_become_one_hunt(tmp_path: Path) -> None:
    one = make_atlas(tmp_path / "one", range(10), (0, 2))
    two = make_atlas(tmp_path / "two", range(10, 25), (1, 2))
    merged = merge_atlases([one, two], tmp_path / "all")
    assert (merged.trials, merged.images, merged.hunts) == (25, 25, 1)
    with Atlas.open(tmp_path / "all", readonly=True) as atlas:
        [hunt] = atlas.hunts()
        assert hunt.shard == (0, 1)
        assert hunt.identities == MODELS
        assert [trial.seed for trial in atlas.replay(hunt.id)] == list(range(25))
        assert atlas.counts(hunt.id)[Verdict.PASS] == 25
        spent = atlas.spent(hunt.id)
        assert (spent.images, spent.requests, spent.seconds, spent.money) == (25, 25 * 3, 20.0, 25 * 0.25)
        for stored in atlas.trials(hunt.id):
            assert stored.steps == make_recorded(stored.trial.seed, stored.trial.subject).probe.steps
            data = atlas.images.get(stored.calls[0].image).data
            assert hashlib.blake2b(data, digest_size=16).hexdigest() == stored.images[0]
        assert [event.kind for event in atlas.events(hunt.id)] == ["start", "stop"] * 2


def test_merging_again_or_a_merge_adds_nothing(tmp_path: Path) -> None:
    one, two = (
        make_atlas(tmp_path / "one", range(5), (0, 2)),
        make_atlas(tmp_path / "two", range(5, 9), (1, 2)),
    )
    merge_atlases([one, two], tmp_path / "all")
    before = state(tmp_path / "all")
    again = merge_atlases([two, one, one], tmp_path / "all")
    assert (again.trials, again.images, again.hunts) == (0, 0, 0)
    assert state(tmp_path / "all") == before
    merge_atlases([tmp_path / "all", two, one], tmp_path / "both")
    assert state(tmp_path / "both") == before


def test_a_shard_that_has_grown_adds_what_is_new(tmp_path: Path) -> None:
    one = make_atlas(tmp_path / "one", range(5))
    merge_atlases([one], tmp_path / "all")
    make_atlas(one, range(5, 8))
    assert merge_atlases([one], tmp_path / "all").trials == 3
    assert state(tmp_path / "all") == state(one)


def test_another_shard_in_the_same_atlas_makes_it_whole(tmp_path: Path) -> None:
    one = make_atlas(tmp_path / "one", range(5), (0, 2))
    two = make_atlas(tmp_path / "two", range(5, 9), (1, 2))
    assert merge_atlases([two], one).trials == 4
    with Atlas.open(one, readonly=True) as atlas:
        [hunt] = atlas.hunts()
        assert hunt.shard == (0, 1)
        assert len(list(atlas.replay(hunt.id))) == 9


def test_a_shard_stays_one_when_nothing_else_comes_in(tmp_path: Path) -> None:
    one = make_atlas(tmp_path / "one", range(5), (0, 2))
    copy = make_atlas(tmp_path / "copy", range(7), (0, 2))
    none = make_atlas(tmp_path / "none", range(0), (1, 2))
    assert merge_atlases([copy, none], one).trials == 2
    with Atlas.open(one, readonly=True) as atlas:
        assert [hunt.shard for hunt in atlas.hunts()] == [(0, 2)]


def test_two_shards_in_one_source_become_one_hunt(tmp_path: Path) -> None:
    one = make_atlas(tmp_path / "one", range(5), (0, 2))
    with Atlas.open(one) as atlas:
        other = atlas.start_hunt("t2i", CONFIG, MODELS, (1, 2), parent=1)
        atlas.record(other, [make_recorded(n, f"thing {n % 4}") for n in range(5, 9)])
    merged = merge_atlases([one], tmp_path / "all")
    assert (merged.trials, merged.hunts) == (9, 1)
    before = state(tmp_path / "all")
    again = merge_atlases([one], tmp_path / "all")
    assert (again.trials, again.hunts) == (0, 0)
    assert state(tmp_path / "all") == before


def test_shards_side_by_side_get_their_own_trials(tmp_path: Path) -> None:
    one = make_atlas(tmp_path / "one", range(5), (0, 2))
    with Atlas.open(one) as atlas:
        atlas.start_hunt("t2i", CONFIG, MODELS, (1, 2), parent=1)
    merge_atlases([make_atlas(tmp_path / "two", range(5, 9), (1, 2))], one)
    with Atlas.open(one, readonly=True) as atlas:
        assert [hunt.shard for hunt in atlas.hunts()] == [(0, 2), (1, 2)]
        assert [sum(atlas.counts(hunt.id).values()) for hunt in atlas.hunts()] == [5, 4]


def test_a_valid_reply_replaces_an_invalid_one(tmp_path: Path) -> None:
    bad, good = make_recorded(1, holds=None), make_recorded(1)
    for name, recorded in (("bad", bad), ("good", good)):
        with Atlas.open(tmp_path / name, create=True) as atlas:
            atlas.save_calls(atlas.start_hunt("t2i", CONFIG, MODELS), recorded.calls)
    merge_atlases([tmp_path / "bad", tmp_path / "good"], tmp_path / "all")
    with Atlas.open(tmp_path / "all", readonly=True) as atlas:
        found = atlas.find_call(good.calls[1].key)
        assert found is not None
        assert found.facts == good.calls[1].facts


def test_other_settings_stay_apart(tmp_path: Path) -> None:
    one = make_atlas(tmp_path / "one", range(5))
    two = make_atlas(tmp_path / "two", range(5), config={**CONFIG, "seed": 4})
    assert merge_atlases([one, two], tmp_path / "all").hunts == 2
    with Atlas.open(tmp_path / "all", readonly=True) as atlas:
        assert [sum(atlas.counts(hunt.id).values()) for hunt in atlas.hunts()] == [5, 5]


def test_a_contradiction_names_the_key_and_changes_nothing(tmp_path: Path) -> None:
    one = make_atlas(tmp_path / "one", range(5))
    two = make_atlas(tmp_path / "two", range(4, 9), passes=False)
    merge_atlases([one], tmp_path / "all")
    before = state(tmp_path / "all")
    with pytest.raises(AtlasError, match=r"'thing 0#4' was recorded twice .* fail in .*two, pass in"):
        merge_atlases([two], tmp_path / "all")
    after = state(tmp_path / "all")
    assert after[:4] == before[:4]


def test_forks_keep_their_parents(tmp_path: Path) -> None:
    one = make_atlas(tmp_path / "one", range(3))
    with Atlas.open(one) as atlas:
        fork = atlas.start_hunt("t2i", {**CONFIG, "seed": 9}, MODELS, parent=1)
        recorded = make_recorded(1, "thing 1")
        cached = tuple(call for old in recorded.calls if (call := atlas.find_call(old.key)))
        atlas.record(fork, [Recorded(recorded.probe, recorded.trial, cached, 0, 0)])
    merge_atlases([make_atlas(tmp_path / "two", range(3, 6), config={"a": 1}), one], tmp_path / "all")
    with Atlas.open(tmp_path / "all", readonly=True) as atlas:
        assert [hunt.parent for hunt in atlas.hunts()] == [None, None, 2]
        [stored] = atlas.trials(3)
        assert [call.role for call in stored.calls] == ["generator", "judge"]


def test_bad_sources_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    one = make_atlas(tmp_path / "one", range(3))
    with pytest.raises(AtlasError, match="does not exist"):
        merge_atlases([one, tmp_path / "nowhere"], tmp_path / "all")
    assert not (tmp_path / "all").exists()
    with pytest.raises(AtlasError, match="both source and destination"):
        merge_atlases([one], one)


def test_missing_pictures_are_counted(tmp_path: Path) -> None:
    one = make_atlas(tmp_path / "one", range(3))
    for pack in (one / "images").iterdir():
        pack.unlink()
    merged = merge_atlases([one], tmp_path / "all")
    assert (merged.images, merged.missing_images, merged.trials) == (0, 3, 3)


def test_packs_of_one_name_that_grew_apart(tmp_path: Path) -> None:
    """A copied atlas goes on under the same names of packs, with other pictures at the same places."""
    one = make_atlas(tmp_path / "one", range(3))
    two = Path(shutil.copytree(one, tmp_path / "two"))
    for folder, numbers in ((one, range(3, 6)), (two, range(6, 9))):
        with Atlas.open(folder) as atlas:
            atlas.record(1, [make_recorded(n, f"thing {n}") for n in numbers])
    merged = merge_atlases([one, two], tmp_path / "all")
    assert (merged.images, merged.missing_images, merged.trials) == (9, 0, 9)
    with Atlas.open(tmp_path / "all", readonly=True) as atlas:
        for number in range(9):
            assert atlas.images.get(make_picture(number).digest).data == make_picture(number).data


def test_merged_packs_are_not_appended_to(tmp_path: Path) -> None:
    one = make_atlas(tmp_path / "one", range(3))
    before = {path.name: path.read_bytes() for path in (one / "images").iterdir()}
    merge_atlases([one], tmp_path / "all")
    with Atlas.open(tmp_path / "all") as atlas:
        atlas.record(1, [make_recorded(7, "thing 7")])
        assert len(list((tmp_path / "all" / "images").iterdir())) == 2
    assert {path.name: path.read_bytes() for path in (one / "images").iterdir()} == before
