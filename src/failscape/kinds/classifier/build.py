"""From the settings of a classifier hunt to the hunt: which classes, in which words, with which helpers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from failscape.errors import ConfigError, suggest
from failscape.kinds.classifier.config import SUPERSEDED, ClassifierConfig
from failscape.kinds.classifier.hunt import ClassifierHunt
from failscape.kinds.classifier.photos import PhotoHunt
from failscape.kinds.classifier.power import power_line
from failscape.kinds.classifier.prompts import Clause, Template, said_clause
from failscape.kinds.classifier.purposes import PHOTO_OF_SET
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.kinds.classifier.tallies import LabelledPhoto, Target
from failscape.pictures import Picture
from failscape.search.protocol import Content, Hunt
from failscape.spaces.albums import Album, Label, LabelSet, album_of, labels_text, load_labels
from failscape.spaces.corpus import Corpus, load_corpus
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Classify, Probe, Show, key_of_try, thing_text, value_label, without_separators

TOYBOX = "toybox"
DISTRACTORS = 5
SKIPPED = 5


def build_hunt(
    config: ClassifierConfig, shard: tuple[int, int] = (0, 1), accuracy: JudgeAccuracy | None = None
) -> Hunt:
    if shard != (0, 1):
        # One race decides over all classes, so parts of it cannot be told to one hunt afterwards.
        raise ConfigError(
            f"a classifier hunt cannot be sharded, but --shard is {shard[0] + 1}/{shard[1]}",
            "give each machine a part of the classes in `classes`, and an atlas of its own",
        )
    targets, corpus = targets_of(config), corpus_of(config)
    if config.generator is None:
        photos = photos_of(config, targets)
        return PhotoHunt(
            targets,
            photos,
            corpus,
            rules_of(config, accuracy),
            judged=config.judge is not None,
            captions=config.captioner is not None,
            edits=config.editor is not None,
            vectors=True,
        )
    kept = config.runtime.keep_images == "all"
    return ClassifierHunt(
        targets,
        Template(config.template),
        corpus,
        rules_of(config, accuracy),
        judged=config.judge is not None,
        sees=config.clause_check,
        twice=config.runtime.keep_images != "none" and config.both_present == "pass",
        realistic=config.realistic,
        captions=config.captioner is not None and kept,
        asks=config.llm is not None,
        photos=photos_of(config, targets) if config.photos else (),
        match=config.match,
        always=written(config, targets),
    )


def written(config: ClassifierConfig, targets: Sequence[Target]) -> dict[int, list[Clause]]:
    """The descriptions that somebody wants tested, by number of class."""
    if isinstance(config.descriptions, tuple):
        return {at: [said_clause(text) for text in config.descriptions] for at in range(len(targets))}
    hunted = LabelSet("`classes`", tuple(Label(one.name, one.superclass, one.accept) for one in targets))
    numbers = {target.name: at for at, target in enumerate(targets)}
    wanted = {numbers[hunted.find(name).name]: texts for name, texts in config.descriptions.items()}
    return {at: [said_clause(text) for text in texts] for at, texts in wanted.items()}


def rules_of(config: ClassifierConfig, accuracy: JudgeAccuracy | None = None) -> ClassifierRules:
    """The presence check's measured errors are upper bounds: how often it sees what is there, or is not."""
    search = config.search.model_dump(exclude=set(SUPERSEDED))
    sensitivity, slip = 1.0, 0.0
    if accuracy is not None and config.judge is not None:
        most = accuracy.highest(["entity"], (1 - accuracy.level) / 2)
        sensitivity, slip = most.hit[0], most.slip[0]
    families = config.space.families
    return ClassifierRules(
        **search,
        top_k=config.top_k,
        families=families,
        images=config.budget.images or 0,
        sensitivity=sensitivity,
        slip=slip,
        both_fails=config.both_present == "fail",
        seed=config.seed,
    )


def corpus_of(config: ClassifierConfig) -> Corpus | None:
    return load_corpus(config.space.corpus) if config.space.corpus else None


def contents(config: ClassifierConfig) -> dict[str, Content]:
    found: dict[str, Content] = {}
    corpus = corpus_of(config)
    if corpus is not None:
        found["space"] = Content("corpus", config.space.corpus, corpus.digest)
    if config.photos:
        found["photos"] = Content("images", config.photos, album_of(config.photos).digest)
    known = known_labels(config)
    if known is not None:
        named = known.source in (config.labels, config.target.labels)
        found["labels"] = Content("labels", known.source, known.digest, labels_text(known) if named else "")
    return found


