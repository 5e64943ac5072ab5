"""Entities and values from simple tables (CSV or YAML), added to the files of a corpus.

Only `name` (or `value` and `sub_category`) must be there. What the rows mean together is checked when the
corpus is read; here each row is.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from failscape.errors import ConfigError
from failscape.names import suggest
from failscape.spaces.reading import FAMILIES
from failscape.spaces.sources import Faults
from failscape.spaces.writing import Files

Row = tuple[str, dict[str, str]]
"""Where it stands, for errors, and its cells."""

ENTITY_COLUMNS = ("name", "class", "sub_class", "plural", "article")
VALUE_COLUMNS = ("value", "sub_category", "family", "wording", "statement")
NO_CLASS, NO_SUB_CLASS = "Things", "Other things"


class _UnknownColumn(ConfigError):
    """It would be wrong in every row: said once."""


def read_table(path: Path, columns: tuple[str, ...], needed: tuple[str, ...]) -> list[Row]:
    """The rows of a table that has these columns; those `needed` have a text in every row."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".yaml", ".yml"):
        raise ConfigError(f"{path}: a table is a .csv or .yaml file", "rename or convert it")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error})", "make it a readable UTF-8 file") from error
    word = "line" if kind == ".csv" else "row"
    faults = Faults()
    rows: list[Row] = []
    for number, row in _csv_rows(text) if kind == ".csv" else _yaml_rows(path, text):
        where = f"{path}, {word} {number}"
        try:
            rows.append((where, _checked(where, row, columns, needed)))
        except _UnknownColumn:
            raise
        except ConfigError as error:
            faults.found.append(error)
    faults.settle()
    if not rows:
        raise ConfigError(f"{path}: holds no rows", f"begin with the columns {', '.join(columns)}")
    return rows


def _csv_rows(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(text.splitlines())
    for row in reader:
        yield reader.line_num, {str(name).strip().lower(): cell for name, cell in row.items()}


def _yaml_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: is not YAML ({error})", "mend it") from error
    if not isinstance(data, list):
        raise ConfigError(f"{path}: must hold a list of rows", "write `- {name: cat, class: Animals}`")
    for number, row in enumerate(data, 1):
        yield number, row if isinstance(row, dict) else {"name": row, "value": row}


def _checked(
    where: str, row: dict[str, Any], columns: tuple[str, ...], needed: tuple[str, ...]
) -> dict[str, str]:
    cells = {}
    for name, cell in row.items():
        if name not in columns:
            if name in ("name", "value", "none"):
                continue  # a bare word in YAML, or a cell too many in CSV
            raise _UnknownColumn(f"{where}: there is no column {name!r}", suggest(name, columns))
        cells[name] = "" if cell is None else str(cell).strip()
    for name in needed:
        if not cells.get(name):
            raise ConfigError(f"{where}: {name} is missing", f"give every row a {name}")
    return cells


def add_entities(files: Files, rows: list[Row]) -> None:
    """Add rows to `entities.json`, and the first of each new sub-class to the sample, where there is one."""
    table = files.setdefault("entities.json", {})
    known = {
        _name(row, "name").lower() for subs in table.values() for group in subs.values() for row in group
    }
    faults = Faults()
    sample = files.get("entities_sample.json")
    for where, cells in rows:
        name = cells["name"]
        _note_twice(faults, known, name, where, "entity")
        row: Any = {"name": name}
        row |= {key: cells[key] for key in ("plural", "article") if cells.get(key)}
        upper, sub = cells.get("class") or NO_CLASS, cells.get("sub_class") or NO_SUB_CLASS
        table.setdefault(upper, {}).setdefault(sub, []).append(row if len(row) > 1 else name)
        if sample is not None:
            sample.setdefault(upper, {}).setdefault(sub, [name])
    faults.settle()


def add_values(files: Files, rows: list[Row]) -> None:
    """Add rows to the attribute files; a value without wording takes that of its sub-category."""
    faults, families = Faults(), {family.lower(): family for family in FAMILIES}
    known: dict[str, set[str]] = {}
    for where, cells in rows:
        family = families.get((cells.get("family") or "Base").lower())
        if family is None:
            rule = f"{where}: family must be one of {', '.join(FAMILIES)}, but is {cells['family']!r}"
            faults.found.append(ConfigError(rule, "choose one of them"))
            continue
        table = files.setdefault(f"attributes_{family.lower()}.json", {})
        names = known.setdefault(family, set(_value_names(table)))
        _note_twice(faults, names, cells["value"], where, f"{family} value")
        row: Any = {"value": cells["value"]}
        row |= {key: cells[key] for key in ("wording", "statement") if cells.get(key)}
        group = table.setdefault(cells["sub_category"], [])
        (group["values"] if isinstance(group, dict) else group).append(
            row if len(row) > 1 else cells["value"]
        )
    faults.settle()


def _value_names(table: dict[str, Any]) -> Iterator[str]:
    for group in table.values():
        for row in group["values"] if isinstance(group, dict) else group:
            yield _name(row, "value").lower()


def _name(row: Any, key: str) -> str:
    return str(row[key]) if isinstance(row, dict) else str(row)


def _note_twice(faults: Faults, known: set[str], name: str, where: str, what: str) -> None:
    if name.lower() in known:
        faults.found.append(ConfigError(f"{where}: the {what} {name!r} is there already", "remove one"))
    known.add(name.lower())
