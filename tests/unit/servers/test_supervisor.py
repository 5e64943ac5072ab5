"""One process per GPU: started, watched, restarted, stopped. Real processes, no models."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from failscape.cli.serve import grouped, serve_vlm, vllm_words
from failscape.errors import ConfigError, ModelError
from failscape.servers import running
from failscape.servers.running import Child, account, children_of, read_gpus, supervise
from failscape.testing.servers import free_port

SERVER = """
import http.server, os, sys
print("gpu", os.environ.get("CUDA_VISIBLE_DEVICES"), "pid", os.getpid(), flush=True)
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"{}")
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[-1])), Health).serve_forever()
"""


@pytest.mark.parametrize(
    ("gpus", "copies", "found"),
    [("0-3", None, ["0", "1", "2", "3"]), ("0,2", None, ["0", "2"]), (None, 2, [None, None])],
)
def test_gpus_are_read(gpus: str | None, copies: int | None, found: list[str | None]) -> None:
    assert read_gpus(gpus, copies) == found


@pytest.mark.parametrize("gpus", ["a", "3-1", "0,0", "1-"])
def test_gpus_that_cannot_be_are_refused(gpus: str) -> None:
    with pytest.raises(ConfigError, match="--gpus"):
        read_gpus(gpus, None)


def test_the_line_for_the_config(tmp_path: Path) -> None:
    children = children_of(["x"], ["0", "1"], 9000, "127.0.0.1", tmp_path)
    text = account("target", "sdxl", children)
    assert text.splitlines()[-1] == 'endpoints: ["http://127.0.0.1:9000", "http://127.0.0.1:9001"]'
    assert [child.environment["CUDA_VISIBLE_DEVICES"] for child in children] == ["0", "1"]


@asynccontextmanager
async def supervised(children: list[Child]) -> AsyncIterator[asyncio.Task[None]]:
    ready = asyncio.Event()
    task = asyncio.create_task(supervise(children, lambda _: ready.set()))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait([task, waiting], timeout=120, return_when=asyncio.FIRST_COMPLETED)
    try:
        yield task
    finally:
        waiting.cancel()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.gather(task, return_exceptions=True)


def pids(child: Child) -> list[int]:
    return [int(line.split()[-1]) for line in child.log.read_text().splitlines() if line.startswith("gpu")]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_server_that_ends_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "FIRST_WAIT", 0.05)
    words = [sys.executable, "-c", SERVER]
    children = [children_of(words, [gpu], free_port(), "127.0.0.1", tmp_path)[0] for gpu in ("0", "1")]
    async with supervised(children) as task:
        assert not task.done()
        first = pids(children[0])[0]
        os.kill(first, signal.SIGKILL)
        for _ in range(2400):
            if len(pids(children[0])) == 2:
                break
            await asyncio.sleep(0.05)
        again = pids(children[0])[1]
        assert again != first
        assert children[0].restarts == 1
        assert len(pids(children[1])) == 1
    assert not alive(again)
    assert not alive(pids(children[1])[0])
    assert "gpu 1" in children[1].log.read_text()


async def test_a_server_that_never_comes_up_ends_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "FIRST_WAIT", 0.01)
    words = [sys.executable, "-c", "raise SystemExit('no such weights')"]
    children = children_of(words, [None], free_port(), "127.0.0.1", tmp_path)
    with pytest.raises(ModelError, match="no such weights"):
        await supervise(children, lambda _: None)


def test_vllm_gets_the_flags_that_a_hunt_needs() -> None:
    words = vllm_words("Qwen/Qwen2.5-VL-7B-Instruct", None, "0.0.0.0", 2)
    assert words[:4] == [
        "serve",
        "Qwen/Qwen2.5-VL-7B-Instruct",
        "--served-model-name",
        "Qwen/Qwen2.5-VL-7B-Instruct",
    ]
    assert words[-2:] == ["--tensor-parallel-size", "2"]
    assert '{"image": 8}' in words
    assert grouped(["0", "1", "2", "3"], 2) == ["0,1", "2,3"]
    with pytest.raises(ConfigError, match="groups of 2"):
        grouped(["0", "1", "2"], 2)


def test_without_vllm_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setenv("PATH", "")
    result = CliRunner().invoke(serve_vlm, ["--model", "some/vlm"])
    assert isinstance(result.exception, ConfigError)
    assert "pip install vllm" in result.exception.fix
