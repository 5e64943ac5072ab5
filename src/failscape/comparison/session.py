"""One comparison from references to a result: read, judge alike, draw where that is asked for, compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from failscape.atlas import Atlas
from failscape.atlas.database import holds_atlas, parse_reference
from failscape.comparison.cases import (
    ModelSide,
    hunts_of,
    judge_difference,
    read_side,
    rules_for,
    with_cases_in,
)
from failscape.comparison.comparing import CaseSet, ManyCompared, compare_sides, refuse_unlike, with_own_names
from failscape.comparison.decide import ModelResults
from failscape.comparison.drawing import ask_sets, draw_pairs, settings_of
from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.evidence import config_of
from failscape.models.registry import create_model
from failscape.plugins import find_kind
from failscape.runtime.after.again import rejudge
from failscape.runtime.progress import Reporter

#: Trials for each model that is run now, unless told.
TARGET_BUDGET = 1_000


@dataclass(frozen=True)
class CompareRequest:
    """What somebody wants to know. `targets` are models to run now, by name; `folder` is where that goes.

    `matrix`: ask all models for whole sets of cases, folders of `photos` among them.
    """

    references: Sequence[str]
    targets: Mapping[str, ModelConfig]
    budget: int | None = None
    folder: Path | None = None
    judge_again: bool = False
    threshold: float | None = None
    level: float = 0.05
    margin: float = 0.05
    matrix: bool = False
    photos: Sequence[Path] = ()


async def compare_models(request: CompareRequest, reporter: Reporter) -> tuple[ManyCompared, bool]:
    """The comparison, and whether somebody interrupted the drawing."""
    sides = read_sides(request.references, alone=bool(request.targets))
    folder = request.folder or compared_folder(sides[0].folder)
    if request.judge_again:
        sides = [sides[0], *[await judged_by(sides[0], side, reporter) for side in sides[1:]]]
    sides = [with_earlier(side, folder) for side in sides]
    if len(sides) > 1:
        refuse_unlike(sides, request.threshold)
    sides += [target_side(sides[0], name, model) for name, model in request.targets.items()]
    sets, stopped = list[CaseSet](), False
    if request.matrix or request.photos:
        sides = with_own_names([with_earlier(side, folder) for side in sides])
        sides, sets, stopped = await ask_sets(sides, folder, request.photos, reporter)
    budget = request.budget or (0 if sets else TARGET_BUDGET * len(request.targets))
    if budget and not stopped:
        sides, stopped = await _draw(sides, folder, budget, request, reporter)
    return compare_sides(sides, request.threshold, request.level, request.margin, sets=sets), stopped


def compared_folder(folder: Path) -> Path:
    """Where new trials of a comparison go, unless told: beside the first atlas."""
    return folder.with_name(f"{folder.name}-compared")


def read_sides(references: Sequence[str], alone: bool = False) -> list[ModelSide]:
    """One side per reference; a single one stands for all models of its atlas, unless it may stay `alone`."""
    places = [parse_reference(text) for text in references]
    if len(places) == 1 and places[0][1] is None and not alone:
        folder = places[0][0]
        places = [(folder, number) for number in hunts_of(folder)]
    sides = [read_side(folder, number) for folder, number in places]
    if len(sides) < 2 and not alone:
        raise ConfigError(
            f"{references[0]} has one model only, and there is nothing to compare it with",
            "name a second atlas, or a model to run now: --target FILE",
        )
    return sides


def with_earlier(side: ModelSide, folder: Path) -> ModelSide:
    """With what earlier comparisons asked of the same model in `folder`."""
    if not holds_atlas(folder) or folder.resolve() == side.folder.resolve():
        return side
    with Atlas.open(folder, readonly=True) as atlas:
        return with_cases_in(side, atlas)


def target_side(first: ModelSide, name: str, model: ModelConfig) -> ModelSide:
    """A model that nothing is known of yet, to be asked what the first was asked."""
    kind = find_kind(first.kind)
    identities = {**first.row.identities, kind.target: create_model(kind.target, model).identity}
    config = {**first.row.config, "target": model.model_dump(mode="json")}
    row = replace(first.row, config=config, identities=identities)
    results = ModelResults(name, ())
    return replace(first, name=name, row=row, cases={}, results=results, photos={}, found=frozenset())


async def judged_by(first: ModelSide, other: ModelSide, reporter: Reporter) -> ModelSide:
    """The other's pictures judged by the first one's judge, as a hunt of their own in the other's atlas."""
    if not judge_difference(first.row.identities, other.row.identities):
        return other
    judge = getattr(config_of(first.row), "judge", None)
    if not isinstance(judge, ModelConfig) or not find_kind(other.kind).judged_again:
        raise ConfigError(
            f"--rejudge is for pictures that a judge decides on, not for {other.kind} hunts",
            "run one of them again with the other's judge or verifier",
        )
    done = await rejudge(other.folder, judge, reporter, other.row.id)
    return read_side(other.folder, done.second, other.name)


async def _draw(
    sides: list[ModelSide], folder: Path, budget: int, request: CompareRequest, reporter: Reporter
) -> tuple[list[ModelSide], bool]:
    """Each of the others with the first in turn; what the first is asked for one serves all."""
    rules = rules_for(sides, request.threshold, request.level, request.margin)
    first, *others = sides
    each, found = max(1, budget // len(others)), []
    for other in others:
        configs = (config_of(first.row), settings_of(other))
        first, drawn, stopped = await draw_pairs((first, other), configs, folder, each, rules, reporter)
        found.append(drawn)
        if stopped:
            return [first, *found, *others[len(found) :]], True
    return [first, *found], False
