"""FailureAtlas's result files: one JSON object per line and node. Reads and checks them, and writes them.

`failureatlas_import.py` turns such a file into a hunt.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import Any, TextIO

from failscape.atlas.records import HuntRow, StoredTrial
from failscape.atlas.store import Atlas
from failscape.errors import AtlasError, FailscapeError
from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import Pair, ancestors_of, parents_of, split_subject
from failscape.trials import Decide, Facts, Generate, Step

#: The kind of hunt that these files are about.
KIND = "t2i"

FIELDS = (
    "idx",
    "entity",
    "value",
    "parent",
    "layer",
    "upper_class",
    "sub_class",
    "caption",
    "valid",
    "tested",
    "acc",
    "eval",
    "eval_raw",
    "predictor_score",
)
#: Fields of a file that are none of these are kept under this name, and written back.
MORE = "more_fields"

#: A field as near to a known one as this is a misspelt one: `evals` read as nothing would lose all answers.
NEAR_NAME = 0.8

#: Marks a node that a file does not have but rests on: it is kept for its verdict, and not written.
ABSENT = "absent"

FAMILIES = ("Base", "Background", "Image")
TRUTH = "true or false"
_FORBIDDEN = ("; ", "\n", "\r", "\t")


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One checked line. `data` has all fields, those that the line left out with their defaults.

    `verdict` is what the line itself says about the node, `None` when it says nothing.
    """

    line: int
    entity: str
    pairs: tuple[Pair, ...]
    data: dict[str, Any]
    verdict: bool | None = None

    @property
    def images(self) -> list[list[bool | None] | None]:
        return self.data["eval"] or []

    @property
    def valid_images(self) -> int:
        return sum(one is not None and None not in one for one in self.images)

    @property
    def accuracy(self) -> float | None:
        """The share of valid images with all answers true; `None` when there is none."""
        return accuracy_of(self.images)


def read_rows(path: Path) -> Iterator[NodeRow]:
    """The nodes of a file, one by one. Errors name the file, the line and the field."""
    try:
        with path.open(encoding="utf-8") as lines:
            for number, text in enumerate(lines, 1):
                if text.strip():
                    yield _Line(path, number).read(text)
    except UnicodeDecodeError as error:
        raise AtlasError(f"{path} is not UTF-8: {error}", "save it as UTF-8") from error
    except OSError as error:
        raise AtlasError(f"{path} cannot be read: {error.strerror}", "check the path") from error


