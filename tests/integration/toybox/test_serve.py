"""`failscape serve toybox` as a real process: the usual providers reach it in every role, over real HTTP."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest

from failscape.atlas import Atlas
from failscape.config import ModelConfig
from failscape.config.files import parse_config
from failscape.models.registry import create_model
from failscape.models.roles import AnswerToVerify, Conversation
from failscape.pictures import Picture
from failscape.runtime.progress import choose_reporter
from failscape.runtime.session import run_session
from failscape.spaces import Lattice, Wording, load_corpus
from failscape.testing.servers import ModelServer, free_port, toybox_server
from failscape.toybox import world
from failscape.trials import Verdict

CORPUS = load_corpus("toybox")
PROMPTS = (
    "a picture of a cow",
    "a picture of a red car on a beach",
    "a picture of three bananas in the snow",
)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with toybox_server() as running:
        yield running


@pytest.fixture(scope="module")
def scenes() -> list[Picture]:
    rng = np.random.default_rng(5)
    return [Picture.from_array(world.render_attributes(world.sample_attributes(rng))) for _ in range(6)]


class Pair:
    """The same role in process and over HTTP, both started."""

    def __init__(self, role: str, server: ModelServer, **settings: Any) -> None:
        common = {"provider": "openai", "model": "toybox", "endpoints": (server.url,), "timeout": 120.0}
        over = {**common, **settings}
        chosen = {"model": settings["model"]} if "model" in settings else {}
        self.inside: Any = create_model(role, ModelConfig(provider="toybox", **chosen))
        self.over: Any = create_model(role, ModelConfig(**over))
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Pair:
        for model in (self.inside, self.over):
            await model.start()
            self._stack.push_async_callback(model.close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def ask(self, method: str, *arguments: Any) -> list[Any]:
        """The values over HTTP, which must be those in process."""
        inside = await getattr(self.inside, method)(*arguments)
        over = await getattr(self.over, method)(*arguments)
        assert all(reply.value is not None for reply in over), [reply.invalid for reply in over]
        values = [reply.value for reply in over]
        expected = [reply.value for reply in inside]
        if method in ("generate", "edit"):
            values, expected = [p.data for p in values], [p.data for p in expected]
        assert values == expected
        return values


@pytest.mark.parametrize("provider", ["openai", "generate"])
async def test_generator(server: ModelServer, provider: str) -> None:
    async with Pair("generator", server, provider=provider) as pair:
        pictures = await pair.ask("generate", PROMPTS, [1, 2, 3])
    assert len(set(pictures)) == 3


async def test_editor(server: ModelServer, scenes: list[Picture]) -> None:
    async with Pair("editor", server) as pair:
        changed = await pair.ask("edit", scenes[:2], ["make it snow", "make it red"], [1, 2])
    assert len(set(changed)) == 2


@pytest.mark.parametrize("contract", ["boolean", "choice"])
async def test_judge(server: ModelServer, scenes: list[Picture], contract: str) -> None:
    """Every kind of check the corpus has survives the way through words and back."""
    lattice, wording = Lattice(CORPUS, depth=2), Wording(CORPUS)
    nodes = lattice.sample(2, 40, np.random.default_rng(2))
    checks = [wording.checks(node) for node in nodes]
    images = [scenes[number % len(scenes)] for number in range(len(nodes))]
    async with Pair("judge", server, contract=contract) as pair:
        decided = await pair.ask("judge", images, checks)
    assert {held for row in decided for held in row} == {True, False}
    assert len({check.kind for row in checks for check in row}) == 8


async def test_captioner(server: ModelServer, scenes: list[Picture]) -> None:
    async with Pair("captioner", server) as pair:
        await pair.ask("caption", scenes)


async def test_answerer(server: ModelServer, scenes: list[Picture]) -> None:
    asked = ["what place is this?", "is there a cow?", "how many things are there?"]
    talks = [
        Conversation((image,), question, (("is there a fish?", "no"),))
        for image in scenes
        for question in asked
    ]
    async with Pair("answerer", server) as pair:
        await pair.ask("answer", talks)


async def test_verifier(server: ModelServer, scenes: list[Picture]) -> None:
    claims = [
        AnswerToVerify((scenes[0],), "how many cows are there?", "2", truth="two"),
        AnswerToVerify((scenes[0],), "how many cows are there?", "three", truth="two"),
    ]
    async with Pair("verifier", server) as pair:
        right, wrong = await pair.ask("verify", claims)
        assert (right.right, wrong.right) == (True, False)
        (unknown,) = await pair.over.verify([AnswerToVerify((scenes[0],), "how many cows are there?", "two")])
    assert unknown.value is None
    assert "I cannot tell" in unknown.raw


async def test_embedder(server: ModelServer) -> None:
    async with Pair("embedder", server) as pair:
        vectors = await pair.ask("embed", PROMPTS)
    assert len({tuple(vector) for vector in vectors}) == 3


@pytest.mark.parametrize("name", ["cnn", "resnet", "vit"])
async def test_classifiers(server: ModelServer, scenes: list[Picture], name: str) -> None:
    async with Pair("classifier", server, provider="http", model=name, batch=len(scenes)) as pair:
        await pair.ask("classify", scenes)


async def test_plain_requests(server: ModelServer, scenes: list[Picture]) -> None:
    async with aiohttp.ClientSession(server.url) as session:
        models = await (await session.get("/v1/models")).json()
        assert [row["id"] for row in models["data"]] == ["toybox", "cnn", "resnet", "vit"]
        one = await (await session.post("/v1/embeddings", json={"input": "a red cow"})).json()
        assert len(one["data"]) == 1
        for path, body, status, message in [
            ("/v1/embeddings", {"input": [1, 2]}, 400, "`input`"),
            ("/v1/classify", {"images": "x"}, 400, "`images`"),
            ("/v1/classify", {"images": ["%%%"]}, 400, "base64"),
            ("/v1/classify", {"images": ["bm90IGFuIGltYWdl"]}, 400, "no known format"),
            ("/v1/classify", {"images": [], "model": "alexnet"}, 404, "cnn, resnet, vit"),
            ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hello?"}]}, 400, "image"),
        ]:
            reply = await session.post(path, json=body)
            assert (reply.status, message in await reply.text()) == (status, True), await reply.text()


def hunt(folder: Path, target: dict[str, Any], judge: dict[str, Any]) -> dict[str, Verdict]:
    """A short run; probe → verdict."""
    settings = {
        "hunt": "t2i",
        "target": target,
        "judge": judge,
        "space": {"corpus": "toybox", "entities": ["bicycle", "cow", "teddy bear", "apple"], "depth": 1},
        "search": {"strategy": "failureatlas", "images_per_node": 3, "threshold": 0.3},
        "budget": {"images": 90},
        "runtime": {"in_flight": 8},
        "seed": 4,
    }
    reporter = choose_reporter(True)
    try:
        asyncio.run(run_session(parse_config(settings, "test"), folder, reporter))
    finally:
        reporter.close()
    with Atlas.open(folder, readonly=True) as atlas:
        return {trial.key: trial.verdict for trial in atlas.replay(1)}


@pytest.mark.parametrize("contract", ["boolean", "choice"])
def test_a_hunt_over_http_reaches_the_same_verdicts(
    server: ModelServer, tmp_path: Path, contract: str
) -> None:
    inside = hunt(tmp_path / "inside", {"provider": "toybox"}, {"provider": "toybox"})
    role = {"provider": "openai", "model": "toybox", "endpoints": [server.url], "timeout": 120}
    over = hunt(tmp_path / "over", role, {**role, "contract": contract})
    both = set(inside) & set(over)
    assert len(both) >= max(30, 0.8 * len(inside)), "most probes are tried by both runs"
    assert {key: inside[key] for key in both} == {key: over[key] for key in both}
    assert set(over.values()) == {Verdict.PASS, Verdict.FAIL}


def test_a_port_in_use_is_a_clear_error(server: ModelServer) -> None:
    command = [sys.executable, "-m", "failscape", "serve", "planted", "--port", str(server.port)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 2
    assert f"port {server.port} of 127.0.0.1 is already in use" in run.stderr
    assert "Traceback" not in run.stderr


def test_it_says_what_it_offers_and_how_to_use_it() -> None:
    port = free_port()
    command = [sys.executable, "-m", "failscape", "serve", "toybox", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(4)]
    finally:
        process.terminate()
        process.wait(120)
        process.stdout.close()
    for word in ("images", "judge, captioner, answerer, verifier", "embeddings", "cnn, resnet, vit"):
        assert word in lines[0]
    assert f'endpoints: ["http://127.0.0.1:{port}"]' in lines[2]


def test_settings_of_planted_worlds_are_refused() -> None:
    command = [sys.executable, "-m", "failscape", "serve", "toybox", "--regime", "weak"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 2
    assert "--regime" in run.stderr


async def test_what_the_toybox_cannot_honour_is_refused(server: ModelServer) -> None:
    cow = {"prompt": "a picture of a cow", "seed": 1}
    async with aiohttp.ClientSession(server.url) as session:
        for path, body, status in [
            ("/v1/images/generations", {**cow, "size": "64x64", "model": "toybox"}, 200),
            ("/v1/images/generations", {**cow, "size": "128x128"}, 400),
            ("/v1/images/generations", {**cow, "num_inference_steps": 4}, 400),
            ("/v1/images/generations", {**cow, "guidance_scale": 4}, 400),
            ("/v1/images/generations", {**cow, "model": "nope"}, 404),
            ("/generate", {"prompts": ["a cow"], "seeds": [1], "steps": 4}, 400),
            ("/generate", {"prompts": ["a cow"], "seeds": [1], "model": "nope"}, 404),
            ("/v1/chat/completions", {"messages": [], "model": "nope"}, 404),
            ("/v1/chat/completions", {"messages": [], "tools": []}, 400),
            ("/v1/chat/completions", {"messages": [], "n": 2}, 400),
            ("/v1/embeddings", {"input": "a cow", "model": "nope"}, 404),
        ]:
            reply = await session.post(path, json=body)
            assert reply.status == status, (path, body, await reply.text())
