"""Experiments with the models of a classifier config: drawn pictures or photos, presence, labels, helpers."""

import random
from collections.abc import Sequence
from typing import Any

from failscape.doctor.calls import Calls
from failscape.doctor.clauses import examine_clauses
from failscape.doctor.comparisons import PROOF, evidence_below
from failscape.doctor.generator import SEEDS, examine_editor, readable
from failscape.doctor.helpers import examine_captioner, examine_embedder, examine_llm
from failscape.doctor.judge import JudgedPicture, examine_judge
from failscape.doctor.observations import Observation, Patients, down, patients_of
from failscape.doctor.samples import Sample
from failscape.doctor.t2i import PLAIN, examine, examine_judge_alone
from failscape.errors import ModelError
from failscape.hunts.classifier.build import album_of, photos_of, targets_of
from failscape.hunts.classifier.candidates import question_for
from failscape.hunts.classifier.clause_mining import parse_list
from failscape.hunts.classifier.config import ClassifierConfig
from failscape.hunts.classifier.prompts import Template
from failscape.hunts.classifier.tallies import Target
from failscape.models.roles import Classifier, Conversation, Ranking, Reply
from failscape.pictures import Picture

#: Pictures that the classifier sees.
LOOKED_AT = 16

#: Photos that a judge sees: enough to prove that it looks, if it does.
PHOTOS = 32

#: A picture, the name of its class, and all spellings that count as right.
Seen = tuple[Picture, str, Sequence[str]]


