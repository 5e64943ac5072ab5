"""Reads the JSON files of a corpus folder into plain rows, and says file, line and fix when it cannot.

It knows the shapes of the files and nothing about what may be combined: that is `corpus.py`. A `Source` is a
JSON file that can say where a mistake stands; `Faults` gathers mistakes, so that all are told at once.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failscape.errors import ConfigError

#: These would break a node's subject, which joins names with `; `.
FORBIDDEN = ("; ", "\n", "\r", "\t")

MOST_FAULTS = 30


class Faults:
    """Gathers the mistakes of a corpus, so that a user sees them all at once."""

    def __init__(self) -> None:
        self.found: list[ConfigError] = []

    def settle(self) -> None:
        """Raise what was found, if anything was."""
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            shown = "\n".join(str(fault) for fault in self.found[:MOST_FAULTS])
            more = len(self.found) - MOST_FAULTS
            rest = f"\n… and {more:,} more" if more > 0 else ""
            raise ConfigError(f"the corpus has {len(self.found):,} mistakes\n{shown}{rest}")


class Source:
    """One JSON file with its text, so that an error can point at a line.

    `error` makes an error about it; what is raised inside `noting` is gathered in `faults`.
    """

    def __init__(self, path: Path, faults: Faults | None = None) -> None:
        self.path = path
        self.faults = faults or Faults()
        try:
            self.text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read ({error})", "make it a readable UTF-8 file") from error
        try:
            self.data = json.loads(self.text, object_pairs_hook=self._unique)
        except json.JSONDecodeError as error:
            message = f"{path}, line {error.lineno}: not JSON ({error.msg})"
            raise ConfigError(message, "mend the JSON near that line") from error

    def _unique(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise self.error(f"the key {key!r} is given twice in one object", "join the two", key, key)
            found[key] = value
        return found

    def error(self, message: str, fix: str, *words: str) -> ConfigError:
        """An error that names the line of the last of `words`, found one after the other from the top.

        The words are the keys on the way to the mistake, so that the same word elsewhere is not meant.
        """
        line = self._line_of(words)
        where = f"{self.path}, line {line}" if line else str(self.path)
        return ConfigError(f"{where}: {message}", fix)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """What is wrong inside is noted, and reading goes on after it."""
        try:
            yield
        except ConfigError as error:
            self.faults.found.append(error)

    def _line_of(self, words: tuple[str, ...]) -> int | None:
        position = -1
        for word in words:
            places = [
                self.text.find(json.dumps(word, ensure_ascii=way), position + 1) for way in (False, True)
            ]
            position = min((place for place in places if place >= 0), default=-1)
            if position < 0:
                return None
        return self.text.count("\n", 0, position) + 1 if words else None

    def table(self, data: Any, what: str, *words: str) -> dict[str, Any]:
        if isinstance(data, dict):
            return data
        raise self.error(f"{what} must be an object, but is {_shape(data)}", 'write {"name": …}', *words)

    def rows(self, data: Any, what: str, *words: str) -> list[Any]:
        if isinstance(data, list):
            return data
        raise self.error(f"{what} must be a list, but is {_shape(data)}", 'write ["…", "…"]', *words)

    def name(self, data: Any, what: str, *words: str) -> str:
        if not isinstance(data, str) or not data.strip() or data != data.strip():
            raise self.error(
                f"{what} must be a non-empty text without outer spaces, but is {data!r}", "name it", *words
            )
        for bad in FORBIDDEN:
            if bad in data:
                raise self.error(f"{what} {data!r} contains {bad!r}", "leave it out", *words, data)
        return data

    def text_or_none(self, data: dict[str, Any], key: str, *words: str) -> str:
        """A text that may be left out."""
        text = data.get(key, "")
        if not isinstance(text, str):
            raise self.error(f"{key} must be a text, but is {_shape(text)}", "put it in quotes", *words, key)
        return text


def _shape(data: Any) -> str:
    return {dict: "an object", list: "a list", str: "a text", type(None): "missing"}.get(
        type(data), repr(data)
    )


#: What a hunt asks for unless its config names other families.
USUAL_FAMILIES = ("Base", "Background", "Image")

#: `Text` is what is written in the picture.
FAMILIES = (*USUAL_FAMILIES, "Text")
ENTITY_FILES = ("entities.json", "entity_en.json")
SAMPLE_FILES = ("entities_sample.json", "entity_en_sample.json")


def attribute_files(family: str) -> tuple[str, str]:
    return f"attributes_{family.lower()}.json", f"attribute_en_{family.lower()}.json"


#: All files that a corpus is made of; others in its folder are none of its business.
CORPUS_FILES = (
    *ENTITY_FILES,
    *SAMPLE_FILES,
    *(name for family in FAMILIES for name in attribute_files(family)),
    "match.json",
    "conflicts.json",
    "prompt.json",
)


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing that can be asked for. `article` is "" for things that take none, else "a" or "the"."""

    name: str
    upper_class: str
    sub_class: str
    plural: str = ""
    article: str = "a"