class _Line:
    """Checks one line."""

    def __init__(self, path: Path, number: int) -> None:
        self._path = path
        self._number = number

    def read(self, text: str) -> NodeRow:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._error("", f"not JSON: {error}", "one JSON object per line") from None
        if not isinstance(data, dict):
            raise self._error("", f"not an object, but {type(data).__name__}", "one JSON object per line")
        more = self._unknown_fields(data)
        entity = self._name("entity", data.get("entity"))
        pairs = self._pairs(data.get("value"))
        row = {
            "idx": self._whole("idx", data.get("idx")),
            "entity": entity,
            "value": [list(pair) for pair in pairs],
            "parent": self._parents(data.get("parent")),
            "layer": self._whole("layer", data.get("layer", len(pairs))),
            "valid": self._typed("valid", data.get("valid", True), TRUTH, bool),
            "tested": self._typed("tested", data.get("tested", bool(data.get("eval"))), TRUTH, bool),
            "acc": self._number_or_none("acc", data.get("acc")),
            "eval": self._eval(data.get("eval"), 1 + len(pairs)),
            "eval_raw": data.get("eval_raw"),
            "predictor_score": self._number_or_none("predictor_score", data.get("predictor_score")),
        }
        for field in ("upper_class", "sub_class", "caption"):
            row[field] = self._typed(field, data.get(field, ""), "text", str)
        verdict = row["valid"] if row["tested"] and "valid" in data else None
        fields = {field: row[field] for field in FIELDS}
        return NodeRow(self._number, entity, pairs, {**fields, MORE: more} if more else fields, verdict)

    def _unknown_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        """Fields of the user's own. A misspelt field of the format, which the line lacks, is refused."""
        lacking = [field for field in FIELDS if field not in data]
        more = {name: value for name, value in data.items() if name not in FIELDS}
        for name in more:
            meant = get_close_matches(name.lower(), lacking, n=1, cutoff=NEAR_NAME)
            if meant:
                raise self._error(
                    name, f"there is no such field; {meant[0]!r} is missing", f"call it {meant[0]}"
                )
        return more

    def _pairs(self, data: Any) -> tuple[Pair, ...]:
        if not isinstance(data, list):
            raise self._error("value", f"must be a list, but is {data!r}", '[["Base: Colors", "Red"], …]')
        pairs: list[Pair] = []
        for one in data:
            if not isinstance(one, list) or len(one) != 2:
                raise self._error("value", f"{one!r} is no pair", '["Base: Colors", "Red"]')
            kind, value = (self._name("value", part) for part in one)
            family, colon, sub = kind.partition(": ")
            if family not in FAMILIES or not colon or not sub.strip() or "=" in sub or ":" in sub:
                raise self._error("value", f"{kind!r} names no attribute", f"Family: Name, of {FAMILIES}")
            if kind in (known for known, _ in pairs):
                raise self._error("value", f"{kind!r} is there twice", "one value per attribute")
            pairs.append((kind, value))
        return tuple(pairs)

    def _parents(self, data: Any) -> Any:
        """A list of numbers; a single number and null, which older files have, are kept as they are."""
        for one in data if isinstance(data, list) else [data]:
            if one is not None or isinstance(data, list):
                self._whole("parent", one)
        return data

    def _eval(self, data: Any, length: int) -> Any:
        if data is None:
            return None
        if not isinstance(data, list):
            raise self._error("eval", f"must be a list with one entry per image, but is {data!r}", "")
        for number, one in enumerate(data, 1):
            if one is None:
                continue
            if not isinstance(one, list) or any(not isinstance(holds, bool | None) for holds in one):
                raise self._error("eval", f"image {number}: {one!r} is no list of booleans", "")
            if len(one) != length:
                text = f"image {number} has {len(one)} answers; the entity and its values are {length}"
                raise self._error("eval", text, "the entity first, then one per value")
        return data

    def _name(self, field: str, data: Any) -> str:
        if not isinstance(data, str) or not data.strip() or data != data.strip():
            raise self._error(field, f"must be text without outer spaces, but is {data!r}", "")
        for bad in _FORBIDDEN:
            if bad in data:
                raise self._error(field, f"{data!r} contains {bad!r}", "leave it out")
        return data

    def _typed(self, field: str, data: Any, what: str, *kinds: type) -> Any:
        """A truth value is no number, whatever Python says."""
        if not isinstance(data, kinds) or (isinstance(data, bool) and bool not in kinds):
            raise self._error(field, f"must be {what}, but is {data!r}", "")
        return data

    def _whole(self, field: str, data: Any) -> Any:
        return self._typed(field, data, "a whole number", int)

    def _number_or_none(self, field: str, data: Any) -> float | None:
        number: float | None = self._typed(field, data, "a number or null", int, float, NoneType)
        if number is not None and not math.isfinite(number):
            raise self._error(field, f"must be finite, but is {data!r}", "")
        return number

    def _error(self, field: str, message: str, fix: str) -> AtlasError:
        where = f"{self._path}, line {self._number}" + (f", field {field}" if field else "")
        return AtlasError(f"{where}: {message}", fix or "see docs/atlas.md for the format")


def write_rows(
    atlas: Atlas,
    hunt: HuntRow,
    out: TextIO,
    verdicts: Mapping[str, bool] | None = None,
    scores: Mapping[str, float] | None = None,
) -> int:
    """Write a hunt's nodes as FailureAtlas would have; gives their number."""
    number = 0
    for row in export_rows(atlas, hunt, verdicts, scores):
        out.write(json.dumps(row, ensure_ascii=False) + "\n")
        number += 1
    return number


def export_rows(
    atlas: Atlas,
    hunt: HuntRow,
    verdicts: Mapping[str, bool] | None = None,
    scores: Mapping[str, float] | None = None,
) -> Iterator[dict[str, Any]]:
    """Nodes in the order in which they were first tried. Imported ones come back as they were.

    `verdicts` says which nodes pass and which fail, as the hunt decided: these are `tested`, all others are
    not, and count as `valid`. Without it, FailureAtlas's own rule decides from the images. `scores` are what
    a predictor said of nodes before they were tried.
    """
    if hunt.kind != KIND:
        raise AtlasError(
            f"hunt {hunt.id} is a {hunt.kind} hunt; FailureAtlas rows describe {KIND} hunts",
            "export it with --format jsonl or --format csv",
        )
    classes = _classes(hunt)
    numbers: dict[str, int] = {}
    for subject in atlas.subjects(hunt.id):
        details = atlas.node_details(hunt.id, subject)
        if details:
            if ABSENT not in details:
                steps, facts = atlas.facts_of(hunt.id, subject)
                yield _as_imported(details, [_answers(steps, one) for one in facts])
            continue
        numbers[subject] = len(numbers)
        row = _as_recorded(subject, numbers, list(atlas.trials(hunt.id, subject)), classes, hunt)
        if verdicts is not None:
            row |= {"tested": subject in verdicts, "valid": verdicts.get(subject, True)}
        yield row | {"predictor_score": (scores or {}).get(subject)}
    for subject in _untried(numbers, verdicts or {}):
        numbers[subject] = len(numbers)
        yield _as_recorded(subject, numbers, [], classes, hunt) | {"tested": False, "valid": True}


