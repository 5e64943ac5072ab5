"""Reads the JSON files of a corpus folder into plain rows, and says file, line and fix when it cannot.

It knows the shapes of the files and nothing about what may be combined: that is `corpus.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failscape.errors import ConfigError

FAMILIES = ("Base", "Background", "Image")
ENTITY_FILES = ("entities.json", "entity_en.json")
SAMPLE_FILES = ("entities_sample.json", "entity_en_sample.json")
FORBIDDEN = ("; ", "\n", "\r", "\t")
"""These would break a node's subject, which joins names with `; `."""


def attribute_files(family: str) -> tuple[str, str]:
    return f"attributes_{family.lower()}.json", f"attribute_en_{family.lower()}.json"


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


class Source:
    """One JSON file with its text, so that an error can point at a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
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
                raise self.error(f"the key {key!r} is given twice in one object", "join the two", key, 2)
            found[key] = value
        return found

    def error(self, message: str, fix: str, word: str = "", nth: int = 1) -> ConfigError:
        """An error that names the line of the `nth` time the quoted `word` occurs, when it can be found."""
        line = self._line_of(word, nth) if word else None
        where = f"{self.path}, line {line}" if line else str(self.path)
        return ConfigError(f"{where}: {message}", fix)

    def _line_of(self, word: str, nth: int) -> int | None:
        for text in (json.dumps(word, ensure_ascii=False), json.dumps(word)):
            position = -1
            for _ in range(nth):
                position = self.text.find(text, position + 1)
                if position < 0:
                    break
            if position >= 0:
                return self.text.count("\n", 0, position) + 1
        return None

    def table(self, data: Any, what: str, word: str = "") -> dict[str, Any]:
        if isinstance(data, dict):
            return data
        raise self.error(f"{what} must be an object, but is {_shape(data)}", 'write {"name": …}', word)

    def rows(self, data: Any, what: str, word: str = "") -> list[Any]:
        if isinstance(data, list):
            return data
        raise self.error(f"{what} must be a list, but is {_shape(data)}", 'write ["…", "…"]', word)

    def name(self, data: Any, what: str) -> str:
        if not isinstance(data, str) or not data.strip() or data != data.strip():
            raise self.error(
                f"{what} must be a non-empty text without outer spaces, but is {data!r}", "name it"
            )
        for bad in FORBIDDEN:
            if bad in data:
                raise self.error(f"{what} {data!r} contains {bad!r}", "leave it out", data)
        return data


def find_file(folder: Path, names: tuple[str, ...]) -> Source | None:
    return next((Source(folder / name) for name in names if (folder / name).is_file()), None)


def read_entities(source: Source) -> list[Entity]:
    entities: list[Entity] = []
    for upper, subs in source.table(source.data, "the file").items():
        source.name(upper, "a class")
        if not source.table(subs, f"class {upper!r}", upper):
            raise source.error(f"class {upper!r} is empty", "give it a sub-class or remove it", upper)
        for sub, rows in subs.items():
            source.name(sub, "a sub-class")
            if not source.rows(rows, f"sub-class {sub!r}", sub):
                raise source.error(f"sub-class {sub!r} is empty", "give it an entity or remove it", sub)
            entities += [_read_entity(source, row, upper, sub) for row in rows]
    if not entities:
        raise source.error("there is no entity", "add at least one class with a sub-class and an entity")
    _refuse_duplicates(source, [entity.name for entity in entities], "entity")
    return entities


def _read_entity(source: Source, row: Any, upper: str, sub: str) -> Entity:
    if isinstance(row, str):
        return Entity(source.name(row, "an entity"), upper, sub)
    data = _known_keys(source, row, f"an entity of {sub!r}", {"name", "plural", "article"})
    article = data.get("article", "a")
    if article not in ("a", "the", ""):
        raise source.error(f'article must be "a", "the" or "", but is {article!r}', "choose one of them")
    plural = str(data.get("plural", ""))
    return Entity(source.name(data.get("name"), "an entity's name"), upper, sub, plural, article)


def read_values(source: Source, family: str) -> list[Value]:
    values: list[Value] = []
    for sub, rows in source.table(source.data, "the file").items():
        source.name(sub, "a sub-category")
        if "=" in sub or ":" in sub:
            raise source.error(f"the sub-category {sub!r} contains '=' or ':'", "leave it out", sub)
        shared: tuple[str, ...] = ()
        statement = ""
        if isinstance(rows, dict):
            _known_keys(source, rows, f"sub-category {sub!r}", {"values", "wording", "statement"})
            shared, statement = _texts(source, rows.get("wording", ()), sub), str(rows.get("statement", ""))
            rows = rows.get("values")
        if not source.rows(rows, f"sub-category {sub!r}", sub):
            raise source.error(f"sub-category {sub!r} is empty", "give it a value or remove it", sub)
        values += [_read_value(source, row, family, sub, shared, statement) for row in rows]
    _refuse_value_duplicates(source, values)
    return values


def _read_value(
    source: Source, row: Any, family: str, sub: str, shared: tuple[str, ...], statement: str
) -> Value:
    if isinstance(row, str):
        return Value(source.name(row, "a value"), family, sub, shared, statement)
    data = _known_keys(source, row, f"a value of {sub!r}", {"value", "wording", "statement"})
    name = source.name(data.get("value"), "a value's `value`")
    wordings = _texts(source, data.get("wording", ()), name) or shared
    own = str(data.get("statement", "")) or ("" if data.get("wording") else statement)
    return Value(name, family, sub, wordings, own)


def _texts(source: Source, data: Any, word: str) -> tuple[str, ...]:
    texts = (data,) if isinstance(data, str) else tuple(data)
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise source.error(f"a wording of {word!r} must be text, but is {text!r}", "write a phrase", word)
        unknown = unknown_slots(text)
        if unknown:
            slots = ", ".join(SLOTS)
            raise source.error(f"the wording {text!r} uses the unknown slot {unknown}", f"use {slots}", text)
    return texts


SLOTS = ("{thing}", "{things}", "{scene}", "{value}", "{a value}", "{the thing}", "{is}")


def unknown_slots(text: str) -> str:
    """The first `{…}` of a wording that nobody fills, or ""."""
    for slot in SLOTS:
        text = text.replace(slot, "")
    start = text.find("{")
    return text[start : text.find("}", start) + 1] or text[start:] if start >= 0 else ""


def _known_keys(source: Source, row: Any, what: str, known: set[str]) -> dict[str, Any]:
    data = source.table(row, what)
    for key in data:
        if key not in known:
            raise source.error(f"{what} has the unknown key {key!r}", f"use {', '.join(sorted(known))}", key)
    return data


def _refuse_duplicates(source: Source, names: list[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise source.error(f"the {what} {name!r} is given twice", "remove one of them", name, 2)
        seen.add(name.lower())


def _refuse_value_duplicates(source: Source, values: list[Value]) -> None:
    home: dict[str, str] = {}
    for value in values:
        other = home.setdefault(value.name.lower(), value.sub_category)
        if other != value.sub_category:
            message = (
                f"the value {value.name!r} is in two sub-categories, {other!r} and {value.sub_category!r}"
            )
            raise source.error(message, "keep it in one, or word one of them differently", value.name, 2)
    for sub in dict.fromkeys(value.sub_category for value in values):
        _refuse_duplicates(source, [value.name for value in values if value.sub_category == sub], "value")


def read_sample(source: Source) -> Iterator[str]:
    """Entity names of a sample file, which is shaped like the entity file."""
    yield from (entity.name for entity in read_entities(source))


def _shape(data: Any) -> str:
    return {dict: "an object", list: "a list", str: "a text", type(None): "missing"}.get(
        type(data), repr(data)
    )
