"""A JSON file that can say where a mistake stands, and a list of mistakes, so that all are told at once.

It knows nothing about what the files of a corpus mean: that is `reading.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from failscape.errors import ConfigError

FORBIDDEN = ("; ", "\n", "\r", "\t")
"""These would break a node's subject, which joins names with `; `."""

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