def _untried(numbers: Mapping[str, int], verdicts: Mapping[str, bool]) -> list[str]:
    """Simpler nodes than failing ones that nobody tried or judged: left out, they would be taken to pass."""
    failing = [subject for subject in numbers if verdicts.get(subject) is False]
    simpler = dict.fromkeys(one for subject in failing for one in ancestors_of(subject))
    return [subject for subject in simpler if subject not in numbers and subject not in verdicts]


def _as_recorded(
    subject: str,
    numbers: dict[str, int],
    trials: list[StoredTrial],
    classes: dict[str, tuple[str, str]],
    hunt: HuntRow,
) -> dict[str, Any]:
    entity, pairs = split_subject(subject)
    upper, sub = classes.get(entity, ("", ""))
    images = [_answers(one.steps, one.trial.facts) for one in trials]
    accuracy = accuracy_of(images)
    return {
        "idx": numbers[subject],
        "entity": entity,
        "value": [list(pair) for pair in pairs],
        "parent": [numbers[parent] for parent in parents_of(subject) if parent in numbers],
        "layer": len(pairs),
        "upper_class": upper,
        "sub_class": sub,
        "caption": next(
            (step.prompt for one in trials for step in one.steps if isinstance(step, Generate)), ""
        ),
        "valid": accuracy is None or not fails(accuracy, hunt.config),
        "tested": _is_tested(images, hunt.config),
        "acc": accuracy,
        "eval": images,
        "eval_raw": [_said(one) or answers for one, answers in zip(trials, images, strict=True)],
        "predictor_score": None,
    }


def _as_imported(details: dict[str, Any], images: list[list[bool | None] | None]) -> dict[str, Any]:
    """The answers go back into the order of the file's `value`."""
    if images:
        order = details.pop("order")
        images = [one and [one[0], *(one[1 + at] for at in order)] for one in images]
        details["eval"] = images
    return {**{field: details[field] for field in FIELDS}, **details.get(MORE, {})}


def accuracy_of(images: list[list[bool | None] | None]) -> float | None:
    judged = [one for one in images if one is not None and None not in one]
    return sum(all(one) for one in judged) / len(judged) if judged else None


def _is_tested(images: list[list[bool | None] | None], config: dict[str, Any]) -> bool:
    """Not when a run stopped before the node had its images, or when too few of them were valid."""
    wanted = int(config.get("search", {}).get("images_per_node", 0))
    judged = [all(one) for one in images if one is not None and None not in one]
    missing = wanted - len(judged)
    if missing <= 0:
        return True
    at_worst, at_best = sum(judged) / wanted, (sum(judged) + missing) / wanted
    return len(images) >= 2 * wanted and fails(at_worst, config) == fails(at_best, config)


def fails(accuracy: float, config: dict[str, Any]) -> bool:
    """FailureAtlas's rule, `acc <= threshold`, unless the hunt says that the threshold itself passes."""
    search = config.get("search", {})
    threshold = float(search.get("threshold", 0.8))
    if math.isclose(accuracy, threshold, abs_tol=1e-9):
        return bool(search.get("at_threshold", "fail") == "fail")
    return accuracy < threshold


def _answers(steps: tuple[Step, ...], facts: Facts) -> list[bool | None] | None:
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Decide):
            return list(fact) if fact is not None else None
    return None


def _said(trial: StoredTrial) -> str:
    """The judge's own words, where it has any: a judge in this process may give its answers and no text."""
    return next((call.raw for call in trial.calls if call.role == Decide.role), "")


def _classes(hunt: HuntRow) -> dict[str, tuple[str, str]]:
    """Entity → class and sub-class, when the hunt's corpus can be found."""
    try:
        corpus = load_corpus(str(hunt.config["space"]["corpus"]))
    except (KeyError, TypeError, OSError, FailscapeError):
        return {}
    return {entity.name: (entity.upper_class, entity.sub_class) for entity in corpus.entities}
