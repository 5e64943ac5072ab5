"""Shows stored images to other classifiers and counts who gets which ones wrong. It draws nothing.

What counts as wrong is what the hunt said: the recorded `Classify` step decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from failscape.atlas import Atlas
from failscape.config import ModelConfig
from failscape.errors import BadReply, Refused
from failscape.models.registry import create_model
from failscape.models.roles import Ranking, Reply
from failscape.pictures import Picture
from failscape.runtime.stages import Stage
from failscape.stats.excess import paired_difference
from failscape.stats.intervals import clopper_pearson
from failscape.trials import Classify, Finding, Verdict, reach_verdict

TOGETHER = 256


@dataclass(frozen=True, slots=True)
class ShownImage:
    """An image of a finding: what it should be called, and whether the hunted classifier failed on it."""

    digest: str
    step: Classify
    failed: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A finding with the images that all classifiers are compared on."""

    title: str
    subject: str
    images: tuple[ShownImage, ...]


def cases_of(atlas: Atlas, hunt: int, findings: Sequence[Finding], most: int) -> list[Case]:
    """The first `most` valid images of each finding: fresh ones, unless there are none."""
    found = []
    for finding in findings:
        # Trials of photos are about their class; the finding says which photos decided.
        photos = set(finding.details.get("decided") or ())
        subject = str(finding.details["class"]) if photos else finding.subject
        seen = [one for stored in atlas.trials(hunt, subject=subject) if (one := _seen(stored)) is not None]
        seen = [one for one in seen if not photos or one[1].digest in photos]
        # Images of the final block had no part in finding the bug; their keys end in `#f…`.
        fresh = [image for is_fresh, image in seen if is_fresh] or [image for _, image in seen]
        title = str(finding.details.get("short") or finding.title)
        found.append(Case(title, finding.subject, tuple(fresh[:most])))
    return [case for case in found if case.images]


def _seen(stored: Any) -> tuple[bool, ShownImage] | None:
    trial, last = stored.trial, stored.steps[-1]
    if (
        trial.verdict not in (Verdict.PASS, Verdict.FAIL)
        or not isinstance(last, Classify)
        or not stored.images
    ):
        return None
    fresh = trial.key.rpartition("#")[2].startswith("f")
    return fresh, ShownImage(stored.images[-1], last, trial.verdict is Verdict.FAIL)


async def transfer(
    atlas: Atlas,
    cases: Sequence[Case],
    models: Mapping[str, ModelConfig],
    first: str,
    note: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """The matrix as plain data. The first column is the hunted classifier, from what was recorded."""
    outcomes: list[list[list[bool | None]]] = [[[image.failed for image in case.images] for case in cases]]
    for name, settings in models.items():
        note(f"{name}: {sum(len(case.images) for case in cases):,} images")
        outcomes.append(await _classify(atlas, cases, settings))
    names = [first, *models]
    lines = [
        {
            "title": case.title,
            "subject": case.subject,
            "cells": [_cell(column[at]) for column in outcomes],
        }
        for at, case in enumerate(cases)
    ]
    flat = [[failed for row in column for failed in row] for column in outcomes]
    return {"models": names, "lines": lines, "differences": _differences(names, flat)}


async def _classify(atlas: Atlas, cases: Sequence[Case], settings: ModelConfig) -> list[list[bool | None]]:
    model = create_model("classifier", settings)
    stage = Stage("classifier", model)
    wanted = [image for case in cases for image in case.images]
    failed: list[bool | None] = []
    await model.start()
    try:
        for start in range(0, len(wanted), TOGETHER):
            part = wanted[start : start + TOGETHER]
            failed += await _part(stage, [atlas.images.get(image.digest) for image in part], part)
    finally:
        await stage.close()
        await model.close()
    rest = iter(failed)
    return [[next(rest) for _ in case.images] for case in cases]


async def _part(stage: Stage, pictures: Sequence[Picture], images: Sequence[ShownImage]) -> list[bool | None]:
    replies = await asyncio.gather(*(_one(stage, picture) for picture in pictures))
    return [_failed(image, reply) for image, reply in zip(images, replies, strict=True)]


async def _one(stage: Stage, picture: Picture) -> Reply[Ranking]:
    try:
        return await stage.call((picture,))
    except (BadReply, Refused) as error:
        return Reply(None, error.message)


def _failed(image: ShownImage, reply: Reply[Ranking]) -> bool | None:
    """`None` when the classifier gave nothing usable: then the image does not count for it."""
    if reply.invalid or not reply.value:
        return None
    verdict, _ = reach_verdict((image.step,), ([[label, score] for label, score in reply.value],))
    return verdict is Verdict.FAIL


def _cell(outcomes: Sequence[bool | None]) -> dict[str, Any]:
    valid = [failed for failed in outcomes if failed is not None]
    fails = sum(valid)
    low, high = clopper_pearson(fails, len(valid))
    rate = fails / len(valid) if valid else 0.0
    return {"fails": fails, "images": len(valid), "rate": rate, "interval": [float(low), float(high)]}


def _differences(names: Sequence[str], flat: Sequence[Sequence[bool | None]]) -> list[dict[str, Any]]:
    """Over all images: how much more often the hunted classifier fails than each other, pair by pair."""
    found = []
    for name, column in zip(names[1:], flat[1:], strict=True):
        pairs = [(bool(a), bool(b)) for a, b in zip(flat[0], column, strict=True) if b is not None]
        only = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
        effect, interval = paired_difference(*only, len(pairs))
        found.append({"model": name, "difference": effect, "interval": list(interval), "images": len(pairs)})
    return found
