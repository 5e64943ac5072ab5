"""`failscape serve NAME`: put models that come with Failscape behind HTTP, as a user's own would be."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import click

from failscape.config import ModelConfig
from failscape.models.registry import create_model
from failscape.models.roles import ImageGenerator, Judge
from failscape.servers.__main__ import serve
from failscape.servers.app import Served
from failscape.spaces.corpus import load_corpus
from failscape.spaces.understanding import Understanding
from failscape.spaces.wording import Wording


@click.command("serve")
@click.argument("name", type=click.Choice(["planted"]))
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, help="0 takes a free one.")
@click.option("--regime", type=click.Choice(["weak", "medium", "strong"]), default="weak", show_default=True)
@click.option("--seed", default=0, show_default=True, help="Which world is planted.")
def command(name: str, host: str, port: int, regime: str, seed: int) -> None:
    """Serve the models NAME: OpenAI-style images and chat, and FailureAtlas's /generate.

    `planted` is a simulated painter and judge whose true failure rates are known.
    """
    params = {"corpus": "starter", "regime": regime, "seed": seed}
    understanding = Understanding(Wording(load_corpus("starter")))
    served = Served(
        cast(ImageGenerator, _planted("generator", params)),
        cast(Judge, _planted("judge", params)),
        understanding,
        name,
    )
    asyncio.run(serve(served, host, port))


def _planted(role: str, params: dict[str, Any]) -> object:
    path = f"failscape.testing.planted:Planted{role.capitalize()}"
    return create_model(role, ModelConfig(provider="python", path=path, params=params))
