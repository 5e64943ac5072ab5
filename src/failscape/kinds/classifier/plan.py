"""What a classifier config can prove: classes, descriptions to try, simulated races on planted worlds."""

from dataclasses import replace

from failscape.kinds.classifier.build import forewarn, photos_of, rules_of, targets_of
from failscape.kinds.classifier.config import ClassifierConfig
from failscape.kinds.classifier.hunt import ClassifierHunt
from failscape.kinds.classifier.power import USUAL_BASELINE
from failscape.kinds.classifier.prompts import Template
from failscape.planning.foresight import (
    QUICK,
    QUICK_WORLDS,
    SIMULATED_IMAGES,
    Expectation,
    Foresight,
    Part,
    Proposal,
    SimulationEffort,
    expected,
    worlds_for,
)
from failscape.simulate.classifier_world import PlantedClassifier
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Finding, Probe

BUGS = {
    "few": (1, "one bug a class, on a single value"),
    "some": (2, "two bugs a class"),
    "many": (4, "four bugs a class"),
}
#: Classes of one simulated world: a race spends its budget class by class.
SIMULATED_CLASSES = 3

#: A planted classifier takes one class for another.
FEWEST_CLASSES = 2

#: Images of a class that are simulated: what more of them bring is little, and takes long.
MOST_PER_CLASS = 2000

#: Images of a quick plan for each sort of classifier: a simulated one takes 2 ms, three sorts some 7 s.
QUICK_IMAGES = 1200

#: Images for each class that a proposal gives.
PER_CLASS = 1000

NO_LIMIT = 10_000


def foresee(
    config: ClassifierConfig, accuracy: JudgeAccuracy | None = None, effort: SimulationEffort = QUICK
) -> Foresight:
    """Simulates the race of drawn pictures; a hunt in photos looks at every photo once or twice."""
    targets, search = targets_of(config), config.search
    rules = rules_of(config, accuracy)
    slots = rules.search_settings(len(targets)).slot_count(USUAL_BASELINE + rules.margin)
    space = (f"{len(targets):,} classes and up to {slots:,} tests, all under one error control",)
    if config.generator is None:
        return _in_photos(config, space)
    images = config.budget.images or NO_LIMIT
    each = images / len(targets)
    expectations = tuple(
        expect(config, name, len(targets), each, accuracy, effort).at_most(min(slots, images))
        for name in BUGS
    )
    warnings, proposals = forewarn(config, accuracy), list[Proposal]()
    most = most_per_class(effort)
    simulated = f"simulated with {most:,} images a class; more of them find what is rarer"
    if effort.precise and each > most:
        warnings.append(simulated)
    enough = each >= PER_CLASS and not effort.precise
    if expectations[1].low < len(targets) / 2 and not enough:
        warnings.append(
            f"{images:,} images are {each:,.0f} for a class: few bugs can be shown, confirmed and explained"
        )
        proposals.append(_more_images(config, len(targets), accuracy, effort))
    proves = (
        f"a description must fail {search.margin:.0%} more often than its class's baseline of "
        f"{search.baseline} images; what is found gets {search.confirm} fresh ones",
    )
    requests = {"generator": images, "judge": images, "classifier": images, "captioner": 48 * len(targets)}
    basis = f"{simulated} (`--precise` simulates up to {MOST_PER_CLASS:,}, in minutes)"
    return Foresight(
        space,
        proves,
        expectations,
        images,
        requests,
        1,
        tuple(warnings),
        tuple(proposals),
        basis if each > most and not effort.precise else "",
    )


def _in_photos(config: ClassifierConfig, space: tuple[str, ...]) -> Foresight:
    photos = len(photos_of(config, targets_of(config)))
    warnings = forewarn(config, None)
    if photos < 50 * len(targets_of(config)):
        warnings.append(f"{photos:,} photos are few: a description holds of some of them only")
    requests = {"classifier": photos, "judge": photos, "captioner": photos, "embedder": photos}
    proves = ("each photo is one trial: what can be shown depends on how many share a description",)
    return Foresight((*space, f"{photos:,} photos of them"), proves, (), photos, requests, 1, tuple(warnings))


def most_per_class(effort: SimulationEffort) -> int:
    return MOST_PER_CLASS if effort.precise else QUICK_IMAGES // (QUICK_WORLDS * FEWEST_CLASSES)


def _more_images(
    config: ClassifierConfig, classes: int, accuracy: JudgeAccuracy | None, effort: SimulationEffort
) -> Proposal:
    brings = f"{PER_CLASS:,} images for a class"
    if effort.precise:
        pair = SimulationEffort(precise=True, worlds=2)
        found = expect(config, "some", classes, PER_CLASS, accuracy, pair)
        brings = f"{found} findings, if there are two bugs a class"
    return Proposal(f"budget.images={PER_CLASS * classes}", brings)


def expect(
    config: ClassifierConfig,
    name: str,
    classes: int,
    each: float,
    accuracy: JudgeAccuracy | None,
    effort: SimulationEffort = QUICK,
) -> Expectation:
    """By simulated hunts on a few classes, scaled up to all."""
    bugs, about = BUGS[name]
    planned, each = each, min(each, most_per_class(effort))
    number = FEWEST_CLASSES
    if effort.precise:
        number = max(number, min(classes, SIMULATED_CLASSES, round(SIMULATED_IMAGES / each)))
    images = round(each * number)
    if effort.precise:
        seeds = range(effort.worlds or worlds_for(images))
    else:
        seeds = range(effort.quick_worlds(QUICK_IMAGES, images))
    parts = [Part(number, len(race(config, bugs, number, images, seed, accuracy))) for seed in seeds]
    foreseen = expected(name, about, parts, classes)
    return foreseen.up_to(bugs * classes) if each < planned else foreseen


def race(
    config: ClassifierConfig, bugs: int, classes: int, images: int, seed: int, accuracy: JudgeAccuracy | None
) -> list[Finding]:
    world = PlantedClassifier(classes=classes, bugs=bugs, seed=seed)
    hunt = ClassifierHunt(
        world.targets(),
        Template(config.template),
        world.corpus,
        replace(rules_of(config, accuracy), images=images),
        judged=config.judge is not None,
        captions=config.captioner is not None,
        asks=False,
    )
    drawn, flying = 0, list[Probe]()
    while drawn < images:
        flying += hunt.ask(config.runtime.in_flight - len(flying))
        if not flying:
            break
        probe = flying.pop(0)
        hunt.tell(world.run(probe))
        drawn += probe.images
    return hunt.findings()
