"""What a hunt has to tell after its trials, as one value that can be kept and read without the hunt.

Trials are the only truth: this is what follows from them, and saves telling a million of them again. It is
kept as JSON; dataclasses and named tuples are marked with their type, and come back as what they were.
"""

import importlib
import json
import sys
import zlib
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from failscape.search.protocol import Hunt
from failscape.trials import AsData, Finding, Progress

_TYPE, _PARTS = "@", "_"
#: Modules that may be imported to bring a type back. An atlas may be a stranger's: it names no others.
_OURS = ("failscape.search.", "failscape.kinds.", "failscape.stats.", "failscape.spaces.", "failscape.trials")

#: Where modules of version 0.2 are now: results that a run kept then name their types by these.
_MOVED = {
    "failscape.hunts.t2i.certified.": "failscape.kinds.t2i.search.",
    "failscape.hunts.t2i.": "failscape.kinds.t2i.",
    "failscape.hunts.classifier.": "failscape.kinds.classifier.",
    "failscape.hunts.vlm.": "failscape.kinds.vlm.",
    "failscape.hunts.table": "failscape.kinds.table.kind",
    "failscape.hunts.": "failscape.search.",
}

#: Types that have another module or name since.
_TYPES_MOVED = {
    "failscape.kinds.t2i.findings:CorrectedRate": "failscape.search.checked:CorrectedRate",
    "failscape.search.told:Told": "failscape.search.hunt_results:HuntResults",
}

#: Of the JSON text: more is not read, for a small file may unfold to any size, and takes six times as much
#: memory as plain data. What hunts tell is packed to a tenth or a twentieth of its length; a text of one
#: letter, as a stranger may write it, to a thousandth.
MOST_BYTES = 1 << 30
MOST_UNFOLDING = 60
SMALL_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class HuntResults:
    """`curve` is (trials told, findings then), from first to last.

    `suspects` look failing but are not claimed, most promising first. `survey` is what the hunt says about
    the whole space: its own type, with `as_data()` for all others. `undecided` subjects used up their trials
    without a verdict. `purposes`: key of a trial → the name of what it was for, where the key itself
    does not tell.
    `excused`: keys of trials that failed and count as passed (`Hunt.excused`). `counted_as_asked`: keys of
    trials that count although the judge did not see all that was asked for.
    """

    findings: list[Finding]
    suspects: list[Finding]
    progress: Progress
    curve: list[tuple[int, int]]
    survey: AsData | None = None
    undecided: int = 0
    purposes: dict[str, str] = field(default_factory=dict)
    excused: list[str] = field(default_factory=list)
    counted_as_asked: list[str] = field(default_factory=list)


def results_of(hunt: Hunt, curve: list[tuple[int, int]]) -> HuntResults:
    """All that readers ask of a hunt. The end of the curve is exact: progress may lag behind."""
    findings = hunt.findings()
    curve = [*curve[:-1], (curve[-1][0], len(findings))]
    return HuntResults(
        findings,
        hunt.suspects(),
        hunt.progress(),
        curve,
        hunt.survey(),
        len(hunt.undecided()),
        {key: purpose.name for key, purpose in hunt.purposes().items()},
        hunt.excused(),
        hunt.counted_as_asked(),
    )


def to_bytes(told: HuntResults) -> bytes:
    """Raises `TypeError` for a value that would not come back as it is."""
    return zlib.compress(json.dumps(_plain(told), separators=(",", ":")).encode(), 3)


def from_bytes(data: bytes, module: str = "") -> HuntResults:
    """Raises `ValueError` for anything that `to_bytes` did not write.

    `module` is that of the hunt's kind: types of its package, once imported, come back too.
    """
    unfold = zlib.decompressobj()
    try:
        most = min(MOST_BYTES, SMALL_BYTES + MOST_UNFOLDING * len(data))
        text = unfold.decompress(data, most)
        if unfold.unconsumed_tail:
            raise ValueError(f"not what a hunt told: {len(data):,} bytes unfold to more than {most:,}")
        told = _Reader(module.partition(".")[0]).value(json.loads(text))
    except (zlib.error, TypeError, KeyError, AttributeError, ImportError, RecursionError) as error:
        raise ValueError(f"not what a hunt told: {error!r}") from error
    if not isinstance(told, HuntResults):
        raise ValueError("not what a hunt told")
    return told


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Enum):
        return {_TYPE: _name(value), _PARTS: value.value}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {part.name: _plain(getattr(value, part.name)) for part in fields(value) if part.init}
        return {_TYPE: _name(value), _PARTS: parts}
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, np.ndarray):
        return {_TYPE: "array", _PARTS: [str(value.dtype), value.tolist()]}
    return _collection(value)


