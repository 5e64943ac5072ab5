"""Makes trials and pictures to record, for tests of atlases and of what reads them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from failscape.atlas import Call, Recorded
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


def key_of(*parts: str) -> bytes:
    return hashlib.blake2b("/".join(parts).encode(), digest_size=16).digest()
