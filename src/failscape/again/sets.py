"""Whole sets of cases, asked of every model: what hunts recorded, and folders of labelled photos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from failscape.again.asking import ModelAsker, bring_pictures
from failscape.again.cases import AskedCase, ModelSide, case_of
from failscape.again.comparing import CaseSet, recorded_sets
from failscape.atlas import Atlas
from failscape.atlas.hunts import keep_pictures, stored_settings
from failscape.config import HuntConfig
from failscape.errors import ConfigError
from failscape.plugins import find_kind
from failscape.runtime.progress import Reporter
from failscape.spaces.albums import album_of
from failscape.trials import Probe, Purpose, Show, key_beside
from failscape.views.read import config_of


async def ask_sets(
    sides: Sequence[ModelSide], folder: Path, photos: Sequence[Path], reporter: Reporter
) -> tuple[list[ModelSide], list[CaseSet], bool]:
    """The sides with what they lacked of all sets, the sets, and whether somebody interrupted."""
    given = find_kind(sides[0].kind).purposes.of_photos
    recorded, albums = once_each(recorded_sets(sides), [photo_set(sides[0], one) for one in photos], given)
    sets = [*recorded, *albums]
    if not any(one.cases for one in sets):
        raise ConfigError(
            f"{sides[0].folder} has neither a random sample nor findings to make sets of",
            "give a hunt more budget, or a folder of labelled pictures: --photos DIR",
        )
    wanted = {(case.subject, case.case): case for one in sets for case in one.cases}
    found = []
    with Atlas.open(folder, create=True) as atlas:
        for one, place in zip(albums, photos, strict=True):
            needed = {digest for case in one.cases for digest in case.shown}
            lacking = {digest for digest in needed if atlas.images.name(digest) is None}
            keep_pictures(
                atlas, (photo.picture() for photo in album_of(str(place)).photos if photo.digest in lacking)
            )
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


def once_each(
    recorded: Sequence[CaseSet], albums: Sequence[CaseSet], photos: Purpose | None
) -> tuple[list[CaseSet], list[CaseSet]]:
    """A photo that a hunt has recorded is the same case in a folder: totals count it once.

    `photos` is the purpose of recorded photos, where the kind of hunt takes any.
    """
    if photos is None:
        return list(recorded), list(albums)
    known = {case.case: case for one in recorded for case in one.cases if photos.is_of(case.key)}
    joined = [replace(one, cases=tuple(known.get(case.case, case) for case in one.cases)) for one in albums]
    given = {place for one in joined for place in one.places}
    others = [one for one in recorded if one.name != photos.sample_name or not given.issuperset(one.places)]
    return others, joined


async def _asked(
    side: ModelSide, missing: Sequence[AskedCase], atlas: Atlas, reporter: Reporter
) -> tuple[ModelSide, bool]:
    if not missing:
        return side, False
    asker = ModelAsker(settings_of(side), atlas, reporter)
    async with asker:
        await asker.ask([_probe(case, asker.asked) for case in missing])
    return side.with_cases(asker.cases(), asker.kind.purposes), asker.interrupted


def _probe(case: AskedCase, taken: set[str]) -> Probe:
    """Sets of several hunts may number different pictures alike; a key is recorded once."""
    key = key_beside(case.key, case.case[:8]) if case.key in taken else case.key
    return replace(case.probe(), key=key)


def settings_of(side: ModelSide) -> HuntConfig:
    """Those that were recorded, or that a model without a record shall be run with."""
    return config_of(side.row) if side.cases else stored_settings(side.row)


def photo_set(side: ModelSide, folder: Path) -> CaseSet:
    """The labelled photos of a folder, where the kind of hunt can ask its target about photos."""
    kind = find_kind(side.kind)
    probes = kind.photo_probes(config_of(side.row), str(folder))
    # Nobody was asked yet: what counts here is what makes it the same case on every model.
    found = [case_of(kind.target, probe, [list(_shown(probe))], failed=False) for probe in probes]
    return CaseSet(str(folder), tuple(case for case in found if case is not None))


def _shown(probe: Probe) -> tuple[str, ...]:
    return next(step.images for step in probe.steps if isinstance(step, Show))
