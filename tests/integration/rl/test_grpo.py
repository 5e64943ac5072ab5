"""A questioner in training: image tokens, padding and gradients are right, a resumed training is the same.

Needs the extra `rl`; without it only the error that says so is tested.
"""

from __future__ import annotations

import asyncio
import importlib.util
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failscape.atlas import Atlas
from failscape.config import HuntConfig, ModelConfig
from failscape.config.files import parse_config
from failscape.errors import MissingExtra
from failscape.models.registry import create_model
from failscape.models.training.classroom import Classroom, Graded, Stopped, Task
from failscape.pictures import Picture
from failscape.runtime.progress import choose_reporter
from failscape.runtime.session import Summary, run_session

INSTALLED = all(importlib.util.find_spec(name) for name in ("torch", "trl", "peft", "datasets"))
needs_rl = pytest.mark.extra("torch", "trl", "peft", "datasets")
PARAMS: dict[str, Any] = {
    "steps": 2,
    "group": 2,
    "pictures": 2,
    "rate": 1e-2,
    "kl": 0.01,
    "temperature": 1.0,
    "longest": 6,
    "save_steps": 1,
    "seed": 0,
}


@pytest.mark.skipif(INSTALLED, reason="the extra `rl` is installed")
def test_a_missing_extra_prints_how_to_install_it() -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'failscape\[rl\]'"):
        create_model("questioner", ModelConfig(provider="grpo", model="toybox", params=PARAMS))


def noise(side: int, seed: int) -> Picture:
    return Picture.from_array(np.random.default_rng(seed).integers(0, 255, (side, side, 3), dtype=np.uint8))


def make_study(folder: Path, room: Classroom) -> Any:
    from failscape.models.training.grpo import Study
    from tests.integration.rl.tiny_qwen import build

    processor = build(folder / "base")
    return Study(str(folder / "base"), "", PARAMS, folder / "home", room, processor)


@needs_rl
def test_image_tokens_and_padding_do_not_change_what_is_computed(tmp_path: Path) -> None:
    import torch

    study = make_study(tmp_path, Classroom())
    tasks = [
        Task("lesson 0: ", (noise(56, 0),), 1),
        Task("lesson 1 [counting]: ", (noise(84, 1),), 1),
    ]
    rows = [study.row(task) for task in tasks]
    prompts = [
        study.processor.apply_chat_template(row["prompt"], tokenize=False, add_generation_prompt=True)
        for row in rows
    ]
    both = study.processor(
        text=prompts, images=[row["images"] for row in rows], return_tensors="pt", padding=True
    )
    cells = both["image_grid_thw"].prod(dim=1) // 4
    found = (both["input_ids"] == study.processor.image_token_id).sum(dim=1)
    assert found.tolist() == cells.tolist()
    study.model.eval()
    with torch.no_grad():
        batched = study.model(**both).logits[:, -1]
        single = torch.cat([study.model(**study.inputs(row)).logits[:, -1] for row in rows])
    assert torch.allclose(batched, single, atol=1e-4)
    assert study.write(tasks[0]) == study.write(tasks[0])


@needs_rl
async def test_a_vision_language_model_learns_in_all_its_parts(tmp_path: Path) -> None:
    room, logged = Classroom(), list[dict[str, Any]]()
    study = make_study(tmp_path, room)
    study.log = logged.append
    before = {name: value.clone() for name, value in study.model.state_dict().items()}
    with ThreadPoolExecutor(1) as worker:
        training = asyncio.get_running_loop().run_in_executor(worker, study.train)

        async def lesson(number: int) -> None:
            texts = await room.ask(Task(f"lesson {number}: ", (noise(56, number),), 2))
            room.grade(number, Graded(tuple(texts), (1.0, -1.0), (1, 0), ("counting", "")))

        await asyncio.gather(*(lesson(number) for number in range(4)), training)
    after = study.model.state_dict()
    changed = {name for name in before if not before[name].equal(after[name])}
    assert any("visual" in name for name in changed)
    assert any("layers" in name and "visual" not in name for name in changed)
    losses = [row["loss"] for row in logged if "loss" in row]
    assert len(losses) == 2
    assert np.isfinite(losses).all()
    assert (tmp_path / "home" / "trained" / "config.json").exists()


