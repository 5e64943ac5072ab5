"""Experiments with a classifier: does it answer in form, know the classes by name, repeat itself?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from failscape.doctor.observations import SAMPLES, Observation, team_of
from failscape.doctor.t2i import SEEDS, Sample, examine
from failscape.errors import ConfigError, ModelError
from failscape.hunts.classifier.build import targets_of
from failscape.hunts.classifier.config import ClassifierConfig
from failscape.hunts.classifier.prompts import Template
from failscape.models.roles import Classifier, ImageGenerator, Judge, Ranking, Reply
from failscape.pictures import Picture


async def examine_classifier_hunt(settings: ClassifierConfig) -> list[Observation]:
    """Generator and presence check as in t2i; then the classifier looks at the same pictures."""
    if not (settings.generator and settings.judge):
        raise ConfigError(
            "doctor cannot examine this `hunt: classifier`", "it examines those with generator and judge"
        )
    targets, template = targets_of(settings), Template(settings.template)
    chosen = targets[:: max(1, len(targets) // SAMPLES)][:SAMPLES]
    prompts = [template.prompt(target.name, target.superclass) for target in chosen]
    samples = [Sample(prompt, (target.presence(),)) for prompt, target in zip(prompts, chosen, strict=True)]
    known = [name for target in targets for name in target.accept]
    async with team_of(settings) as team:
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


async def examine_classifier(
    classifier: Classifier, shown: Sequence[tuple[Picture, str, Sequence[str]]], known: Sequence[str]
) -> list[Observation]:
    """`shown`: pictures with a class's name and all its spellings; `known`: the spellings of all classes."""
    try:
        replies = [(await classifier.classify([picture]))[0] for picture, _, _ in shown]
        again = (await classifier.classify([shown[0][0]]))[0]
    except ModelError as error:
        return [Observation("classifier", "fail", error.message, "It cannot be hunted.", error.fix)]
    usable = [reply.value for reply in replies if reply.value]
    if len(usable) < len(replies):
        why = next(reply.invalid for reply in replies if not reply.value)
        seen = f"{len(replies) - len(usable)} of {len(replies)} replies cannot be used: {why}"
        return [
            Observation("classifier-form", "fail", seen, "Such trials are invalid.", "mend the classifier")
        ]
    return [_labels(usable, known), _right(usable, shown), _repeats(replies[0], again)]


def _labels(rankings: Sequence[Ranking], known: Sequence[str]) -> Observation:
    """Labels that no class is called by can never be right."""
    spelled, labels = set(known), {label for ranking in rankings for label, _ in ranking}
    shared = labels & spelled
    seen = f"{len(shared)} of {len(labels)} labels that it gave are names of classes"
    if shared:
        return Observation("classifier-labels", "ok", seen, "It speaks of the classes that are hunted.")
    examples = ", ".join(repr(label) for label in sorted(labels)[:3])
    return Observation(
        "classifier-labels",
        "fail",
        f"{seen}; it says {examples}",
        "Every picture would count as a failure.",
        "give the classes by the names that it uses, or a `labels` file with them as synonyms",
    )


def _right(rankings: Sequence[Ranking], shown: Sequence[tuple[Picture, str, Sequence[str]]]) -> Observation:
    hits = [ranking[0][0] in accept for ranking, (_, _, accept) in zip(rankings, shown, strict=True)]
    seen = f"{sum(hits)} of {len(hits)} plain pictures are called by their class"
    if any(hits):
        return Observation("classifier-right", "ok", seen, "Baselines will tell failures from normal.")
    wrong = "; ".join(
        f"{name} called {ranking[0][0]}" for ranking, (_, name, _) in zip(rankings, shown, strict=True)
    )
    return Observation(
        "classifier-right",
        "warn",
        f"{seen} ({wrong})",
        "With baselines near 100 % there is nothing to find.",
        "check `params` (mean, std, size) and the order of `labels`",
    )


def _repeats(first: Reply[Ranking], again: Reply[Ranking]) -> Observation:
    if first.value and again.value and first.value[0][0] == again.value[0][0]:
        return Observation(
            "classifier-repeats", "ok", "the same picture gets the same label", "It is stable."
        )
    seen = "the same picture got two labels"
    means = "Replies are kept, so a second look would not be the same."
    return Observation("classifier-repeats", "warn", seen, means, "switch off dropout and augmentation")
