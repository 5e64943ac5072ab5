"""The size of a corpus, and what is odd about it though not wrong. Pure, but for a look into its folder.

How much of what captions talk about a corpus knows. Pure, and without a grammar: see `docs/spaces.md`.

A caption is cut into phrases at small words and marks. What the corpus mentions is known. Of the other
words, the last of a phrase is taken for a thing, and those before it, or in -ing, -ed or -ly, for attributes.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from failscape.spaces.corpus import Corpus
from failscape.spaces.corpus.files import CORPUS_FILES, FAMILIES, attribute_files
from failscape.spaces.lattice import Lattice
from failscape.spaces.mentions import ENTITY, Mentions
from failscape.spaces.wording import plural_of
from failscape.stats.texts import words_of

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
    attributes = [name for family in FAMILIES for name in attribute_files(family)]
    strange = sorted(path.name for path in folder.glob("*.json") if path.name not in CORPUS_FILES)
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


_WORD_OR_MARK = re.compile(r"[^\W_]+|[.,;:!?()\[\]|/\"]")
_NOT_THINGS = ("ing", "ed", "ly")
_SHORTEST = 3

#: Words that are neither things nor attributes; "photo of" says nothing about what is in it either.
SMALL_WORDS = frozenset(
    words_of(
        """
        a an the this that these those some any each every either another other others such all both few more
        most many much several no not none nor only own same very too just almost also even still ever never
        again quite i me my mine we us our ours you your yours he him his she her hers it its they them their
        theirs who whom whose which what where when why how there here one ones someone something somebody
        everyone everything am is are was were be been being do does did doing done have has had having can
        could will would shall should may might must let lets get gets got getting make makes made go goes
        going gone and or but if then than so because while as until although though of at by for with without
        within about against between among into onto through during before after above below over under
        underneath beneath behind beside besides next near across along around toward towards to from up down
        in out on off inside outside upon via per like unlike
        image images picture pictures photo photos photograph photographs
        don doesn isn aren wasn weren
        """
    )
)


@dataclass(slots=True)
class CaptionCoverage:
    """Counts over captions. `unknown_…` count words, most of them nouns and adjectives of things left out."""

    captions: int = 0
    with_entity: int = 0
    with_value: int = 0
    with_both: int = 0
    known_things: int = 0
    known_attributes: int = 0
    entities: Counter[int] = field(default_factory=Counter)
    values: Counter[int] = field(default_factory=Counter)
    unknown_things: Counter[str] = field(default_factory=Counter)
    unknown_attributes: Counter[str] = field(default_factory=Counter)

    @property
    def things_share(self) -> float | None:
        return _share(self.known_things, self.unknown_things.total())

    @property
    def attributes_share(self) -> float | None:
        return _share(self.known_attributes, self.unknown_attributes.total())

    def as_data(self, most: int) -> dict[str, Any]:
        return {
            "captions": self.captions,
            "with_entity": self.with_entity,
            "with_value": self.with_value,
            "with_both": self.with_both,
            "entities_mentioned": len(self.entities),
            "values_mentioned": len(self.values),
            "things_known": self.things_share,
            "attributes_known": self.attributes_share,
            "unknown_things": dict(self.unknown_things.most_common(most)),
            "unknown_attributes": dict(self.unknown_attributes.most_common(most)),
        }


class CoverageCounter:
    """Adds captions to a `CaptionCoverage`, one by one."""

    def __init__(self, corpus: Corpus) -> None:
        self.coverage = CaptionCoverage()
        self._mentions = Mentions(corpus)

    def add(self, caption: str) -> None:
        # Words as `words_of` gives them, and marks, which match nothing but end a phrase.
        words = _WORD_OR_MARK.findall(caption.lower())
        spans, coverage = self._mentions.spans(words), self.coverage
        known = {at for start, end, _ in spans for at in range(start, end)}
        entities = {index for _, _, targets in spans for kind, index in targets if kind == ENTITY}
        values = {index for _, _, targets in spans for kind, index in targets if kind != ENTITY}
        coverage.known_things += sum(any(kind == ENTITY for kind, _ in span.targets) for span in spans)
        coverage.known_attributes += sum(any(kind != ENTITY for kind, _ in span.targets) for span in spans)
        coverage.captions += 1
        coverage.with_entity += bool(entities)
        coverage.with_value += bool(values)
        coverage.with_both += bool(entities and values)
        coverage.entities.update(entities)
        coverage.values.update(values)
        self._count_unknown(words, known)

    def _count_unknown(self, words: list[str], known: set[int]) -> None:
        for at, word in enumerate(words):
            if at in known or not _has_content(word):
                continue
            last = at + 1 == len(words) or not _has_content(words[at + 1])
            thing = last and not word.endswith(_NOT_THINGS)
            (self.coverage.unknown_things if thing else self.coverage.unknown_attributes)[word] += 1


def _has_content(word: str) -> bool:
    return len(word) >= _SHORTEST and word not in SMALL_WORDS and not word.isdigit()


def _share(known: int, unknown: int) -> float | None:
    return known / (known + unknown) if known + unknown else None
