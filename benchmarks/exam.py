"""The exam: worlds drawn at random, and how well a search or a hunt does in all of them.

    python -m benchmarks.exam --seeds 100                       # the pattern search by itself
    python -m benchmarks.exam --seeds 50 --first 9000 --log exam.jsonl

Each world is written to `--log` when it is done, and not run again.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from failscape.testing.exam.marks import WorldMark, table
from failscape.testing.exam.subjects import SUBJECTS


def recorded(log: Path | None, hunt: str) -> dict[int, WorldMark]:
    """Marks of worlds that were run before."""
    if log is None or not log.exists():
        return {}
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return {line["mark"]["seed"]: WorldMark(**line["mark"]) for line in lines if line["hunt"] == hunt}


def sat(hunt: str, seed: int, log: Path | None) -> WorldMark:
    mark = SUBJECTS[hunt](seed)
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            print(json.dumps({"hunt": hunt, "mark": asdict(mark)}), file=file)
    return mark


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=100, help="how many worlds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--hunt", default="patterns", choices=sorted(SUBJECTS))
    parser.add_argument("--log", type=Path)
    chosen = parser.parse_args()
    known = recorded(chosen.log, chosen.hunt)
    marks: list[WorldMark] = []
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        mark = known.get(seed) or sat(chosen.hunt, seed, chosen.log)
        marks.append(mark)
        print(
            f"{seed}: {mark.named_provable} of {mark.provable} provable, {mark.named} of {mark.planted} "
            f"planted, {mark.false_claims} of {mark.claims} false, "
            f"{mark.noticed} of {mark.noticeable} noticed",
            flush=True,
        )
    print(table(marks))


if __name__ == "__main__":
    main()
