"""Measures toy-painter node by node and writes the ground truth: `painter_truth`.

    python -m benchmarks.toybox_truth [--checkpoint FILE] [--processes 2]

Entities and single values are measured exhaustively, pairs of values on a random sample. Finished nodes
are kept in the checkpoint, so the measurement can be stopped and gone on with.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import Lattice, Node
from failscape.spaces.wording import Wording
from failscape.toybox.eyes import Eyes
from failscape.toybox.painter import ToyPainter
from failscape.trials import derive_seed

IMAGES = {0: 200, 1: 64, 2: 32}
PAIRS = 1200
SEED = 20_000_003
"""Its own run seed: a hunt draws other images than those that made the truth."""

TABLE: Final = Path(__file__).parent / "data" / "painter_truth.csv.gz"
FIELDS: Final = ("subject", "images", "passes", "checks")


@dataclass(frozen=True, slots=True)
class MeasuredNode:
    """`images` were drawn of a node, `passes` showed all of it; `checks` counts how often each check held."""

    images: int
    passes: int
    checks: tuple[int, ...]

    @property
    def rate(self) -> float:
        """The share of images that fail."""
        return 1 - self.passes / self.images


@cache
def painter_truth(path: Path = TABLE) -> dict[str, MeasuredNode]:
    """Subject → what was measured. A subject is the node's text, as in an atlas."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return {
            row["subject"]: MeasuredNode(
                int(row["images"]), int(row["passes"]), tuple(int(count) for count in row["checks"].split())
            )
            for row in csv.DictReader(lines)
        }


def write_truth(rows: dict[str, MeasuredNode], path: Path = TABLE) -> None:
    """Write the table; the same rows give the same bytes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for subject, row in sorted(rows.items()):
        writer.writerow((subject, row.images, row.passes, " ".join(map(str, row.checks))))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


@cache
def lattice() -> Lattice:
    return Lattice(load_corpus("toybox"), "all", ("Base", "Background", "Image"), 2)


@cache
def models() -> tuple[ToyPainter, Eyes, Wording]:
    return ToyPainter(), Eyes(), Wording(lattice().corpus)


def measure(subject: str) -> tuple[str, MeasuredNode]:
    painter, eyes, wording = models()
    node = lattice().parse(subject)
    count, checks = IMAGES[len(node.values)], wording.checks(node)
    seeds = [derive_seed(SEED, index) for index in range(count)]
    images = painter.paint([wording.caption(node)] * count, seeds)
    decided = np.array(eyes.judge(images, [checks] * count), dtype=bool)
    holds = tuple(int(total) for total in decided.sum(axis=0))
    return subject, MeasuredNode(count, int(decided.all(axis=1).sum()), holds)


def nodes() -> Iterator[Node]:
    space = lattice()
    for layer in (0, 1):
        yield from space.nodes(layer)
    pairs = space.sample(2, PAIRS * 2, np.random.default_rng(SEED))
    yield from list(dict.fromkeys(pairs))[:PAIRS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/painter_truth.jsonl"))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=TABLE)
    options = parser.parse_args()
    options.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    options.checkpoint.touch()
    done = {row[0]: row for row in map(json.loads, options.checkpoint.read_text().splitlines())}
    subjects = [lattice().subject(node) for node in nodes()]
    left = [subject for subject in subjects if subject not in done]
    started = time.perf_counter()
    with ProcessPoolExecutor(options.processes) as pool, options.checkpoint.open("a") as log:
        for number, (subject, row) in enumerate(pool.map(measure, left, chunksize=8), 1):
            done[subject] = [subject, row.images, row.passes, list(row.checks)]
            log.write(json.dumps(done[subject]) + "\n")
            if number % 100 == 0:
                log.flush()
                pace = (time.perf_counter() - started) / number
                print(
                    f"{number} of {len(left)} nodes, {pace * (len(left) - number) / 60:.1f} min left",
                    flush=True,
                )
    rows = {s: MeasuredNode(done[s][1], done[s][2], tuple(done[s][3])) for s in subjects}
    write_truth(rows, options.out)
    describe(rows)


def describe(rows: dict[str, MeasuredNode]) -> None:
    for layer in (0, 1, 2):
        rates = [row.rate for subject, row in rows.items() if len(lattice().parse(subject).values) == layer]
        failing = np.mean(np.array(rates) > 0.2)
        print(
            f"layer {layer}: {len(rates)} nodes, {np.mean(rates):.1%} of images fail, {failing:.1%} of nodes"
        )


if __name__ == "__main__":
    main()
