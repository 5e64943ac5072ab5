"""What a t2i config can prove: the size of its space, evidence that a node needs, and simulated runs of its
own strategy on planted worlds of three sorts."""

import math
import random
from collections.abc import Iterator

from failscape.kinds.t2i.build import build_hunt, build_lattice, families_of, forewarn
from failscape.kinds.t2i.config import T2IConfig
from failscape.kinds.t2i.plan_audit import say_audit_costs
from failscape.kinds.t2i.plan_prompts import foresee_prompts
from failscape.kinds.t2i.search.auditing import audit_cases
from failscape.kinds.t2i.search.hunt import CertifiedHunt
from failscape.planning.foresight import (
    FEWEST_WORLDS,
    QUICK,
    Expectation,
    Foresight,
    Part,
    Proposal,
    SimulationEffort,
    expected,
    worlds_for,
)
from failscape.search.protocol import Hunt
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces.lattice import Lattice
from failscape.spaces.pairs import PairLattice
from failscape.stats.evalues import log_bet
from failscape.stats.judging.accuracy import ALL_OTHERS, JudgeAccuracy
from failscape.trials import Subject

ABOUT = {
    "weak": "one entity in five fails by itself, most attributes spoil it",
    "medium": "one entity in twelve fails, attributes in four of ten cases",
    "strong": "one entity in fifty fails, attributes in one of twelve cases",
}
FEWEST_ENTITIES = 4
#: Images of one node that the arithmetic goes up to; the search itself knows no such limit.
MOST_PER_NODE = 40

#: A budget that finds fewer than this, if the model is like the medium one, is too small for its space.
TOO_FEW = 5

#: Images per entity that a proposal gives.
ROOMY = 100

#: Most images of one simulated world. What values do is learnt from all entities together, and a certificate
#: is the cheaper the more there are: so a part finds less than its share, and several sizes tell how much.
SIMULATED_IMAGES = 4000

#: Images of a quick plan for each sort of model: a simulated one takes up to .7 ms, three sorts some 6 s.
QUICK_IMAGES = 3000

#: Findings of a part below which it tells nothing of the whole; then parts are doubled, up to so many times.
FEW, MOST_SIMULATED = 10, 4

#: Parts smaller than the largest by more than this are no part of the line through them; none is needed where
#: enough runs are whole.
LARGEST_STEP = 5

#: Images that are reckoned with where a config has no budget of images.
NO_LIMIT = 20_000


def foresee(
    config: T2IConfig, accuracy: JudgeAccuracy | None = None, effort: SimulationEffort = QUICK
) -> Foresight:
    """Simulates the config's own strategy; nothing is drawn."""
    if config.space.prompts:
        return foresee_prompts(config, accuracy, effort)
    lattice, images = build_lattice(config), config.budget.images or NO_LIMIT
    expectations = tuple(expect(config, lattice, images, regime, accuracy, effort) for regime in ABOUT)
    medium = next(one for one in expectations if one.like == "medium")
    warnings = [*forewarn(config, accuracy), *_about_budget(config, lattice, images, medium)]
    small = _is_small(config, lattice, images, medium)
    proposals = _proposals(config, lattice, images, accuracy, effort) if small else ()
    requests = {"generator": images, "judge": images, "llm": images if config.polish else 0}
    audits = _audits(config, lattice, images, round((medium.low + medium.high) / 2), accuracy)
    return Foresight(
        tuple(_space(lattice, images)),
        (*_proves(config, lattice, images), *audits),
        expectations,
        images,
        requests,
        1 + len({value.kind for value in lattice.corpus.values if value.family in families_of(config)}),
        tuple(warnings),
        tuple(proposals),
        "" if effort.precise else _say_simulated(config, lattice, images, effort),
    )


def expect(
    config: T2IConfig,
    lattice: Lattice,
    images: int,
    regime: str,
    accuracy: JudgeAccuracy | None,
    effort: SimulationEffort = QUICK,
) -> Expectation:
    """By simulated runs of the whole where it is small, else of parts: of several sizes if `precise`.

    No run has more findings than nodes or images.
    """
    parts, depths = list[Part](), list[dict[str, float]]()
    sizes = _sizes(images, effort)
    most = None if effort.precise else round(sizes[0])
    simulated = images
    while sizes:
        for wanted in sizes:
            share, entities = _share(config, lattice, wanted / images, len(parts), most)
            simulated = share.budget.images or NO_LIMIT
            hunt = _run(share, regime, len(parts), accuracy)
            found = [Subject.parse(finding.subject).depth for finding in hunt.findings()]
            parts.append(Part(entities, len(found)))
            depths.append({str(depth): float(found.count(depth)) for depth in range(config.space.depth + 1)})
        sizes = _larger(sizes[-1], parts[-1].found, images) if effort.precise else []
    alike = sum(part.size == parts[-1].size for part in parts) >= FEWEST_WORLDS
    least = parts[-1].size / (1 if alike else LARGEST_STEP)
    used = [at for at, part in enumerate(parts) if part.size >= least]
    foreseen = expected(
        regime, ABOUT[regime], [parts[at] for at in used], len(lattice.entities), [depths[at] for at in used]
    )
    if not effort.precise:
        each = images / len(lattice.entities)
        foreseen = foreseen.stretched(max(1.0, each / (simulated / parts[-1].size)))
    layers = {str(depth): min(size, images) for depth, size in enumerate(lattice.layer_sizes)}
    return foreseen.at_most(min(len(lattice), images), layers)


