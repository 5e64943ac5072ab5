"""What toy-painter is shown in training: a long-tailed choice of things and values, fixed by a seed.

Pure: it draws what captions mention and how they are worded. Some combinations are frequent, some rare, and
some are held out entirely, at the level of one value and of two. It renders nothing and trains nothing.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from failscape.spaces import Wording, load_corpus
from failscape.toybox import world
from failscape.toybox.world.vocab import ADJECTIVES, PHRASES

Value = tuple[str, str]
Said = tuple[Value, ...]

#: Every value a caption can mention, in a fixed order.
VALUES: Final[tuple[Value, ...]] = tuple(
    (name, v) for name in world.ATTRIBUTES for v in world.MENTIONABLE[name]
)
#: How many attributes a caption mentions, and how often each one is among them.
_MENTIONS: Final = (0.10, 0.30, 0.40, 0.15, 0.05)
_APPEAL: Final = {
    "colour": 1.4,
    "count": 1.0,
    "size": 0.8,
    "place": 1.4,
    "time": 1.0,
    "style": 1.0,
    "position": 0.9,
}
_SCARCE_THINGS: Final = 4
_SCARCITY: Final = 0.06
_HELD_OUT_PAIRS: Final = 0.14
_HELD_OUT_TRIPLES: Final = 0.10


@dataclass(frozen=True, slots=True)
class Example:
    """One training picture: what its caption mentions, what it shows, and the caption."""

    entity: str
    said: Said
    attributes: world.Attributes
    caption: str


@dataclass(frozen=True)
class LongTail:
    """The training distribution of one seed."""

    entity_weights: NDArray[np.float64]
    value_weights: NDArray[np.float64]
    held_out_pairs: frozenset[tuple[str, Value]]
    held_out_triples: frozenset[tuple[str, frozenset[Value]]]

    @classmethod
    def of_seed(cls, seed: int = 7) -> "LongTail":
        """Draw the weights and the held-out combinations."""
        rng = np.random.default_rng([seed, 1])
        entities = rng.permutation(_zipf(len(world.ENTITIES), shift=4, power=1.0, scarce=_SCARCE_THINGS))
        rows, pairs, triples = [], set(), set()
        for entity in world.ENTITIES:
            row, out = _values_of_entity(rng)
            rows.append(row)
            pairs |= {(entity, VALUES[i]) for i in out}
            triples |= {
                (entity, frozenset(pair)) for pair in _combinable() if rng.random() < _HELD_OUT_TRIPLES
            }
        return cls(entities / entities.sum(), np.array(rows), frozenset(pairs), frozenset(triples))

    def examples(self, seed: int, n: int) -> Iterator[Example]:
        """Yield n training examples; the same seed always gives the same ones."""
        rng = np.random.default_rng([seed, 2])
        for index in rng.choice(len(world.ENTITIES), n, p=self.entity_weights):
            entity = world.ENTITIES[index]
            said = self._said(rng, int(index))
            attributes = world.Attributes(entity, **dict(said))
            yield Example(entity, said, attributes, word(rng, entity, said))

    def _said(self, rng: np.random.Generator, entity: int) -> Said:
        """Draw the mentioned values; contradictions and held-out combinations are drawn again."""
        while True:
            k = _draw(rng, _mention_steps())
            names = _choose_names(rng, k)
            said = tuple(self._value(rng, entity, name) for name in names)
            if not world.conflicts_in(dict(said)) and self.allows(world.ENTITIES[entity], said):
                return said

    def _value(self, rng: np.random.Generator, entity: int, name: str) -> Value:
        start, stop = _spans()[name]
        steps = np.cumsum(self.value_weights[entity, start:stop])
        return VALUES[start + _draw(rng, steps / steps[-1])]

    def allows(self, entity: str, said: Iterable[Value]) -> bool:
        """Say whether a combination can occur in training."""
        values = tuple(said)
        if any((entity, value) in self.held_out_pairs for value in values):
            return False
        return not any((entity, frozenset(two)) in self.held_out_triples for two in combinations(values, 2))


def _zipf(n: int, shift: float, power: float, scarce: int = 0) -> NDArray[np.float64]:
    weights = (np.arange(n) + shift) ** -power
    weights[n - scarce :] *= _SCARCITY
    return np.asarray(weights, dtype=np.float64)


def _values_of_entity(rng: np.random.Generator) -> tuple[NDArray[np.float64], list[int]]:
    """Return the weights of all values for one entity, and which of them are held out."""
    row = np.zeros(len(VALUES))
    out: list[int] = []
    for start, stop in _spans().values():
        n = stop - start
        row[start:stop] = rng.permutation(_zipf(n, shift=1.5, power=1.3))
        # The most frequent value of an attribute always stays, so that every attribute is seen.
        keep = start + int(np.argmax(row[start:stop]))
        out += [i for i in range(start, stop) if rng.random() < _HELD_OUT_PAIRS and i != keep]
    row[out] = 0.0
    return row, out


@cache
def _spans() -> dict[str, tuple[int, int]]:
    names = [name for name, _ in VALUES]
    return {name: (names.index(name), names.index(name) + names.count(name)) for name in world.ATTRIBUTES}


@cache
def _combinable() -> tuple[tuple[Value, Value], ...]:
    """Return all pairs of values that can be mentioned together."""
    return tuple(
        (first, second)
        for first, second in combinations(VALUES, 2)
        if first[0] != second[0] and not world.conflicts_in(dict((first, second)))
    )


@cache
def _mention_steps() -> NDArray[np.float64]:
    return np.cumsum(_MENTIONS)


def _draw(rng: np.random.Generator, steps: NDArray[np.float64]) -> int:
    return min(int(np.searchsorted(steps, rng.random(), side="right")), len(steps) - 1)


def _choose_names(rng: np.random.Generator, k: int) -> list[str]:
    # The k smallest of exponential clocks: a weighted choice without repetition.
    clocks = rng.standard_exponential(len(_APPEAL)) / np.array(list(_APPEAL.values()))
    chosen = np.sort(np.argsort(clocks)[:k])
    return [world.ATTRIBUTES[i] for i in chosen]


def word(rng: np.random.Generator, entity: str, said: Said) -> str:
    """Word a caption in one of the styles a prompt may come in."""
    kind = rng.random()
    if kind < 0.4:
        return _hunt_caption(rng, entity, said)
    attributes = world.Attributes(entity, **dict(said))
    mention = [name for name, _ in said]
    if kind < 0.55:
        return world.caption(attributes, mention=mention)
    if kind < 0.85:
        return world.caption(attributes, rng, mention)
    return _list_caption(rng, entity, dict(said))


@cache
def _hunt_wording() -> tuple[Wording, dict[Value, int]]:
    corpus = load_corpus("toybox")
    numbers = {(value.sub_category.lower(), value.name): i for i, value in enumerate(corpus.values)}
    return Wording(corpus), numbers


def _hunt_caption(rng: np.random.Generator, entity: str, said: Said) -> str:
    """Word a caption as the t2i hunt does."""
    wording, numbers = _hunt_wording()
    picks = []
    for value in said:
        number = numbers[value]
        wordings = len(wording.wordings[number])
        # The canonical wording is the one a hunt uses most. Colours had three wordings when the painter was
        # trained: drawing among three keeps the stream of examples that its counts were taken from.
        drawn = 0 if rng.random() < 0.6 else int(rng.integers(3 if value[0] == "colour" else wordings))
        picks.append((number, drawn % wordings))
    return wording.compose(world.ENTITIES.index(entity), picks, int(rng.integers(2)))


def _list_caption(rng: np.random.Generator, entity: str, said: dict[str, str]) -> str:
    """Word a caption as a list: "a red cow, on a beach, at night"."""
    plain = _only(said, ADJECTIVES)
    thing = world.caption(world.Attributes(entity, **plain), mention=list(plain))
    parts = [PHRASES[name][value] for name, value in _only(said, PHRASES).items()]
    order = rng.permutation(len(parts))
    return ", ".join([thing, *(parts[i][int(rng.integers(len(parts[i])))] for i in order)])


def _only(said: dict[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: said[name] for name in names if name in said}


def batch_seed(seed: int, step: int) -> int:
    """Return the seed of one training step's examples."""
    return seed * 10_000_000 + step


def combination(entity: str, values: Sequence[Value] = ()) -> str:
    """Name a combination as the counts file does: "cow + colour=red + place=beach"."""
    ordered = sorted(values, key=VALUES.index)
    return " + ".join([entity, *(f"{name}={value}" for name, value in ordered)])


def subsets(entity: str, said: Said) -> list[str]:
    """Name the entity alone, with each mentioned value, and with each two of them."""
    return [combination(entity, some) for k in range(3) for some in combinations(said, k)]


def count(tail: LongTail, seed: int, steps: int, batch: int) -> Counter[str]:
    """Count how often training mentions every combination of an entity and up to two values."""
    counts: Counter[str] = Counter()
    for step in range(steps):
        for example in tail.examples(batch_seed(seed, step), batch):
            counts.update(subsets(example.entity, example.said))
    return counts


def write_counts(path: Path, counts: Counter[str], seed: int, steps: int, batch: int) -> None:
    """Write the counts as compressed JSON; the same counts always give the same bytes."""
    data = {"seed": seed, "captions": steps * batch, "counts": dict(sorted(counts.items()))}
    text = json.dumps(data, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