class ClassSamples:
    """Prompts of the classes; what cannot hold is that another class is visible."""

    kinds: list[str] = []  # noqa: RUF012 - classes have no attributes to swap

    def __init__(self, settings: ClassifierConfig, targets: Sequence[Target]) -> None:
        self._template = Template(settings.template)
        self._targets = list(targets)
        self._luck = random.Random(f"doctor/{settings.seed}")

    def plain(self, count: int) -> list[Sample]:
        chosen = self._targets[:: max(1, len(self._targets) // count)][:count]
        return [self.sample(target, chosen[at - 1]) for at, target in enumerate(chosen)]

    def pair(self, kinds: Sequence[str]) -> tuple[Sample, Sample] | None:
        if len(self._targets) < 2:
            return None
        first, second = self._luck.sample(self._targets, 2)
        return self.sample(first, second), self.sample(second, first)

    def sample(self, target: Target, other: Target) -> Sample:
        prompt = self._template.prompt(target.name, target.superclass)
        return Sample(prompt, (target.presence(),), (other.presence(),))


async def examine_classifier_hunt(settings: ClassifierConfig) -> list[Observation]:
    """Every model of the config, on pictures that are drawn, or on photos."""
    targets = targets_of(settings)
    async with patients_of(settings) as patients:
        found = patients.ailing
        if settings.generator is not None:
            found += await _drawn_pictures(settings, targets, patients)
            seen = await _draw(patients, targets, settings)
        else:
            found += await _judged_photos(settings, targets, patients)
            seen = _photos(settings, targets, LOOKED_AT)
        known = [name for target in targets for name in target.accept]
        if seen and "classifier" in patients.models:
            found += await examine_classifier(patients.models["classifier"], seen, known)
        return [*found, *await _helpers(settings, targets, patients, seen)]


async def _drawn_pictures(
    settings: ClassifierConfig, targets: Sequence[Target], patients: Patients
) -> list[Observation]:
    models, samples = patients.models, ClassSamples(settings, targets)
    if "generator" in models:
        found = await examine(models["generator"], models.get("judge"), samples)
        if "judge" in models and settings.clause_check:
            found += await examine_clauses(models["generator"], models["judge"], targets, settings)
        return found
    return await examine_judge_alone(models["judge"]) if "judge" in models else []


async def _draw(patients: Patients, targets: Sequence[Target], settings: ClassifierConfig) -> list[Seen]:
    """Plain pictures of some classes, for all who look at pictures."""
    if "generator" not in patients.models:
        return []
    chosen = targets[:: max(1, len(targets) // PLAIN)][:PLAIN]
    template, calls = Template(settings.template), Calls("generator", patients.models["generator"])
    asked = [(target, SEEDS[0] + at) for at in range(LOOKED_AT // PLAIN) for target in chosen]
    items = [(template.prompt(target.name, target.superclass), seed) for target, seed in asked]
    try:
        drawn = [readable(reply) for reply in await calls.each(items)]
    except ModelError:
        return []  # it has been named already
    return [
        (picture, target.name, target.accept)
        for picture, (target, _) in zip(drawn, asked, strict=True)
        if picture is not None
    ]


def _photos(settings: ClassifierConfig, targets: Sequence[Target], most: int) -> list[Seen]:
    """Photos of all classes in turn."""
    by_digest = {photo.digest: photo for photo in album_of(settings.photos).photos}
    groups: dict[int, list[str]] = {}
    for photo in photos_of(settings, targets):
        groups.setdefault(photo.label, []).append(photo.digest)
    found: list[Seen] = []
    for place in range(most):
        for owner, digests in groups.items():
            if place < len(digests) and len(found) < most:
                target = targets[owner]
                found.append((by_digest[digests[place]].picture(), target.name, target.accept))
    return found


async def _judged_photos(
    settings: ClassifierConfig, targets: Sequence[Target], patients: Patients
) -> list[Observation]:
    if "judge" not in patients.models:
        return []
    of_name = {target.name: target for target in targets}
    photos = _photos(settings, targets, PHOTOS)
    shown = []
    for at, (picture, name, _) in enumerate(photos):
        other = next((one for one in (*photos[at + 1 :], *photos[:at]) if one[1] != name), None)
        if other is not None:
            sample = Sample(name, (of_name[name].presence(),), (of_name[other[1]].presence(),))
            shown.append(JudgedPicture(sample, picture, other[0]))
    judge = patients.models["judge"]
    return await examine_judge(judge, shown) if shown else await examine_judge_alone(judge)


async def _helpers(
    settings: ClassifierConfig, targets: Sequence[Target], patients: Patients, seen: Sequence[Seen]
) -> list[Observation]:
    models, found = patients.models, list[Observation]()
    if "captioner" in models:
        found += await examine_captioner(
            models["captioner"], [(one, names) for one, _, names in seen[:PLAIN]]
        )
    if "embedder" in models:
        found += await examine_embedder(models["embedder"], True, settings.match == "embedding")
    if "editor" in models:
        found += await examine_editor(models["editor"], seen[0][0] if seen else None)
    if "answerer" in models:
        model: Any = models["answerer"]

        async def ask(question: str) -> str:
            (reply,) = await model.answer([Conversation((), question)])
            return str(reply.value or "")

        questions = [question_for(target, settings.search.proposals) for target in targets[:2]]
        most = settings.search.proposals
        found += await examine_llm(ask, questions, lambda text: len(parse_list(text, most)), "descriptions")
    return found


async def examine_classifier(
    classifier: Classifier, shown: Sequence[Seen], known: Sequence[str]
) -> list[Observation]:
    """`known`: the spellings of all classes."""
    calls = Calls("classifier", classifier)
    try:
        first = await calls.one(shown[0][0])
        replies = [first, *await calls.each([(picture,) for picture, _, _ in shown[1:]])]
        again = await calls.one(shown[0][0])
    except ModelError as error:
        return [down("classifier", error)]
    usable = [reply.value for reply in replies if reply.value]
    if len(usable) < len(replies):
        why = next(reply.invalid for reply in replies if not reply.value)
        seen = f"{len(replies) - len(usable)} of {len(replies)} replies cannot be used: {why}"
        means, fix = "such trials are invalid", "mend the classifier"
        return [Observation("classifier-form", "fail", seen, means, fix, len(replies))]
    found = [
        _labels(usable, known),
        _varies(usable, shown),
        _right(usable, shown),
        _repeats(replies[0], again),
    ]
    return [*found, calls.latency("one picture")]


def _labels(rankings: Sequence[Ranking], known: Sequence[str]) -> Observation:
    """Labels that no class is called by can never be right."""
    spelled, labels = {name.lower() for name in known}, {label for one in rankings for label, _ in one}
    shared = {label for label in labels if label.lower() in spelled}
    seen = f"{len(shared)} of {len(labels)} labels that it gave are names of classes"
    if shared:
        return Observation(
            "classifier-labels", "ok", seen, "it speaks of the classes that are hunted", n=len(rankings)
        )
    examples = ", ".join(repr(label) for label in sorted(labels)[:3])
    return Observation(
        "classifier-labels",
        "fail",
        f"{seen}; it says {examples}",
        "every picture would count as a failure",
        "give the classes by the names that it uses, or a `labels` file with them as synonyms",
        len(rankings),
    )


def _varies(rankings: Sequence[Ranking], shown: Sequence[Seen]) -> Observation:
    """A classifier that calls all pictures the same does not see them."""
    best, classes = {ranking[0][0] for ranking in rankings}, {name for _, name, _ in shown}
    seen, n = f"pictures of {len(classes)} classes got {len(best)} labels", len(rankings)
    if len(best) > 1 or len(classes) == 1:
        return Observation("classifier-varies", "ok", seen, "the picture matters", n=n)
    means = "it calls every picture the same"
    return Observation("classifier-varies", "fail", seen, means, "check `params` (mean, std, size)", n)


def _right(rankings: Sequence[Ranking], shown: Sequence[Seen]) -> Observation:
    named = [{name.lower() for name in accept} for _, _, accept in shown]
    hits = [ranking[0][0].lower() in names for ranking, names in zip(rankings, named, strict=True)]
    seen, n = f"{sum(hits)} of {len(hits)} plain pictures are called by their class", len(hits)
    if any(hits) and evidence_below(sum(hits), n - sum(hits)) < PROOF:
        return Observation("classifier-right", "ok", seen, "baselines will tell failures from normal", n=n)
    wrong = "; ".join(
        f"{name} called {ranking[0][0]}"
        for ranking, (_, name, _) in list(zip(rankings, shown, strict=True))[:4]
    )
    means = "with baselines near 100 % there is nothing to find"
    fix = "check `params` (mean, std, size) and the order of `labels`"
    return Observation("classifier-right", "warn", f"{seen} ({wrong})", means, fix, n)


def _repeats(first: Reply[Any], again: Reply[Any]) -> Observation:
    if first.value and again.value and first.value[0][0] == again.value[0][0]:
        return Observation(
            "classifier-repeats", "ok", "the same picture gets the same label", "it is stable", n=2
        )
    seen = "the same picture got two labels"
    means = "replies are kept, so a second look would not be the same"
    return Observation("classifier-repeats", "warn", seen, means, "switch off dropout and augmentation", 2)
