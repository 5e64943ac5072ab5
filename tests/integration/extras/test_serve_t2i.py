"""`failscape serve t2i` as real processes with tiny pipelines: a hunt over HTTP, batches, restarts."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from failscape.atlas import Atlas
from failscape.config import ModelConfig
from failscape.config.files import parse_config
from failscape.models.registry import create_model
from failscape.runtime.progress import choose_reporter
from failscape.runtime.session import run_session
from failscape.testing.servers import free_port

pytestmark = pytest.mark.extra("torch", "transformers", "diffusers")
Folder = Callable[[str], Path]
SMALL = ("num_inference_steps=2", "height=32", "width=32", "dtype=float32")


@contextmanager
def serving(kind: str, folder: Path, tmp_path: Path, *more: str) -> Iterator[tuple[str, Any]]:
    """What the process prints until it is ready, and the process."""
    command = [sys.executable, "-m", "failscape", "serve", "t2i", "--model", kind, "--path", str(folder)]
    settings = [*SMALL, *(["max_sequence_length=16"] if kind == "flux" else [])]
    command += [*more, "--batch", "8", *(part for one in settings for part in ("--set", one))]
    errors = (tmp_path / "errors").open("w")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=tmp_path)
    assert process.stdout is not None
    try:
        text = ""
        while "endpoints: [" not in text:
            line = process.stdout.readline()
            assert line, (tmp_path / "errors").read_text()
            text += line
        yield text, process
    finally:
        process.terminate()
        process.wait(120)
        process.stdout.close()
        errors.close()


def urls(text: str) -> list[str]:
    return re.findall(r'"(http://[^"]+)"', text.split("endpoints: ")[1])


@pytest.mark.parametrize("kind", ["sd", "sdxl", "flux"])
def test_pictures_are_those_of_the_pipeline_in_process(
    pipeline_folder: Folder, tmp_path: Path, kind: str
) -> None:
    """Steps, guidance and size are honoured; what cannot be is refused; a burst is drawn in batches."""

    async def ask(url: str) -> None:
        async with aiohttp.ClientSession(url) as session:
            body = {"model": kind, "prompt": "a cat", "seed": 3}
            await drawn(session, **body, size="48x48", num_inference_steps=1, guidance_scale=2.0)
            pictures = await asyncio.gather(*(drawn(session, **{**body, "seed": n}) for n in range(16)))
            assert len(set(pictures)) == 16
            page = await (await session.get("/metrics")).text()
            calls = int(re.search(r"failscape_batches_total (\d+)", page)[1])  # type: ignore[index]
            assert calls <= 8, page
            for wrong, status in (({"model": "nope"}, 404), ({"size": "33x33"}, 400), ({"quality": 1}, 400)):
                reply = await session.post("/v1/images/generations", json={**body, **wrong})
                assert reply.status == status, await reply.text()
            models = await (await session.get("/v1/models")).json()
            assert [row["id"] for row in models["data"]] == [kind]

    with serving(kind, pipeline_folder(kind), tmp_path, "--port", str(free_port())) as (text, _):
        [url] = urls(text)
        asyncio.run(ask(url))
        assert asyncio.run(differences(kind, pipeline_folder(kind), url)) <= 2


async def drawn(session: aiohttp.ClientSession, **body: Any) -> str:
    reply = await session.post("/v1/images/generations", json=body)
    assert reply.status == 200, await reply.text()
    found: str = (await reply.json())["data"][0]["b64_json"]
    return found


async def differences(kind: str, folder: Path, url: str) -> int:
    """The largest difference of a pixel between in process and over HTTP."""
    import numpy as np
    import yaml

    settings = dict(one.split("=") for one in SMALL)
    params = {name: yaml.safe_load(value) for name, value in settings.items()}
    params |= {"max_sequence_length": 16} if kind == "flux" else {}
    inside = ModelConfig(provider="diffusers", path=str(folder), params=params)
    over = ModelConfig(provider="openai", model=kind, endpoints=(url,))
    pictures = []
    for config in (inside, over):
        model: Any = create_model("generator", config)
        await model.start()
        replies = await model.generate(["a cat", "a dog"], [1, 2])
        pictures.append([reply.value.array.astype(int) for reply in replies])
        await model.close()
    return max(int(np.abs(one - other).max()) for one, other in zip(*pictures, strict=True))


def test_a_hunt_over_two_servers_of_which_one_dies(pipeline_folder: Folder, tmp_path: Path) -> None:
    port = free_port()
    more = ("--copies", "2", "--start-port", str(port), "--logs", str(tmp_path / "logs"))
    with serving("sd", pipeline_folder("sd"), tmp_path, *more) as (text, process):
        assert len(urls(text)) == 2
        victim = children_of(process.pid)[0]
        os.kill(victim, signal.SIGKILL)
        target = {"provider": "openai", "model": "sd", "endpoints": urls(text), "timeout": 120}
        assert hunt(tmp_path / "atlas", target) == 40
        for _ in range(600):
            if len(children_of(process.pid)) == 2:
                break
            time.sleep(0.25)
        assert len(children_of(process.pid)) == 2, "it was started again"
        assert victim not in children_of(process.pid)
    logs = "".join(log.read_text() for log in (tmp_path / "logs").glob("*.log"))
    assert "starts again" in logs


def children_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def hunt(folder: Path, target: dict[str, Any]) -> int:
    """A short run with the toybox as judge; the number of trials."""
    settings = {
        "hunt": "t2i",
        "target": target,
        "judge": {"provider": "toybox"},
        "space": {"corpus": "toybox", "entities": ["cow", "apple"], "depth": 1},
        "search": {"strategy": "failureatlas", "images_per_node": 20, "threshold": 0.3},
        "budget": {"images": 40},
        "runtime": {"in_flight": 8},
    }
    asyncio.run(run_session(parse_config(settings, "test"), folder, choose_reporter(True)))
    with Atlas.open(folder, readonly=True) as atlas:
        trials = list(atlas.replay(1))
    assert len({trial.key for trial in trials}) == len(trials)
    return len(trials)


def test_an_adapter_of_ones_own(tmp_path: Path) -> None:
    """The class that docs/servers.md shows."""
    page = (Path(__file__).parents[3] / "docs" / "servers.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code is not None
    (tmp_path / "my_backend.py").write_text(code[1])
    command = [
        sys.executable,
        "-m",
        "failscape",
        "serve",
        "t2i",
        "--model",
        "mine",
        "--port",
        str(free_port()),
    ]
    command += ["--path", f"{tmp_path / 'my_backend.py'}:Stripes"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        text = "".join(process.stdout.readline() for _ in range(3))
        [url] = urls(text)

        async def ask() -> None:
            async with aiohttp.ClientSession(url) as session:
                await drawn(session, prompt="a cat", size="64x64", seed=1)
                reply = await session.post("/v1/images/generations", json={"prompt": "a", "steps": 3})
                assert reply.status == 400

        asyncio.run(ask())
    finally:
        process.terminate()
        process.wait(120)
        process.stdout.close()
