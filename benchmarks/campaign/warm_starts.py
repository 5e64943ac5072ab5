"""A warm start pays where the old atlas is right, costs little where it misleads, makes no claim false."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.campaign.measurements import Measurement, at_least, few_of, just
from benchmarks.warm_start import Setup

IMAGES = 1_600


def played(setups: list[Setup], arm: str, images: int) -> tuple[int, int, int]:
    """True findings, claims, and claims that do not fail, over all worlds."""
    rows = [setup.play(arm, images) for setup in setups]
    claims = sum(row.claims for row in rows)
    return sum(row.minimal for row in rows), claims, claims - sum(row.failing for row in rows)


def helpful() -> Iterator[Measurement]:
    """A quarter of the budget, with few findings that the old atlas names."""
    setups = [Setup.of("strong", "clear", "listed", IMAGES, seed) for seed in range(2)]
    cold, _, _ = played(setups, "cold", IMAGES // 4)
    true, claims, wrong = played(setups, "warm", IMAGES // 4)
    yield just("true findings without it", cold)
    yield at_least("true findings with it", true, 2 * max(cold, 5))
    yield few_of("claims that do not fail", wrong, claims, 0.05)


def misleading() -> Iterator[Measurement]:
    """One hunt differs from the next by more than a tenth: the limit leaves room for luck."""
    setups = [Setup.of("medium", "clear", "listed", IMAGES, seed) for seed in range(2)]
    for part in (4, 1):
        cold, _, _ = played(setups, "cold", IMAGES // part)
        for arm in ("swapped", "exchanged", "shuffled"):
            true, claims, wrong = played(setups, arm, IMAGES // part)
            name = f"{arm}, {IMAGES // part:,} images"
            yield at_least(f"{name}: true findings, times those without it", true / cold, 0.7)
            yield few_of(f"{name}: claims that do not fail", wrong, claims, 0.05)
