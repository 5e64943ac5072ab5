"""`kill -9` at random moments, resume each time: nothing recorded is lost, nothing is there twice."""

from __future__ import annotations

import random
import sqlite3

from failscape.atlas import Atlas

from .conftest import Bench, kill

KILLS = 4
SPACE = {"corpus": "starter", "depth": 1, "entities": ["cat", "apple", "car", "chair"]}


def test_no_kill_loses_or_doubles_a_recorded_trial(bench: Bench) -> None:
    chance = random.Random(5)
    bench.write(space=SPACE, budget={}, runtime={"in_flight": 8})
    expected = findings_of_an_untouched_run(bench)
    seen: list[str] = []
    for _ in range(KILLS):
        process = bench.start()
        bench.wait_for_trials(len(seen) + chance.randrange(1, 20))
        kill(process)
        keys = bench.keys()
        assert keys[: len(seen)] == seen, "what was recorded stays, in its order"
        assert len(set(keys)) == len(keys)
        seen = keys
    assert bench.run().returncode == 0
    check_images(bench)
    assert rates(bench) == expected
    assert expected


def rates(bench: Bench) -> dict[str, tuple[float, int]]:
    return {finding["subject"]: (finding["rate"], finding["trials"]) for finding in bench.findings()}


def findings_of_an_untouched_run(bench: Bench) -> dict[str, tuple[float, int]]:
    atlas, bench.atlas = bench.atlas, bench.atlas.with_name("untouched")
    assert bench.run().returncode == 0
    found, bench.atlas = rates(bench), atlas
    return found


def check_images(bench: Bench) -> None:
    with Atlas.open(bench.atlas, readonly=True) as atlas:
        for hunt in atlas.hunts():
            for stored in atlas.trials(hunt.id):
                for digest in stored.images:
                    picture = atlas.images.get(digest)
                    assert type(picture)(picture.data).digest == digest


def test_a_run_that_was_killed_before_it_made_the_tables_can_be_started_again(bench: Bench) -> None:
    bench.atlas.mkdir()
    with sqlite3.connect(bench.atlas / "atlas.db") as db:
        db.execute("PRAGMA journal_mode = WAL")  # as far as it may have got
    bench.write(budget={"images": 20})
    done = bench.run()
    assert done.returncode == 0, done.stderr
    assert len(bench.keys()) == 20
