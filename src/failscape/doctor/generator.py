"""Experiments with what draws and edits: seeds, sizes, prompts, and many requests at once."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from failscape.doctor.calls import TOGETHER, Calls
from failscape.doctor.known import known_pictures
from failscape.doctor.observations import Observation, Status, down
from failscape.errors import BadReply, ModelError
from failscape.models.roles import ImageEditor, ImageGenerator, Reply
from failscape.pictures import Picture

SEEDS = (101, 202)
#: Mean difference of 8-bit pixels that GPU rounding can cause.
NEARLY_SAME = 2.0

SEED_FIX = "pass `seed` on to the sampler in the server, one generator per picture of a batch"


async def examine_generator(
    generator: ImageGenerator,
    prompts: Sequence[str],
    clock: Callable[[], float] = time.perf_counter,
    asked_size: str = "",
    seeded: bool = True,
) -> tuple[list[Observation], list[Picture | None]]:
    """Observations, and one picture per prompt (`None` where there is none that decodes).

    `seeded=False`: a source of pictures that has nothing to do with seeds, such as a renderer.
    """
    calls, (seed, other_seed) = Calls("generator", generator, clock), SEEDS
    try:
        replies = [await calls.one(prompt, seed) for prompt in prompts]
        again = await calls.one(prompts[0], seed)
        other = await calls.one(prompts[0], other_seed)
        crowd = [(prompts[at % len(prompts)], seed + at // len(prompts)) for at in range(TOGETHER)]
        together, seconds = await calls.timed(crowd)
    except ModelError as error:
        return [down("generator", error)], [None] * len(prompts)
    pictures = [readable(reply) for reply in replies]
    everything = [*replies, again, other, *together]
    observations = [_decodes(everything, [*pictures, *map(readable, (again, other, *together))])]
    first, second, third = pictures[0], readable(again), readable(other)
    if first and second:
        observations.append(_same_seed(first, second))
    if first and third and seeded:
        observations.append(_other_seed(first, third))
    observations += _other_prompts([picture for picture in pictures if picture])
    if first:
        observations += _size(first, asked_size)
    observations += _together(pictures, [readable(reply) for reply in together])
    observations.append(calls.latency("one image", (len(together), seconds)))
    return observations, pictures


async def examine_editor(editor: ImageEditor, picture: Picture | None = None) -> list[Observation]:
    """An edit must be a picture, and another one than went in."""
    calls = Calls("editor", editor)
    shown = picture or known_pictures()[0].picture
    try:
        replies = [await calls.one(shown, text, SEEDS[0]) for text in ("make it night", "make it snow")]
    except ModelError as error:
        return [down("editor", error)]
    edited = [readable(reply) for reply in replies]
    good = [one for one in edited if one]
    if not good:
        seen = (
            f"0 of {len(replies)} edits are whole images; {replies[0].invalid or 'the bytes do not decode'}"
        )
        return [Observation("editor-edits", "fail", seen, "there are no counterfactuals", "see its log", 2)]
    if any(difference(shown, one) == 0 for one in good):
        seen, means = "an edited picture is the one that went in", "the instruction is not heard"
        return [Observation("editor-edits", "fail", seen, means, "check that the server reads `prompt`", 2)]
    seen = f"{len(good)} of {len(replies)} edits are whole images that differ from what went in"
    return [
        Observation("editor-edits", "ok", seen, "counterfactuals can be made", n=2),
        calls.latency("one edit"),
    ]


def readable(reply: Reply[Any]) -> Picture | None:
    """The picture of a reply, if it decodes."""
    picture: Picture | None = reply.value
    if picture is None:
        return None
    try:
        _ = picture.image
    except BadReply:
        return None
    return picture


def _decodes(replies: Sequence[Reply[Any]], pictures: Sequence[Picture | None]) -> Observation:
    good = [picture for picture in pictures if picture]
    seen, count = f"{len(good)} of {len(replies)} replies are whole images", len(replies)
    if len(good) == len(replies):
        shape = ", ".join(f"{width}×{height}" for width, height in sorted({one.image.size for one in good}))
        kinds = ", ".join(sorted({picture.format for picture in good}))
        return Observation("image-decodes", "ok", f"{seen} ({shape}, {kinds})", "images are usable", n=count)
    why = next((reply.invalid for reply in replies if reply.invalid), "the bytes do not decode")
    status: Status = "warn" if good else "fail"
    means = "trials without an image are invalid"
    return Observation("image-decodes", status, f"{seen}; {why}", means, "see the server's log", count)


def _same_seed(first: Picture, second: Picture) -> Observation:
    name = "same-seed-same-image"
    if first.digest == second.digest:
        return Observation(name, "ok", "the same seed twice gave the same bytes", "runs can be repeated", n=2)
    apart = difference(first, second)
    seen = f"the same seed twice gave images that differ by {apart:.1f} of 255 on average"
    if apart <= NEARLY_SAME:
        means = "rounding on the server; runs can be repeated in all but bits"
        return Observation(name, "ok", seen, means, n=2)
    means = "images cannot be drawn again from the record"
    return Observation(name, "warn", seen, means, f"{SEED_FIX}; findings stay valid without it", 2)


def _other_seed(first: Picture, other: Picture) -> Observation:
    name = "other-seed-other-image"
    if first.digest != other.digest and difference(first, other) > 0:
        return Observation(name, "ok", "another seed gave another image", "trials are different draws", n=2)
    return Observation(
        name, "fail", "two seeds gave the same image", "every trial of a prompt would be one and the same",
        "the server ignores `seed`, or caches by prompt: pass `seed` on to the sampler", 2,
    )  # fmt: skip


def _other_prompts(pictures: Sequence[Picture]) -> list[Observation]:
    if len(pictures) < 2:
        return []
    count = len({picture.digest for picture in pictures})
    seen = f"{len(pictures)} prompts gave {count} different images"
    if count == len(pictures):
        return [Observation("prompt-is-heard", "ok", seen, "the prompt matters", n=count)]
    fix = "check that the server reads `prompt` (or `prompts`)"
    return [
        Observation(
            "prompt-is-heard", "fail", seen, "the prompt does not reach the model", fix, len(pictures)
        )
    ]


def _size(picture: Picture, asked: str) -> list[Observation]:
    """Only where the config asks for a size."""
    if not asked:
        return []
    width, height = picture.image.size
    got = f"{width}x{height}"
    if got == asked.lower():
        return [
            Observation("size-is-heard", "ok", f"{asked} was asked for and came", "sizes are obeyed", n=1)
        ]
    seen, fix = f"{asked} was asked for, {got} came", "set `params.size` to what the server draws"
    return [Observation("size-is-heard", "warn", seen, "the size is ignored", fix, 1)]


def _together(alone: Sequence[Picture | None], crowd: Sequence[Picture | None]) -> list[Observation]:
    """Servers that batch may let the pictures of a batch share one seed, or mix them up."""
    pairs = [(one, other) for one, other in zip(alone, crowd, strict=False) if one and other]
    if not pairs:
        return []
    same = sum(one.digest == other.digest or difference(one, other) <= NEARLY_SAME for one, other in pairs)
    seen = f"{same} of {len(pairs)} images drawn side by side are what they are when drawn alone"
    if same == len(pairs):
        return [Observation("together-as-alone", "ok", seen, "batching changes nothing", n=len(pairs))]
    means = "what is drawn depends on what else is under way: images cannot be drawn again"
    return [Observation("together-as-alone", "warn", seen, means, SEED_FIX, len(pairs))]


def difference(one: Picture, other: Picture) -> float:
    """Mean difference of 8-bit pixels; of pictures that differ in size, the most there can be."""
    a, b = one.array.astype(np.int16), other.array.astype(np.int16)
    return float(np.abs(a - b).mean()) if a.shape == b.shape else 255.0
