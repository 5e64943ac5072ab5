"""Makes atlases of any size with no model: for tests and measurements of what reads them.

Subjects are nodes of a shipped corpus, verdicts follow a rate that each node has, pictures are few and small
and shared by many trials. Equal arguments give equal trials.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from failscape.atlas import Atlas, Call, Recorded
from failscape.config.files import parse_config
from failscape.models.roles import Identity, Usage
from failscape.pictures import Picture
from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import Lattice
from failscape.spaces.wording import Wording
from failscape.trials import Decide, Generate, Probe, Trial, derive_seed, reach_verdict

SERVERS = ("http://127.0.0.1:9001", "http://127.0.0.1:9002")
PAINTER = Identity("generator", "http", "made-painter")
JUDGE = Identity("judge", "python", "made-judge")
TRIALS_PER_NODE = 8
"""At least; more where the corpus has too few nodes."""

PICTURES = 400
GROUP = 2000


def make_atlas(folder: Path, trials: int, seed: int = 0, corpus: str = "starter") -> int:
    """An atlas of one t2i hunt with so many trials. Returns the hunt's number."""
    config = parse_config(
        {
            "hunt": "t2i",
            "target": {"provider": "http", "endpoints": list(SERVERS), "model": "made-painter"},
            "judge": {"provider": "python", "path": "made:judge", "model": "made-judge"},
            "space": {"corpus": corpus, "entities": "all", "depth": 2},
            "budget": {"images": trials},
            "seed": seed,
        },
        "the made atlas",
    ).model_dump(mode="json")
    stream = _trials(trials, seed, corpus)
    with Atlas.open(folder, create=True) as atlas:
        hunt = atlas.start_hunt("t2i", config, {"generator": PAINTER, "judge": JUDGE})
        run = atlas.begin_run(hunt)
        while group := list(islice(stream, GROUP)):
            atlas.record(hunt, group)
        atlas.end_run(run, f"budget of {trials} images", trials / 100)
    return hunt


def grow_atlas(folder: Path, times: int) -> None:
    """Repeat all trials of a made atlas under other keys until there are `times` as many.

    Their calls are shared, as with replies that come from the cache. Much faster than making them.
    """
    with Atlas.open(folder) as atlas, atlas.transaction() as (db, _):
        first, last = db.execute("SELECT min(id), max(id) FROM trials").fetchone()
        for turn in range(1, times):
            db.execute(
                "INSERT INTO trials SELECT id + ?1, hunt, subject || '#' ||"
                " (CAST(substr(key, length(subject) + 2) AS INTEGER) + ?2), subject, plan, seed + ?2,"
                " verdict, reason, facts, calls, started + ?1 / 100.0, seconds FROM trials"
                " WHERE id BETWEEN ?3 AND ?4",
                (turn * last, turn * 1000, first, last),
            )
        db.execute(
            "UPDATE totals SET images = images * ?1, requests = requests * ?1, pass = pass * ?1,"
            " fail = fail * ?1, last_trial = (SELECT max(id) FROM trials)",
            (times,),
        )


def _trials(count: int, seed: int, corpus: str) -> Iterator[Recorded]:
    lattice = Lattice(load_corpus(corpus), "all", depth=2)
    wording, chance = Wording(lattice.corpus), np.random.default_rng(seed)
    pictures = [_picture(number) for number in range(PICTURES)]
    made, each = 0, max(TRIALS_PER_NODE, -(-count // len(lattice)))
    for number in chance.permutation(len(lattice)):
        if made >= count:
            return
        node = lattice.node(int(number))
        checks = wording.checks(node)
        steps = (Generate(wording.caption(node)), Decide(checks))
        rate = chance.beta(0.6, 0.6)
        for turn in range(min(each, count - made)):
            holds = [bool(chance.random() < rate ** (1 / len(checks))) for _ in checks]
            picture = pictures[int(chance.integers(PICTURES))]
            yield _recorded(lattice.subject(node), turn, steps, holds, picture, derive_seed(seed, turn), made)
            made += 1


def _recorded(
    subject: str,
    turn: int,
    steps: tuple[Generate, Decide],
    holds: list[bool],
    picture: Picture,
    seed: int,
    made: int,
) -> Recorded:
    key, facts = f"{subject}#{turn}", [picture.digest, holds]
    verdict, reason = reach_verdict(steps, facts)
    drawn = Usage(1, 0.2, endpoint=SERVERS[made % len(SERVERS)])
    calls = (
        Call(_key(key, "g"), "generator", PAINTER, picture.digest, "", "", drawn, picture),
        Call(_key(key, "j"), "judge", JUDGE, holds, "", str(holds).lower(), Usage(1, 0.1, 300, 9)),
    )
    trial = Trial(key, subject, verdict, reason, facts, seed)
    return Recorded(Probe(key, subject, steps, seed), trial, calls, 1.7e9 + made / 100, 0.3)


def _key(*parts: str) -> bytes:
    return hashlib.blake2b("/".join(parts).encode(), digest_size=16).digest()


def _picture(number: int) -> Picture:
    """Soft stripes: they look like pictures at any size, and compress well."""
    chance = np.random.default_rng(number)
    colours = chance.integers(40, 230, (4, 4, 3), dtype=np.uint8)
    return Picture.from_array(np.kron(colours, np.ones((8, 8, 1), dtype=np.uint8)))
