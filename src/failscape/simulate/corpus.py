"""Made-up corpora of any size, for planted worlds: classes, sub-classes, entities and values without meaning.

Which values are plausible depends on the sub-class, as in real corpora. `nodes` sets how many nodes with at
most two values come of it. Names are made up, but those of one sub-class are alike, as real ones are.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from failscape.spaces.corpus import Corpus, load_corpus

SUB_CLASSES, CLASSES = 25, 5
_MOST_KINDS, _FEWEST_PER_KIND = 29, 4
#: Of all values, this share is Background, and as much Image: they go with every entity.
_OPEN_SHARE = 1 / 12
_NOUNS = {"Base": "trait", "Background": "place", "Image": "style"}


def planted_corpus(entities: int = 150, values: int = 48, nodes: int = 65_000, seed: int = 0) -> Corpus:
    """The corpus of `write_planted_corpus`, loaded."""
    with tempfile.TemporaryDirectory() as folder:
        return load_corpus(str(write_planted_corpus(Path(folder), entities, values, nodes, seed)))


def write_planted_corpus(
    folder: Path, entities: int = 150, values: int = 48, nodes: int = 65_000, seed: int = 0
) -> Path:
    """Write the files of a corpus with about `nodes` nodes of at most two values."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds = _kinds(values)
    groups = {f"class {upper}": dict[str, list[str]]() for upper in range(CLASSES)}
    for number in range(entities):
        sub = number % SUB_CLASSES
        members = groups[f"class {sub % CLASSES}"].setdefault(f"sort {sub}", [])
        members.append(f"sort-{sub} thing-{number}")
    _write(folder / "entities.json", {upper: subs for upper, subs in groups.items() if subs})
    for family, chosen in kinds.items():
        _write(folder / f"attributes_{family.lower()}.json", chosen)
    base = [(kind, name) for kind, names in kinds["Base"].items() for name in names]
    likely = _plausible(entities, values, len(base), nodes, seed)
    match = {
        upper: {
            sub: {name: _listed(base, likely[int(name.rpartition("-")[2])]) for name in members}
            for sub, members in subs.items()
        }
        for upper, subs in groups.items()
        if subs
    }
    _write(folder / "match.json", match)
    return folder


def _kinds(values: int) -> dict[str, dict[str, list[str]]]:
    """Family → sub-category → values."""
    apart = int(values * _OPEN_SHARE)
    sizes = {"Base": values - 2 * apart, "Background": apart, "Image": apart}
    made: dict[str, dict[str, list[str]]] = {}
    for family, size in sizes.items():
        made[family] = {}
        for number in range(size):
            noun = _NOUNS[family]
            made[family].setdefault(f"{noun} {number // _per_kind(values)}", []).append(f"{noun}-{number}")
    return made


def _per_kind(values: int) -> int:
    return max(_FEWEST_PER_KIND, -(-values // _MOST_KINDS))


def _plausible(entities: int, values: int, base: int, nodes: int, seed: int) -> NDArray[np.bool_]:
    """[entity, base value]: half of the luck is the sub-class's, half the entity's own."""
    # n plausible values make about n²/2 pairs; those of one sub-category exclude each other.
    per_entity = np.sqrt(2 * max(nodes / entities - values / 2, 0.0) / (1 - _per_kind(values) / values))
    share = float(np.clip((per_entity - (values - base)) / max(base, 1), 0.05, 1.0))
    rng = np.random.default_rng([seed, 5])
    shared = rng.random((SUB_CLASSES, base))[np.arange(entities) % SUB_CLASSES]
    mixed = np.where(rng.random((entities, base)) < 0.5, shared, rng.random((entities, base)))
    return np.asarray(mixed < share)


def _listed(base: list[tuple[str, str]], likely: NDArray[np.bool_]) -> dict[str, list[str]]:
    listed: dict[str, list[str]] = {kind: [] for kind, _ in base}
    for (kind, name), good in zip(base, likely, strict=True):
        if good:
            listed[kind].append(name)
    return listed


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")
