"""Experiments with the models of a classifier config: drawn pictures or photos, presence, clauses, labels,
helpers.

Does a judge see clauses? It looks at pictures that were drawn with a background, and without it. The hunt
finds out too, at the cost of images, and goes on with rates as asked.
"""

import random
from collections.abc import Sequence
from typing import Any

from failscape.doctor.experiments import (
    SEEDS,
    examine_captioner,
    examine_editor,
    examine_embedder,
    examine_llm,
    readable,
)
from failscape.doctor.judging import PLAIN, JudgedPicture, examine, examine_judge
from failscape.doctor.observations import Calls, Observation, Patients, concluded, down, patients_of
from failscape.doctor.samples import Sample
from failscape.errors import ModelError
from failscape.kinds.classifier.build import corpus_of, photos_of, targets_of
from failscape.kinds.classifier.candidates import question_for
from failscape.kinds.classifier.clause_mining import parse_list
from failscape.kinds.classifier.config import ClassifierConfig
from failscape.kinds.classifier.prompts import Clause, Template, clause_of
from failscape.kinds.classifier.tallies import Target
from failscape.models.roles import Classifier, Model, Ranking, Reply
from failscape.pictures import Picture
from failscape.spaces.albums import album_of

PAIRS = 12
#: How many more it must see where they were asked for: one that tosses a coin does so once in thirteen.
CLEARLY = 4


async def examine_clauses(
    generator: Model, judge: Model, targets: Sequence[Target], settings: ClassifierConfig
) -> list[Observation]:
    asked = _asked(targets, settings)
    if not asked:
        return []
    try:
        drawn_with = await _seen(generator, judge, asked, settings, True)
        drawn_without = await _seen(generator, judge, asked, settings, False)
    except ModelError:
        return []  # it has been named already
    return [
        concluded(
            "judge-clauses",
            "ok" if drawn_with - drawn_without >= CLEARLY else "warn",
            f"it sees {drawn_with} of {len(asked)} backgrounds where asked for, {drawn_without} where not",
            2 * len(asked),
            "rates are among pictures that show the clause",
            "it cannot see clauses: once the hunt has proven that, rates are as asked, and marked so",
            "give another judge, or set `clause_check: false`: the same from the start, and cheaper",
        )
    ]


