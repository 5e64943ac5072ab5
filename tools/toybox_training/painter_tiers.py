"""Which combinations toy-painter has seen often, rarely or never, and how well it paints each kind.

Torch-free: it measures the exported file. A painting is compared with renders that have the same noise and
every other value of an attribute; the attribute is right when the wanted value is the nearest render.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from failscape.spaces import Node, Wording, load_corpus
from failscape.toybox import world
from failscape.toybox.eyes import Eyes
from failscape.toybox.painter import ToyPainter, noise_of
from tools.toybox_training.long_tail import VALUES, Value, combination

TIERS: Final = ("frequent", "rare", "unseen")
#: From how many training captions on a combination with one or two values is frequent; up to how many, rare.
FREQUENT: Final = {1: 150, 2: 30}
RARE: Final = {1: 15, 2: 3}
#: Far away from the seeds of tests and demos.
_FIRST_SEED: Final = 5_000_000


@dataclass(frozen=True, slots=True)
class Case:
    """One combination to paint, and the seed to paint it with."""

    entity: str
    said: tuple[Value, ...]
    seed: int

    @property
    def attributes(self) -> world.Attributes:
        """What the picture should show."""
        return world.Attributes(self.entity, **dict(self.said))


def tier_of(count: int, values: int) -> str | None:
    """Return the tier of a combination; what lies between frequent and rare has none."""
    if count == 0:
        return "unseen"
    if count >= FREQUENT[values]:
        return "frequent"
    return "rare" if count <= RARE[values] else None


def members(counts: Mapping[str, int], values: int) -> dict[str, list[tuple[str, tuple[Value, ...]]]]:
    """Return all combinations with one or two values, by tier."""
    found: dict[str, list[tuple[str, tuple[Value, ...]]]] = {tier: [] for tier in TIERS}
    for entity in world.ENTITIES:
        for said in combinations(VALUES, values):
            if len(dict(said)) < values or world.conflicts_in(dict(said)):
                continue
            tier = tier_of(counts.get(combination(entity, said), 0), values)
            if tier is not None:
                found[tier].append((entity, said))
    return found


def cases(counts: Mapping[str, int], values: int, n: int, seed: int = 11) -> dict[str, list[Case]]:
    """Draw n cases of every tier, evenly over its combinations."""
    rng = np.random.default_rng(seed)
    drawn = {}
    for tier, pool in members(counts, values).items():
        picks = rng.integers(len(pool), size=n) if pool else np.zeros(0, dtype=np.int64)
        drawn[tier] = [Case(pool[p][0], pool[p][1], _FIRST_SEED + i) for i, p in enumerate(picks)]
    return drawn


def prompts(rows: Iterable[Case]) -> list[str]:
    """Word cases as a t2i hunt does."""
    corpus = load_corpus("toybox")
    wording = Wording(corpus)
    number = {(value.sub_category.lower(), value.name): i for i, value in enumerate(corpus.values)}
    return [
        wording.caption(Node(corpus.entity_index[row.entity], tuple(sorted(number[v] for v in row.said))))
        for row in rows
    ]


def paint(painter: ToyPainter, rows: Sequence[Case]) -> NDArray[np.uint8]:
    """Paint all cases."""
    return painter.paint(prompts(rows), [row.seed for row in rows])


def nearest(
    painting: NDArray[np.uint8], wanted: world.Attributes, noise: NDArray[np.float32], name: str
) -> str:
    """Return the value of an attribute whose render is nearest to the painting."""
    options = world.ENTITIES if name == "entity" else world.MENTIONABLE[name]
    if name == "size":
        options = world.ALLOWED[name]
    renders = [world.render_attributes(replace(wanted, **{name: value}), noise) for value in options]
    wrong = np.abs(np.stack(renders).astype(np.int16) - painting.astype(np.int16)).mean(axis=(1, 2, 3))
    return options[int(wrong.argmin())]


def right_by_renders(paintings: NDArray[np.uint8], rows: Sequence[Case]) -> list[dict[str, bool]]:
    """Say for every case which of its checks hold, by the nearest render."""
    noise = noise_of([row.seed for row in rows])
    found = []
    for painting, row, z in zip(paintings, rows, noise, strict=True):
        wanted = {"entity": row.entity, **dict(row.said)}
        found.append({n: nearest(painting, row.attributes, z, n) == value for n, value in wanted.items()})
    return found


def right_by_eyes(eyes: Eyes, paintings: NDArray[np.uint8], rows: Sequence[Case]) -> list[dict[str, bool]]:
    """Say for every case which of its checks hold, by toy-eyes."""
    seen = eyes.look(paintings)
    return [
        {n: seen.chance(i, n, value) >= 0.5 for n, value in {"entity": row.entity, **dict(row.said)}.items()}
        for i, row in enumerate(rows)
    ]


def shares(right: Sequence[dict[str, bool]]) -> dict[str, float]:
    """Return the share of right checks per attribute, and of pictures with all checks right."""
    names = [n for n in ("entity", *world.ATTRIBUTES) if any(n in row for row in right)]
    table = {n: float(np.mean([row[n] for row in right if n in row])) for n in names}
    table["all"] = float(np.mean([all(row.values()) for row in right])) if right else float("nan")
    return {name: round(value, 3) for name, value in table.items()}
