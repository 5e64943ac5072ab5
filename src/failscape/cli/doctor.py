"""`failscape doctor CONFIG`: test by experiment that the models do what the numbers will rest on."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import cast

import click

from failscape.config import T2IConfig
from failscape.config_files import load_config
from failscape.errors import ConfigError
from failscape.hunts.t2i.build import build_lattice
from failscape.models.doctor import Observation, Sample, examine
from failscape.models.registry import create_model
from failscape.models.roles import ImageGenerator, Judge
from failscape.runtime.stages import Team
from failscape.spaces.lattice import Node
from failscape.spaces.wording import Wording

PATIENCE = 5.0
SAMPLES = 4
MARKS = {"ok": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("fail", "red")}


@click.command("doctor")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(config: Path, overrides: tuple[str, ...], as_json: bool) -> None:
    """Draw and judge a few images of CONFIG's models, and say what is wrong with them."""
    settings = load_config(config, overrides)
    if not isinstance(settings, T2IConfig):
        raise ConfigError(f"doctor examines t2i configs only, but this is `hunt: {settings.hunt}`")
    observations = asyncio.run(_examine(settings))
    if as_json:
        click.echo(json.dumps([asdict(observation) for observation in observations], indent=2))
    else:
        for observation in observations:
            click.echo(_lines(observation))
    if any(observation.status == "fail" for observation in observations):
        sys.exit(1)


async def _examine(settings: T2IConfig) -> list[Observation]:
    models = {
        role: create_model(role, config.model_copy(update={"patience": min(config.patience, PATIENCE)}))
        for role, config in settings.models().items()
    }
    async with Team(models) as team:
        generator = cast(ImageGenerator, team.models["generator"])
        judge = cast(Judge, team.models["judge"])
        return await examine(generator, judge, samples_of(settings))


def samples_of(settings: T2IConfig) -> list[Sample]:
    """Plain entities that differ as much as the space allows: one per class, then per sub-class."""
    lattice = build_lattice(settings)
    corpus, wording = lattice.corpus, Wording(lattice.corpus)
    chosen: dict[str, int] = {}
    for index in lattice.entities:
        entity = corpus.entities[index]
        chosen.setdefault(entity.upper_class, index)
    for index in lattice.entities:
        chosen.setdefault(corpus.entities[index].sub_class, index)
    nodes = [Node(index, ()) for index in dict.fromkeys(chosen.values())][:SAMPLES]
    return [Sample(wording.caption(node), wording.checks(node)) for node in nodes]


def _lines(observation: Observation) -> str:
    mark, colour = MARKS[observation.status]
    text = (
        f"{click.style(mark, fg=colour)}  {observation.name}: {observation.seen}\n      {observation.means}"
    )
    return f"{text}\n      fix: {observation.fix}" if observation.fix and observation.status != "ok" else text
