"""`kill -9` at random moments, resume each time: nothing recorded is lost, nothing is there twice."""

from __future__ import annotations

import random
import time

from failscape.atlas import Atlas

from .conftest import Bench, kill

KILLS = 12


def test_no_kill_loses_or_doubles_a_recorded_trial(bench: Bench) -> None:
    chance = random.Random(5)
    bench.write(budget={"images": 100_000})
    seen: list[str] = []
    for _ in range(KILLS):
        process = bench.start()
        bench.wait_for_trials(len(seen) + chance.randrange(1, 40))
        time.sleep(chance.random() * 0.1)
        kill(process)
        keys = bench.keys()
        assert keys[: len(seen)] == seen, "what was recorded stays, in its order"
        assert len(set(keys)) == len(keys)
        seen = keys
    bench.write(budget={"images": len(seen) + 60})
    assert bench.run().returncode == 0
    interrupted = {finding["subject"]: finding["rate"] for finding in bench.findings()}
    check_images(bench)
    assert interrupted == untouched_findings(bench)


def check_images(bench: Bench) -> None:
    with Atlas.open(bench.atlas, readonly=True) as atlas:
        for hunt in atlas.hunts():
            for stored in atlas.trials(hunt.id):
                for digest in stored.images:
                    picture = atlas.images.get(digest)
                    assert type(picture)(picture.data).digest == digest


def untouched_findings(bench: Bench) -> dict[str, float]:
    """The findings of a hunt that is told the same trials, without ever having been killed."""
    from failscape.config_files import parse_config
    from failscape.hunts.build import build_hunt
    from failscape.hunts.protocol import replay

    with Atlas.open(bench.atlas, readonly=True) as atlas:
        row = atlas.hunts()[0]
        hunt = build_hunt(parse_config(row.config, "atlas"))
        replay(hunt, atlas.replay(row.id))
    return {finding.subject: finding.rate for finding in hunt.findings()}