def _sizes(images: int, effort: SimulationEffort) -> list[float]:
    """Images of each simulated run: whole ones, or some of the largest size, its half and its quarter.

    A quick plan has one size.
    """
    worlds = effort.worlds
    if not effort.precise:
        number = effort.quick_worlds(QUICK_IMAGES, images)
        return [min(images, QUICK_IMAGES / number)] * number
    top = min(images, SIMULATED_IMAGES)
    if top <= SIMULATED_IMAGES / 2:
        return [top] * (worlds or worlds_for(images))
    number = worlds or FEWEST_WORLDS
    fewer = max(1, number // 2)
    return [top / 4] * number + [top / 2] * fewer + [top] * fewer


def _larger(top: float, found: float, images: int) -> list[float]:
    """Twice as large where parts found hardly anything: they do not show how a whole would grow."""
    larger = min(2 * top, images)
    if found >= FEW or larger <= top or larger > MOST_SIMULATED * SIMULATED_IMAGES:
        return []
    return [larger] * (FEWEST_WORLDS if larger == images else 2)


def _share(
    config: T2IConfig, lattice: Lattice, share: float, world: int, most: int | None = None
) -> tuple[T2IConfig, int]:
    """A part of the space with its share of the budget, `most` at most, and how many entities it has."""
    names = [lattice.corpus.entities[entity].name for entity in lattice.entities]
    wanted = min(max(FEWEST_ENTITIES, round(len(names) * share)), len(names))
    chosen = random.Random(f"plan/{config.seed}/{world}").sample(names, wanted)
    images = (config.budget.images or NO_LIMIT) * wanted / len(names)
    images = images if most is None else min(images, most)
    budget = config.budget.model_copy(update={"images": max(1, round(images))})
    space = config.space.model_copy(update={"entities": tuple(chosen)})
    return config.model_copy(update={"space": space, "budget": budget, "polish": None}), wanted


def _run(config: T2IConfig, regime: str, number: int, accuracy: JudgeAccuracy | None) -> Hunt:
    """The config's strategy in one planted world, seen through a judge that errs as measured."""
    world = PlantedWorld(build_lattice(config), regime, number, _judge_of(accuracy))
    hunt = build_hunt(config, accuracy=accuracy)
    simulate(hunt, world, config.budget.images or NO_LIMIT, config.runtime.in_flight)
    return hunt


def _judge_of(accuracy: JudgeAccuracy | None) -> dict[str, tuple[float, float]]:
    if accuracy is None:
        return {ALL_OTHERS: (1.0, 1.0)}
    return {kind: (one.sensitivity.rate, one.specificity.rate) for kind, one in accuracy.kinds.items()}


def _space(lattice: Lattice, images: int) -> Iterator[str]:
    sizes = lattice.layer_sizes
    words = (
        "entities alone",
        "with one value",
        *(f"with {number} values" for number in range(2, len(sizes))),
    )
    yield "; ".join(f"{size:,} {word}" for size, word in zip(sizes, words, strict=False))
    entities = len(lattice.entities)
    pairs = (
        f", {lattice.with_two_things:,} of them with two things" if isinstance(lattice, PairLattice) else ""
    )
    yield (
        f"{len(lattice):,} nodes in all{pairs}; {images:,} images are {images / entities:,.1f} for each of "
        f"{entities:,} entities, {images / len(lattice):,.3g} for each node"
    )


def _proves(config: T2IConfig, lattice: Lattice, images: int) -> Iterator[str]:
    """By arithmetic: how often something must fail to be certified on its own images."""
    search = config.search
    tests = _tests(config, lattice, images)
    for claims, when in ((1, "alone"), (50, "beside 50 others")):
        needed = math.log(tests / (search.fdr * claims))
        always = _failures_needed(needed, search.threshold)
        rate = _lowest_rate(needed, search.threshold)
        if always:
            line = f"a finding {when}: {always} failures of {always} images prove it"
            yield line + (
                f"; one that fails {rate:.0%} of the time takes about {MOST_PER_NODE}" if rate else ""
            )
    if config.space.depth:
        yield (
            "that a finding is minimal takes parents that pass: some 10 images for a parent with one value, "
            "13 or more for an entity, shared by all that rests on it"
        )


def _audits(
    config: T2IConfig, lattice: Lattice, images: int, findings: int, accuracy: JudgeAccuracy | None
) -> Iterator[str]:
    """What an audit of the list takes, by the findings of one simulated hunt on a part of the space."""
    part = SIMULATED_IMAGES // 4
    share, _ = _share(config, lattice, min(1.0, part / images), world=0, most=part)
    hunt = _run(share, "medium", 0, accuracy)
    if isinstance(hunt, CertifiedHunt) and hunt.claims() and findings:
        yield from say_audit_costs(audit_cases(hunt), findings, images)


def _lowest_rate(needed: float, threshold: float) -> float:
    """The failure rate at which `MOST_PER_NODE` images bring the evidence, as expected."""
    for percent in range(int(100 * (1 - threshold)) + 1, 101):
        fails = round(MOST_PER_NODE * percent / 100)
        if float(log_bet(MOST_PER_NODE - fails, fails, threshold)) >= needed:
            return percent / 100
    return 0.0


def _about_budget(config: T2IConfig, lattice: Lattice, images: int, medium: Expectation) -> list[str]:
    found = []
    if config.budget.images is None:
        found.append(
            f"the config has no `budget.images`: the plan is for {NO_LIMIT:,}, the run goes on beyond"
        )
    if _is_small(config, lattice, images, medium):
        found.append(
            f"{images:,} images are few for {len(lattice):,} nodes: with a model of medium strength "
            f"{medium} findings are to be expected"
        )
    return found


def _is_small(config: T2IConfig, lattice: Lattice, images: int, medium: Expectation) -> bool:
    """Whether the budget is too small for the space.

    A budget that can bring every node the failures that prove it alone is large enough: if it finds little,
    the space holds little.
    """
    needed = math.log(_tests(config, lattice, images) / config.search.fdr)
    each = _failures_needed(needed, config.search.threshold)
    return medium.middle < TOO_FEW and images < each * len(lattice)


def _tests(config: T2IConfig, lattice: Lattice, images: int) -> int:
    return len(lattice.entities) + math.ceil(config.search.openings * images)


def _failures_needed(needed: float, threshold: float) -> int:
    """Failures without a pass that bring the evidence; 0 if a thousand do not."""
    return next((n for n in range(1, 1000) if float(log_bet(0, n, threshold)) >= needed), 0)


def _say_simulated(config: T2IConfig, lattice: Lattice, images: int, effort: SimulationEffort) -> str:
    sizes = _sizes(images, effort)
    share, entities = _share(config, lattice, sizes[0] / images, 0, round(sizes[0]))
    return (
        f"by {len(sizes)} simulated hunts of each sort with {share.budget.images:,} images on {entities} of "
        f"{len(lattice.entities):,} entities; `--precise` simulates more, in minutes"
    )


def _proposals(
    config: T2IConfig, lattice: Lattice, images: int, accuracy: JudgeAccuracy | None, effort: SimulationEffort
) -> Iterator[Proposal]:
    """A larger budget, fewer entities, or less depth: each simulated for a medium model if `precise`."""
    entities = len(lattice.entities)
    enough = max(2000, ROOMY * entities)
    if enough > images:
        yield _proposal(config, {"budget.images": enough}, accuracy, effort)
    few = max(FEWEST_ENTITIES, images // ROOMY)
    if few < entities:
        names = [lattice.corpus.entities[entity].name for entity in lattice.entities]
        step = len(names) / few
        chosen = tuple(names[int(at * step)] for at in range(few))
        yield _proposal(config, {"space.entities": chosen}, accuracy, effort)
    if config.space.depth > 1:
        yield _proposal(config, {"space.depth": 1}, accuracy, effort)


def _proposal(
    config: T2IConfig, change: dict[str, object], accuracy: JudgeAccuracy | None, effort: SimulationEffort
) -> Proposal:
    ((setting, value),) = change.items()
    section, _, name = setting.partition(".")
    part = getattr(config, section).model_copy(update={name: value})
    other = config.model_copy(update={section: part})
    lattice, images = build_lattice(other), other.budget.images or NO_LIMIT
    shown = f"[{', '.join(value)}]" if isinstance(value, tuple) else value
    if effort.precise:
        pair = SimulationEffort(precise=True, worlds=2)
        found = expect(other, lattice, images, "medium", accuracy, pair)
        brings = f"{found} findings, if the model is of medium strength"
    else:
        brings = f"{images:,} images for {len(lattice):,} nodes of {len(lattice.entities):,} entities"
    return Proposal(f"{setting}={shown}", brings)
