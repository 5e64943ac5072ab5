"""One comparison from references to a result: read, judge alike, draw where that is asked for, compare."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from failscape.again.cases import (
    ModelSide,
    hunts_of,
    judge_difference,
    read_side,
    rules_for,
    with_cases_in,
)
from failscape.again.comparing import CaseSet, ManyCompared, compare_sides, refuse_unlike, with_own_names
from failscape.again.decide import ModelResults
from failscape.again.drawing import SAMPLE_SHARE, draw_pairs
from failscape.again.rejudge import rejudge
from failscape.again.sets import ask_sets, settings_of
from failscape.atlas import Atlas
from failscape.atlas.database import holds_atlas, parse_reference
from failscape.atlas.files import refuse_link
from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.models.registry import create_model
from failscape.plugins import find_kind
from failscape.runtime.progress import Reporter
from failscape.spaces.albums import load_album
from failscape.trust import NOTHING_VOUCHED, Vouched, refuse_models
from failscape.views.read import config_of

#: Trials for each model that is run now and whose pictures must be drawn, unless told; a note says so.
TARGET_BUDGET = 1_000

#: What a row of `failscape dataset` has in its column `split` if it was kept from training.
KEPT_BACK = "retest"


@dataclass(frozen=True)
class CompareRequest:
    """What somebody wants to know. `targets` are models to run now, by name; `folder` is where that goes.

    `matrix`: ask all models for whole sets of cases, folders of `photos` among them. `vouched` says which
    models of the atlases may be run. `budget` counts what earlier sessions asked too, so that the same
    request gives the same answer again. Pictures in the folders `trained_on` are left out.
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
    vouched: Vouched = NOTHING_VOUCHED
    trained_on: Sequence[Path] = ()


async def compare_models(request: CompareRequest, reporter: Reporter) -> tuple[ManyCompared, bool]:
    """The comparison, and whether somebody interrupted the drawing."""
    sides = read_sides(request.references, bool(request.targets), request.vouched)
    folder = request.folder or compared_folder(sides[0].folder)
    if request.judge_again:
        sides = [sides[0], *[await judged_by(sides[0], side, reporter) for side in sides[1:]]]
    sides = [with_earlier(side, folder) for side in sides]
    sides, notes = without_trained(sides, request.trained_on)
    if len(sides) > 1:
        refuse_unlike(sides, request.threshold)
    sides += [target_side(sides[0], name, model) for name, model in request.targets.items()]
    sets, stopped = list[CaseSet](), False
    if request.matrix or request.photos:
        sides = with_own_names([with_earlier(side, folder) for side in sides])
        sides, sets, stopped = await ask_sets(sides, folder, request.photos, reporter)
    budget = request.budget or (0 if sets else _usual_budget(sides[0]) * len(request.targets))
    if budget and not stopped:
        sides, stopped = await _draw(sides, folder, budget, request, reporter)
    compared = compare_sides(sides, request.threshold, request.level, request.margin, sets=sets)
    if request.targets and not request.budget and not sets and not _needs_no_drawing(sides[0]):
        notes.append(
            f"each model was asked at most {TARGET_BUDGET:,} times; --budget N asks for N in all, and goes "
            "on from here"
        )
    last = replace(compared.last, notes=(*compared.last.notes, *notes))
    return replace(compared, last=last), stopped


def _needs_no_drawing(side: ModelSide) -> bool:
    """A hunt in photos: every picture is there already."""
    return bool(side.row.config.get("photos")) and not side.row.config.get("generator")


def _usual_budget(side: ModelSide) -> int:
    """All photos of a hunt in photos, as the random sample that they are; else a round number."""
    if _needs_no_drawing(side):
        return math.ceil(len(side.cases) / SAMPLE_SHARE)
    return TARGET_BUDGET


def without_trained(sides: Sequence[ModelSide], folders: Sequence[Path]) -> tuple[list[ModelSide], list[str]]:
    """The sides without cases whose picture lies in a folder that a model was trained on, and a sentence.

    Of a folder of `failscape dataset` the rows of `retest` were kept from training.
    """
    digests = {
        photo.digest
        for folder in folders
        for photo in load_album(folder).photos
        if photo.details.get("split") != KEPT_BACK
    }
    found, left_out = list[ModelSide](), 0
    for side in sides:
        trained = {place for place, case in side.cases.items() if digests.intersection(case.images)}
        left_out = max(left_out, len(trained))
        kept = {place: case for place, case in side.cases.items() if place not in trained}
        results = tuple(one for one in side.results.results if (one.subject, one.case) not in trained)
        found.append(replace(side, cases=kept, results=replace(side.results, results=results)))
    if not folders:
        return list(sides), []
    if not any(side.cases for side in found):
        raise ConfigError(
            "every recorded picture was trained on, so nothing is left to compare on",
            "hold some photos back from training",
        )
    return found, [f"{left_out:,} recorded pictures were trained on, and are left out"]


def compared_folder(folder: Path) -> Path:
    """Where new trials of a comparison go, unless told: beside the first atlas.

    It may have come with that atlas, and then as a link to another one.
    """
    beside = folder.with_name(f"{folder.name}-compared")
    refuse_link(beside)
    return beside


def read_sides(
    references: Sequence[str], alone: bool = False, vouched: Vouched | None = None
) -> list[ModelSide]:
    """One side per reference; a single one stands for all models of its atlas, unless it may stay `alone`."""
    places = [parse_reference(text) for text in references]
    if len(places) == 1 and places[0][1] is None and not alone:
        folder = places[0][0]
        places = [(folder, number) for number in hunts_of(folder)]
    sides = [read_side(folder, number, vouched=vouched) for folder, number in places]
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
    section = model.model_dump(mode="json")
    config = {**first.row.config, "target": section}
    row = replace(first.row, config=config, identities=identities, vouched=first.row.vouched.plus(section))
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
    refuse_models({"judge": judge.model_dump(mode="json")}, first.row.vouched)
    done = await rejudge(other.folder, judge, reporter, other.row.id)
    return read_side(other.folder, done.second, other.name, other.row.vouched)


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
