"""Turns a FailureAtlas result file into a hunt of an atlas: one trial per evaluated image, no pictures.

The file's vocabulary becomes a corpus in the atlas's folder, so that findings and reports work on it.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failscape.atlas.files import explained, refuse_link, write_whole
from failscape.atlas.formats.failureatlas import ABSENT, FAMILIES, KIND, NodeRow, fails, read_rows
from failscape.atlas.reader import CORPORA, CORPUS_HERE
from failscape.atlas.records import Recorded
from failscape.atlas.store import Atlas
from failscape.errors import AtlasError
from failscape.plugins import find_kind
from failscape.spaces.lattice import Pair, ancestors_of, join_subject
from failscape.trials import (
    UNNAMED,
    Check,
    Decide,
    Facts,
    Generate,
    Probe,
    Trial,
    Verdict,
    key_of_try,
    reach_verdict,
)

_GROUP = 256
_DEEPEST = 6
_UNSORTED = "Unsorted"
DEFAULT_THRESHOLD = 0.8


@dataclass(slots=True)
class Vocabulary:
    """The words of a file, in the order met, and what its numbers say about the rule that was used."""

    entities: dict[str, tuple[str, str]] = field(default_factory=dict)
    values: dict[str, dict[str, None]] = field(default_factory=dict)  # kind -> its values
    homes: dict[tuple[str, str], str] = field(default_factory=dict)  # family, value -> its kind
    lines: dict[tuple[str, frozenset[Pair]], int] = field(default_factory=dict)
    sizes: Counter[int] = field(default_factory=Counter)
    longest: int = 0
    untested: int = 0
    depth: int = 0
    best_failing: float = -math.inf
    worst_passing: float = math.inf

    def learn(self, path: Path, row: NodeRow) -> None:
        first = self.lines.setdefault((row.entity, frozenset(row.pairs)), row.line)
        if first != row.line:
            raise AtlasError(
                f"{path}, line {row.line}, fields entity, value: the same node as line {first}",
                "remove one of the lines",
            )
        if len(row.pairs) > _DEEPEST:
            raise AtlasError(
                f"{path}, line {row.line}, field value: {len(row.pairs)} values; a node has up to {_DEEPEST}"
            )
        self.entities.setdefault(row.entity, (row.data["upper_class"], row.data["sub_class"]))
        for kind, value in row.pairs:
            self.homes.setdefault((kind.partition(":")[0], value.lower()), kind)
            self.values.setdefault(kind, {}).setdefault(value)
        self.depth = max(self.depth, len(row.pairs))
        self.longest = max(self.longest, len(row.images))
        if not row.data["tested"]:
            self.untested = max(self.untested, row.valid_images)
        if row.valid_images:
            self.sizes[row.valid_images] += 1
        if row.data["acc"] is not None and row.verdict is True:
            self.worst_passing = min(self.worst_passing, float(row.data["acc"]))
        if row.data["acc"] is not None and row.verdict is False:
            self.best_failing = max(self.best_failing, float(row.data["acc"]))

    def rule(self, threshold: float | None) -> tuple[float, str]:
        """Threshold and `at_threshold` that explain the file's `valid` best."""
        low, high = self.best_failing, self.worst_passing
        chosen = DEFAULT_THRESHOLD if threshold is None else threshold
        if low <= chosen < high or threshold is not None:
            return chosen, "fail" if chosen < high else "pass"
        if low < chosen <= high:
            return chosen, "pass"
        return (low, "fail") if 0 < low < min(high, 1) else (chosen, "fail")

    @property
    def images_per_node(self) -> int:
        """The usual number of usable images, and more than any untested node has, so that it stays open.

        A hunt allows up to twice as many. All other nodes are settled by what the file says of them.
        """
        usual = max(self.sizes, key=lambda size: (self.sizes[size], size), default=1)
        return max(usual, math.ceil(self.longest / 2), self.untested + 1)

    def name(self, kind: str, value: str) -> str:
        """A corpus has each value once per family: namesakes in other sub-categories get a suffix."""
        home = self.homes[kind.partition(":")[0], value.lower()]
        return value if home == kind else f"{value} ({kind.partition(': ')[2]})"

    def ranks(self) -> dict[str, int]:
        """Kind → its place in the corpus, which has family after family."""
        kinds = sorted(self.values, key=lambda kind: FAMILIES.index(kind.partition(":")[0]))
        return {kind: place for place, kind in enumerate(kinds)}


def import_rows(path: str | Path, atlas: Atlas, threshold: float | None = None) -> int:
    """Bring a file into `atlas` as a hunt and give its number. Importing the same file again adds nothing."""
    file = Path(path)
    words = Vocabulary()
    for row in read_rows(file):
        words.learn(file, row)
    if not words.entities:
        raise AtlasError(f"{file} has no rows", "give a FailureAtlas result file (JSONL)")
    groups = {"entity": list(words.entities), **{kind: list(names) for kind, names in words.values.items()}}
    for group, names in groups.items():
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(name.lower(), name)
            if other != name:
                raise AtlasError(
                    f"{file}, {group}: {other!r} and {name!r} differ only in case", "use one spelling"
                )
    digest = hashlib.blake2b(file.read_bytes(), digest_size=8).hexdigest()
    corpus = f"{CORPORA}/{_short(file.stem)}-{digest}"
    _write_corpus(atlas.folder / corpus, words)
    config = _config(file, digest, corpus, words, threshold)
    hunt = next((hunt.id for hunt in atlas.stored_hunts() if hunt.config == config), None)
    if hunt is None:
        hunt = atlas.start_hunt(KIND, config, {})
        atlas.log("import", {"file": file.name, "nodes": len(words.lines)}, hunt)
    _record(atlas, hunt, _Judged(read_rows(file), config, threshold is not None), words)
    return hunt


