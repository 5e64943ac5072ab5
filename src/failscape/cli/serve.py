"""`failscape serve NAME`: put models that come with Failscape behind HTTP, as a user's own would be."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from failscape.config import ModelConfig
from failscape.models.registry import create_model
from failscape.servers.requests import Served
from failscape.servers.running import serve
from failscape.spaces.corpus import load_corpus
from failscape.spaces.understanding import Understanding
from failscape.spaces.wording import Wording
from failscape.toybox.classifiers import NAMES as CLASSIFIERS

TOYBOX_ROLES = ("generator", "judge", "captioner", "answerer", "verifier", "embedder")


@click.command("serve")
@click.argument("name", type=click.Choice(["planted", "toybox"]))
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, help="0 takes a free one.")
@click.option(
    "--regime", type=click.Choice(["weak", "medium", "strong"]), help="Planted only [default: weak]."
)
@click.option("--seed", type=int, help="Planted only: which world is planted [default: 0].")
def command(name: str, host: str, port: int, regime: str | None, seed: int | None) -> None:
    """Serve the models NAME until Ctrl-C: OpenAI-style images and chat, and FailureAtlas's /generate.

    `planted` is a simulated painter and judge whose true failure rates are known. `toybox` are the small
    trained models of the package, also as embeddings and classifiers.
    """
    if name == "toybox" and (regime is not None or seed is not None):
        raise click.UsageError("--regime and --seed are for `planted`; the toybox has one world")
    served = toybox() if name == "toybox" else planted(regime or "weak", seed or 0)
    asyncio.run(serve(served, host, port, lambda url: click.echo(introduce(served, url))))


def introduce(served: Served, url: str) -> str:
    """One line that says what is offered, then a config that uses it."""
    lines = [
        f"{served.name} at {url}: {', '.join(served.offers())}. Ctrl-C stops it.",
        "In a config:",
        f'  target: {{provider: openai, model: {served.name}, endpoints: ["{url}"]}}',
        f'  judge:  {{provider: openai, model: {served.name}, endpoints: ["{url}"]}}',
    ]
    if served.classifiers:
        first = next(iter(served.classifiers))
        lines.append(f'A classifier: {{provider: http, model: {first}, endpoints: ["{url}"]}}')
    return "\n".join(lines)


def toybox() -> Served:
    models: dict[str, Any] = {
        role: create_model(role, ModelConfig(provider="toybox")) for role in TOYBOX_ROLES
    }
    models["classifiers"] = {
        name: create_model("classifier", ModelConfig(provider="toybox", model=name)) for name in CLASSIFIERS
    }
    return Served(**models, understanding=_understanding("toybox"), name="toybox")


def planted(regime: str, seed: int) -> Served:
    models: dict[str, Any] = {}
    for role in ("generator", "judge"):
        path = f"failscape.testing.planted:Planted{role.capitalize()}"
        params = {"corpus": "starter", "regime": regime, "seed": seed}
        models[role] = create_model(role, ModelConfig(provider="python", path=path, params=params))
    return Served(**models, understanding=_understanding("starter"), name="planted")


def _understanding(corpus: str) -> Understanding:
    return Understanding(Wording(load_corpus(corpus)))
