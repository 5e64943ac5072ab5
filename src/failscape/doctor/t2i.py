"""Experiments that tell whether the models of a t2i config can be trusted, before money is spent on a hunt.

`examine` knows no hunt: where samples come from is an argument, observations are the result.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from failscape.doctor.calls import Calls
from failscape.doctor.endpoints import examine_generators, examine_judges
from failscape.doctor.generator import SEEDS, examine_generator, readable
from failscape.doctor.helpers import examine_polish
from failscape.doctor.judge import JudgedPicture, JudgeExperiments
from failscape.doctor.observations import Observation, down, patients_of
from failscape.doctor.samples import ListedSamples, Sample, Samples
from failscape.errors import ModelError
from failscape.hunts.t2i.build import build_lattice
from failscape.hunts.t2i.config import T2IConfig
from failscape.models.roles import ImageGenerator, Judge
from failscape.spaces.prompt_list import load_prompts

#: Things that are drawn first, to find out how the generator behaves.
PLAIN = 4


class SampleSource(Protocol):
    """Where samples come from."""

    @property
    def kinds(self) -> list[str]: ...

    def plain(self, count: int) -> list[Sample]: ...

    def pair(self, kinds: Sequence[str]) -> tuple[Sample, Sample] | None: ...


async def examine_t2i(settings: T2IConfig) -> list[Observation]:
    """Experiments with every model of a config."""
    samples = samples_of(settings)
    async with patients_of(settings) as patients:
        models, found = patients.models, patients.ailing
        if "generator" in models:
            size = str(settings.target.params.get("size", ""))
            found += await examine(models["generator"], models.get("judge"), samples, asked_size=size)
        elif "judge" in models:
            found += await examine_judge_alone(models["judge"])
        found += await examine_generators(settings.target, samples.plain(1)[0].prompt)
        found += await examine_judges(settings.judge)
        if "llm" in models:
            found += await examine_polish(models["llm"], [one.prompt for one in samples.plain(PLAIN)])
    return found


def samples_of(settings: T2IConfig) -> SampleSource:
    if settings.space.prompts:
        return ListedSamples(load_prompts(settings.space.prompts), settings.seed)
    return Samples(build_lattice(settings), settings.seed)


async def examine(
    generator: ImageGenerator,
    judge: Judge | None,
    samples: SampleSource,
    clock: Callable[[], float] = time.perf_counter,
    asked_size: str = "",
) -> list[Observation]:
    """All experiments with two models, in order."""
    plain = samples.plain(PLAIN)
    prompts = [sample.prompt for sample in plain]
    observations, pictures = await examine_generator(generator, prompts, clock, asked_size)
    if judge is None:
        return observations
    shown = [
        JudgedPicture(sample, picture, pictures[at - 1] or picture)
        for at, (sample, picture) in enumerate(zip(plain, pictures, strict=True))
        if picture and pictures[at - 1] is not None and at - 1 != at
    ]
    if len(shown) < 2:
        return [*observations, *await examine_judge_alone(judge)]
    experiments = JudgeExperiments(judge, clock)
    drawing = Calls("generator", generator)
    try:
        await experiments.repeat(shown[:2])
        await experiments.look(shown)
        await _rounds(drawing, experiments, samples)
        await experiments.look_at_known()
        return [*observations, *await experiments.finish()]
    except ModelError as error:
        return [*observations, down("judge", error)]


async def examine_judge_alone(judge: Judge) -> list[Observation]:
    """By known pictures only, where the target gives none."""
    experiments = JudgeExperiments(judge)
    try:
        await experiments.look_at_known()
        return await experiments.finish()
    except ModelError as error:
        return [down("judge", error)]


async def _rounds(drawing: Calls, experiments: JudgeExperiments, samples: SampleSource) -> None:
    """Pictures of what is still open, until nothing is, or nothing can change any more."""
    for number in itertools.count():
        wanted = experiments.exam.next_round(samples.kinds, number)
        if wanted is None:
            return
        pairs = [samples.pair(kinds) for kinds in wanted]
        shown = await _draw(drawing, [pair for pair in pairs if pair], seed=SEEDS[1] + number)
        if not shown:
            return
        await experiments.look(shown)


async def _draw(drawing: Calls, pairs: Sequence[tuple[Sample, Sample]], seed: int) -> list[JudgedPicture]:
    items: list[tuple[Any, ...]] = [(sample.prompt, seed) for pair in pairs for sample in pair]
    drawn = [readable(reply) for reply in await drawing.each(items)]
    shown = []
    for at, (first, second) in enumerate(pairs):
        one, other = drawn[2 * at], drawn[2 * at + 1]
        if one and other:
            shown += [JudgedPicture(first, one, other), JudgedPicture(second, other, one)]
    return shown