def albums(config: ClassifierConfig) -> list[Album]:
    return [album_of(config.photos)] if config.photos else []


def forewarn(config: ClassifierConfig, accuracy: JudgeAccuracy | None = None) -> list[str]:
    targets, search = targets_of(config), config.search
    warnings = [*_about_photos(config.photos), *_not_hunted(config, targets)] if config.photos else []
    for name in SUPERSEDED:
        if name in search.model_fields_set:
            warnings.append(f"`search.{name}` has no effect any more, as the budget decides: take it out")
    number = len(targets)
    warnings += list(_shared_names(targets))[:SKIPPED]
    images, least = config.budget.images, number * search.baseline
    if config.generator is not None and images is not None and images < least:
        warnings.append(f"{images} images are too few for {number} baselines: they take {least}")
    if config.generator is not None and config.clause_check and config.judge is None:
        warnings.append("without a `judge` nobody sees clauses: rates are as asked, and marked so")
    if config.generator is not None:
        warnings.append(power_line(rules_of(config, accuracy), number))
    if config.generator is not None and config.judge is None:
        warnings.append(
            "without a `judge` nobody checks that the class is visible: an empty picture would count as a bug"
        )
    if config.generator is not None and config.captioner is not None and config.runtime.keep_images != "all":
        warnings.append("`captioner` is not used: it needs `runtime.keep_images: all`")
    return warnings


def _about_photos(folder: str) -> list[str]:
    """Files that were left out: the first few with their reasons, then how many more."""
    skipped = album_of(folder).skipped
    more = [f"{folder}: {len(skipped) - SKIPPED} more files were left out"] if len(skipped) > SKIPPED else []
    return [*(f"{folder}: left out {line}" for line in skipped[:SKIPPED]), *more]


def _not_hunted(config: ClassifierConfig, targets: Sequence[Target]) -> Iterator[str]:
    """Photos that no class of the hunt owns: without a label, or with another one."""
    hunted = {photo.digest for photo in photos_of(config, targets)}
    rest = [photo for photo in album_of(config.photos).photos if photo.digest not in hunted]
    bare, others = sum(not photo.label for photo in rest), Counter(one.label for one in rest if one.label)
    if bare:
        yield f"{config.photos}: {bare:,} {'photo has' if bare == 1 else 'photos have'} no label: left out"
    if others and config.generator is None:
        names = ", ".join(repr(name) for name, _ in others.most_common(SKIPPED))
        number = others.total()
        are = "photo is" if number == 1 else "photos are"
        yield f"{config.photos}: {number:,} {are} of no class that is hunted, most often of {names}: left out"


def targets_of(config: ClassifierConfig) -> list[Target]:
    """The classes to hunt, with the labels that count as right. A class aimed at itself is left out."""
    known = known_labels(config)
    if config.classes == "all":
        if known is None:
            raise ConfigError(
                "`classes: all` needs to know the classes", "name them in `classes`, or give a `labels` file"
            )
        labels = list(known.labels)
    else:
        labels = [_find(name, known) for name in config.classes]
    _refuse_doubles(labels)
    _refuse_strangers(labels, config)
    aims = _aims(labels, known, config)
    return [
        _target(label, labels, aim)
        for label, aim in zip(labels, aims, strict=True)
        if not set(aim).intersection(label.accept)
    ]


def known_labels(config: ClassifierConfig) -> LabelSet | None:
    """From `labels`, else from the classifier's own list, else the toybox's; `None` when nobody says."""
    if config.labels:
        return load_labels(config.labels)
    if config.generator is None and config.classes == "all":
        names = sorted({photo.label for photo in album_of(config.photos).photos if photo.label})
        return LabelSet(config.photos, tuple(Label(name) for name in names))
    if config.target.labels and config.trusted == "config":  # an atlas keeps a copy, as `labels`
        return load_labels(config.target.labels)
    return _toybox_labels() if config.target.provider == TOYBOX else None


@lru_cache
def _toybox_labels() -> LabelSet:
    entities = load_corpus(TOYBOX).entities
    return LabelSet(TOYBOX, tuple(Label(entity.name, _singular(entity.sub_class)) for entity in entities))


def _singular(text: str) -> str:
    return text[:-1] if text.endswith("s") and not text.endswith("ss") else text


def _find(name: str, known: LabelSet | None) -> Label:
    return Label(name) if known is None else known.find(name)


