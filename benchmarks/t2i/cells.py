"""One cell of the benchmark: one arm in one world, planted or toy-painter's. Cells run in processes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.t2i.arms import KNOWS_THE_JUDGE, ORACLES, errors_of, known_accuracy, make_hunt
from benchmarks.t2i.fair_oracle import watch_fair_oracle
from benchmarks.t2i.oracle import watch_oracle
from benchmarks.t2i.painter import Painted
from failscape.errors import FailscapeError
from failscape.kinds.t2i.search.hunt import CertifiedHunt
from failscape.simulate.corpus import write_planted_corpus
from failscape.simulate.planted import PlantedWorld
from failscape.simulate.scoring import Truth, Watched, watch
from failscape.spaces import Lattice, load_corpus

THRESHOLD, LEVEL, CHECKPOINTS = 0.8, 0.05, 50
PAINTER = "toy-painter"
"""The regime of cells on real pictures; their `world` is the seed of the run."""


@dataclass(frozen=True, slots=True)
class Cell:
    spread: str
    judge: str
    regime: str
    arm: str
    world: int
    images: int
    in_flight: int
    size: tuple[int, int, int]
    """Entities, values and about how many nodes the corpus has."""
    shape: str = "planted"
    """Of the landscape: `failscape.simulate.landscape`."""

    @property
    def key(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Outcome:
    """`skipped` says why there are no figures."""

    cell: Cell
    images: int = 0
    seconds: float = 0.0
    truth: int = 0
    pruned: float = 0.0
    curve: tuple[tuple[int, ...], ...] = ()
    covered: int = 0
    """Minimal failures that no finding names and a claimed rule covers."""
    doubt: float = 0.0
    """The mean doubt, printed with the findings, that they are minimal."""
    audit: tuple[float, float, float] | None = None
    """How many minimal failures the hunt says there are: lower end, estimate, upper end."""
    skipped: str = ""

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Outcome:
        cell = Cell(**{**data.pop("cell"), "size": tuple(data["size"])})
        data.pop("size")
        curve = tuple(tuple(row) for row in data.pop("curve"))
        audit = data.pop("audit", None)
        return cls(cell, curve=curve, audit=tuple(audit) if audit else None, **data)

    def as_data(self) -> dict[str, Any]:
        return {**asdict(self), "size": self.cell.size}


def run_cell(cell: Cell, corpus: str, seen: Path | None = None) -> Outcome:
    """`corpus` is the folder of the planted corpus; `seen` keeps what toy-painter drew."""
    painted = cell.regime == PAINTER
    truth = Painted(seen, THRESHOLD) if painted else _truth(corpus, cell)
    accuracy = known_accuracy(cell.judge, cell.world)
    if isinstance(truth, Truth) and cell.arm in ORACLES:
        oracle = watch_oracle if cell.arm == "oracle" else watch_fair_oracle
        done = oracle(truth, cell.images, LEVEL, accuracy, CHECKPOINTS, cell.world)
        return _outcome(cell, done, truth, 0.0)
    try:
        where = "toybox" if painted else corpus
        hunt = make_hunt(cell.arm, where, cell.images, cell.world, accuracy, in_flight=cell.in_flight)
    except (FailscapeError, ImportError, ValueError) as error:
        return Outcome(cell, skipped=" ".join(str(error).split())[:160])
    done = watch(hunt, truth, cell.images, cell.in_flight, CHECKPOINTS, shuffle=cell.world)
    outcome = _outcome(cell, done, truth, truth.pruned(hunt.findings()))
    return _with_survey(outcome, hunt, truth) if isinstance(hunt, CertifiedHunt) else outcome


def _with_survey(outcome: Outcome, hunt: CertifiedHunt, truth: Truth | Painted) -> Outcome:
    """What the hunt says of its own errors, and what its rules cover."""
    findings, audit = hunt.findings(), hunt.survey().audit
    named = {finding.subject for finding in findings}
    members = {hunt.lattice.subject(hunt.node_of(key)) for key in hunt.rules()} - named
    is_minimal = truth.subjects.__contains__ if isinstance(truth, Truth) else truth.is_minimal
    doubts = [finding.details.claim.doubt_minimal for finding in findings]
    found = None if audit is None else (audit.minimal_interval[0], audit.minimal, audit.minimal_interval[1])
    return replace(
        outcome,
        covered=sum(map(is_minimal, members)),
        doubt=sum(doubts) / max(len(doubts), 1),
        audit=found,
    )


def _outcome(cell: Cell, done: Watched, truth: Truth | Painted, pruned: float) -> Outcome:
    curve = tuple((c.images, c.claims, c.failing, c.minimal_claims, c.minimal) for c in done.checkpoints)
    total = len(truth.minimal) if isinstance(truth, Truth) else round(truth.total)
    return Outcome(cell, done.images, done.seconds, total, pruned, curve)


def _truth(corpus: str, cell: Cell) -> Truth:
    return _planted(corpus, cell.shape, cell.spread, cell.judge, cell.regime, cell.world)


@lru_cache(maxsize=2)
def _planted(corpus: str, shape: str, spread: str, judge: str, regime: str, world: int) -> Truth:
    lattice = Lattice(load_corpus(corpus), depth=2)
    planted = PlantedWorld(lattice, regime, world, spread=spread, shape=shape, **errors_of(judge))
    return Truth(planted, THRESHOLD)


def read_log(log: Path) -> dict[str, Outcome]:
    """The cells that were run, by their keys; the last word counts."""
    outcomes = map(_read_line, log.read_text().splitlines() if log.exists() else [])
    return {outcome.cell.key: outcome for outcome in outcomes if outcome and not outcome.skipped}


def _read_line(line: str) -> Outcome | None:
    """`None` for a line that a kill cut off: its cell is run again."""
    try:
        return Outcome.from_data(json.loads(line))
    except json.JSONDecodeError:
        return None


def run_cells(
    cells: list[Cell], processes: int, log: Path | None, again: set[str], seen: Path | None = None
) -> Iterator[Outcome]:
    """Outcomes as they come. Those in the log are not run again, unless their arm is named in `again`."""
    known = read_log(log) if log else {}
    done = [c for c in cells if c.key in known and c.arm not in again]
    yield from (known[cell.key] for cell in done)
    left = [cell for cell in cells if cell not in set(done)]
    with TemporaryDirectory() as folder, ProcessPoolExecutor(processes) as pool:
        corpus = str(write_planted_corpus(Path(folder), *cells[0].size))
        for ready in as_completed([pool.submit(run_cell, cell, corpus, seen) for cell in left]):
            outcome = ready.result()
            if log:
                _append(log, json.dumps(outcome.as_data()))
            yield outcome


def _append(log: Path, line: str) -> None:
    """On a line of its own, also after one that was cut off."""
    with log.open("a+b") as lines:
        if lines.tell() and not log.read_bytes().endswith(b"\n"):
            lines.write(b"\n")
        lines.write(line.encode() + b"\n")


def all_cells(
    arms: list[str],
    spreads: list[str],
    judges: list[str],
    regimes: list[str],
    worlds: range,
    shapes: Sequence[str] = ("planted",),
    **rest: Any,
) -> list[Cell]:
    """All arms of a world follow each other, so that its truth is worked out once."""
    places = product(shapes, spreads, judges, regimes, worlds, arms)
    return [
        Cell(spread, judge, regime, arm, world, shape=shape, **rest)
        for shape, spread, judge, regime, world, arm in places
        if judge != "reviewed" or arm in KNOWS_THE_JUDGE
    ]
