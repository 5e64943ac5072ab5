"""Strategies of the t2i hunt side by side, in one command.

    python -m benchmarks.t2i                            all of it: hours
    python -m benchmarks.t2i --quick                    a few minutes, to see whether a change helps
    python -m benchmarks.t2i --part worlds --arms certified listed --log results.jsonl
    python -m benchmarks.t2i --part worlds --shape low-rank sparse --worlds 8 --log results.jsonl --background
    python -m benchmarks.t2i --part worlds --small --arms listed --shape near-miss sparse --first 9000
    python -m benchmarks.t2i --part painter --cache pictures.db

Finished cells are kept in the log, and a second call with the same settings goes on from there: start a run
that was killed with the same command again. `--background` leaves the run to itself and writes to LOG.out.
What the columns mean is in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.t2i.arms import ARMS, JUDGES, ORACLES
from benchmarks.t2i.cells import PAINTER, Cell, Outcome, all_cells, read_log, run_cells
from benchmarks.t2i.cost import write_table
from benchmarks.t2i.table import describe, found, write_tables
from failscape.simulate.planted import REGIMES, SHAPES, SPREADS

REFERENCES = ["failureatlas+transformer", "failureatlas+ridge", "fair oracle"]
PUBLISHED = ["weak", "medium", "strong"]
QUICK = {
    "worlds": 2,
    "images": 10_000,
    "painter_images": 1_000,
    "cost_images": 20_000,
    "size": (60, 30, 10_000),
}

SMALL = {"images": 8_000, "size": (60, 32, 12_000), "spread": ["wide"], "judge": ["perfect"]}
"""Spaces in which a world takes seconds, so that every shape can be held to the level in many of them."""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--spread", nargs="+", default=list(SPREADS), choices=list(SPREADS))
    parser.add_argument("--shape", nargs="+", default=["planted"], choices=list(SHAPES))
    parser.add_argument("--judge", nargs="+", default=list(JUDGES), choices=list(JUDGES))
    parser.add_argument("--regime", nargs="+", default=PUBLISHED, choices=list(REGIMES))
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="number of the first world, which is its seed")
    parser.add_argument("--images", type=int, default=40_000)
    parser.add_argument("--painter-images", type=int, default=5_000)
    parser.add_argument("--cost-images", type=int, default=1_000_000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--size", type=int, nargs=3, default=(150, 48, 65_000), help="entities values nodes")
    parser.add_argument("--reference", nargs="+", default=REFERENCES, help="arms that all are compared with")
    parser.add_argument("--log", type=Path, help="file of finished cells, to go on from")
    parser.add_argument("--show", action="store_true", help="run nothing: print what the log has")
    parser.add_argument("--cache", type=Path, help="file of what toy-painter drew, to draw nothing twice")
    parser.add_argument("--again", nargs="+", default=[], help="arms to run again although they are logged")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--background", action="store_true", help="go on when the shell ends; needs --log")
    parser.add_argument("--quick", action="store_true", help="a small space, 2 worlds, 10,000 images")
    parser.add_argument("--small", action="store_true", help="a small space, 8,000 images, a perfect judge")
    options = parser.parse_args()
    if options.small:
        vars(options).update(SMALL)
    if options.quick:
        vars(options).update(QUICK)
    if (options.show or options.background) and not options.log:
        parser.error("--show and --background need --log")
    return options


def planted(options: argparse.Namespace) -> None:
    cells = all_cells(
        options.arms,
        options.spread,
        options.judge,
        options.regime,
        range(options.first, options.first + options.worlds),
        options.shape,
        images=options.images,
        in_flight=options.in_flight,
        size=tuple(options.size),
    )
    run(cells, options)


def painter(options: argparse.Namespace) -> None:
    arms = [arm for arm in options.arms if arm not in ORACLES]
    rest = {"images": options.painter_images, "in_flight": options.in_flight, "size": tuple(options.size)}
    run(all_cells(arms, ["real pictures"], ["toy-eyes"], [PAINTER], range(options.worlds), **rest), options)


def cost(options: argparse.Namespace) -> None:
    arms = [arm for arm in options.arms if arm not in ORACLES]
    print("\n**Our own cost**\n\n" + write_table(arms, options.cost_images, in_flight=500))


def run(cells: list[Cell], options: argparse.Namespace) -> None:
    if options.show:
        known = read_log(options.log)
        print(write_tables([known[cell.key] for cell in cells if cell.key in known], options.reference))
        return
    outcomes: list[Outcome] = []
    started = time.monotonic()
    for outcome in run_cells(cells, options.processes, options.log, set(options.again), options.cache):
        outcomes.append(outcome)
        what = outcome.skipped or f"{found(outcome)} true minimal failures"
        clock = f"{time.monotonic() - started:5.0f} s"
        print(f"{clock}  {len(outcomes)}/{len(cells)}  {describe(outcome.cell)}: {what}", file=sys.stderr)
    place = {cell.key: number for number, cell in enumerate(cells)}
    outcomes.sort(key=lambda outcome: place[outcome.cell.key])
    print(write_tables(outcomes, options.reference), flush=True)


def start_again(log: Path) -> int:
    """The same command without `--background`, in a session of its own; its process number."""
    command = [word for word in sys.argv[1:] if word != "--background"]
    with Path(f"{log}.out").open("a") as out:
        started = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.t2i", *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    return started.pid


PARTS = {"worlds": planted, "painter": painter, "cost": cost}


def main() -> None:
    options = parse()
    if options.background:
        print(f"started as process {start_again(options.log)}; it writes to {options.log}.out")
        return
    for part in options.part:
        PARTS[part](options)


if __name__ == "__main__":
    main()
