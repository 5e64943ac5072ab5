"""Who finds more failures of toy-vlm at the same number of questions? Exact truth, several seeds.

    python -m benchmarks.vlm run --out runs/vlm-bench [--arms "evolve;named: grpo"] [--seeds 0,1] [--steps 40]
    python -m benchmarks.vlm table --out runs/vlm-bench
    python -m benchmarks.vlm ideal --seeds 51,52,53 --steps 28

Arms with a network need the extra `rl`. A finished cell (arm, seed, steps) is kept as a JSON file and never
run again: a campaign that was stopped goes on where it was. Each finished cell is told in one line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import shutil
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.vlm_ideal import ideal
from failscape.atlas import Atlas
from failscape.config.files import parse_config
from failscape.kinds.vlm.training import lessons
from failscape.kinds.vlm.training.quarters import LEAST
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.views.read import load_hunt

NO_REWARD = {"rate": 1e-12, "kl": 0.0}
STILL = {**NO_REWARD, "replay": 0}
"""Weights that do not move: the same lessons, no update worth the name."""

ALONE = {"warmup": 0, "replay": 0, "rate": 5e-4}
"""Updates by reward and nothing learned by imitation, at the rate that was best for it."""

ROUND = 96
"""Questions planned together in confirmation, alike for all arms."""

FREE = {"named": 0.0}
"""No skill is ever named: what is asked is the questioner's own choice."""


def _grpo(reward: dict[str, Any] | None = None, **training: Any) -> dict[str, Any]:
    return {"strategy": "grpo", "training": training, "reward": reward or {}}


ARMS: dict[str, dict[str, Any]] = {
    "chance (grammar)": {"strategy": "zero-shot"},
    "evolve": {"strategy": "evolve"},
    "free: zero-shot": _grpo(warmup=0, **STILL, **FREE),
    "free: SFT": _grpo(**STILL, **FREE),
    "free: grpo": _grpo(**ALONE, **FREE),
    "free: SFT + grpo": _grpo(**FREE),
    "named: zero-shot": _grpo(warmup=0, adapt=False, **STILL),
    "named: frozen, adaptive naming": _grpo(warmup=0, **STILL),
    "named: SFT": _grpo(**STILL),
    "named: grpo": _grpo(**ALONE),
    "named: SFT + grpo": _grpo(),
    "free: SFT + grpo, no replay": _grpo(replay=0, **FREE),
    "free: SFT + grpo, no reward": _grpo(**NO_REWARD, **FREE),
    "free: SFT + grpo, no semantic term": _grpo({"semantic": 0}, **FREE),
    "free: SFT + grpo, no lexical term": _grpo({"lexical": 0}, **FREE),
    "free: SFT + grpo, no invalid penalty": _grpo({"invalid": 0}, **FREE),
    "free: SFT + grpo, no share credit": _grpo({"share": 1}, **FREE),
    "free: SFT + grpo, no promise": _grpo({"promise": 0}, **FREE),
}
WARM_UP = 512


def config(arm: str, seed: int, steps: int) -> dict[str, Any]:
    """Every arm may write the same number of questions; those of the warm-up are among them."""
    asking = {**json.loads(json.dumps(ARMS[arm])), "round": ROUND}
    total = math.ceil(steps * 64 / (1 - lessons.KEPT_FOR_CONFIRMATION)) + 1
    if "training" in asking:
        warm = asking["training"].setdefault("warmup", WARM_UP)
        asking["training"]["steps"] = steps - -(-warm // 64)
        asking["training"]["save_steps"] = 1000
    return {
        "hunt": "vlm",
        "target": {"provider": "toybox"},
        "images": {"source": "toybox"},
        "questioner": asking,
        "questions": total,
        "seed": seed,
    }


async def run(arm: str, seed: int, steps: int, out: Path) -> dict[str, Any]:
    folder = out / f"{arm}-{seed}".replace(" ", "_").replace(",", "").replace(":", "")
    shutil.rmtree(folder, ignore_errors=True)
    clock = time.process_time()
    await run_session(parse_config(config(arm, seed, steps), arm), folder, PlainReporter(every=math.inf))
    seconds = time.process_time() - clock
    with Atlas.open(folder, readonly=True) as atlas:
        loaded = load_hunt(atlas, None)
        survey = loaded.survey.as_data() if loaded.survey else {}
        calls = atlas.costs(loaded.row.id)["answerer"][0]
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "arm": arm,
        "seed": seed,
        "steps": steps,
        "processor_seconds": round(seconds, 1),
        "calls": calls,
        "modes": len(loaded.findings),
        "titles": [finding.title for finding in loaded.findings],
        "coverage": survey["coverage"],
        "diversity": survey["diversity"],
        "quarters": survey["quarters"],
        "curriculum": survey["curriculum"],
    }


Figure = tuple[str, Callable[[dict[str, Any]], float], str]


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _quarter(at: int, name: str) -> Callable[[dict[str, Any]], float]:
    return lambda row: float(row["quarters"][at][name] or 0.0)


