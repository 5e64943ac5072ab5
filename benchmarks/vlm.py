"""Who finds more failures of toy-vlm at the same number of target calls? Exact truth, several seeds.

    python -m benchmarks.vlm run --out runs/vlm-bench [--arms evolve,grpo] [--seeds 0,1,2] [--steps 20]
    python -m benchmarks.vlm table --out runs/vlm-bench

Arms with a network need the extra `rl`. A finished run is kept as a JSON file and not repeated.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np

from failscape.atlas import Atlas
from failscape.config.files import parse_config
from failscape.evidence import load_hunt
from failscape.hunts.vlm.training.lessons import KEPT_FOR_CONFIRMATION
from failscape.runtime.progress import choose_reporter
from failscape.runtime.session import run_session

FROZEN = {"rate": 1e-12, "adapt": False}
"""A questioner that does not learn: the same lessons, no update worth the name, skills named by chance."""

ARMS: dict[str, dict[str, Any]] = {
    "chance (grammar)": {"strategy": "zero-shot"},
    "evolve": {"strategy": "evolve"},
    "zero-shot": {"strategy": "grpo", "training": {**FROZEN, "warmup": 0}},
    "SFT only": {"strategy": "grpo", "training": FROZEN},
    "grpo": {"strategy": "grpo", "training": {"warmup": 0}},
    "SFT + grpo": {"strategy": "grpo", "training": {}},
    "grpo, no semantic term": {"strategy": "grpo", "training": {"warmup": 0}, "reward": {"semantic": 0}},
    "grpo, no lexical term": {"strategy": "grpo", "training": {"warmup": 0}, "reward": {"lexical": 0}},
    "grpo, no invalid penalty": {"strategy": "grpo", "training": {"warmup": 0}, "reward": {"invalid": 0}},
    "grpo, no share credit": {"strategy": "grpo", "training": {"warmup": 0}, "reward": {"share": 1}},
    "grpo, skills named by chance": {"strategy": "grpo", "training": {"warmup": 0, "adapt": False}},
    "grpo, no skills named": {"strategy": "grpo", "training": {"warmup": 0, "named": 0}},
}
WARM_UP = 192


def config(arm: str, seed: int, steps: int) -> dict[str, Any]:
    """Every arm may put the same number of questions to the target; warm-up questions are among them."""
    asking = json.loads(json.dumps(ARMS[arm]))
    total = round(steps * 64 / (1 - KEPT_FOR_CONFIRMATION))
    if "training" in asking:
        warm = asking["training"].setdefault("warmup", WARM_UP)
        asking["training"]["steps"] = steps - -(-warm // 64)
    return {
        "hunt": "vlm",
        "target": {"provider": "toybox"},
        "images": {"source": "toybox"},
        "questioner": asking,
        "questions": total,
        "seed": seed,
    }


async def run(arm: str, seed: int, steps: int, out: Path) -> dict[str, Any]:
    folder = out / f"{arm}-{seed}".replace(" ", "_").replace(",", "")
    shutil.rmtree(folder, ignore_errors=True)
    clock = time.perf_counter()
    await run_session(parse_config(config(arm, seed, steps), arm), folder, choose_reporter(True))
    seconds = time.perf_counter() - clock
    with Atlas.open(folder, readonly=True) as atlas:
        loaded = load_hunt(atlas, None)
        survey = loaded.survey or {}
        calls = atlas.costs(loaded.row.id)["answerer"][0]
    shutil.rmtree(folder, ignore_errors=True)
    curve = [row for row in survey["learning"] if row["valid"] >= 12]
    late = curve[-max(1, len(curve) // 3) :]
    return {
        "arm": arm,
        "seed": seed,
        "seconds": round(seconds, 1),
        "calls": calls,
        "modes": len(loaded.findings),
        "certified": len(loaded.findings) + sum(len(f.details["explains"]) for f in loaded.findings),
        "titles": [finding.title for finding in loaded.findings],
        "late_rate": sum(row["failures"] for row in late) / max(1, sum(row["valid"] for row in late)),
        "coverage": survey["coverage"],
        "diversity": survey["diversity"],
        "curve": curve,
    }


def figures(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    return {
        "failed, of valid": [row["coverage"]["discovery_rate"] for row in rows],
        "in the last third": [row["late_rate"] for row in rows],
        "invalid": [row["coverage"]["invalid_share"] for row in rows],
        "modes per 1,000 calls": [1000 * row["modes"] / row["calls"] for row in rows],
        "skills": [row["coverage"]["skills"] for row in rows],
        "combinations": [row["coverage"]["combinations"] for row in rows],
        "failing combinations": [row["coverage"]["failing_combinations"] for row in rows],
        "semantic": [row["diversity"]["semantic"] for row in rows],
        "lexical": [row["diversity"]["lexical"] for row in rows],
    }


def table(out: Path) -> str:
    """Means over seeds with the range, one line per arm."""
    rows = [json.loads(path.read_text()) for path in sorted(out.glob("*.json"))]
    lines: list[str] = []
    for arm in ARMS:
        mine = [row for row in rows if row["arm"] == arm]
        if not mine:
            continue
        found = figures(mine)
        if not lines:
            lines += [f"| arm | seeds | {' | '.join(found)} |", "|---" * (len(found) + 2) + "|"]
        cells = [_cell(name, values) for name, values in found.items()]
        lines.append(f"| {arm} | {len(mine)} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_curves(rows)])


def _cell(name: str, values: list[float]) -> str:
    shares = name in ("failed, of valid", "in the last third", "invalid")
    show = (lambda v: f"{100 * v:.1f} %") if shares else (lambda v: f"{v:.2f}" if v < 3 else f"{v:.1f}")
    return f"{show(float(np.mean(values)))} ({show(min(values))}–{show(max(values))})"


def _curves(rows: list[dict[str, Any]]) -> list[str]:
    """Failure rate among valid questions in each quarter of the search: mean and range over seeds."""
    lines = ["| arm | 1st quarter | 2nd | 3rd | 4th |", "|---|---|---|---|---|"]
    for arm in ARMS:
        mine = [row for row in rows if row["arm"] == arm]
        quarters = np.array([[_rate(part) for part in np.array_split(row["curve"], 4)] for row in mine])
        if len(quarters):
            cells = [
                f"{100 * column.mean():.1f} % ({100 * column.min():.1f}–{100 * column.max():.1f})"
                for column in quarters.T
            ]
            lines.append(f"| {arm} | {' | '.join(cells)} |")
    return lines


def _rate(part: Any) -> float:
    return sum(row["failures"] for row in part) / max(1, sum(row["valid"] for row in part))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "table"])
    parser.add_argument("--out", type=Path, default=Path("runs/vlm-bench"))
    parser.add_argument("--arms", default=";".join(ARMS), help="names of arms, with ; between them")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--steps", type=int, default=20)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.command == "run":
        for seed in map(int, chosen.seeds.split(",")):
            for arm in chosen.arms.split(";"):
                file = chosen.out / f"{arm}-{seed}-{chosen.steps}.json"
                if not file.exists():
                    file.write_text(
                        json.dumps(asyncio.run(run(arm, seed, chosen.steps, chosen.out)), indent=1)
                    )
    print(table(chosen.out))


if __name__ == "__main__":
    main()
