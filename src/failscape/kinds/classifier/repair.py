"""Repairs an image classifier by its last layer: features of failures and of plain pictures, no torch.

ONNX in, ONNX out. The placebo twin is fitted in the same way without any failure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from failscape.again.cases import AskedCase
from failscape.again.decide import CompareRules
from failscape.again.rejudge import draw_more
from failscape.atlas import Atlas
from failscape.atlas.judging import plans_of
from failscape.config import HuntConfig, ModelConfig
from failscape.errors import AtlasError, ConfigError
from failscape.kinds.classifier.baselines import all_targets, baseline_plans
from failscape.kinds.classifier.config import ClassifierConfig
from failscape.kinds.classifier.rows import classifier_rows
from failscape.models.providers.onnx import OnnxClassifier, OnnxEmbedder
from failscape.pictures import Picture
from failscape.repair.last_layer import (
    LastLayer,
    Layer,
    Rows,
    find_last_layer,
    fit_layer,
    load_model,
    placebo_rows,
    save_model,
    with_features,
    with_layer,
)
from failscape.repair.proof import (
    AFTER,
    BEFORE,
    PLACEBO,
    RepairedModel,
    RepairWish,
    ask_all,
    parts_of,
    probes_for,
    weigh,
    with_seed,
)
from failscape.runtime.progress import Reporter
from failscape.runtime.walk import TESTING_STEPS
from failscape.search.fresh import Plans, SeedStream, recorded_tries
from failscape.toybox.networks import CLASSIFIERS, MODELS
from failscape.trials import Finding
from failscape.trust import refuse_models
from failscape.views.export.splits import Parts
from failscape.views.read import HuntEvidence
from failscape.views.read.findings import short_title
from failscape.views.read.found import config_of

REPAIRED_FILE, PLACEBO_FILE = "repaired.onnx", "placebo.onnx"
#: With fewer failures a new layer learns those pictures and nothing else.
FEWEST_FAILURES = 20


@dataclass(frozen=True, slots=True)
class LabelledPicture:
    """`group` is the finding that it belongs to, "" for a plain picture."""

    picture: Picture
    label: str
    group: str
    failed: bool


async def repair_classifier(
    hunt: HuntEvidence, model: ModelConfig | None, out: Path, wish: RepairWish, reporter: Reporter
) -> RepairedModel:
    """From findings to `repaired.onnx`, `placebo.onnx` and the proof, all in the folder `out`.

    `model` is the ONNX file of the target; None takes the one that the hunt names.
    """
    model = model or onnx_of(hunt)
    config = cast(ClassifierConfig, config_of(hunt.row))
    file = Path(model.path).expanduser()
    network = load_model(file)
    last = find_last_layer(network, file, str(model.params.get("output") or ""))
    parts = parts_of(hunt, wish.rest)
    shown = [one for one in hunt.findings if one.subject in parts.shown]
    pictures = await _failures(hunt, shown, wish, reporter)
    failures = sum(one.failed for one in pictures)
    if failures < FEWEST_FAILURES:
        raise ConfigError(
            f"a repair needs at least {FEWEST_FAILURES} failures, but the {len(shown)} findings that it may"
            f" be shown have {failures}",
            "let the hunt run on (failscape run), or draw more: --failures 100",
        )
    plain = await _plain_pictures(config, out / "clean", wish.clean, reporter)
    rows = await _rows([*pictures, *plain], model, network, last, config, out)
    for path, used in ((REPAIRED_FILE, rows), (PLACEBO_FILE, placebo_rows(rows, config.seed))):
        save_model(with_layer(network, last, _finite(fit_layer(last.layer, used))), out / path)
    cases = await _try_all(hunt, config, model, parts, out, wish, reporter)
    titles = {one.subject: short_title(one) for one in hunt.findings}
    proof = weigh(cases, parts, titles, CompareRules(wish.limit, wish.level))
    made = (
        f"The last layer of {hunt.target} was fitted anew on {failures:,} failures of {len(shown)}"
        f" findings and {len(plain):,} plain pictures of all classes."
    )
    return RepairedModel(out / REPAIRED_FILE, made, proof, cases)


def onnx_of(hunt: HuntEvidence) -> ModelConfig:
    """The model file behind the hunt's target.

    Raises:
        ConfigError: the target is reached in a way that tells no model file.
    """
    target = ModelConfig.model_validate(hunt.row.config["target"])
    refuse_models({"classifier": target.model_dump(mode="json")}, hunt.row.vouched)
    if target.provider == "onnx":
        return target
    if target.provider == "toybox":
        name = target.model or CLASSIFIERS[0]
        file, labels = MODELS / f"classifier-{name}.onnx", MODELS / "labels.txt"
        return ModelConfig(provider="onnx", model=name, path=str(file), labels=str(labels))
    raise ConfigError(
        f"the target is reached by provider {target.provider}: repair needs its model file",
        "export it to ONNX, and give it with --model FILE.onnx --labels FILE",
    )


def _of_all_classes(config: HuntConfig) -> HuntConfig:
    """Plain pictures are of every class, and a hunt must know the classes of its trials."""
    known = tuple(target.name for target in all_targets(cast(ClassifierConfig, config)))
    return config.model_copy(update={"classes": known})


def _finite(layer: Layer) -> Layer:
    if not all(np.isfinite(part).all() for part in layer if part is not None):
        raise ConfigError("the new last layer has numbers that are none", "draw more failures, and try again")
    return layer


async def _failures(
    hunt: HuntEvidence, shown: Sequence[Finding], wish: RepairWish, reporter: Reporter
) -> list[LabelledPicture]:
    """All pictures of the shown findings, failed or not: the hunt's own, and as many failures more."""
    found = _pictures(hunt.atlas, hunt.row.id, hunt, shown)
    if wish.failures and shown:
        drawn = await draw_more(hunt.atlas, hunt.row, shown, wish.failures, reporter)
        if drawn.summary.stop.is_interrupted:
            raise KeyboardInterrupt
        with Atlas.open(drawn.folder, readonly=True) as more:
            found += _pictures(more, drawn.hunt, hunt, shown)
    return found


