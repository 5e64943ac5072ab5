"""What every atlas must do, as a test class to inherit from.

class TestMyAtlas(AtlasSuite):
    def open(self, folder, **options):
        return MyAtlas.open(folder, **options)

Makes trials and pictures to record, for tests of atlases and of what reads them.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failscape.atlas import Atlas, Call, Recorded
from failscape.atlas.images import pack_path
from failscape.errors import AtlasError
from failscape.models.roles import Identity, Usage
from failscape.pictures import Picture
from failscape.trials import Check, Decide, Generate, Probe, Trial, Verdict, reach_verdict

PAINTER = Identity("generator", "python", "painter", {"steps": 4})
JUDGE = Identity("judge", "python", "judge", {"contract": "boolean"})
CONFIG: dict[str, Any] = {"hunt": "t2i", "seed": 3, "search": {"threshold": 0.8}}


def make_picture(number: int, side: int = 12) -> Picture:
    """A small picture; equal numbers give equal bytes."""
    return Picture.from_array(np.random.default_rng(number).integers(0, 255, (side, side, 3), dtype=np.uint8))


def make_recorded(
    number: int, subject: str = "cat; Base: Colour=red", holds: Any = (True, True), picture: bool = True
) -> Recorded:
    """Trial `number` of a subject, as a runtime would hand it over. `holds=None`: the judge gave nothing."""
    checks = (
        Check("entity", "cat", "The image shows a cat."),
        Check("Base: Colour", "red", "The cat is red."),
    )
    probe = Probe(
        f"{subject}#{number}", subject, (Generate(f"An image of {subject}."), Decide(checks)), number
    )
    drawn = make_picture(number) if picture else None
    digest = drawn.digest if drawn else hashlib.blake2b(probe.key.encode(), digest_size=16).hexdigest()
    facts: list[Any] = [digest] if holds is None else [digest, list(holds)]
    verdict, reason = (
        reach_verdict(probe.steps, facts) if holds is not None else (Verdict.INVALID, "no reply")
    )
    invalid = reason if verdict is Verdict.INVALID else ""
    calls = (
        Call(key_of(probe.key, "g"), "generator", PAINTER, digest, "", "", Usage(1, 0.5, cost=0.25), drawn),
        Call(key_of(probe.key, "j"), "judge", JUDGE, facts[1:], invalid, f"[{holds}]", Usage(2, 0.1, 90, 7)),
    )
    return Recorded(
        probe, Trial(probe.key, subject, verdict, reason, facts, number), calls, 1e9 + number, 0.6
    )


def damage_picture(atlas: Atlas, digest: str) -> None:
    """Overwrite the last byte of a kept picture, as a bad disk might."""
    row = atlas.image_row(digest)
    assert row is not None
    assert row.place is not None
    with pack_path(atlas.images.folder, row.place.pack).open("r+b") as file:
        file.seek(row.place.start + row.place.length - 1)
        last = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([last[0] ^ 0xFF]))


def key_of(*parts: str) -> bytes:
    return hashlib.blake2b("/".join(parts).encode(), digest_size=16).digest()


class AtlasSuite:
    """Inherit, give `open`, and pytest runs the rest."""

    def open(self, folder: Path, **options: Any) -> Atlas:
        return Atlas.open(folder, **options)

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return tmp_path / "atlas"

    def start(self, atlas: Atlas) -> int:
        return atlas.start_hunt("t2i", CONFIG, {"target": PAINTER, "judge": JUDGE})

    def test_hunts_come_back_as_they_were_started(self, folder: Path) -> None:
        with self.open(folder, create=True) as atlas:
            first = self.start(atlas)
            second = atlas.start_hunt("vlm", {"a": [1, None]}, {}, shard=(1, 4), parent=first)
        with self.open(folder, readonly=True) as atlas:
            one, two = atlas.hunts()
        assert (one.id, one.kind, one.config, one.shard, one.parent) == (first, "t2i", CONFIG, (0, 1), None)
        assert one.identities == {"target": PAINTER, "judge": JUDGE}
        assert (two.id, two.config, two.shard, two.parent) == (second, {"a": [1, None]}, (1, 4), first)

    def test_replay_gives_the_trials_in_the_order_recorded(self, folder: Path) -> None:
        group = [make_recorded(n, f"thing {n % 3}", (True, n % 2 == 0)) for n in (5, 1, 4, 2)]
        with self.open(folder, create=True) as atlas:
            hunt, other = self.start(atlas), self.start(atlas)
            atlas.record(hunt, group[:2])
            atlas.record(other, [make_recorded(9)])
            atlas.record(hunt, group[2:])
            assert list(atlas.replay(hunt)) == [recorded.trial for recorded in group]
            assert [trial.key for trial in atlas.replay(other)] == [make_recorded(9).trial.key]

    def test_a_key_is_recorded_once_and_its_group_not_at_all(self, folder: Path) -> None:
        with self.open(folder, create=True) as atlas:
            hunt = self.start(atlas)
            atlas.record(hunt, [make_recorded(1)])
            before = atlas.spent(hunt), atlas.counts(hunt)
            with pytest.raises(AtlasError, match="#1' is already recorded"):
                atlas.record(hunt, [make_recorded(2), make_recorded(1)])
            assert [trial.seed for trial in atlas.replay(hunt)] == [1]
            assert (atlas.spent(hunt), atlas.counts(hunt)) == before
            atlas.record(hunt, [make_recorded(2)])
            assert len(list(atlas.trials(hunt))) == 2

    def test_counts_and_costs_add_up(self, folder: Path) -> None:
        holds = [(True, True), (True, False), (True, None), (False, True), (True, True)]
        with self.open(folder, create=True) as atlas:
            hunt = self.start(atlas)
            atlas.record(hunt, [make_recorded(n, holds=one) for n, one in enumerate(holds)])
            atlas.save_calls(hunt, make_recorded(77).calls[:1])
            run = atlas.begin_run(hunt)
            atlas.end_run(run, "done", 12.5)
            spent = atlas.spent(hunt)
            counts = atlas.counts(hunt)
        assert counts == {Verdict.PASS: 2, Verdict.FAIL: 2, Verdict.INVALID: 1, Verdict.NONE: 0}
        assert (spent.images, spent.requests, spent.seconds, spent.money) == (6, 5 * 3 + 1, 12.5, 1.5)

    def test_the_cache_serves_finished_calls_with_their_pictures(self, folder: Path) -> None:
        recorded = make_recorded(1)
        with self.open(folder, create=True) as atlas:
            hunt = self.start(atlas)
            assert not atlas.has_calls
            atlas.record(hunt, [recorded])
            assert atlas.has_calls
            drawn, judged = (atlas.find_call(call.key) for call in recorded.calls)
            assert atlas.find_call(key_of("never")) is None
        assert drawn is not None
        assert drawn.cached
        assert drawn.picture is not None
        assert drawn.picture.data == make_picture(1).data
        assert judged is not None
        assert (judged.facts, judged.raw) == ([[True, True]], "[(True, True)]")
        assert (judged.identity, judged.usage) == (JUDGE, Usage(2, 0.1, 90, 7))

    def test_the_cache_serves_no_invalid_reply_and_a_valid_one_replaces_it(self, folder: Path) -> None:
        bad, good = make_recorded(1, holds=None), make_recorded(1)
        with self.open(folder, create=True) as atlas:
            hunt = self.start(atlas)
            atlas.record(hunt, [bad])
            key = bad.calls[1].key
            assert atlas.find_call(key) is None
            atlas.save_calls(hunt, bad.calls[1:])
            assert atlas.find_call(key) is None
            atlas.save_calls(hunt, good.calls[1:])
            found = atlas.find_call(key)
            assert found is not None
            assert (found.facts, found.invalid) == (good.calls[1].facts, "")
            atlas.save_calls(hunt, make_recorded(1, holds=(True, False)).calls[1:])
            assert atlas.find_call(key) == found
            assert atlas.spent(hunt).requests == 1 + 4 * 2

    def test_the_cache_serves_no_damaged_picture(self, folder: Path) -> None:
        recorded = make_recorded(1)
        with self.open(folder, create=True) as atlas:
            hunt = self.start(atlas)
            atlas.record(hunt, [recorded])
            damage_picture(atlas, make_picture(1).digest)  # what a bad disk may leave
            assert atlas.find_call(recorded.calls[0].key) is None
            atlas.save_calls(hunt, recorded.calls[:1])
            found = atlas.find_call(recorded.calls[0].key)
        assert found is not None
        assert found.picture is not None
        assert found.picture.data == make_picture(1).data

    def test_cached_calls_cost_nothing_and_are_linked(self, folder: Path) -> None:
        with self.open(folder, create=True) as atlas:
            hunt, fork = self.start(atlas), self.start(atlas)
            recorded = make_recorded(1)
            atlas.record(hunt, [recorded])
            again = tuple(call for key in recorded.calls if (call := atlas.find_call(key.key)))
            atlas.record(fork, [Recorded(recorded.probe, recorded.trial, again, 0.0, 0.0)])
            assert (atlas.spent(fork).images, atlas.spent(fork).requests) == (0, 0)
            [stored] = atlas.trials(fork)
            assert [call.role for call in stored.calls] == ["generator", "judge"]
            assert stored.calls[0].file == f"{make_picture(1).digest}.png"

    @pytest.mark.parametrize(
        ("keep", "kept"), [("all", [True, True]), ("failures", [False, True]), ("none", [False] * 2)]
    )
    def test_pictures_are_kept_as_asked(self, folder: Path, keep: Any, kept: list[bool]) -> None:
        group = [make_recorded(1), make_recorded(2, holds=(True, False))]
        with self.open(folder, create=True) as atlas:
            hunt = self.start(atlas)
            atlas.record(hunt, group, keep_images=keep)
            found = [atlas.images.name(recorded.trial.facts[0]) is not None for recorded in group]
            cached = [atlas.find_call(recorded.calls[0].key) is not None for recorded in group]
        assert found == cached == kept

    def test_trials_in_full_detail(self, folder: Path) -> None:
        group = [make_recorded(n, f"thing {n % 2}", (True, n < 4)) for n in range(6)]
        with self.open(folder, create=True) as atlas:
            hunt = self.start(atlas)
            atlas.record(hunt, group)
            everything = list(atlas.trials(hunt))
            assert [one.trial for one in everything] == [recorded.trial for recorded in group]
            assert everything[0].steps == group[0].probe.steps
            assert everything[0].images == (make_picture(0).digest,)
            assert (everything[5].started, everything[5].seconds) == (1e9 + 5, 0.6)
            some = atlas.trials(hunt, subject="thing 1", verdict=Verdict.PASS, limit=1, offset=1)
            assert [one.trial.seed for one in some] == [3]
            totals = {subject: dict(counts) for subject, counts in atlas.subject_counts(hunt)}
            assert (totals["thing 0"][Verdict.PASS], totals["thing 1"][Verdict.FAIL]) == (2, 1)
            assert list(atlas.subjects(hunt)) == ["thing 0", "thing 1"]

    def test_events_and_runs_are_remembered(self, folder: Path) -> None:
        with self.open(folder, create=True) as atlas:
            hunt = self.start(atlas)
            atlas.log("note", {"text": "hello"})
            atlas.log("error", {"code": 500}, hunt)
            killed = atlas.begin_run(hunt)
            atlas.record(hunt, [make_recorded(1)])
            [run] = atlas.runs(hunt)
            other = atlas.begin_run(hunt)
            atlas.end_run(other, "budget of 5 images", 2.5)
            events = [(event.kind, event.detail, event.hunt) for event in atlas.events()]
            assert events[:2] == [("note", {"text": "hello"}, None), ("error", {"code": 500}, hunt)]
            assert [(kind, of) for kind, _, of in events[2:]] == [
                ("start", hunt),
                ("start", hunt),
                ("stop", hunt),
            ]
            assert events[-1][1] == {"why": "budget of 5 images", "seconds": 2.5}
            assert run.id == killed
            assert run.why == ""
            assert run.seconds > 0

    def test_one_writer_and_any_number_of_readers(self, folder: Path) -> None:
        with self.open(folder, create=True) as atlas:
            hunt = self.start(atlas)
            with pytest.raises(AtlasError, match="is being written by process"):
                self.open(folder)
            with self.open(folder, readonly=True) as reader:
                atlas.record(hunt, [make_recorded(1)])
                assert len(list(reader.replay(hunt))) == 1
                with pytest.raises(AtlasError, match="reading only"):
                    reader.log("x", {})
        self.open(folder).close()

    def test_a_writer_thread_records_while_others_read(self, folder: Path) -> None:
        with self.open(folder, create=True) as atlas:
            hunt = self.start(atlas)

            def write() -> None:
                for n in range(0, 200, 4):
                    atlas.record(hunt, [make_recorded(m, picture=False) for m in range(n, n + 4)])

            writer = threading.Thread(target=write)
            writer.start()
            seen = [0]
            while writer.is_alive():
                seen.append(sum(1 for _ in atlas.replay(hunt)))
            writer.join()
            assert seen == sorted(seen)
            assert all(number % 4 == 0 for number in seen)  # groups are seen whole
            assert sum(atlas.counts(hunt).values()) == 200
