"""How often training data mentions each subject: read from a file of counts, or counted in captions.

A counts file is JSON (`{subject: count}`) or CSV (columns `subject` and `count`); captions are text, JSONL or
CSV, one a line. All may be gzipped.
"""

import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from failscape.csv_tables import CsvTable, csv_of_text
from failscape.errors import ConfigError
from failscape.spaces.corpus import Corpus
from failscape.spaces.lattice import Node
from failscape.spaces.mentions import MentionCounter
from failscape.trials import Subject, thing_text

CAPTION_FIELDS = ("caption", "text", "prompt")
#: The line of a row, or what finds it; asked only when there is something to complain about.
Where = int | Callable[[], int | None]

_EXAMPLE = '{"cat; Base: colour=red": 12}'


@dataclass(frozen=True, slots=True)
class MentionCounts:
    """Key of a subject → count. What is missing counts 0, down to `deepest` values; deeper is not known.

    `captions` is how many there were in all, where that is known.
    """

    source: str
    numbers: dict[str, int]
    deepest: int | None = None
    captions: int | None = None

    def of(self, subject: str) -> int | None:
        """The subject's count; `None` when nothing with so many values was counted."""
        key = key_of(subject)
        if self.deepest is not None and layer_of(subject) > self.deepest:
            return None
        return self.numbers.get(key, 0)


def key_of(subject: str) -> str:
    """A subject without case and without an order of its values."""
    parsed = Subject.parse(subject.casefold())
    return thing_text(parsed.name.strip(), sorted(label.strip() for label in parsed.labels))


def layer_of(subject: str) -> int:
    return len(Subject.parse(subject).values)


def counts_of(pairs: Iterable[tuple[str, int]], source: str, captions: int | None = None) -> MentionCounts:
    numbers = {key_of(subject): count for subject, count in pairs}
    return MentionCounts(source, numbers, max(map(layer_of, numbers), default=0), captions)


# Files of counts


def read_counts(path: Path) -> MentionCounts:
    """Read a JSON or CSV file, gzipped or not."""
    kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind not in ("json", "csv"):
        raise ConfigError(
            f"{path}: a counts file ends in .json or .csv, or in one of them and .gz",
            "rename it; give a file of captions with --captions instead",
        )
    with _opened(path) as stream:
        text = _read_all(path, stream)
    return _from_json(path, text) if kind == "json" else _from_csv(path, text)


def _from_json(path: Path, text: str) -> MentionCounts:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                line = _line_of(text, name, 2)
                raise _fault(path, line, f"the subject {name!r} is given twice", "add the two up")
            found[name] = value
        return found

    try:
        data = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise _fault(path, error.lineno, f"not JSON ({error.msg})", "mend the JSON near that line") from error
    captions = None
    if isinstance(data, dict) and isinstance(data.get("counts"), dict):
        total = data.get("captions")
        captions = total if isinstance(total, int) and not isinstance(total, bool) else None
        data = data["counts"]
    if not isinstance(data, dict):
        raise _fault(path, 1, f"must hold an object, but holds a {type(data).__name__}", f"write {_EXAMPLE}")
    rows = ((partial(_line_of, text, name), name, value) for name, value in data.items())
    return _gathered(path, rows, captions)


def _from_csv(path: Path, text: str) -> MentionCounts:
    table = csv_of_text(text, path)
    table.need_columns(("subject", "count"))
    rows = ((row.line, row.cells["subject"], row.cells["count"]) for row in table)
    return _gathered(path, rows, None)


def _gathered(path: Path, rows: Iterable[tuple[Where, Any, Any]], captions: int | None) -> MentionCounts:
    numbers: dict[str, int] = {}
    for where, subject, value in rows:
        if not isinstance(subject, str) or not subject.strip():
            raise _fault(
                path, where, f"field subject must be a text, but is {subject!r}", f"as in {_EXAMPLE}"
            )
        key = key_of(subject)
        if key in numbers:
            raise _fault(path, where, f"the subject {subject!r} is given twice", "add the two up")
        numbers[key] = _whole(path, where, subject, value)
    if not numbers:
        raise _fault(path, None, "holds no counts", f"write {_EXAMPLE}")
    return MentionCounts(path.name, numbers, max(map(layer_of, numbers)), captions)


def _whole(path: Path, where: Where, subject: str, value: Any) -> int:
    """A count as a whole number; `12.0` and `"12"` are taken, shares and negative numbers are not."""
    try:
        number = float(value) if not isinstance(value, bool) else -1.0
    except (TypeError, ValueError):
        number = -1.0
    if number < 0 or not number.is_integer():
        rule = f"field count of {subject!r} must be a whole number from 0, but is {value!r}"
        raise _fault(path, where, rule, "give how many captions mention it, not a share of them")
    return int(number)