def _collection(value: Any) -> Any:
    if type(value) is list:
        return [_plain(one) for one in value]
    if isinstance(value, tuple):
        name = "tuple" if type(value) is tuple else _name(value)
        return {_TYPE: name, _PARTS: [_plain(one) for one in value]}
    if isinstance(value, dict) and _TYPE not in value and all(type(key) is str for key in value):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, dict):
        return {_TYPE: "dict", _PARTS: [[_plain(key), _plain(one)] for key, one in value.items()]}
    if isinstance(value, set | frozenset):
        return {_TYPE: type(value).__name__, _PARTS: [_plain(one) for one in value]}
    raise TypeError(f"what a hunt tells is made of plain values and dataclasses, but it has {value!r}")


def _name(value: Any) -> str:
    kind = type(value)
    if "<" in kind.__qualname__ or kind.__module__ == "__main__":
        raise TypeError(f"{kind.__qualname__} cannot be found again by its name")
    return f"{kind.__module__}:{kind.__qualname__}"


class _Reader:
    def __init__(self, package: str) -> None:
        self._package = package
        self._types: dict[str, type] = {}

    def value(self, data: Any) -> Any:
        if isinstance(data, list):
            return [self.value(one) for one in data]
        if not isinstance(data, dict):
            return data
        if _TYPE not in data:
            return {key: self.value(one) for key, one in data.items()}
        return self._typed(data[_TYPE], data[_PARTS])

    def _typed(self, name: str, parts: Any) -> Any:
        match name:
            case "tuple" | "set" | "frozenset":
                made = {"tuple": tuple, "set": set, "frozenset": frozenset}[name]
                return made(self.value(one) for one in parts)
            case "dict":
                return {self.value(key): self.value(one) for key, one in parts}
            case "array":
                return np.array(parts[1], dtype=_number_type(parts[0]))
        kind = self._type(name)
        if issubclass(kind, Enum):
            return kind(parts)
        if issubclass(kind, tuple):
            return kind(*(self.value(one) for one in parts))
        return kind(**{key: self.value(one) for key, one in parts.items()})

    def _type(self, name: str) -> type:
        kind = self._types.get(name)
        if kind is None:
            kind = self._types[name] = _find_type(name, self._package)
        return kind


def _number_type(name: str) -> np.dtype[Any]:
    """A type of numbers: one of text may name any size, and each item would take so much memory."""
    found = np.dtype(name)
    if found.kind not in "biuf":
        raise ValueError(f"an array of {name!r} is nothing that a hunt tells")
    return found


def _where_now(module: str) -> str:
    """The present name of a module that may be named as it was in version 0.2."""
    for before, now in _MOVED.items():
        if module.startswith(before):
            return now + module.removeprefix(before)
    return module


def _find_type(name: str, package: str) -> type:
    """The dataclass, named tuple or enumeration of that name; nothing else is ever called."""
    where, _, path = name.partition(":")
    now = f"{_where_now(where)}:{path}"
    where, _, path = _TYPES_MOVED.get(now, now).partition(":")
    if where.startswith(_OURS):
        found: Any = importlib.import_module(where)
    elif package and where.partition(".")[0] == package:
        found = sys.modules[where]
    else:
        raise ValueError(f"{name!r} is no type of a hunt's")
    for part in path.split("."):
        found = getattr(found, part)
    # A module of ours holds other modules, too: what comes from there is not ours to make.
    home = getattr(found, "__module__", "")
    if not (home.startswith(_OURS) or (package and home.partition(".")[0] == package)):
        raise ValueError(f"{name!r} is no type of a hunt's")
    named = isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields")
    if isinstance(found, type) and (is_dataclass(found) or named or issubclass(found, Enum)):
        return found
    raise ValueError(f"{name!r} is no type of a hunt's")
