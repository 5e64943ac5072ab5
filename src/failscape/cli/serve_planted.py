"""`failscape serve planted`: a simulated painter and judge over HTTP, whose true failure rates are known."""

from __future__ import annotations

from typing import Any

import click

from failscape.cli.serve_toybox import run, understanding
from failscape.config import ModelConfig
from failscape.models.registry import create_model
from failscape.servers.offer import Served


@click.command("planted")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, help="0 takes a free one.")
@click.option("--regime", type=click.Choice(["weak", "medium", "strong"]), default="weak", show_default=True)
@click.option("--seed", default=0, show_default=True, help="Which world is planted.")
def command(host: str, port: int, regime: str, seed: int) -> None:
    """Serve a simulated painter and judge whose true failure rates are known."""
    run(planted(regime, seed), host, port)


def planted(regime: str, seed: int) -> Served:
    models: dict[str, Any] = {}
    for role in ("generator", "judge"):
        path = f"failscape.testing.planted:Planted{role.capitalize()}"
        params = {"corpus": "starter", "regime": regime, "seed": seed}
        models[role] = create_model(role, ModelConfig(provider="python", path=path, params=params))
    return Served(**models, understanding=understanding("starter"), name="planted")