def _asked(targets: Sequence[Target], settings: ClassifierConfig) -> list[tuple[Target, Clause]]:
    """Classes and backgrounds in turn."""
    corpus = corpus_of(settings)
    around = [value for value in corpus.values if value.family == "Background"] if corpus else []
    if not around or not targets:
        return []
    return [(targets[at % len(targets)], clause_of(around[at * len(around) // PAIRS])) for at in range(PAIRS)]


async def _seen(
    generator: Model,
    judge: Model,
    asked: Sequence[tuple[Target, Clause]],
    settings: ClassifierConfig,
    drawn_with: bool,
) -> int:
    """In how many pictures the judge sees the clause, drawn with it or without."""
    template = Template(settings.template)
    prompts = [
        template.prompt(target.name, target.superclass, [clause] if drawn_with else [])
        for target, clause in asked
    ]
    items = [(prompt, SEEDS[0] + at) for at, prompt in enumerate(prompts)]
    pictures = [readable(reply) for reply in await Calls("generator", generator).each(items)]
    looks = [
        (picture, (clause.check(target.name),))
        for picture, (target, clause) in zip(pictures, asked, strict=True)
        if picture is not None
    ]
    replies = await Calls("judge", judge).each(looks)
    return sum(bool(reply.value and reply.value[0]) for reply in replies)


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
            found.append(_labelled(settings, targets))
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
    return await examine_judge(models["judge"]) if "judge" in models else []


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


def _labelled(settings: ClassifierConfig, targets: Sequence[Target]) -> Observation:
    """Photos that belong to no class take no part; where none does, there is no hunt."""
    hunted, total = len(photos_of(settings, targets)), len(album_of(settings.photos).photos)
    return concluded(
        "photos-labelled",
        "ok" if hunted == total else "warn" if hunted else "fail",
        f"{hunted:,} of {total:,} photos have the label of a class that is hunted",
        total,
        "all of them take part",
        "the others take no part" if hunted else "there is nothing to hunt in",
        "put photos into folders named by class, or give `metadata.jsonl` with a `label` each",
    )


async def _judged_photos(
    settings: ClassifierConfig, targets: Sequence[Target], patients: Patients
) -> list[Observation]:
    if "judge" not in patients.models:
        return []
    presence = {target.name: (target.presence(),) for target in targets}
    photos, shown = _photos(settings, targets, PHOTOS), list[JudgedPicture]()
    for at, (picture, name, _) in enumerate(photos):
        other = next((one for one in (*photos[at + 1 :], *photos[:at]) if one[1] != name), None)
        if other is not None:
            sample = Sample(name, presence[name], presence[other[1]])
            shown.append(JudgedPicture(sample, picture, other[0]))
    return await examine_judge(patients.models["judge"], shown)


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
    if "llm" in models:
        most = settings.search.proposals

        async def ask(question: str) -> str:
            reply = await models["llm"].chat([{"role": "user", "content": question}])
            return str(reply.value or "")

        questions = [question_for(target, most) for target in targets[:2]]
        found += await examine_llm(ask, questions, lambda text: len(parse_list(text, most)), "descriptions")
    return found


async def examine_classifier(
    classifier: Classifier, shown: Sequence[Seen], known: Sequence[str]
) -> list[Observation]:
    """`known`: the spellings of all classes."""
    calls = Calls("classifier", classifier)
    try:
        replies = [
            await calls.one(shown[0][0]),
            *await calls.each([(picture,) for picture, _, _ in shown[1:]]),
        ]
        again = await calls.one(shown[0][0])
    except ModelError as error:
        return [down("classifier", error)]
    usable = [reply.value for reply in replies if reply.value]
    if len(usable) < len(replies):
        why = next(reply.invalid for reply in replies if not reply.value)
        seen = f"{len(replies) - len(usable)} of {len(replies)} replies cannot be used: {why}"
        means, fix = "such trials are invalid", "mend the classifier"
        return [Observation("classifier-form", "fail", seen, means, fix, len(replies))]
    return [
        *_input(classifier),
        _labels(usable, known),
        _varies(usable, shown),
        _right(usable, shown),
        _repeats(replies[0], again),
        calls.latency("one picture"),
    ]


def _labels(rankings: Sequence[Ranking], known: Sequence[str]) -> Observation:
    """Labels that no class is called by can never be right."""
    spelled, labels = {name.lower() for name in known}, {label for one in rankings for label, _ in one}
    shared = [label for label in labels if label.lower() in spelled]
    examples = ", ".join(repr(label) for label in sorted(labels)[:3])
    return concluded(
        "classifier-labels",
        "ok" if shared else "fail",
        f"{len(shared)} of {len(labels)} labels that it gave are names of classes"
        + ("" if shared else f"; it says {examples}"),
        len(rankings),
        "it speaks of the classes that are hunted",
        "every picture would count as a failure",
        "give the classes by the names that it uses, or a `labels` file with them as synonyms",
    )


def _varies(rankings: Sequence[Ranking], shown: Sequence[Seen]) -> Observation:
    """A classifier that calls all pictures the same does not see them."""
    best, classes = {ranking[0][0] for ranking in rankings}, {name for _, name, _ in shown}
    return concluded(
        "classifier-varies",
        "ok" if len(best) > 1 or len(classes) == 1 else "fail",
        f"pictures of {len(classes)} classes got {len(best)} labels",
        len(rankings),
        "the picture matters",
        "it calls every picture the same",
        "check `params` (mean, std, size)",
    )


def _right(rankings: Sequence[Ranking], shown: Sequence[Seen]) -> Observation:
    named = [{name.lower() for name in accept} for _, _, accept in shown]
    hits = sum(ranking[0][0].lower() in names for ranking, names in zip(rankings, named, strict=True))
    n = len(shown)
    fine = 2 * hits >= n
    calls = [f"{name} called {ranking[0][0]}" for ranking, (_, name, _) in zip(rankings, shown, strict=True)]
    return concluded(
        "classifier-right",
        "ok" if fine else "warn",
        f"{hits} of {n} plain pictures are called by their class"
        + ("" if fine else f" ({'; '.join(calls[:4])})"),
        n,
        "baselines will tell failures from normal",
        "it is wrong about most plain pictures: what a hunt finds is about the set-up, not about the model",
        "the likely causes, commonest first: pixels are scaled otherwise than in training (`mean`, `std`, "
        "`scale`); `labels` are in another order than the model's outputs; colours or axes are swapped "
        "(`channels`, `layout`), or the `size` is another; the pictures' labels are not what they show",
    )


def _input(classifier: Any) -> list[Observation]:
    """What pictures are made into before the model sees them, where the provider can tell."""
    about = getattr(classifier, "about_input", None)
    if about is None:
        return []
    text, assumed = about
    if not assumed:
        means = "the file or `params` state all of it"
    else:
        means = (
            f"nobody stated {', '.join(assumed)}: the usual is assumed; set `params` where it is otherwise"
        )
    return [Observation("classifier-input", "ok", text, means)]


def _repeats(first: Reply[Any], again: Reply[Any]) -> Observation:
    one, other = first.value, again.value
    same = bool(one and other and one[0][0] == other[0][0])
    return concluded(
        "classifier-repeats",
        "ok" if same else "warn",
        "the same picture gets the same label" if same else "the same picture got two labels",
        2,
        "it is stable",
        "replies are kept, so a second look would not be the same",
        "switch off dropout and augmentation",
    )
