"""A list of prompts in place of a lattice: the user's own prompts, each with its own checks and tags.

Read from JSONL (one prompt a line) or a JSON list. FailureAtlas's node rows (`prompt.json`) are prompts too:
their caption, with a check for the entity and one for every value. Errors name row, field, value and fix.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from failscape.errors import ConfigError, suggest
from failscape.trials import Check
from failscape.trust import PROMPTS, refuse_outside

#: What an atlas keeps of a list of prompts.
KEPT = "failscape-prompts.jsonl"

FIELDS = ("id", "prompt", "checks", "tags")
CHECK_FIELDS = ("kind", "value", "statement", "question", "expected", "choices")
#: A row with these, and without `prompt`, is one of FailureAtlas's nodes.
NODE_FIELDS = frozenset({"entity", "value", "caption"})

#: The kind of a check that names none: its errors are taken to be like those of all such checks.
PLAIN_KIND = "check"

FORM = (
    'write one object a line: {"id": "p1", "prompt": "two red cups", "checks": '
    '[{"question": "How many cups are there?", "expected": "two", "kind": "count"}], "tags": ["count"]}'
)
LONGEST_ID = 200


class Tag(NamedTuple):
    """`name` is what the tag says something about, "tag" for bare words."""

    name: str
    value: str

    def __str__(self) -> str:
        return self.value if self.name == BARE else f"{self.name}={self.value}"


BARE = "tag"


@dataclass(frozen=True, slots=True)
class ListedPrompt:
    """One prompt of a list. All checks must hold for an image to pass."""

    id: str
    text: str
    checks: tuple[Check, ...]
    tags: tuple[Tag, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(check.kind for check in self.checks)


@dataclass(frozen=True)
class PromptList:
    """`source` is where it was read from."""

    source: str
    prompts: tuple[ListedPrompt, ...]

    def __len__(self) -> int:
        return len(self.prompts)

    @cached_property
    def digest(self) -> str:
        return hashlib.blake2b(prompts_text(self).encode(), digest_size=16).hexdigest()

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of all checks, in the order met."""
        return list(dict.fromkeys(check.kind for prompt in self.prompts for check in prompt.checks))


def prompts_text(prompts: PromptList) -> str:
    """JSONL from which `load_prompts` makes the same list."""
    return "".join(json.dumps(_row(one), ensure_ascii=False) + "\n" for one in prompts.prompts)


def _row(prompt: ListedPrompt) -> dict[str, Any]:
    checks = [
        {
            "kind": check.kind,
            "value": check.value,
            "statement": check.statement,
            **({"choices": list(check.choices)} if check.choices else {}),
        }
        for check in prompt.checks
    ]
    tags: dict[str, list[str]] = {}
    for tag in prompt.tags:
        tags.setdefault(tag.name, []).append(tag.value)
    return {"id": prompt.id, "prompt": prompt.text, "checks": checks, "tags": tags}


