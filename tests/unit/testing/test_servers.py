"""Planted worlds over HTTP: our own providers reach them and get what the pure world says."""

import asyncio
import base64

import aiohttp
import numpy as np
import pytest

from failscape.config import ModelConfig
from failscape.models.contracts.judge import BooleanContract
from failscape.models.registry import create_model
from failscape.simulate.planted import PlantedWorld
from failscape.spaces import Lattice, Wording, load_corpus
from failscape.testing.servers import ModelServer, planted_server
from failscape.trials import Check, Decide, Generate, Probe

CORPUS = load_corpus("starter")
LATTICE = Lattice(CORPUS, depth=2)
STATEMENT = BooleanContract().ask([Check("entity", "cat", "It is a cat.")], "").text
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,bm90IGFuIGltYWdl"}}
WORLD = {"regime": "weak", "seed": 7, "accuracy": {"entity": (0.95, 0.9)}}


@pytest.fixture(scope="module")
def server() -> ModelServer:
    with planted_server(corpus="starter", **WORLD) as running:
        yield running


@pytest.mark.parametrize("provider", ["openai", "generate"])
@pytest.mark.parametrize("contract", ["boolean", "choice"])
async def test_providers_get_what_the_world_says(server: ModelServer, provider: str, contract: str) -> None:
    world, wording = PlantedWorld(LATTICE, "weak", 7, WORLD["accuracy"]), Wording(CORPUS)
    target = ModelConfig(provider=provider, model="planted", endpoints=(server.url,))
    eyes = ModelConfig(provider="openai", model="planted", endpoints=(server.url,), contract=contract)
    generator, judge = create_model("generator", target), create_model("judge", eyes)
    await asyncio.gather(generator.start(), judge.start())
    try:
        for seed, node in enumerate(LATTICE.sample(2, 12, np.random.default_rng(3))):
            subject, checks = LATTICE.subject(node), wording.checks(node)
            (drawn,) = await generator.generate([wording.caption(node)], [seed])
            (judged,) = await judge.judge([drawn.value], [checks])
            steps = (Generate(wording.caption(node)), Decide(checks))
            trial = world.run(Probe(f"{subject}#0", subject, steps, seed))
            if contract == "boolean":
                assert judged.value == trial.facts[1]
            else:  # a noisy judge may call several options right; values are judged without noise here
                assert judged.value[1:] == trial.facts[1][1:]
    finally:
        await asyncio.gather(generator.close(), judge.close())


async def test_plain_requests(server: ModelServer) -> None:
    async with aiohttp.ClientSession(server.url) as session:
        assert (await (await session.get("/health")).json())["status"] == "ok"
        models = await (await session.get("/v1/models")).json()
        assert models["data"][0]["id"] == "planted"
        body = {"prompt": "An image of a cat.", "n": 2, "seed": 3}
        images = (await (await session.post("/v1/images/generations", json=body)).json())["data"]
        assert len({image["b64_json"] for image in images}) == 2
        assert base64.b64decode(images[0]["b64_json"]).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/v1/images/generations", {"prompt": ""}, "prompt"),
        ("/v1/images/generations", {"prompt": "x", "n": 0}, "`n`"),
        ("/generate", {"prompts": ["a"], "seeds": [1, 2]}, "seeds"),
        ("/generate", {"prompts": "a"}, "prompts"),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": STATEMENT}]}, "one image"),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello?"}]}, "the role answerer"),
        ("/v1/chat/completions", {"messages": [{"role": "assistant", "content": "Hello."}]}, "of the user"),
        ("/v1/chat/completions", {"messages": [{"content": [{"type": "sound"}]}]}, "of type `text`"),
        ("/v1/chat/completions", {"messages": [{"content": [IMAGE | {"image_url": "x"}]}]}, "data URI"),
        ("/v1/chat/completions", {"messages": [{"content": [IMAGE]}]}, "no known format"),
        ("/generate", "not an object", "JSON object"),
    ],
)
async def test_bad_requests_are_explained(server: ModelServer, path: str, body: object, message: str) -> None:
    async with aiohttp.ClientSession(server.url) as session:
        reply = await session.post(path, json=body)
        assert reply.status == 400
        assert message in (await reply.json())["error"]["message"]


async def test_it_can_be_killed_and_comes_back_on_its_port() -> None:
    with planted_server(judge=False) as server:
        url = server.url
        server.kill()
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientConnectionError):
                await session.get(f"{url}/health")
            server.start()
            assert server.url == url
            assert (await session.get(f"{url}/health")).status == 200


def test_a_server_that_cannot_start_says_so() -> None:
    with pytest.raises(RuntimeError, match="did not start"):
        ModelServer(["--corpus", "nowhere", "--judge", '{"provider": "python", "path": "x:y"}']).start()