@dataclass(frozen=True, slots=True)
class Value:
    """One attribute value. Without `wordings` and `statement`, the sub-category's kind supplies them."""

    name: str
    family: str
    sub_category: str
    wordings: tuple[str, ...] = ()
    statement: str = ""

    @property
    def kind(self) -> str:
        return f"{self.family}: {self.sub_category}"

    @property
    def label(self) -> str:
        return f"{self.family}: {self.sub_category}={self.name}"


def find_file(folder: Path, names: tuple[str, ...], faults: Faults | None = None) -> Source | None:
    return next((Source(folder / name, faults) for name in names if (folder / name).is_file()), None)


def read_entities(source: Source) -> list[Entity]:
    entities: list[Entity] = []
    classes = source.table(source.data, "the file")
    names = {upper.lower(): upper for upper in classes}
    for upper, subs in classes.items():
        with source.noting():
            source.name(upper, "a class")
            if not source.table(subs, f"class {upper!r}", upper):
                raise source.error(f"class {upper!r} is empty", "give it a sub-class or remove it", upper)
            for sub, rows in subs.items():
                with source.noting():
                    _refuse_cycle(source, upper, sub, names, len(subs) == 1)
                    entities += _read_sub_class(source, upper, sub, rows)
    if not entities and not source.faults.found:
        raise source.error("there is no entity", "add at least one class with a sub-class and an entity")
    _refuse_entity_duplicates(source, entities)
    return entities


def _read_sub_class(source: Source, upper: str, sub: str, rows: Any) -> list[Entity]:
    source.name(sub, "a sub-class", upper)
    if isinstance(rows, dict):
        message = f"sub-class {sub!r} holds classes of its own"
        raise source.error(message, "write class → sub-class → [entity, …]: there are two levels", upper, sub)
    if not source.rows(rows, f"sub-class {sub!r}", upper, sub):
        raise source.error(f"sub-class {sub!r} is empty", "give it an entity or remove it", upper, sub)
    entities = []
    for row in rows:
        with source.noting():
            entities.append(_read_entity(source, row, upper, sub))
    return entities


def _refuse_cycle(source: Source, upper: str, sub: str, classes: dict[str, str], alone: bool) -> None:
    """A class below a class could not be told apart in rules and tables, and below itself has no end.

    Only a class that is not divided may have one sub-class of its own name: that is all of it.
    """
    other = classes.get(sub.lower())
    if other is not None and not (alone and other == upper):
        inside = "itself" if other == upper else f"the class {upper!r}"
        message = f"the class {other!r} is also a sub-class of {inside}"
        raise source.error(message, "give the sub-class a name of its own", upper, sub)


def _read_entity(source: Source, row: Any, upper: str, sub: str) -> Entity:
    if isinstance(row, str):
        return Entity(source.name(row, "an entity", upper, sub), upper, sub)
    data = _known_keys(source, row, f"an entity of {sub!r}", {"name", "plural", "article"}, upper, sub)
    name = source.name(data.get("name"), "an entity's name", upper, sub)
    article = data.get("article", "a")
    if article not in ("a", "the", ""):
        message = f'article must be "a", "the" or "", but is {article!r}'
        raise source.error(message, "choose one of them", upper, sub, name)
    return Entity(name, upper, sub, source.text_or_none(data, "plural", upper, sub, name), article)


def read_values(source: Source, family: str) -> list[Value]:
    values: list[Value] = []
    for sub, rows in source.table(source.data, "the file").items():
        with source.noting():
            values += _read_sub_category(source, family, sub, rows)
    _refuse_value_duplicates(source, values)
    return values


