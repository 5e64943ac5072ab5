"""Experiments that tell whether the models of a t2i config can be trusted, before a hunt costs money."""

from failscape.doctor.experiments import examine_generators, examine_judges, examine_polish
from failscape.doctor.judging import PLAIN, SampleSource, examine, examine_judge
from failscape.doctor.observations import Observation, patients_of
from failscape.doctor.samples import ListedSamples, Samples
from failscape.kinds.t2i.build import build_lattice
from failscape.kinds.t2i.config import T2IConfig
from failscape.spaces.prompt_list import load_prompts


async def examine_t2i(settings: T2IConfig) -> list[Observation]:
    """Experiments with every model of a config."""
    listed, seed = settings.space.prompts, settings.seed
    samples: SampleSource = (
        ListedSamples(load_prompts(listed), seed) if listed else Samples(build_lattice(settings), seed)
    )

    async with patients_of(settings) as patients:
        models, found = patients.models, patients.ailing
        if "generator" in models:
            size = str(settings.target.params.get("size", ""))
            found += await examine(models["generator"], models.get("judge"), samples, asked_size=size)
        elif "judge" in models:
            found += await examine_judge(models["judge"])
        found += await examine_generators(settings.target, samples.plain(1)[0].prompt)
        found += await examine_judges(settings.judge)
        if "llm" in models:
            found += await examine_polish(models["llm"], [one.prompt for one in samples.plain(PLAIN)])
    return found