def _line_of(text: str, word: str, nth: int = 1) -> int | None:
    """The line of the nth time that a JSON text has this key; `None` when it is written in another way."""
    for quoted in (json.dumps(word, ensure_ascii=False), json.dumps(word)):
        position = -1
        for _ in range(nth):
            position = text.find(quoted, position + 1)
            if position < 0:
                break
        if position >= 0:
            return text.count("\n", 0, position) + 1
    return None


# Captions


def count_captions(
    path: Path, corpus: Corpus, subjects: Iterable[str], field: str | None = None
) -> MentionCounts:
    """Count the captions of a file that mention each subject. The file is read once, line by line."""
    nodes = {subject: node_of(corpus, subject) for subject in subjects}
    counter = MentionCounter(corpus, nodes.values())
    for caption in read_captions(path, field):
        counter.add(caption)
    if not counter.captions:
        raise ConfigError(f"{path}: holds no captions", "write one caption a line")
    numbers = {key_of(subject): counter.count(node) for subject, node in nodes.items()}
    return MentionCounts(path.name, numbers, None, counter.captions)


def node_of(corpus: Corpus, subject: str) -> Node:
    parsed = Subject.parse(subject)
    entity = corpus.entity_index.get(parsed.name)
    values = sorted(corpus.value_index.get(label, -1) for label in parsed.labels)
    if entity is None or (values and values[0] < 0):
        raise ConfigError(
            f"{subject!r} is not in corpus {corpus.name!r}", "use the corpus that the hunt was run with"
        )
    return Node(entity, tuple(values))


def read_captions(path: Path, field: str | None = None) -> Iterator[str]:
    """One caption a line: plain text, JSON in .jsonl, a column of .csv. Empty ones are passed over."""
    kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    as_json = kind in ("jsonl", "ndjson")
    if kind in ("json", "parquet"):
        raise ConfigError(
            f"{path}: captions are read from plain text, .jsonl or .csv, one a line, not from .{kind}",
            "convert it, for example to .jsonl",
        )
    with _opened(path) as stream:
        if kind == "csv":
            yield from _captions_of_csv(path, stream, field)
            return
        for number, line in enumerate(_lines(path, stream), 1):
            if line.strip():
                yield _caption_of(path, number, line, field) if as_json else line


def _captions_of_csv(path: Path, stream: IO[bytes], field: str | None) -> Iterator[str]:
    table = CsvTable(_lines(path, stream), str(path))
    wanted = [field] if field else list(CAPTION_FIELDS)
    column = table.column(*wanted)
    if column is None:
        have = ", ".join(table.columns) or "none"
        rule = f"there is no column {' or '.join(wanted)} (columns: {have:.200})"
        raise table.fault(rule, "name it with --field", line=1)
    for row in table:
        if row.text(column):
            yield str(row.cells[column])


def _caption_of(path: Path, number: int, line: str, field: str | None) -> str:
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise _fault(path, number, f"not JSON ({error.msg})", "write one JSON object a line") from error
    if isinstance(data, str) and field is None:
        return data
    row = data if isinstance(data, dict) else {}
    for name in (field,) if field else CAPTION_FIELDS:
        if name in row:
            if isinstance(row[name], str):
                return str(row[name])
            raise _fault(
                path, number, f"field {name} must be a text, but is {row[name]!r:.60}", "mend the line"
            )
    wanted = field or ", ".join(CAPTION_FIELDS[:-1]) + f" or {CAPTION_FIELDS[-1]}"
    have = ", ".join(row) or "none"
    raise _fault(path, number, f"there is no field {wanted} (fields: {have:.200})", "name it with --field")


# Reading


def _opened(path: Path) -> IO[bytes]:
    try:
        # A GzipFile is a stream of bytes in all that is used here.
        return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error})", "check the path") from error


def _read_all(path: Path, stream: IO[bytes]) -> str:
    return "".join(_lines(path, stream, strict=True))


def _lines(path: Path, stream: IO[bytes], strict: bool = False) -> Iterator[str]:
    """Lines as text. Captions come from the wild, so what is not UTF-8 in them is replaced."""
    text = io.TextIOWrapper(
        stream, "utf-8-sig", "strict" if strict else "replace", newline="" if strict else None
    )
    try:
        yield from text
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 ({error.reason})", "save it as UTF-8") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"{path}: cannot be read ({error})", "check that the file is whole") from error


def _fault(path: Path, where: Where | None, message: str, fix: str) -> ConfigError:
    line = where() if callable(where) else where
    return ConfigError(f"{path}, line {line}: {message}" if line else f"{path}: {message}", fix)
