"""toy-painter as a benchmark: real pictures, judged by toy-eyes, scored by the ground truth of the toybox.

The truth of a node is the row that the table has, or would have if it had every pair: so many images
of its own seeds (`benchmarks/toybox_truth.py`), failing when fewer than the threshold pass. A minimal failure
fails while its entity and its single values pass. The table was judged by toy-eyes as well, so the hunts
take the judge as perfect: what is measured is the search, not the judge.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.toybox_truth import MeasuredNode, lattice, measure, models, painter_truth
from failscape.simulate.scoring import Checkpoint, score_claims
from failscape.spaces.lattice import Node
from failscape.toybox.networks import MODELS
from failscape.toybox.provider import weights_digest
from failscape.trials import Decide, Finding, Generate, Probe, Trial, reach_verdict

BATCH = 32


class Painted:
    """Runs probes on the real models. What was seen and measured is kept in `cache`, if given."""

    def __init__(self, cache: Path | None, threshold: float = 0.8) -> None:
        self.threshold = threshold
        self._store = sqlite3.connect(cache or ":memory:", timeout=60, isolation_level=None)
        self._store.execute("pragma journal_mode = wal")
        self._store.execute(
            "create table if not exists seen (key text primary key, facts text) without rowid"
        )

    def run(self, probes: Sequence[Probe]) -> list[Trial]:
        known = [self._recall(_key(probe)) for probe in probes]
        missing = [probe for probe, facts in zip(probes, known, strict=True) if facts is None]
        drawn = {}
        for start in range(0, len(missing), BATCH):
            drawn.update(self._draw(missing[start : start + BATCH]))
        return [_trial(p, drawn[p.key] if f is None else f) for p, f in zip(probes, known, strict=True)]

    def _draw(self, probes: list[Probe]) -> dict[str, list[bool | None]]:
        painter, eyes, _ = models()
        asked = [_parts(probe) for probe in probes]
        images = painter.paint([generate.prompt for generate, _ in asked], [probe.seed for probe in probes])
        decided = eyes.judge(images, [decide.checks for _, decide in asked])
        for probe, facts in zip(probes, decided, strict=True):
            self._keep(_key(probe), facts)
        return {probe.key: facts for probe, facts in zip(probes, decided, strict=True)}

    # Truth

    def score(self, images: int, findings: list[Finding]) -> Checkpoint:
        return score_claims(images, findings, self.fails, self.is_minimal)

    def fails(self, subject: str) -> bool:
        row = self._measured(subject)
        return row.passes < self.threshold * row.images

    def is_minimal(self, subject: str) -> bool:
        return self.fails(subject) and not any(map(self.fails, _ancestors(subject)))

    def _measured(self, subject: str) -> MeasuredNode:
        row = painter_truth().get(subject)
        if row is None:
            key = f"truth {_weights()} {subject}"
            kept = self._recall(key)
            if kept is None:
                made = measure(subject)[1]
                kept = [made.images, made.passes]
                self._keep(key, kept)
            row = MeasuredNode(kept[0], kept[1], ())
        return row

    @cached_property
    def total(self) -> float:
        """How many minimal failures there are: counted with up to one value, estimated for pairs."""
        space = lattice()
        subjects = [space.subject(node) for layer in (0, 1) for node in space.nodes(layer)]
        pairs = [subject for subject in painter_truth() if len(space.parse(subject).values) == 2]
        share = np.mean([self.is_minimal(subject) for subject in pairs])
        return sum(map(self.is_minimal, subjects)) + float(share) * space.layer_size(2)

    def pruned(self, findings: list[Finding]) -> float:
        """The share of known minimal failures below a false claim."""
        false = {finding.subject for finding in findings if not self.fails(finding.subject)}
        known = [subject for subject in painter_truth() if self.is_minimal(subject)]
        return float(np.mean([any(above in false for above in _ancestors(subject)) for subject in known]))

    # Memory

    def _recall(self, key: str) -> list[Any] | None:
        row = self._store.execute("select facts from seen where key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def _keep(self, key: str, facts: list[Any]) -> None:
        self._store.execute("insert or ignore into seen values (?, ?)", (key, json.dumps(facts)))


def _parts(probe: Probe) -> tuple[Generate, Decide]:
    generate, decide = probe.steps
    assert isinstance(generate, Generate)
    assert isinstance(decide, Decide)
    return generate, decide


def _key(probe: Probe) -> str:
    return f"{_weights()} {probe.seed} {_parts(probe)[0].prompt} {probe.subject}"


def _trial(probe: Probe, decided: list[bool | None]) -> Trial:
    facts = ["", decided]
    verdict, reason = reach_verdict(probe.steps, facts)
    return Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed)


@cache
def _weights() -> str:
    return weights_digest(MODELS / "painter.onnx")[:8] + weights_digest(MODELS / "eyes.onnx")[:8]


def _ancestors(subject: str) -> list[str]:
    space = lattice()
    node = space.parse(subject)
    sizes = range(len(node.values))
    return [space.subject(Node(node.entity, v)) for size in sizes for v in combinations(node.values, size)]