def _read_sub_category(source: Source, family: str, sub: str, rows: Any) -> list[Value]:
    source.name(sub, "a sub-category")
    if "=" in sub or ":" in sub:
        raise source.error(f"the sub-category {sub!r} contains '=' or ':'", "leave it out", sub)
    said = rows if isinstance(rows, dict) else {"values": rows}
    _known_keys(source, said, f"sub-category {sub!r}", {"values", "wording", "statement"}, sub)
    shared, statement = _texts(source, said.get("wording", ()), sub), _statement(source, said, sub)
    rows = said.get("values")
    if not source.rows(rows, f"sub-category {sub!r}", sub):
        raise source.error(f"sub-category {sub!r} is empty", "give it a value or remove it", sub)
    values = []
    for row in rows:
        with source.noting():
            values.append(_read_value(source, row, family, sub, shared, statement))
    return values


def _read_value(
    source: Source, row: Any, family: str, sub: str, shared: tuple[str, ...], statement: str
) -> Value:
    if isinstance(row, str):
        return Value(source.name(row, "a value", sub), family, sub, shared, statement)
    data = _known_keys(source, row, f"a value of {sub!r}", {"value", "wording", "statement"}, sub)
    name = source.name(data.get("value"), "a value's `value`", sub)
    wordings = _texts(source, data.get("wording", ()), sub, name) or shared
    own = _statement(source, data, sub, name) or ("" if data.get("wording") else statement)
    return Value(name, family, sub, wordings, own)


def _statement(source: Source, data: dict[str, Any], *words: str) -> str:
    text = source.text_or_none(data, "statement", *words)
    return _texts(source, text, *words)[0] if text else ""


def _texts(source: Source, data: Any, *words: str) -> tuple[str, ...]:
    texts = (data,) if isinstance(data, str) else tuple(data) if isinstance(data, list | tuple) else (data,)
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            message = f"a wording of {words[-1]!r} must be text, but is {text!r}"
            raise source.error(message, "write a phrase", *words)
        unknown = unknown_slots(text)
        if unknown:
            message = f"the wording {text!r} uses the unknown slot {unknown}"
            raise source.error(message, f"use {', '.join(SLOTS)}", *words, text)
    return texts


SLOTS = ("{thing}", "{things}", "{scene}", "{value}", "{a value}", "{the thing}", "{is}")


def unknown_slots(text: str) -> str:
    """The first `{…}` of a wording that nobody fills, or ""."""
    for slot in SLOTS:
        text = text.replace(slot, "")
    start = text.find("{")
    return text[start : text.find("}", start) + 1] or text[start:] if start >= 0 else ""


def _known_keys(source: Source, row: Any, what: str, known: set[str], *words: str) -> dict[str, Any]:
    data = source.table(row, what, *words)
    for key in data:
        if key not in known:
            message = f"{what} has the unknown key {key!r}"
            raise source.error(message, f"use {', '.join(sorted(known))}", *words, key)
    return data


def _refuse_entity_duplicates(source: Source, entities: list[Entity]) -> None:
    first: dict[str, Entity] = {}
    written: Counter[tuple[str, str, str]] = Counter()
    for entity in entities:
        way = (entity.upper_class, entity.sub_class, entity.name)
        written[way] += 1
        other = first.setdefault(entity.name.lower(), entity)
        if other is not entity:
            where = f"{other.upper_class} → {other.sub_class}"
            message = f"the entity {entity.name!r} is given twice, first in {where}"
            words = (*way[:2], *[entity.name] * written[way])
            source.faults.found.append(source.error(message, "remove one of them", *words))


def _refuse_value_duplicates(source: Source, values: list[Value]) -> None:
    """Of one family a value is in one sub-category: else two values of a node could say the same."""
    first: dict[str, Value] = {}
    written: Counter[tuple[str, str]] = Counter()
    for value in values:
        written[value.sub_category, value.name] += 1
        other = first.setdefault(value.name.lower(), value)
        if other is value:
            continue
        where, fix = "given twice", "remove one of them"
        if other.sub_category != value.sub_category:
            where = f"in two sub-categories, {other.sub_category!r} and {value.sub_category!r}"
            fix = "keep it in one, or word one of them differently"
        words = [value.sub_category, *[value.name] * written[value.sub_category, value.name]]
        source.faults.found.append(source.error(f"the value {value.name!r} is {where}", fix, *words))
