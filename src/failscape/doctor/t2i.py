"""Experiments that tell whether the models of a t2i config can be trusted, before money is spent on a hunt.

`examine` knows no hunt: prompts and checks are arguments, observations are the result.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np

from failscape.doctor.observations import SAMPLES, Observation, Status, team_of
from failscape.errors import BadReply, ModelError
from failscape.hunts.t2i.build import build_lattice
from failscape.hunts.t2i.config import T2IConfig
from failscape.models.roles import ImageGenerator, Judge, Reply
from failscape.pictures import Picture
from failscape.spaces.lattice import Node
from failscape.spaces.wording import Wording
from failscape.trials import Check

T = TypeVar("T")
Decisions = list[bool | None]

SEEDS = (101, 202)
NEARLY_SAME = 2.0
"""Mean difference of 8-bit pixels that GPU rounding can cause."""
CLEAR_MARGIN = 0.3


@dataclass(frozen=True, slots=True)
class Sample:
    """Something to draw, and what must then hold. Samples should show clearly different entities."""

    prompt: str
    checks: tuple[Check, ...]


async def examine_t2i(settings: T2IConfig) -> list[Observation]:
    """Experiments with generator and judge of a config."""
    async with team_of(settings) as team:
        generator = cast(ImageGenerator, team.models["generator"])
        return await examine(generator, cast(Judge, team.models["judge"]), samples_of(settings))


def samples_of(settings: T2IConfig) -> list[Sample]:
    """Plain entities that differ as much as the space allows: one per class, then per sub-class."""
    lattice = build_lattice(settings)
    corpus, wording = lattice.corpus, Wording(lattice.corpus)
    chosen: dict[str, int] = {}
    for index in lattice.entities:
        entity = corpus.entities[index]
        chosen.setdefault(entity.upper_class, index)
    for index in lattice.entities:
        chosen.setdefault(corpus.entities[index].sub_class, index)
    nodes = [Node(index, ()) for index in dict.fromkeys(chosen.values())][:SAMPLES]
    return [Sample(wording.caption(node), wording.checks(node)) for node in nodes]


async def examine(
    generator: ImageGenerator,
    judge: Judge,
    samples: Sequence[Sample],
    clock: Callable[[], float] = time.perf_counter,
) -> list[Observation]:
    """All experiments, in order. The judge is only tried when there are pictures to show it."""
    observations, pictures = await examine_generator(generator, [sample.prompt for sample in samples], clock)
    shown = [(picture, sample) for picture, sample in zip(pictures, samples, strict=True) if picture]
    if shown:
        observations += await examine_judge(judge, shown, clock)
    return observations


async def examine_generator(
    generator: ImageGenerator, prompts: Sequence[str], clock: Callable[[], float] = time.perf_counter
) -> tuple[list[Observation], list[Picture | None]]:
    """Observations, and one picture per prompt (`None` where there is none that decodes)."""
    seed, other_seed = SEEDS
    timer = _Timer(clock)

    async def draw(prompt: str, seed: int) -> Reply[Picture]:
        return (await timer.run(generator.generate([prompt], [seed])))[0]

    try:
        replies = [await draw(prompt, seed) for prompt in prompts]
        again = await draw(prompts[0], seed)
        other = await draw(prompts[0], other_seed)
    except ModelError as error:
        return [_down("generator", error)], [None] * len(prompts)
    pictures = [_readable(reply) for reply in replies]
    observations = [_decodes([*replies, again, other], [*pictures, _readable(again), _readable(other)])]
    first, second, third = pictures[0], _readable(again), _readable(other)
    if first and second:
        observations.append(_same_seed(first, second))
    if first and third:
        observations.append(_other_seed(first, third))
    observations += _other_prompts([picture for picture in pictures if picture])
    observations.append(timer.observe("generator-latency", "one image"))
    return observations, pictures


async def examine_judge(
    judge: Judge,
    shown: Sequence[tuple[Picture, Sample]],
    clock: Callable[[], float] = time.perf_counter,
) -> list[Observation]:
    """Pictures are judged by their own checks and by those of another sample; the first one twice."""
    timer = _Timer(clock)

    async def decide(picture: Picture, sample: Sample) -> Reply[Decisions]:
        return (await timer.run(judge.judge([picture], [sample.checks])))[0]

    others = [_other_sample(row, [sample for _, sample in shown]) for row in range(len(shown))]
    try:
        own = [await decide(picture, sample) for picture, sample in shown]
        swapped = [
            await decide(picture, other) for (picture, _), other in zip(shown, others, strict=True) if other
        ]
        again = await decide(*shown[0])
    except ModelError as error:
        return [_down("judge", error)]
    observations = [_in_form([*own, *swapped, again])]
    observations += _sees(own, swapped)
    observations += _repeats(own[0], again)
    return [*observations, timer.observe("judge-latency", "one judgement")]


class _Timer:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.seconds: list[float] = []

    async def run(self, call: Awaitable[T]) -> T:
        started = self._clock()
        outcome = await call
        self.seconds.append(self._clock() - started)
        return outcome

    def observe(self, name: str, what: str) -> Observation:
        middle, worst = statistics.median(self.seconds), max(self.seconds)
        seen = f"{what} took {middle:.3g} s ({worst:.3g} s at worst), one at a time"
        return Observation(name, "ok", seen, f"10,000 of them, one at a time: {middle * 10_000 / 3600:.1f} h")


def _down(name: str, error: ModelError) -> Observation:
    return Observation(f"{name}-answers", "fail", error.message, f"the {name} cannot be used", error.fix)


def _readable(reply: Reply[Picture]) -> Picture | None:
    if reply.value is None:
        return None
    try:
        _ = reply.value.image
    except BadReply:
        return None
    return reply.value


def _decodes(replies: Sequence[Reply[Picture]], pictures: Sequence[Picture | None]) -> Observation:
    good = [picture for picture in pictures if picture]
    seen = f"{len(good)} of {len(replies)} replies are whole images"
    if len(good) == len(replies):
        sizes = sorted({picture.image.size for picture in good})
        kinds = sorted({picture.format for picture in good})
        shape = ", ".join(f"{width}×{height}" for width, height in sizes)
        return Observation(
            "image-decodes", "ok", f"{seen} ({shape}, {', '.join(kinds)})", "images are usable"
        )
    why = next((reply.invalid for reply in replies if reply.invalid), "the bytes do not decode")
    status: Status = "warn" if good else "fail"
    return Observation(
        "image-decodes",
        status,
        f"{seen}; {why}",
        "trials without an image are invalid",
        "see the server's log",
    )


def _same_seed(first: Picture, second: Picture) -> Observation:
    name = "same-seed-same-image"
    if first.digest == second.digest:
        return Observation(name, "ok", "the same seed twice gave the same bytes", "runs can be repeated")
    difference = _difference(first, second)
    seen = f"the same seed twice gave images that differ by {difference:.1f} of 255 on average"
    if difference <= NEARLY_SAME:
        return Observation(name, "ok", seen, "rounding on the server; runs can be repeated in all but bits")
    return Observation(
        name, "warn", seen, "images cannot be drawn again from the record",
        "pass `seed` on to the sampler in the server; findings stay valid without it",
    )  # fmt: skip


def _other_seed(first: Picture, other: Picture) -> Observation:
    name = "other-seed-other-image"
    if first.digest != other.digest and _difference(first, other) > 0:
        return Observation(name, "ok", "another seed gave another image", "trials are different draws")
    return Observation(
        name, "fail", "two seeds gave the same image", "every trial of a prompt would be one and the same",
        "the server ignores `seed`, or caches by prompt: pass `seed` on to the sampler",
    )  # fmt: skip


def _other_prompts(pictures: Sequence[Picture]) -> list[Observation]:
    if len(pictures) < 2:
        return []
    count = len({picture.digest for picture in pictures})
    seen = f"{len(pictures)} prompts gave {count} different images"
    if count == len(pictures):
        return [Observation("prompt-is-heard", "ok", seen, "the prompt matters")]
    fix = "check that the server reads `prompt` (or `prompts`)"
    return [Observation("prompt-is-heard", "fail", seen, "the prompt does not reach the model", fix)]


def _difference(one: Picture, other: Picture) -> float:
    a, b = one.array.astype(np.int16), other.array.astype(np.int16)
    return float(np.abs(a - b).mean()) if a.shape == b.shape else 255.0


def _other_sample(row: int, samples: Sequence[Sample]) -> Sample | None:
    """The next sample none of whose checks ask for a value of this one."""
    own = {check.value for check in samples[row].checks}
    for step in range(1, len(samples)):
        other = samples[(row + step) % len(samples)]
        if own.isdisjoint(check.value for check in other.checks):
            return other
    return None


def _in_form(replies: Sequence[Reply[Decisions]]) -> Observation:
    good = sum(reply.value is not None for reply in replies)
    seen = f"{good} of {len(replies)} replies were in form"
    if good == len(replies):
        return Observation("judge-keeps-form", "ok", seen, "the reply's schema is obeyed")
    bad = next(reply for reply in replies if reply.value is None)
    seen += f"; one was {bad.raw[:120]!r} ({bad.invalid})"
    fix = "raise `max_tokens`, switch thinking off, or use a server that enforces `response_format`"
    status: Status = "warn" if good else "fail"
    return Observation("judge-keeps-form", status, seen, "trials without a judgement are invalid", fix)


def _sees(own: Sequence[Reply[Decisions]], swapped: Sequence[Reply[Decisions]]) -> list[Observation]:
    matched, mismatched = _share(own), _share(swapped)
    if matched is None or mismatched is None:
        return []
    seen = (
        f"checks of the right image hold {matched:.0%} of the time, checks of another image {mismatched:.0%}"
    )
    margin = matched - mismatched
    if margin >= CLEAR_MARGIN:
        return [Observation("judge-sees-image", "ok", seen, "the judge looks at the image")]
    fix = (
        "check that the judge takes images, that `image_max_side` is not too small, that the target can draw"
    )
    if margin > 0:
        return [
            Observation("judge-sees-image", "warn", seen, "the judge sees little, or the target is weak", fix)
        ]
    means = "the judge's decisions do not depend on the image"
    return [Observation("judge-sees-image", "fail", seen, means, fix)]


def _share(replies: Sequence[Reply[Decisions]]) -> float | None:
    decided = [held for reply in replies for held in reply.value or [] if held is not None]
    return sum(decided) / len(decided) if decided else None


def _repeats(first: Reply[Decisions], again: Reply[Decisions]) -> list[Observation]:
    if first.value is None or again.value is None:
        return []
    if first.value == again.value:
        seen = "the same image twice was judged the same"
        return [Observation("judge-repeats", "ok", seen, "the judge agrees with itself")]
    seen = "the same image was judged in two ways"
    fix = "set `params: {temperature: 0}` for the judge"
    return [Observation("judge-repeats", "warn", seen, "the judge adds noise of its own", fix)]