def contradicting_lines(path: Path, config: dict[str, Any]) -> list[int]:
    """Lines whose `valid` is not what the threshold of the hunt makes of their `acc`."""
    return [
        row.line
        for row in read_rows(path)
        if row.verdict is not None
        and row.data["acc"] is not None
        and fails(float(row.data["acc"]), config) == row.verdict
    ]


@dataclass(slots=True)
class _Judged:
    """The rows, and whether each passed: as the file says, unless the user brought a threshold."""

    rows: Iterator[NodeRow]
    config: dict[str, Any]
    own_threshold: bool

    def passed(self, row: NodeRow) -> bool | None:
        """`None` leaves it to the hunt: the file calls the node untested."""
        if row.accuracy is None or (row.verdict is not None and not self.own_threshold):
            return row.verdict
        return not fails(row.accuracy, self.config) if row.data["tested"] else None


def _record(atlas: Atlas, hunt: int, judged: _Judged, words: Vocabulary) -> None:
    trials: list[Recorded] = []
    nodes: dict[str, dict[str, Any]] = {}
    ranks, known, failing = words.ranks(), set[str](), list[str]()
    for row in judged.rows:
        order = sorted(range(len(row.pairs)), key=lambda at: ranks[row.pairs[at][0]])
        subject = join_subject(row.entity, [(row.pairs[at][0], words.name(*row.pairs[at])) for at in order])
        known.add(subject)
        passed = judged.passed(row)
        if passed is False:
            failing.append(subject)
        if atlas.node_details(hunt, subject):
            continue  # an earlier import got this far
        trials += _trials(row, subject, order)
        nodes[subject] = {**_details(row, order), "passed": passed}
        if len(trials) >= _GROUP or len(nodes) >= _GROUP:
            atlas.record(hunt, trials, nodes=nodes)
            trials, nodes = [], {}
    atlas.record(hunt, trials, nodes=nodes)
    # FailureAtlas tries nothing below what fails, so that what a failing node rests on passed there.
    missing = dict.fromkeys(one for subject in failing for one in ancestors_of(subject) if one not in known)
    missing = {subject: None for subject in missing if not atlas.node_details(hunt, subject)}
    atlas.record(hunt, [], nodes={subject: {ABSENT: True, "passed": True} for subject in missing})


def _trials(row: NodeRow, subject: str, order: list[int]) -> Iterator[Recorded]:
    checks = [Check("entity", row.entity, f"The image shows: {row.entity}.")]
    for kind, value in (row.pairs[at] for at in order):
        checks.append(Check(kind, value, f"{kind.partition(': ')[2]}: {value}."))
    steps = (Generate(row.data["caption"]), Decide(tuple(checks)))
    for number, answers in enumerate(row.images):
        facts: list[Facts] = [""]
        verdict, reason = Verdict.INVALID, "the file has no answer for this image"
        if answers is not None:
            facts.append([answers[0], *(answers[1 + at] for at in order)])
            verdict, reason = reach_verdict(steps, facts)
        key = key_of_try(subject, UNNAMED, number)
        probe = Probe(key, subject, steps, number)
        yield Recorded(probe, Trial(key, subject, verdict, reason, facts, number), (), 0.0, 0.0)


def _details(row: NodeRow, order: list[int]) -> dict[str, Any]:
    """All fields except the answers, which the trials have; `order` leads back to the file's order."""
    back = sorted(range(len(order)), key=lambda at: order[at])
    answers: list[Any] | None = None if row.data["eval"] is None else []
    return {**row.data, "eval": answers, "order": back}


def _config(
    file: Path, digest: str, corpus: str, words: Vocabulary, threshold: float | None
) -> dict[str, Any]:
    chosen, at_threshold = words.rule(threshold)
    settings = {
        "hunt": KIND,
        "target": {"provider": "imported", "model": file.name, "params": {"blake2b": digest}},
        "judge": {"provider": "imported", "model": file.name},
        "space": {"corpus": CORPUS_HERE + corpus, "depth": words.depth},
        "search": {
            "strategy": "failureatlas",
            "threshold": chosen,
            "at_threshold": at_threshold,
            "images_per_node": words.images_per_node,
        },
    }
    try:
        return find_kind(KIND).settings.model_validate(settings).model_dump(mode="json")
    except ValueError as error:
        raise AtlasError(f"the threshold must lie between 0 and 1, but got {chosen}", str(error)) from error


def _write_corpus(folder: Path, words: Vocabulary) -> None:
    entities: dict[str, dict[str, list[str]]] = {}
    classes = {_class_name(upper).lower() for upper, _ in words.entities.values()}
    for entity, (upper, sub) in words.entities.items():
        group = entities.setdefault(_class_name(upper), {})
        name = _class_name(sub)
        # A corpus has no class inside a class, but a file of results may.
        group.setdefault(f"{name} (sub-class)" if name.lower() in classes else name, []).append(entity)
    files: dict[str, Any] = {"entities": entities}
    for family in FAMILIES:
        subs = {
            kind.partition(": ")[2]: [words.name(kind, value) for value in values]
            for kind, values in words.values.items()
            if kind.startswith(f"{family}: ")
        }
        if subs:
            files[f"attributes_{family.lower()}"] = subs
    for path in (folder.parent, folder):
        refuse_link(path)
    with explained(folder):
        for name, data in files.items():
            write_whole(folder / f"{name}.json", json.dumps(data, indent=1, ensure_ascii=False).encode())


def _class_name(text: str) -> str:
    return re.sub(r"[\s;]+", " ", text).strip() or _UNSORTED


def _short(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)[:40].strip("-") or "file"
