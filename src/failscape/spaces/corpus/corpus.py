"""A corpus: the entities and attribute values that can be combined, and which combinations make sense.

It is read from a folder of JSON files and checked once. It does not word anything (`wording.py`) and does
not count or walk combinations (`lattice.py`).
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from failscape.errors import ConfigError, suggest
from failscape.spaces.corpus.files import (
    ENTITY_FILES,
    FAMILIES,
    SAMPLE_FILES,
    Entity,
    Faults,
    Source,
    Value,
    attribute_files,
    find_file,
    read_entities,
    read_values,
)
from failscape.trust import CORPUS, refuse_outside

__all__ = ["FAMILIES", "Corpus", "Entity", "Value", "corpus_names", "load_corpus"]

_HERE = Path(__file__).parents[1]
_TOYBOX = _HERE.parent / "toybox" / "world" / "corpus"
_FORMAT_HELP = "see docs/spaces.md for the files of a corpus"


@dataclass(frozen=True, eq=False)
class Corpus:
    """`allowed[e, v]`: value v is plausible for entity e. `conflicts[v, w]`: v and w exclude each other."""

    name: str
    entities: tuple[Entity, ...]
    values: tuple[Value, ...]
    allowed: NDArray[np.bool_]
    conflicts: NDArray[np.bool_]
    sample: tuple[int, ...]

    @cached_property
    def digest(self) -> str:
        """Names the content: two corpora that ask for the same things in the same words have one digest."""
        content = repr((self.entities, self.values, self.sample)).encode()
        mask = self.allowed.tobytes() + self.conflicts.tobytes()
        return hashlib.blake2b(content + mask, digest_size=16).hexdigest()

    @cached_property
    def entity_index(self) -> dict[str, int]:
        return {entity.name: index for index, entity in enumerate(self.entities)}

    @cached_property
    def value_index(self) -> dict[str, int]:
        """Label such as `Base: Colour=red` → index."""
        return {value.label: index for index, value in enumerate(self.values)}

    @cached_property
    def sub_categories(self) -> dict[str, tuple[int, ...]]:
        """Kind such as `Base: Colour` → the indices of its values."""
        groups: dict[str, list[int]] = {}
        for index, value in enumerate(self.values):
            groups.setdefault(value.kind, []).append(index)
        return {kind: tuple(group) for kind, group in groups.items()}

    def find_entity(self, name: str) -> int:
        index = self.entity_index.get(name)
        if index is None:
            raise ConfigError(
                f"corpus {self.name!r} has no entity {name!r}", suggest(name, self.entity_index)
            )
        return index


def corpus_names() -> list[str]:
    """The shipped corpora."""
    shipped = [folder.name for folder in (_HERE / "corpora").iterdir() if folder.is_dir()]
    return sorted(shipped + (["toybox"] if _TOYBOX.is_dir() else []))


def load_corpus(name_or_folder: str) -> Corpus:
    """A shipped corpus by name, or any folder with the files of a corpus."""
    refuse_outside(name_or_folder, CORPUS)
    folder = folder_of(name_or_folder)
    entities, values = _read_names(folder)
    vocabulary, faults = _Vocabulary(entities, values), Faults()
    corpus = Corpus(
        name=name_or_folder,
        entities=tuple(entities),
        values=tuple(values),
        allowed=_read_match(find_file(folder, ("match.json",), faults), vocabulary),
        conflicts=_read_conflicts(find_file(folder, ("conflicts.json",), faults), vocabulary),
        sample=_read_sample(find_file(folder, SAMPLE_FILES, faults), entities),
    )
    faults.settle()
    return corpus


def _read_names(folder: Path) -> tuple[list[Entity], list[Value]]:
    """Entities and values. Their mistakes come first, for the other files would repeat them."""
    faults = Faults()
    source = find_file(folder, ENTITY_FILES, faults)
    if source is None:
        raise ConfigError(f"{folder}: there is no {ENTITY_FILES[0]}", _FORMAT_HELP)
    entities: list[Entity] = []
    with source.noting():
        entities = read_entities(source)
    values: list[Value] = []
    for family in FAMILIES:
        try:
            source = find_file(folder, attribute_files(family), faults)
            values += read_values(source, family) if source else []
        except ConfigError as error:
            faults.found.append(error)
    faults.settle()
    return entities, values


def folder_of(name: str) -> Path:
    """Where a corpus lies: shipped, by its name, or any folder."""
    shipped = _TOYBOX if name == "toybox" else _HERE / "corpora" / name
    bare = "/" not in name and "\\" not in name and name not in ("", ".", "..")
    if bare and shipped.is_dir():
        return shipped
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return folder
    fix = f"{suggest(name, corpus_names())} Or give a folder"
    raise ConfigError(f"there is no corpus {name!r}: it is neither shipped nor a folder", fix)


class _Vocabulary:
    """Finds values by the several ways in which match.json and conflicts.json may name them."""

    def __init__(self, entities: list[Entity], values: list[Value]) -> None:
        self.entities = entities
        self.values = values
        self.by_sub: dict[str, list[int]] = {}
        for index, value in enumerate(values):
            for key in (value.sub_category, value.kind):
                self.by_sub.setdefault(key.lower(), []).append(index)

    def find(self, source: Source, sub: str, name: str, *words: str) -> list[int]:
        """Indices of `name` in `sub`; `*` means every value. `words`: the way to it in the file."""
        group = self.by_sub.get(sub.lower())
        if group is None:
            known = dict.fromkeys(value.kind for value in self.values)
            raise source.error(f"there is no sub-category {sub!r}", suggest(sub, known), *words)
        if name == "*":
            return group
        found = [index for index in group if self.values[index].name.lower() == name.lower()]
        if not found:
            known = dict.fromkeys(self.values[index].name for index in group)
            raise source.error(f"sub-category {sub!r} has no value {name!r}", suggest(name, known), *words)
        return found

    def find_reference(self, source: Source, reference: Any) -> list[int]:
        """`"Colour=red"`, `"Base: Colour=red"`, `"Colour=*"`, `["Colour", "red"]`, `["Colour", […]]`."""
        if isinstance(reference, str):
            sub, equals, name = reference.partition("=")
            if equals:
                return self.find(source, sub, name, reference)
        elif isinstance(reference, list) and len(reference) == 2:
            sub, names = reference[0], reference[1] if isinstance(reference[1], list) else [reference[1]]
            if names and all(isinstance(name, str) for name in (sub, *names)):
                return [index for name in names for index in self.find(source, sub, name, sub, name)]
        words = [reference] if isinstance(reference, str) else []
        raise source.error(f"{reference!r} names no value", 'write "Sub-category=value"', *words)


def _read_match(source: Source | None, vocabulary: _Vocabulary) -> NDArray[np.bool_]:
    """The whitelist. Entities it does not list may take everything; see docs/spaces.md."""
    allowed = np.ones((len(vocabulary.entities), len(vocabulary.values)), dtype=np.bool_)
    if source is None:
        return allowed
    base = np.array([value.family == "Base" for value in vocabulary.values], dtype=np.bool_)
    rows: dict[tuple[str, str], list[int]] = {}
    for index, entity in enumerate(vocabulary.entities):
        rows.setdefault((entity.upper_class, entity.sub_class), []).append(index)
    with source.noting():
        for upper, subs in source.table(source.data, "the file").items():
            for sub, listed in source.table(subs, f"class {upper!r}", upper).items():
                with source.noting():
                    members = _members(source, rows, upper, sub)
                    table = source.table(listed, sub, upper, sub)
                    _match_sub_class(source, (upper, sub), table, members, allowed, base, vocabulary)
    return allowed


def _members(source: Source, rows: dict[tuple[str, str], list[int]], upper: str, sub: str) -> list[int]:
    if (upper, sub) in rows:
        return rows[upper, sub]
    known = [other for home, other in rows if home == upper]
    fix = suggest(sub, known) if known else suggest(upper, dict.fromkeys(home for home, _ in rows))
    raise source.error(f"there is no sub-class {sub!r} in class {upper!r}", fix, upper, sub)


def _match_sub_class(
    source: Source,
    home: tuple[str, str],
    listed: dict[str, Any],
    members: list[int],
    allowed: NDArray[np.bool_],
    base: NDArray[np.bool_],
    vocabulary: _Vocabulary,
) -> None:
    """The entity `*` stands for every entity of the sub-class that has no entry of its own."""
    names = {vocabulary.entities[index].name: index for index in members}
    rest = [index for other, index in names.items() if other not in listed]
    for name in listed:
        with source.noting():
            if name != "*" and name not in names:
                message = f"there is no entity {name!r} in its sub-class"
                raise source.error(message, suggest(name, names), *home, name)
            subs = dict(source.table(listed[name], f"entity {name!r}", *home, name))
            if subs.pop("*", None):
                subs = {**source.table(listed.get("*", {}), "entity '*'", *home, "*"), **subs}
            row = _match_row(source, (*home, name), subs, base, vocabulary)
            allowed[rest if name == "*" else names[name]] = row


def _match_row(
    source: Source,
    way: tuple[str, ...],
    subs: dict[str, Any],
    base: NDArray[np.bool_],
    vocabulary: _Vocabulary,
) -> NDArray[np.bool_]:
    row = ~base
    for sub, values in subs.items():
        with source.noting():
            row[vocabulary.find(source, sub, "*", *way, sub)] = False
            for value in source.rows(values, f"{way[-1]!r}, {sub!r}", *way, sub):
                with source.noting():
                    row[vocabulary.find(source, sub, str(value), *way, sub, str(value))] = True
    return row


def _read_conflicts(source: Source | None, vocabulary: _Vocabulary) -> NDArray[np.bool_]:
    count = len(vocabulary.values)
    conflicts = np.zeros((count, count), dtype=np.bool_)
    if source is None:
        return conflicts
    with source.noting():
        for pair in source.rows(source.data, "the file"):
            with source.noting():
                if not isinstance(pair, list) or len(pair) != 2:
                    word = pair[0] if isinstance(pair, list) and pair and isinstance(pair[0], str) else ""
                    raise source.error(
                        f"{pair!r} is not a pair", 'write [["A=x", "B=y"], …]', *filter(None, [word])
                    )
                first, second = (vocabulary.find_reference(source, reference) for reference in pair)
                grid = np.ix_(first, second)
                conflicts[grid] = True
                conflicts.T[grid] = True
    np.fill_diagonal(conflicts, False)
    return conflicts


def _read_sample(source: Source | None, entities: list[Entity]) -> tuple[int, ...]:
    """The named sample, else the first entity of each sub-class."""
    if source is None:
        first: dict[tuple[str, str], int] = {}
        for index, entity in enumerate(entities):
            first.setdefault((entity.upper_class, entity.sub_class), index)
        return tuple(first.values())
    index_of = {entity.name: index for index, entity in enumerate(entities)}
    sample: list[int] = []
    with source.noting():
        for name in [entity.name for entity in read_entities(source)]:
            with source.noting():
                if name not in index_of:
                    message = f"the sample names the unknown entity {name!r}"
                    raise source.error(message, suggest(name, index_of), name)
                sample.append(index_of[name])
    return tuple(sorted(sample))
