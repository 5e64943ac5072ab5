"""Asks every model for whole sets of cases, and makes a set of a folder of labelled photos.

What is asked is recorded in the atlas of the comparison, as all that a comparison asks: nothing twice.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from failscape.atlas import Atlas
from failscape.atlas.contents import keep_pictures
from failscape.comparison.asking import ModelAsker, bring_pictures
from failscape.comparison.cases import CLASSIFIER, AskedCase, case_of
from failscape.comparison.matrix import CaseSet, recorded_sets
from failscape.comparison.reading import ModelSide
from failscape.config import HuntConfig
from failscape.config.files import parse_config
from failscape.errors import ConfigError
from failscape.evidence import config_of
from failscape.hunts.classifier.build import album_of, photos_of, targets_of
from failscape.hunts.classifier.config import ClassifierConfig
from failscape.runtime.progress import Reporter
from failscape.trials import Classify, Probe, Show


async def ask_sets(
    sides: Sequence[ModelSide], folder: Path, photos: Sequence[Path], reporter: Reporter
) -> tuple[list[ModelSide], list[CaseSet], bool]:
    """The sides with what they lacked of all sets, the sets, and whether somebody interrupted."""
    albums = [photo_set(sides[0], one) for one in photos]
    sets = [*recorded_sets(sides), *albums]
    if not any(one.cases for one in sets):
        raise ConfigError(
            f"{sides[0].folder} has neither a random sample nor findings to make sets of",
            "give a hunt more budget, or a folder of labelled pictures: --photos DIR",
        )
    wanted = {(case.subject, case.case): case for one in sets for case in one.cases}
    found = []
    with Atlas.open(folder, create=True) as atlas:
        _keep_photos(albums, photos, atlas)
        gone = bring_pictures(list(wanted.values()), [side.folder for side in sides], atlas)
        for at, side in enumerate(sides):
            missing = [
                case
                for place, case in wanted.items()
                if place not in side.cases and not gone.intersection(case.shown)
            ]
            asked, stopped = await _asked(side, missing, atlas, reporter)
            found.append(asked)
            if stopped:
                return [*found, *sides[at + 1 :]], sets, True
    return found, sets, False


async def _asked(
    side: ModelSide, missing: Sequence[AskedCase], atlas: Atlas, reporter: Reporter
) -> tuple[ModelSide, bool]:
    if not missing:
        return side, False
    asker = ModelAsker(settings_of(side), atlas, reporter)
    async with asker:
        await asker.ask([_probe(case, asker.asked) for case in missing])
    return side.with_cases(asker.cases(), asker.kind.fresh, asker.kind.sampled), asker.interrupted


def _probe(case: AskedCase, taken: set[str]) -> Probe:
    """Sets of several hunts may number different pictures alike; a key is recorded once."""
    key = f"{case.key}.{case.case[:8]}" if case.key in taken else case.key
    return replace(case.probe(), key=key)


def settings_of(side: ModelSide) -> HuntConfig:
    """Those that were recorded, or that a model without a record shall be run with."""
    return config_of(side.row) if side.cases else parse_config(side.row.config, side.name)


def photo_set(side: ModelSide, folder: Path) -> CaseSet:
    """The photos of a folder that show a class of the hunt: a subject of its own for each class."""
    config = config_of(side.row)
    if not isinstance(config, ClassifierConfig):
        raise ConfigError(f"--photos is for classifier hunts, not for {side.kind}", "leave it out")
    targets = targets_of(config)
    photos = photos_of(config.model_copy(update={"photos": str(folder)}), targets)
    if not photos:
        names = sorted({photo.label for photo in album_of(str(folder)).photos if photo.label})
        known = f"its labels are {', '.join(names[:5])}" if names else "its photos have no labels"
        raise ConfigError(
            f"{folder} has no photo of a class that was hunted: {known}",
            "put photos into folders named by class, or give `metadata.jsonl` with a `label` each",
        )
    cases, name = [], " ".join(re.sub(r"[;#=]", " ", folder.resolve().name).split())
    for number, photo in enumerate(photos):
        target = targets[photo.label]
        steps = (Show((photo.digest,)), Classify(target.accept, config.top_k, target.aim))
        subject = f"{target.name}; Photos={name}"
        probe = Probe(f"{subject}#v{number}", subject, steps)
        case = case_of(CLASSIFIER, probe, [[photo.digest]], failed=False)
        cases += [case] if case is not None else []
    return CaseSet(str(folder), tuple(cases))


def _keep_photos(albums: Sequence[CaseSet], folders: Sequence[Path], atlas: Atlas) -> None:
    for one, folder in zip(albums, folders, strict=True):
        wanted = {digest for case in one.cases for digest in case.shown}
        lacking = {digest for digest in wanted if atlas.images.name(digest) is None}
        keep_pictures(
            atlas, (photo.picture() for photo in album_of(str(folder)).photos if photo.digest in lacking)
        )