@needs_rl
def test_a_tokenizer_without_chat_template_reads_plain_text(tmp_path: Path) -> None:
    from failscape.models.providers.grpo import locate
    from failscape.models.training.grpo import Study

    source, template = locate("toybox")
    study = Study(source, "", PARAMS, tmp_path, Classroom())
    task = Task("lesson 0: a red cow", (), 1)
    assert study.row(task)["prompt"].endswith("The picture: a red cow\n\nQuestion:")
    assert Study(source, template, PARAMS, tmp_path, Classroom()).row(task) == {
        "prompt": "a red cow | <any> :"
    }


@needs_rl
def test_what_is_learned_again_is_learned_question_by_question(tmp_path: Path) -> None:
    """Padding changes no loss, and no gradient is left for the next update by reward to add to."""
    from failscape.models.providers.grpo import locate
    from failscape.models.training.grpo import Study
    from failscape.models.training.imitation import _loss, imitate

    study = Study(*locate("toybox"), PARAMS, tmp_path, Classroom())
    long = Task("lesson 0: a small red cow and two large blue kites on a beach", (), 1)
    both = [
        (long, "how many kites are there?"),
        (Task("lesson 1: a cow", (), 1), "where is this?"),
    ]
    single = [_loss(study, study.model, [one]).item() for one in both]
    assert _loss(study, study.model, both).item() == pytest.approx(np.mean(single), rel=1e-4)
    imitate(study, study.model, [(*one, 2, "counting") for one in both], 1, 0.0, 2)
    assert all(value.grad is None for value in study.model.parameters())
    assert _loss(study, study.model, both).item() < np.mean(single)


def settings(**budget: int) -> HuntConfig:
    training = {"steps": 4, "group": 2, "pictures": 2, "save_steps": 2, "warmup": 8}
    return parse_config(
        {
            "hunt": "vlm",
            "target": {"provider": "toybox"},
            "questioner": {"strategy": "grpo", "training": training},
            "questions": 60,
            "budget": budget,
        },
        "test",
    )


async def run(folder: Path, config: HuntConfig) -> Summary:
    return await run_session(config, folder, choose_reporter(True))


def written(folder: Path) -> dict[str, Any]:
    with Atlas.open(folder, readonly=True) as atlas:
        trials = [stored.trial for stored in atlas.trials(1)]
        assert len({trial.key for trial in trials}) == len(trials)
        return {trial.key: trial.facts[-1] for trial in trials if trial.key.endswith("?")}


@needs_rl
async def test_a_training_that_was_cut_off_goes_on_exactly(tmp_path: Path) -> None:
    await run(tmp_path / "whole", settings())
    # The first cuts between questions and answers, the last after a checkpoint and a replay.
    for budget in ({"requests": 14}, {"images": 8}, {"images": 10}):
        stopped = await run(tmp_path / "cut", settings(**budget))
        assert stopped.stop.kind == "budget"
    halfway = written(tmp_path / "cut")
    finished = await run(tmp_path / "cut", settings())
    assert finished.resumed >= len(halfway)
    whole, cut = written(tmp_path / "whole"), written(tmp_path / "cut")
    assert len(halfway) < len(whole)
    assert whole == cut
    with Atlas.open(tmp_path / "cut", readonly=True) as atlas:
        assert any(event.kind == "training" for event in atlas.events(1))


async def test_a_stopped_room_lets_everybody_go() -> None:
    room = Classroom()
    waiting = asyncio.create_task(room.ask(Task("lesson 0: ", (), 1)))
    await asyncio.sleep(0)
    room.stop()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(Stopped):
        room.task(1)
