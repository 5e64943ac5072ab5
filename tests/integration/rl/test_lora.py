"""A questioner with LoRA: only its adapter learns, in the warm-up and by reward; a whole model is saved."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failscape.models.training.classroom import Classroom, Graded, Task

pytestmark = pytest.mark.extra("torch", "trl", "peft", "datasets")
PARAMS: dict[str, Any] = {
    "steps": 3,
    "group": 4,
    "pictures": 1,
    "rate": 1e-2,
    "kl": 0.01,
    "temperature": 1.0,
    "longest": 12,
    "save_steps": 2,
    "seed": 0,
    "lora": 4,
    "replay": 1,
}


def task(number: int, count: int) -> Task:
    return Task(f"lesson {number}: a red cow and two blue cups", (), count)


async def train(study: Any, room: Classroom) -> None:
    warm = replace(task(99, 1), guidance="warm-up 0: a red cow and two blue cups")
    room.begin_warm_up(warm)
    room.grade_warm_up(warm.number, Graded(("what colour is the cow?",), (0.0,), (1,), ("colour",)))

    async def lesson(number: int) -> None:
        texts = await room.ask(task(number, 4))
        rewards = tuple(float(len(text)) for text in texts)
        room.grade(number, Graded(tuple(texts), rewards, (1,) * len(texts), ("colour",) * len(texts)))

    with ThreadPoolExecutor(1) as worker:
        training = asyncio.get_running_loop().run_in_executor(worker, study.train)
        training.add_done_callback(lambda _: room.stop())  # a training that breaks is not waited for
        await asyncio.gather(training, *(lesson(number) for number in range(PARAMS["steps"])))


async def test_only_the_adapter_learns_and_a_whole_model_is_saved(tmp_path: Path) -> None:
    import torch

    from failscape.models.providers.grpo import locate
    from failscape.models.training.grpo import Study

    source, template = locate("toybox")
    room, logged = Classroom(), list[dict[str, Any]]()
    study = Study(source, template, PARAMS, tmp_path, room)
    study.log = logged.append
    before = {name: value.clone() for name, value in study.model.state_dict().items()}
    await train(study, room)

    after = study.model.state_dict()
    assert after.keys() == before.keys(), "the adapter is merged"
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all("_proj" in name for name in changed), "embeddings and norms stay as they were"
    assert _matrix_rank(after, before, changed) <= 2 * PARAMS["lora"], (
        "one adapter each for warm-up and reward"
    )
    losses = [row["loss"] for row in logged if "loss" in row]
    assert {row["phase"] for row in logged} == {"warm-up", "grpo", "replay"}
    assert np.isfinite(losses).all()
    saved = tmp_path / "checkpoints" / "checkpoint-2"
    assert (saved / "adapter_model.safetensors").exists()
    assert not (saved / "model.safetensors").exists()

    again = Study(source, template, PARAMS, tmp_path, Classroom())
    assert all(torch.equal(value, after[name]) for name, value in again.model.state_dict().items())
    assert again.write(task(5, 2)) == study.write(task(5, 2))


def _matrix_rank(after: dict[str, Any], before: dict[str, Any], names: set[str]) -> int:
    import torch

    return max(int(torch.linalg.matrix_rank(after[name] - before[name], rtol=1e-3)) for name in names)