FIGURES: tuple[tuple[str, Callable[[dict[str, Any]], float], Callable[[float], str]], ...] = (
    ("failed, of valid: 1st quarter", _quarter(0, "of_valid"), _percent),
    ("2nd", _quarter(1, "of_valid"), _percent),
    ("3rd", _quarter(2, "of_valid"), _percent),
    ("4th", _quarter(3, "of_valid"), _percent),
    ("of written: 1st", _quarter(0, "of_written"), _percent),
    ("4th", _quarter(3, "of_written"), _percent),
    ("4th on the early mix", _quarter(3, "on_early_mix"), _percent),
    ("entropy of failing skills: 4th", _quarter(3, "entropy"), "{:.2f}".format),
    ("commonest failing form: 4th", _quarter(3, "largest"), _percent),
    ("skills", lambda row: row["coverage"]["skills"], "{:.1f}".format),
    ("combinations", lambda row: row["coverage"]["combinations"], "{:.1f}".format),
    ("failing", lambda row: row["coverage"]["failing_combinations"], "{:.1f}".format),
    ("modes", lambda row: row["modes"], "{:.1f}".format),
    ("per 1,000 calls", lambda row: 1000 * row["modes"] / row["calls"], "{:.2f}".format),
)


def table(out: Path) -> str:
    """Means over seeds with the range, one line per arm."""
    rows = [json.loads(path.read_text()) for path in sorted(out.glob("*.json"))]
    lines = [
        f"| arm | steps | seeds | {' | '.join(name for name, _, _ in FIGURES)} |",
        "|---" * (len(FIGURES) + 3) + "|",
    ]
    for steps, arm in product(sorted({row["steps"] for row in rows}), ARMS):
        mine = [row for row in rows if row["arm"] == arm and row["steps"] == steps]
        if mine:
            cells = [_cell([of(row) for row in mine], show) for _, of, show in FIGURES]
            lines.append(f"| {arm} | {steps} | {len(mine)} | {' | '.join(cells)} |")
    return "\n".join(lines)


FROZEN = "named: frozen, adaptive naming"
"""Whose first quarter gives the mix of lessons that all arms with names are compared on."""


def common_mix(out: Path) -> str:
    """Failures of the last quarter with every kind of lesson (a named skill, or none) as frequent as in the
    first quarter of the frozen arm, seeds together: what naming one skill more often cannot raise. Beside it
    the mean over named skills alone, each counted alike."""
    rows = [json.loads(path.read_text()) for path in sorted(out.glob("*.json"))]
    mix = _lessons([row for row in rows if row["arm"] == FROZEN], 0)
    lines = [
        "| arm | seeds | 4th quarter on the common mix | of that mix | named skills alike |",
        "|---" * 5 + "|",
    ]
    for arm in [arm for arm in ARMS if arm.startswith("named")]:
        mine = [row for row in rows if row["arm"] == arm]
        late = {name: one for name, one in _lessons(mine, 3).items() if one[1] >= LEAST}
        weight = {name: mix[name][0] for name in late if name in mix}
        if not weight:
            continue
        rates = {name: late[name][2] / late[name][1] for name in weight}
        mean = sum(weight[name] * rates[name] for name in weight) / sum(weight.values())
        share = sum(weight.values()) / sum(one[0] for one in mix.values())
        named = float(np.mean([rates[name] for name in rates if name]))
        lines.append(f"| {arm} | {len(mine)} | {_percent(mean)} | {_percent(share)} | {_percent(named)} |")
    return "\n".join(lines)


def _lessons(rows: list[dict[str, Any]], quarter: int) -> dict[str, NDArray[np.int64]]:
    """Skill that was named → written, valid and failed questions of all seeds."""
    found: dict[str, NDArray[np.int64]] = {}
    for one in (lesson for row in rows for lesson in row["quarters"][quarter]["lessons"]):
        counts = np.array([one["written"], one["valid"], one["failures"]])
        found[one["named"]] = found.get(one["named"], 0) + counts
    return found


def _cell(values: list[float], show: Callable[[float], str]) -> str:
    return f"{show(float(np.mean(values)))} ({show(min(values))}–{show(max(values))})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "table", "ideal"])
    parser.add_argument("--out", type=Path, default=Path("runs/vlm-bench"))
    parser.add_argument("--arms", default=";".join(ARMS), help="names of arms, with ; between them")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--no-confirmation", action="store_true", help="end with the lessons")
    chosen = parser.parse_args()
    if chosen.command == "ideal":
        print(ideal([int(seed) for seed in chosen.seeds.split(",") if seed], chosen.steps))
        return
    if chosen.no_confirmation:
        lessons.KEPT_FOR_CONFIRMATION = 0.0
        lessons.LessonPlanner._plan = lambda *_: []  # type: ignore[method-assign]
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.command == "run":
        for seed in map(int, chosen.seeds.split(",")):
            for arm in chosen.arms.split(";"):
                file = chosen.out / f"{arm}-{seed}-{chosen.steps}.json"
                if not file.exists():
                    row = asyncio.run(run(arm, seed, chosen.steps, chosen.out))
                    file.write_text(json.dumps(row, indent=1))
                    late = row["quarters"][-1]
                    print(f"{arm}, seed {seed}: {row['processor_seconds']} s, {late}", flush=True)
    print(table(chosen.out), common_mix(chosen.out), sep="\n\n")


if __name__ == "__main__":
    main()