def _refuse_doubles(labels: Sequence[Label]) -> None:
    """Trials are told apart by the name of their class."""
    names = Counter(label.name.lower() for label in labels)
    for label in labels:
        if names[label.name.lower()] > 1:
            raise ConfigError(
                f"`classes` names {label.name!r} {names[label.name.lower()]} times", "name each class once"
            )


def _shared_names(targets: Sequence[Target]) -> Iterator[str]:
    """Spellings that count as right for several classes."""
    owners: dict[str, list[str]] = {}
    for target in targets:
        for label in target.labels:
            owners.setdefault(label, []).append(target.name)
    for label, names in sorted(owners.items()):
        if len(names) > 1:
            both = " and ".join(sorted(names))
            yield f"the label {label!r} counts as right for {both}: confusions of them hide"


def _refuse_strangers(labels: Sequence[Label], config: ClassifierConfig) -> None:
    """A class under whose names the model's own list has nothing can never be called right."""
    file = config.target.labels
    if config.trusted == "atlas" or not (config.labels and file and Path(file).expanduser().is_file()):
        return
    carried = {name for label in load_labels(file).labels for name in label.accept}
    spelled = {name.lower() for name in carried}
    for label in labels:
        if not spelled.intersection(map(str.lower, label.accept)):
            raise ConfigError(
                f"the classifier has no class {label.name!r}: {file} lists none of its names",
                suggest(label.name, carried),
            )


def _aims(labels: Sequence[Label], known: LabelSet | None, config: ClassifierConfig) -> list[tuple[str, ...]]:
    """For each class the spellings of the wrong label that counts; none where every wrong label does.

    Photos name only the classes they show, so a label that their folder lacks may still be one of the model.
    """
    listed = None if known is None or known.source == config.photos else known
    if isinstance(config.aim, str):
        return [_spellings(config.aim, listed)] * len(labels)
    hunted = LabelSet("`classes`", tuple(labels))
    wanted = {hunted.find(name).name: _spellings(aim, listed) for name, aim in config.aim.items()}
    return [wanted.get(label.name, ()) for label in labels]


def _spellings(aim: str, known: LabelSet | None) -> tuple[str, ...]:
    return () if not aim else _find(aim, known).accept


def _target(label: Label, labels: Sequence[Label], aim: tuple[str, ...]) -> Target:
    near = [other.name for other in labels if other.superclass == label.superclass and other is not label]
    far = [other.name for other in labels if other.superclass != label.superclass]
    place = labels.index(label)
    others = (*near[:DISTRACTORS], *far[place % max(1, len(far)) :])[:DISTRACTORS]
    return Target(label.name, label.accept, label.superclass, aim, tuple(others))


def pictures(config: ClassifierConfig) -> Iterator[Picture]:
    """What has to be in the atlas before the run: the photos of hunted classes."""
    if config.photos:
        wanted = {photo.digest for photo in photos_of(config, targets_of(config))}
        photos = (photo for photo in album_of(config.photos).photos if photo.digest in wanted)
        yield from (photo.picture() for photo in photos if photo.has_file)


def photos_of(config: ClassifierConfig, targets: Sequence[Target]) -> list[LabelledPhoto]:
    """Photos whose label is one of a class's names, whatever its case."""
    owner = {name.lower(): at for at, target in enumerate(targets) for name in target.accept}
    return [
        LabelledPhoto(photo.digest, owner[photo.label.lower()], photo.captions, photo.details)
        for photo in album_of(config.photos).photos
        if photo.label.lower() in owner
    ]


def photo_probes(config: ClassifierConfig, folder: str) -> list[Probe]:
    """The photos of a folder that show a class of the hunt: a subject of its own for each class."""
    targets = targets_of(config)
    photos = photos_of(config.model_copy(update={"photos": folder}), targets)
    if not photos:
        names = sorted({photo.label for photo in album_of(folder).photos if photo.label})
        known = f"its labels are {', '.join(names[:5])}" if names else "its photos have no labels"
        raise ConfigError(
            f"{folder} has no photo of a class that was hunted: {known}",
            "put photos into folders named by class, or give `metadata.jsonl` with a `label` each",
        )
    # The signs that subjects and keys are made of must not occur in a name.
    name = without_separators(Path(folder).resolve().name)
    probes = []
    for number, photo in enumerate(photos):
        target = targets[photo.label]
        steps = (Show((photo.digest,)), Classify(target.accept, config.top_k, target.aim))
        subject = thing_text(target.name, [value_label("Photos", name)])
        probes.append(Probe(key_of_try(subject, PHOTO_OF_SET, number), subject, steps))
    return probes