@lru_cache(maxsize=4)
def _loaded(path: Path, stamp: tuple[int, int]) -> PromptList:
    """One reading serves building, forewarning, placing and keeping, as long as the file stays as it is."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"`space.prompts: {path}` cannot be read: {error}", FORM) from None
    return read_prompts(text, str(path))


def load_prompts(file: str) -> PromptList:
    refuse_outside(file, PROMPTS)
    path = Path(file).expanduser()
    if not path.is_file():
        raise ConfigError(f"`space.prompts` must be a file, but {file!r} is none", FORM)
    seen = path.stat()
    return _loaded(path, (seen.st_mtime_ns, seen.st_size))


def read_prompts(text: str, source: str = "the list") -> PromptList:
    """A list from its text; raises for the first row that cannot be used."""
    prompts, rows = [], dict[str, int]()
    for number, data in _rows(text, source):
        prompt = _RowReader(source, number).prompt(data)
        first = rows.setdefault(prompt.id, number)
        if first != number:
            raise ConfigError(
                f"{source}, row {number}, field id: must be unique, but row {first} has {prompt.id!r} too",
                "give every prompt an id of its own, or leave all ids out",
            )
        prompts.append(prompt)
    if not prompts:
        raise ConfigError(f"{source} has no prompts: a list needs at least one row", FORM)
    return PromptList(source, tuple(prompts))


def _rows(text: str, source: str) -> Iterator[tuple[int, Any]]:
    """Rows with their numbers: items of a JSON list, or lines."""
    if text.lstrip()[:1] == "[":
        try:
            yield from enumerate(json.loads(text), 1)
        except json.JSONDecodeError as error:
            raise ConfigError(f"{source} is not JSON: {error}", FORM) from None
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except json.JSONDecodeError as error:
                raise ConfigError(f"{source}, row {number}: not JSON: {error}", FORM) from None


@dataclass(frozen=True)
class _RowReader:
    """Checks one row."""

    source: str
    number: int

    def prompt(self, data: Any) -> ListedPrompt:
        if not isinstance(data, dict):
            raise self._error("", f"a row must be an object, but is {_short(data)}", FORM)
        if "prompt" not in data and data.keys() >= NODE_FIELDS:
            return self._node(data)
        self._known(data, FIELDS, "")
        text = self._text("prompt", data.get("prompt"))
        return ListedPrompt(self._id(data.get("id")), text, self._checks(data), self._tags(data.get("tags")))

    def _id(self, data: Any) -> str:
        if data is None:
            return f"row {self.number}"
        name = str(data) if isinstance(data, int) and not isinstance(data, bool) else self._text("id", data)
        if len(name) > LONGEST_ID or not name.isprintable() or "; " in name:
            fix = f"use at most {LONGEST_ID} printable characters without “; ”"
            raise self._error("id", f"{_short(name)} cannot be an id", fix)
        return name

    def _checks(self, data: dict[str, Any]) -> tuple[Check, ...]:
        rows = data.get("checks")
        if not isinstance(rows, list) or not rows:
            found = "there is none" if rows is None else f"it is {_short(rows)}"
            raise self._error("checks", f"must be a list of at least one check, but {found}", FORM)
        checks = tuple(self._check(row, f"checks[{at}]") for at, row in enumerate(rows))
        for at, check in enumerate(checks):
            if check.statement in {other.statement for other in checks[:at]}:
                raise self._error(f"checks[{at}]", f"{check.statement!r} is there twice", "leave one out")
        return checks

    def _check(self, data: Any, field: str) -> Check:
        """A statement, or an object with a statement, or with a question and the answer that is expected."""
        if isinstance(data, str):
            statement = self._text(field, data)
            return Check(PLAIN_KIND, statement, statement)
        if not isinstance(data, dict):
            raise self._error(field, f"must be text or an object, but is {_short(data)}", FORM)
        self._known(data, CHECK_FIELDS, field)
        if ("question" in data) == ("statement" in data):
            fix = "give a `statement` that must be true, or a `question` with the `expected` answer"
            raise self._error(field, "needs either a statement or a question", fix)
        kind = self._text(f"{field}.kind", data.get("kind", PLAIN_KIND))
        choices = data.get("choices", [])
        if not isinstance(choices, list):
            raise self._error(f"{field}.choices", f"must be a list, but is {_short(choices)}", "[…]")
        others = tuple(self._text(f"{field}.choices", one) for one in choices)
        if "statement" in data:
            if data.get("expected", True) is not True:
                fix = "put it as a question: {question: …, expected: …}"
                raise self._error(f"{field}.expected", "a statement is expected to be true", fix)
            statement = self._text(f"{field}.statement", data["statement"])
            return Check(kind, self._text(f"{field}.value", data.get("value", statement)), statement, others)
        return self._asked(data, field, kind, others)

    def _asked(self, data: dict[str, Any], field: str, kind: str, choices: tuple[str, ...]) -> Check:
        question = self._text(f"{field}.question", data["question"])
        answer = self._answer(data.get("expected"), f"{field}.expected")
        default = f"{question} → {answer}"
        value = answer if choices else self._text(f"{field}.value", data.get("value", default))
        statement = f"The right answer to the question “{question}” is “{answer}”."
        return Check(kind, value, statement, choices)

    def _answer(self, data: Any, field: str) -> str:
        if isinstance(data, bool):
            return "yes" if data else "no"
        if isinstance(data, int | float):
            return str(data)
        if data is None:
            raise self._error(field, "a question needs its expected answer", 'for example "expected": "yes"')
        return self._text(field, data)

    def _tags(self, data: Any) -> tuple[Tag, ...]:
        if data is None:
            return ()
        if isinstance(data, list):
            found = [Tag(BARE, self._text("tags", one)) for one in data]
        elif isinstance(data, dict):
            found = [
                Tag(self._text("tags", name), self._answer(one, f"tags.{name}"))
                for name, values in data.items()
                for one in (values if isinstance(values, list) else [values])
            ]
        else:
            fix = 'write ["counting", "two things"] or {"skill": "counting"}'
            raise self._error("tags", f"must be a list or an object, but is {_short(data)}", fix)
        return tuple(dict.fromkeys(found))

    def _node(self, data: dict[str, Any]) -> ListedPrompt:
        """A node of FailureAtlas: its caption, the entity and every value as checks, its classes as tags."""
        entity = self._text("entity", data["entity"])
        checks = [Check("entity", entity, f"The image shows: {entity}.")]
        pairs = data["value"] if isinstance(data["value"], list) else None
        if pairs is None or any(not isinstance(pair, list) or len(pair) != 2 for pair in pairs):
            fix = '[["Base: Colors", "Red"], …]'
            raise self._error("value", f"must be a list of pairs, but is {_short(data['value'])}", fix)
        for kind, value in pairs:
            label, name = self._text("value", kind), self._text("value", value)
            checks.append(Check(label, name, f"{label.partition(': ')[2] or label} is {name}."))
        tags = [Tag("class", data.get("upper_class") or ""), Tag("sub-class", data.get("sub_class") or "")]
        tags += [Tag("entity", entity), Tag("layer", str(len(pairs)))]
        named = tuple(tag for tag in tags if isinstance(tag.value, str) and tag.value)
        return ListedPrompt(
            self._id(data.get("idx")), self._text("caption", data["caption"]), tuple(checks), named
        )

    def _known(self, data: dict[str, Any], fields: Sequence[str], field: str) -> None:
        for name in data:
            if name not in fields:
                where = f"{field}.{name}" if field else name
                raise self._error(where, "there is no such field", suggest(str(name), fields))

    def _text(self, field: str, data: Any) -> str:
        if not isinstance(data, str) or not data.strip():
            found = "there is none" if data is None else f"it is {_short(data)}"
            raise self._error(field, f"must be text, but {found}", FORM)
        return data.strip()

    def _error(self, field: str, message: str, fix: str) -> ConfigError:
        where = f"{self.source}, row {self.number}" + (f", field {field}" if field else "")
        return ConfigError(f"{where}: {message}", fix)


def _short(data: Any) -> str:
    text = json.dumps(data, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:79] + "…"
