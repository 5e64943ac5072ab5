"""A corpus as the files of a folder, the way back from `load_corpus`; and parts of a corpus.

What is written reads back as the same corpus. Files appear whole or not at all.

Entities and values from simple tables (CSV or YAML), added to the files of a corpus.

Only `name` (or `value` and `sub_category`) must be there. What the rows mean together is checked when the
corpus is read; here each row is.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from failscape.csv_tables import csv_of_text
from failscape.errors import ConfigError, suggest
from failscape.spaces.corpus import Corpus, Value
from failscape.spaces.corpus.files import FAMILIES, Faults

#: File name → its JSON data.
Files = dict[str, Any]


def part_of(corpus: Corpus, entities: Sequence[int], values: Sequence[int]) -> Corpus:
    """The corpus with only these entities and values. A sub-class that loses its sample gets another."""
    place = {old: new for new, old in enumerate(entities)}
    kept = tuple(corpus.entities[index] for index in entities)
    sample = [place[index] for index in corpus.sample if index in place]
    sampled = {(kept[index].upper_class, kept[index].sub_class) for index in sample}
    for index, entity in enumerate(kept):
        home = (entity.upper_class, entity.sub_class)
        if home not in sampled:
            sampled.add(home)
            sample.append(index)
    return replace(
        corpus,
        entities=kept,
        values=tuple(corpus.values[index] for index in values),
        allowed=corpus.allowed[np.ix_(entities, values)],
        conflicts=corpus.conflicts[np.ix_(values, values)],
        sample=tuple(sorted(sample)),
    )


def corpus_files(corpus: Corpus) -> Files:
    """What a folder with this corpus holds."""
    files: Files = {"entities.json": _nested(corpus, range(len(corpus.entities)))}
    for family in FAMILIES:
        groups = _by_sub_category(value for value in corpus.values if value.family == family)
        if groups:
            subs = {sub: _sub_category(group) for sub, group in groups.items()}
            files[f"attributes_{family.lower()}.json"] = subs
    if match := match_data(corpus):
        files["match.json"] = match
    if corpus.conflicts.any():
        files["conflicts.json"] = _conflict_rows(corpus)
    files["entities_sample.json"] = _nested(corpus, corpus.sample, plain=True)
    return files


def failureatlas_files(corpus: Corpus) -> Files:
    """The same under FailureAtlas's names: bare words, and a whitelist that spells out every entity.

    Wording, plurals, articles, conflicts and a whitelist of other families have no place there.
    """
    entities = range(len(corpus.entities))
    files: Files = {"entity_en.json": _nested(corpus, entities, plain=True)}
    files["entity_en_sample.json"] = _nested(corpus, corpus.sample, plain=True)
    match: dict[str, Any] = {}
    for entity, row in zip(corpus.entities, corpus.allowed, strict=True):
        home = match.setdefault(entity.upper_class, {}).setdefault(entity.sub_class, {})
        pairs = zip(corpus.values, row, strict=True)
        home[entity.name] = _names(value for value, fits in pairs if fits and value.family == "Base")
    for family in FAMILIES:
        if groups := _names(value for value in corpus.values if value.family == family):
            files[f"attribute_en_{family.lower()}.json"] = groups
    return {**files, "match.json": match}


def _by_sub_category(values: Iterable[Value]) -> dict[str, list[Value]]:
    groups: dict[str, list[Value]] = {}
    for value in values:
        groups.setdefault(value.sub_category, []).append(value)
    return groups


def _names(values: Iterable[Value]) -> dict[str, list[str]]:
    return {sub: [value.name for value in group] for sub, group in _by_sub_category(values).items()}


def _nested(corpus: Corpus, indices: Sequence[int], plain: bool = False) -> dict[str, dict[str, list[Any]]]:
    table: dict[str, dict[str, list[Any]]] = {}
    for index in indices:
        entity = corpus.entities[index]
        about = {"plural": entity.plural} if entity.plural else {}
        about |= {"article": entity.article} if entity.article != "a" else {}
        row = {"name": entity.name, **about} if about and not plain else entity.name
        table.setdefault(entity.upper_class, {}).setdefault(entity.sub_class, []).append(row)
    return table


def _sub_category(group: Sequence[Value]) -> Any:
    """Wording that all values share is written once, so that a value added by hand gets it too."""
    shared = {(value.wordings, value.statement) for value in group}
    if len(shared) == 1 and group[0].wordings:
        return {**_words(group[0]), "values": [value.name for value in group]}
    return [{"value": value.name, **_words(value)} if _words(value) else value.name for value in group]


def _words(value: Value) -> dict[str, Any]:
    words = {"wording": list(value.wordings), "statement": value.statement}
    return {name: said for name, said in words.items() if said}


def match_data(corpus: Corpus) -> dict[str, Any]:
    """The whitelist, as short as it can be said: the commonest row of a sub-class stands for `*`."""
    homes: dict[tuple[str, str], list[int]] = {}
    for index, entity in enumerate(corpus.entities):
        homes.setdefault((entity.upper_class, entity.sub_class), []).append(index)
    match: dict[str, Any] = {}
    for (upper, sub), members in homes.items():
        if corpus.allowed[members].all():
            continue
        rows = {index: corpus.allowed[index].tobytes() for index in members}
        common, _ = Counter(rows.values()).most_common(1)[0]
        entry: dict[str, Any] = {}
        for index in members:
            name = corpus.entities[index].name if rows[index] != common else "*"
            if name not in entry:
                entry[name] = _match_row(corpus, corpus.allowed[index])
        match.setdefault(upper, {})[sub] = entry
    return match


def _match_row(corpus: Corpus, row: NDArray[np.bool_]) -> dict[str, list[str]]:
    entry: dict[str, list[str]] = {}
    for kind, group in corpus.sub_categories.items():
        names = [corpus.values[index].name for index in group if row[index]]
        full, base = len(names) == len(group), kind.startswith("Base: ")
        if base and names:
            entry[kind] = ["*"] if full else names
        elif not base and not full:
            entry[kind] = names
    return entry


def _conflict_rows(corpus: Corpus) -> list[Any]:
    rows = []
    for first, value in enumerate(corpus.values):
        by_kind: dict[str, list[str]] = {}
        for second in np.flatnonzero(corpus.conflicts[first]):
            if second > first:
                other = corpus.values[second]
                by_kind.setdefault(other.kind, []).append(other.name)
        rows += [[[value.kind, value.name], [kind, names]] for kind, names in by_kind.items()]
    return rows


def write_files(folder: Path, files: Mapping[str, Any]) -> None:
    """Write each file under its name when it is complete."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            draft = folder / f"{name}.part"
            draft.unlink(missing_ok=True)  # in a stranger's folder it may be a link that leads anywhere
            draft.write_text(_text(data), encoding="utf-8")
            draft.replace(folder / name)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written ({error})", "choose another folder") from error


