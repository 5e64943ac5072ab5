"""`failscape doctor CONFIG`: test by experiment that the models do what the numbers will rest on."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import cast

import click

from failscape.config import HuntConfig
from failscape.config.files import load_config
from failscape.doctor.classifier import examine_classifier
from failscape.doctor.t2i import SEEDS, Observation, Sample, examine
from failscape.doctor.vlm import examine_answerer, examine_questioner, examine_verifier
from failscape.errors import ConfigError
from failscape.hunts.classifier.config import ClassifierConfig
from failscape.hunts.classifier.kind import targets_of
from failscape.hunts.classifier.prompts import Template
from failscape.hunts.t2i.config import T2IConfig
from failscape.hunts.t2i.kind import build_lattice
from failscape.hunts.vlm.config import VlmConfig
from failscape.models.registry import create_model
from failscape.models.roles import Answerer, Classifier, ImageGenerator, Judge, Questioner, Verifier
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
    if isinstance(settings, T2IConfig):
        observations = asyncio.run(_examine(settings, samples_of(settings)))
    elif isinstance(settings, ClassifierConfig) and settings.generator and settings.judge:
        observations = asyncio.run(_examine_classifier(settings))
    elif isinstance(settings, VlmConfig) and settings.questioner.strategy != "grpo":
        observations = asyncio.run(_examine_vlm(settings))
    else:
        raise ConfigError(
            f"doctor cannot examine this `hunt: {settings.hunt}`",
            "it examines t2i, classifiers with generator and judge, and vlm without grpo",
        )
    if as_json:
        click.echo(json.dumps([asdict(observation) for observation in observations], indent=2))
    else:
        for observation in observations:
            click.echo(_lines(observation))
    if any(observation.status == "fail" for observation in observations):
        sys.exit(1)


async def _examine(settings: HuntConfig, samples: list[Sample]) -> list[Observation]:
    async with _team(settings) as team:
        generator = cast(ImageGenerator, team.models["generator"])
        judge = cast(Judge, team.models["judge"])
        return await examine(generator, judge, samples)


async def _examine_classifier(settings: ClassifierConfig) -> list[Observation]:
    """Generator and presence check as in t2i; then the classifier looks at the same pictures."""
    targets, template = targets_of(settings), Template(settings.template)
    chosen = targets[:: max(1, len(targets) // SAMPLES)][:SAMPLES]
    prompts = [template.prompt(target.name, target.superclass) for target in chosen]
    samples = [Sample(prompt, (target.presence(),)) for prompt, target in zip(prompts, chosen, strict=True)]
    known = [name for target in targets for name in target.accept]
    async with _team(settings) as team:
        generator = cast(ImageGenerator, team.models["generator"])
        observations = await examine(generator, cast(Judge, team.models["judge"]), samples)
        drawn = [(await generator.generate([prompt], [SEEDS[0]]))[0].value for prompt in prompts]
        shown = [
            (picture, target.name, target.accept)
            for picture, target in zip(drawn, chosen, strict=True)
            if picture is not None
        ]
        if shown:
            classifier = cast(Classifier, team.models["classifier"])
            observations += await examine_classifier(classifier, shown, known)
    return observations


async def _examine_vlm(settings: VlmConfig) -> list[Observation]:
    async with _team(settings) as team:
        observations = await examine_answerer(cast(Answerer, team.models["answerer"]))
        verifier = cast(Verifier, team.models["verifier"])
        observations += await examine_verifier(verifier, settings.verifier == "exact")
        if "questioner" in team.models:
            observations += await examine_questioner(cast(Questioner, team.models["questioner"]))
    return observations


def _team(settings: HuntConfig) -> Team:
    """Little patience: a doctor should not wait five minutes for a server that is down."""
    return Team(
        {
            role: create_model(role, config.model_copy(update={"patience": min(config.patience, PATIENCE)}))
            for role, config in settings.models().items()
        }
    )


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
