"""`failscape serve toybox`: the models that come with Failscape behind HTTP, as a user's own would be."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from failscape.config import ModelConfig
from failscape.models.registry import create_model
from failscape.servers.offer import Served
from failscape.servers.running import serve
from failscape.spaces.corpus import load_corpus
from failscape.spaces.understanding import Understanding
from failscape.spaces.wording import Wording
from failscape.toybox.classifiers import NAMES as CLASSIFIERS
from failscape.toybox.sessions import SIDE

TOYBOX_ROLES = ("generator", "judge", "captioner", "answerer", "verifier", "embedder")


@click.command("toybox")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, help="0 takes a free one.")
def command(host: str, port: int) -> None:
    """Serve the small trained models of the package: OpenAI-style images, chat and embeddings, FailureAtlas's
    /generate, and classifiers."""
    run(toybox(), host, port)


def run(served: Served, host: str, port: int) -> None:
    asyncio.run(serve(served, host, port, lambda url: click.echo(introduce(served, url))))


def introduce(served: Served, url: str) -> str:
    """One line that says what is offered, then a config that uses it."""
    lines = [
        f"{served.name} at {url}: {', '.join(served.offers())}. Ctrl-C stops it.",
        "In a config:",
        f'  target: {{provider: openai, model: {served.name}, endpoints: ["{url}"]}}',
    ]
    if served.judge is not None:
        lines.append(f'  judge:  {{provider: openai, model: {served.name}, endpoints: ["{url}"]}}')
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
    return Served(**models, understanding=understanding("toybox"), name="toybox", size=(SIDE, SIDE))


def understanding(corpus: str) -> Understanding:
    return Understanding(Wording(load_corpus(corpus)))