def _text(data: Any) -> str:
    """JSON that people can read and mend: lists of names on one line, everything else indented."""
    if isinstance(data, list):
        return "[\n" + ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in data) + "\n]\n"
    return _object_text(data, "") + "\n"


def _object_text(data: Any, margin: str) -> str:
    if not isinstance(data, dict) or not data:
        return json.dumps(data, ensure_ascii=False)
    inner = margin + "  "
    lines = [f"{inner}{json.dumps(k, ensure_ascii=False)}: {_object_text(v, inner)}" for k, v in data.items()]
    return "{\n" + ",\n".join(lines) + f"\n{margin}}}"


#: Where it stands, for errors, and its cells.
Row = tuple[str, dict[str, str]]

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
    faults, rows = Faults(), list[Row]()
    for number, row in _table_rows(path, text):
        where = f"{path}, {'line' if kind == '.csv' else 'row'} {number}"
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


def _table_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows with the number of their line, in CSV, or their own, in YAML."""
    if path.suffix.lower() == ".csv":
        for row in csv_of_text(text, path):
            yield row.line, {name.lower(): cell for name, cell in row.cells.items()}
        return
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
            if name in ("name", "value"):
                continue  # a bare word in YAML
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
        about = {key: cells[key] for key in ("plural", "article") if cells.get(key)}
        upper, sub = cells.get("class") or NO_CLASS, cells.get("sub_class") or NO_SUB_CLASS
        table.setdefault(upper, {}).setdefault(sub, []).append({"name": name, **about} if about else name)
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
        groups = [group["values"] if isinstance(group, dict) else group for group in table.values()]
        there = {_name(row, "value").lower() for group in groups for row in group}
        names = known.setdefault(family, there)

        _note_twice(faults, names, cells["value"], where, f"{family} value")
        about = {key: cells[key] for key in ("wording", "statement") if cells.get(key)}
        row = {"value": cells["value"], **about} if about else cells["value"]
        group = table.setdefault(cells["sub_category"], [])
        (group["values"] if isinstance(group, dict) else group).append(row)
    faults.settle()


def _name(row: Any, key: str) -> str:
    return str(row[key]) if isinstance(row, dict) else str(row)


def _note_twice(faults: Faults, known: set[str], name: str, where: str, what: str) -> None:
    if name.lower() in known:
        faults.found.append(ConfigError(f"{where}: the {what} {name!r} is there already", "remove one"))
    known.add(name.lower())