def _pictures(
    atlas: Atlas, hunt_id: int, hunt: HuntEvidence, shown: Sequence[Finding]
) -> list[LabelledPicture]:
    found = []
    for row in classifier_rows(atlas, atlas.hunt(hunt_id), shown, passes=True):
        try:
            picture = atlas.images.get(row["images"][0])
        except AtlasError:
            continue
        found.append(LabelledPicture(picture, row["label"], row["subject"], row["failed"]))
    return found


async def _plain_pictures(
    config: ClassifierConfig, folder: Path, number: int, reporter: Reporter
) -> list[LabelledPicture]:
    """Pictures of every class from the prompt of the baseline, where the class was seen in them."""
    if config.generator is None:
        raise ConfigError(
            "this hunt has no generator to draw plain pictures with", "hunt with a `generator`, then repair"
        )
    plain = _of_all_classes(with_seed(config, SeedStream.PLAIN))
    plans = baseline_plans(config)
    probes = probes_for(recorded_tries(plain, plans), dict.fromkeys(plans, number))
    cases = (await ask_all(plain, {}, probes, folder, reporter))[BEFORE]
    with Atlas.open(folder, readonly=True) as atlas:
        return [
            LabelledPicture(atlas.images.get(case.images[-1]), case.subject, "", case.failed)
            for case in cases
        ]


async def _rows(
    pictures: Sequence[LabelledPicture],
    model: ModelConfig,
    network: object,
    last: LastLayer,
    config: ClassifierConfig,
    out: Path,
) -> Rows:
    """Features by the network itself, and the number of each right label among its outputs."""
    probe = out / "features.onnx"
    save_model(with_features(network, last), probe)
    params = {**model.params, "output": last.features}
    reader = OnnxEmbedder(model.model_copy(update={"path": str(probe), "params": params}))
    await reader.start()
    try:
        replies = [
            reply
            for start in range(0, len(pictures), 256)
            for reply in await reader.embed([one.picture for one in pictures[start : start + 256]])
        ]
    finally:
        await reader.close()
        probe.unlink(missing_ok=True)
    numbers = await _label_numbers(model, config)
    kept = [at for at, one in enumerate(pictures) if replies[at].value and one.label in numbers]
    return Rows(
        np.array([replies[at].value for at in kept], np.float64),
        np.array([numbers[pictures[at].label] for at in kept], np.intp),
        tuple(pictures[at].group for at in kept),
    )


async def _label_numbers(model: ModelConfig, config: ClassifierConfig) -> dict[str, int]:
    """Class of the hunt → its place among the network's outputs."""
    reader = OnnxClassifier(model)
    await reader.start()
    labels = {name: at for at, name in enumerate(reader.labels)}
    await reader.close()
    places = {
        target.name: [labels[name] for name in target.accept if name in labels]
        for target in all_targets(config)
    }
    found = {name: known[0] for name, known in places.items() if known}
    if not found:
        raise ConfigError(
            f"{model.path} has none of the hunt's classes among its {len(labels)} labels",
            "give `labels`: a file with one label per line, in the order of the model's output",
        )
    return found


async def _try_all(
    hunt: HuntEvidence,
    config: ClassifierConfig,
    model: ModelConfig,
    parts: Parts,
    out: Path,
    wish: RepairWish,
    reporter: Reporter,
) -> dict[str, list[AskedCase]]:
    """Before, placebo and after on the same fresh pictures."""
    fresh = _of_all_classes(with_seed(config))
    subjects = [*parts.shown, *parts.hidden, *parts.rest]
    plans: Plans = {
        **baseline_plans(config),
        **{one: plans_of(hunt.atlas, hunt.row.id, one, TESTING_STEPS) for one in subjects},
    }
    probes = probes_for(recorded_tries(fresh, plans), _numbers(plans, parts, wish))
    twins = {
        name: model.model_copy(update={"path": str(out / file), "model": name})
        for name, file in ((PLACEBO, PLACEBO_FILE), (AFTER, REPAIRED_FILE))
    }
    return await ask_all(fresh, twins, probes, out / "proof", reporter)


def _numbers(plans: Plans, parts: Parts, wish: RepairWish) -> Mapping[str, int]:
    number = {
        "shown": wish.images,
        "hidden": wish.images,
        "rest": wish.rest_images,
        "clean": wish.clean_images,
    }
    return {subject: number[parts.of(subject)] for subject in plans}
