"""The size of a corpus, and what is odd about it though not wrong. Pure, but for a look into its folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from failscape.spaces.corpus import Corpus
from failscape.spaces.lattice import Lattice
from failscape.spaces.phrases import plural_of
from failscape.spaces.reading import ENTITY_FILES, FAMILIES, SAMPLE_FILES, attribute_files

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Census:
    """`values` and `sub_categories` are by family. `plausible` is the share of (entity, Base value) pairs."""

    classes: int
    sub_classes: int
    entities: int
    sample: int
    values: dict[str, int]
    sub_categories: dict[str, int]
    plausible: float | None
    conflicts: int
    layers: tuple[int, ...]
    sample_layers: tuple[int, ...]

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def take_census(corpus: Corpus, depth: int = 2) -> Census:
    base = np.array([value.family == "Base" for value in corpus.values], dtype=np.bool_)
    kinds = dict.fromkeys((value.family, value.sub_category) for value in corpus.values)
    return Census(
        classes=len({entity.upper_class for entity in corpus.entities}),
        sub_classes=len({(entity.upper_class, entity.sub_class) for entity in corpus.entities}),
        entities=len(corpus.entities),
        sample=len(corpus.sample),
        values={family: sum(value.family == family for value in corpus.values) for family in FAMILIES},
        sub_categories={family: sum(kind[0] == family for kind in kinds) for family in FAMILIES},
        plausible=float(corpus.allowed[:, base].mean()) if base.any() else None,
        conflicts=int(np.triu(corpus.conflicts, 1).sum()),
        layers=Lattice(corpus, depth=depth).layer_sizes,
        sample_layers=Lattice(corpus, "sample", depth=depth).layer_sizes,
    )


def oddities(corpus: Corpus, folder: Path) -> list[str]:
    """What a user may want to know: it can be used as it is, but may not be what was meant."""
    return [*_odd_files(folder), *_odd_names(corpus), *_odd_pairs(corpus)]


def _odd_files(folder: Path) -> Iterator[str]:
    known = {*ENTITY_FILES, *SAMPLE_FILES, "match.json", "conflicts.json", "prompt.json"}
    attributes = [name for family in FAMILIES for name in attribute_files(family)]
    strange = sorted(path.name for path in folder.glob("*.json") if path.name not in {*known, *attributes})
    if strange:
        yield f"not read: {_some(strange)} (attributes are in {', '.join(attributes[::2])})"
    if not any((folder / name).is_file() for name in attributes):
        yield f"there are no values: no {', '.join(attributes[::2])}"


def _odd_names(corpus: Corpus) -> Iterator[str]:
    names = {entity.name.lower(): entity for entity in corpus.entities}
    homes = [
        entity.name
        for entity in corpus.entities
        if entity.name.lower() in (entity.upper_class.lower(), entity.sub_class.lower())
        and any(other.sub_class == entity.sub_class and other is not entity for other in corpus.entities)
    ]
    if homes:
        yield (
            f"named like its own class: {_some(homes)}; the other entities there are probably kinds of it, "
            "and a judge would call both right"
        )
    plurals = [
        entity.name
        for entity in corpus.entities
        if names.get((entity.plural or plural_of(entity.name)).lower(), entity) is not entity
    ]
    if plurals:
        yield f"there as one and as many: {_some(plurals)}; keep the singular"
    same = [value.name for value in corpus.values if value.name.lower() in names]
    if same:
        yield f"both entity and value: {_some(same)}; captions may read oddly"


def _odd_pairs(corpus: Corpus) -> Iterator[str]:
    if not corpus.values:
        return
    bare = [corpus.entities[i].name for i in np.flatnonzero(~corpus.allowed.any(axis=1))]
    if bare:
        yield f"take no value at all: {_some(bare)}; see match.json"
    unused = [corpus.values[i].label for i in np.flatnonzero(~corpus.allowed.any(axis=0))]
    if unused:
        yield f"plausible for no entity: {_some(unused)}; see match.json"
    kinds = {kind: number for number, kind in enumerate(corpus.sub_categories)}
    home = np.array([kinds[value.kind] for value in corpus.values])
    needless = int((np.triu(corpus.conflicts, 1) & (home[:, None] == home[None, :])).sum())
    if needless:
        yield f"{needless:,} conflicts join values of one sub-category, which are never combined anyway"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(repr(name) for name in names[:SHOWN]) + more
