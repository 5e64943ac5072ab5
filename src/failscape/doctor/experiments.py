"""Experiments with one role by itself: what draws and edits (seeds, sizes, prompts, many requests at once),
each endpoint of a pool, and the helpers of a hunt: captioner, embedder, language model.

A dead endpoint hides behind the others, and one that serves another model spoils every number. A helper
that is dead, or says always the same, would stop a run or spoil it hours later.
"""

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from failscape.config import ModelConfig
from failscape.doctor.comparisons import FEWEST
from failscape.doctor.observations import (
    PATIENCE,
    TOGETHER,
    Calls,
    Observation,
    ObservationStatus,
    concluded,
    down,
)
from failscape.doctor.samples import known_pictures
from failscape.errors import BadReply, FailscapeError, ModelError
from failscape.models.contracts.language import PolishContract
from failscape.models.registry import create_model
from failscape.models.roles import Captioner, Embedder, ImageEditor, ImageGenerator, Reply
from failscape.pictures import Picture
from failscape.spaces.wording import plural_of
from failscape.stats.texts import words_of

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
        started = calls.clock()
        together = await calls.each(crowd)
        seconds = calls.clock() - started

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
    good = [one for one in map(readable, replies) if one]
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
    try:
        return picture if picture and picture.image else None
    except BadReply:
        return None


def _decodes(replies: Sequence[Reply[Any]], pictures: Sequence[Picture | None]) -> Observation:
    good = [picture for picture in pictures if picture]
    seen = f"{len(good)} of {len(replies)} replies are whole images"
    if len(good) == len(replies):
        shape = ", ".join(f"{width}×{height}" for width, height in sorted({one.image.size for one in good}))
        more = f" ({shape}, {', '.join(sorted({picture.format for picture in good}))})"
    else:
        more = "; " + next((one.invalid for one in replies if one.invalid), "the bytes do not decode")
    return concluded(
        "image-decodes",
        "ok" if len(good) == len(replies) else "warn" if good else "fail",
        seen + more,
        len(replies),
        "images are usable",
        "trials without an image are invalid",
        "see the server's log",
    )


def _same_seed(first: Picture, second: Picture) -> Observation:
    name = "same-seed-same-image"
    if first.digest == second.digest:
        return Observation(name, "ok", "the same seed twice gave the same bytes", "runs can be repeated", n=2)
    apart = difference(first, second)
    return concluded(
        name,
        "ok" if apart <= NEARLY_SAME else "warn",
        f"the same seed twice gave images that differ by {apart:.1f} of 255 on average",
        2,
        "rounding on the server; runs can be repeated in all but bits",
        "images cannot be drawn again from the record",
        f"{SEED_FIX}; findings stay valid without it",
    )


def _other_seed(first: Picture, other: Picture) -> Observation:
    differ = first.digest != other.digest and difference(first, other) > 0
    return concluded(
        "other-seed-other-image",
        "ok" if differ else "fail",
        "another seed gave another image" if differ else "two seeds gave the same image",
        2,
        "trials are different draws",
        "every trial of a prompt would be one and the same",
        "the server ignores `seed`, or caches by prompt: pass `seed` on to the sampler",
    )


def _other_prompts(pictures: Sequence[Picture]) -> list[Observation]:
    if len(pictures) < 2:
        return []
    different = len({picture.digest for picture in pictures})
    return [
        concluded(
            "prompt-is-heard",
            "ok" if different == len(pictures) else "fail",
            f"{len(pictures)} prompts gave {different} different images",
            len(pictures),
            "the prompt matters",
            "the prompt does not reach the model",
            "check that the server reads `prompt` (or `prompts`)",
        )
    ]


def _size(picture: Picture, asked: str) -> list[Observation]:
    """Only where the config asks for a size."""
    if not asked:
        return []
    width, height = picture.image.size
    heard = f"{width}x{height}" == asked.lower()
    return [
        concluded(
            "size-is-heard",
            "ok" if heard else "warn",
            f"{asked} was asked for" + (" and came" if heard else f", {width}x{height} came"),
            1,
            "sizes are obeyed",
            "the size is ignored",
            "set `params.size` to what the server draws",
        )
    ]


def _together(alone: Sequence[Picture | None], crowd: Sequence[Picture | None]) -> list[Observation]:
    """Servers that batch may let the pictures of a batch share one seed, or mix them up."""
    pairs = [(one, other) for one, other in zip(alone, crowd, strict=False) if one and other]
    if not pairs:
        return []
    same = sum(one.digest == other.digest or difference(one, other) <= NEARLY_SAME for one, other in pairs)
    return [
        concluded(
            "together-as-alone",
            "ok" if same == len(pairs) else "warn",
            f"{same} of {len(pairs)} images drawn side by side are what they are when drawn alone",
            len(pairs),
            "batching changes nothing",
            "what is drawn depends on what else is under way: images cannot be drawn again",
            SEED_FIX,
        )
    ]


def difference(one: Picture, other: Picture) -> float:
    """Mean difference of 8-bit pixels; of pictures that differ in size, the most there can be."""
    a, b = one.array.astype(np.int16), other.array.astype(np.int16)
    return float(np.abs(a - b).mean()) if a.shape == b.shape else 255.0


Ask = Callable[[Any], Awaitable[Reply[Any]]]


@dataclass(frozen=True, slots=True)
class EndpointReply:
    """What one endpoint said to the question that all were asked, or why it said nothing."""

    endpoint: str
    value: Any
    seconds: float
    trouble: str = ""


async def examine_endpoints(
    role: str, config: ModelConfig, ask: Ask, same: Callable[[Any, Any], bool]
) -> list[Observation]:
    """One question to each; `same` tells whether two replies can come from one model."""
    if len(config.endpoints) < 2:
        return []
    heard = [await _hear(role, config, endpoint, ask) for endpoint in config.endpoints]
    return [_dead(role, heard), *_agree(role, [one for one in heard if not one.trouble], same)]


async def examine_generators(config: ModelConfig, prompt: str) -> list[Observation]:
    async def draw(model: Any) -> Reply[Any]:
        (reply,) = await model.generate([prompt], [SEEDS[0]])
        return reply if readable(reply) else Reply(None, reply.invalid or "the bytes do not decode")

    return await examine_endpoints(
        "generator", config, draw, lambda one, other: difference(one, other) <= NEARLY_SAME
    )


async def examine_judges(config: ModelConfig) -> list[Observation]:
    first, second = known_pictures()[:2]
    checks = (*first.checks, *second.checks)

    async def decide(model: Any) -> Reply[Any]:
        return cast(Reply[Any], (await model.judge([first.picture], [checks]))[0])

    return await examine_endpoints("judge", config, decide, lambda one, other: bool(one == other))


async def _hear(role: str, config: ModelConfig, endpoint: str, ask: Ask) -> EndpointReply:
    alone = config.model_copy(update={"endpoints": (endpoint,), "patience": min(config.patience, PATIENCE)})
    started = time.perf_counter()
    try:
        model = create_model(role, alone)
        await model.start()
        try:
            reply = await ask(model)
        finally:
            await model.close()
    except FailscapeError as error:
        return EndpointReply(endpoint, None, 0.0, error.message)
    trouble = "" if reply.value is not None else reply.invalid or "no usable reply"
    return EndpointReply(endpoint, reply.value, time.perf_counter() - started, trouble)


def _dead(role: str, heard: Sequence[EndpointReply]) -> Observation:
    bad = [one for one in heard if one.trouble]
    slowest = max(heard, key=lambda one: one.seconds)
    more = f"; the slowest, {slowest.endpoint}, in {slowest.seconds:.3g} s"
    if bad:
        more = ". " + "; ".join(f"{one.endpoint}: {one.trouble}" for one in bad)
    return concluded(
        f"{role}-endpoints",
        "fail" if bad else "ok",
        f"{len(heard) - len(bad)} of {len(heard)} endpoints answer{more}",
        len(heard),
        "all of the pool can work",
        "the others carry its load",
        "start it again, or take it out of `endpoints`",
    )


def _agree(role: str, heard: Sequence[EndpointReply], same: Callable[[Any, Any], bool]) -> list[Observation]:
    if len(heard) < 2:
        return []
    odd = [one.endpoint for one in heard[1:] if not same(heard[0].value, one.value)]
    seen = f"{len(heard) - len(odd)} of {len(heard)} endpoints say the same"
    return [
        concluded(
            f"{role}-endpoints-agree",
            "warn" if odd else "ok",
            f"{seen}, not: {', '.join(odd)}" if odd else seen,
            len(heard),
            "they serve one model",
            "they may serve different models or settings, and results would be mixed",
            "compare their models and parameters; a server that ignores `seed` shows this, too",
        )
    ]


#: Share of known things that a captioner must name: below it, what failures have in common goes unseen.
LEAST_MENTIONED = 0.5


async def examine_captioner(
    captioner: Captioner, own: Sequence[tuple[Picture, Sequence[str]]] = ()
) -> list[Observation]:
    """`own`: pictures of the hunt with the names of what they show; known pictures come on top."""
    calls = Calls("captioner", captioner)
    shown = [*own, *((one.picture, (one.thing,)) for one in known_pictures())]
    try:
        replies = [await calls.one(shown[0][0]), *await calls.each([(picture,) for picture, _ in shown[1:]])]
    except ModelError as error:
        return [down("captioner", error)]
    said = [" ".join(reply.value or ()) for reply in replies]
    written = [text for text in said if text.strip()]
    if not written:
        seen = f"0 of {len(said)} pictures got a caption ({replies[0].invalid or 'empty replies'})"
        return [
            Observation(
                "captioner-writes", "fail", seen, "failures cannot be described", "see its log", len(said)
            )
        ]
    found = [_writes(written, len(said))]
    if found[0].status != "fail":
        names = [name for (_, name), text in zip(shown, said, strict=True) if text.strip()]
        found.append(_mentions(names, written))
    return [*found, calls.latency("one caption")]


def _writes(written: Sequence[str], asked: int) -> Observation:
    different = len(set(written))
    same = different <= max(1, len(written) // 3)
    return concluded(
        "captioner-writes",
        "fail" if same else "ok",
        f"{len(written)} of {asked} pictures got a caption, {different} of them different"
        f"{':' if same else '; one says'} {written[0][:60]!r}",
        asked,
        "it describes",
        "it says the same of all pictures: nothing can be learnt from failures",
        "check that the captioner takes images, and its `image_max_side`",
    )


def _mentions(names: Sequence[Sequence[str]], written: Sequence[str]) -> Observation:
    named = sum(any(_names(text, name) for name in each) for each, text in zip(names, written, strict=True))
    n = len(written)
    poor: ObservationStatus = "fail" if not named and n >= FEWEST else "warn"
    return concluded(
        "captioner-names",
        "ok" if named / n >= LEAST_MENTIONED else poor,
        f"{named} of {n} captions name what is shown",
        n,
        "it sees what is there",
        "it misses what is plainly there: descriptions of failures will be poor",
        "use a better captioner",
    )


def _names(text: str, name: str) -> bool:
    said = f" {' '.join(words_of(text))} "
    return any(f" {' '.join(words_of(form))} " in said for form in (name, plural_of(name)))


async def examine_embedder(embedder: Embedder, pictures: bool, texts: bool) -> list[Observation]:
    """Vectors must be finite, of one length, the same twice, and differ from thing to thing."""
    calls = Calls("embedder", embedder)
    known = known_pictures()
    images = [one.picture for one in known] if pictures else []
    words = [one.caption for one in known] if texts else []
    try:
        seen_first = await calls.one((images or words)[0])
        image_replies = await calls.each([(image,) for image in images])
        text_replies = await calls.each([(text,) for text in words])
    except ModelError as error:
        return [down("embedder", error)]
    vectors: list[Any] = [reply.value for reply in (*image_replies, *text_replies)]
    trouble = _trouble_with(vectors, seen_first)
    if trouble:
        return [
            Observation(
                "embedder-vectors", "fail", trouble, "nothing can be compared", "mend it", len(vectors)
            )
        ]
    seen = f"{len(vectors)} vectors of {len(vectors[0])} numbers, no two of the same sort alike"
    found = [Observation("embedder-vectors", "ok", seen, "things can be told apart", n=len(vectors))]
    if images and words:
        found.append(_matches(vectors[: len(images)], vectors[len(images) :]))
    return [*found, calls.latency("one vector")]


def _trouble_with(vectors: Sequence[list[float] | None], first: Reply[Any]) -> str:
    whole = [vector for vector in vectors if vector]
    if not whole or len(whole) < len(vectors):
        return f"{len(vectors) - len(whole)} of {len(vectors)} replies hold no vector"
    if any(not math.isfinite(number) for vector in whole for number in vector):
        return "some numbers are not finite"
    lengths, different = sorted({len(vector) for vector in whole}), len({tuple(vector) for vector in whole})
    if len(lengths) > 1:
        return f"vectors have different lengths: {lengths}"
    if different <= max(1, len(whole) // 3):
        return f"{len(whole)} different things got {different} different vectors"
    apart = math.dist(first.value or [], whole[0]) if len(first.value or []) == len(whole[0]) else math.inf
    same = apart <= 0.05 * math.hypot(*whole[0])
    return "" if same else "the same thing twice got two different vectors"


def _matches(images: Sequence[list[float]], texts: Sequence[list[float]]) -> Observation:
    """How often a picture's nearest text is its own, by cosine."""
    words = np.asarray(texts)
    near = np.asarray(images) @ words.T / np.maximum(np.linalg.norm(words, axis=1), 1e-300)
    right = int((near.argmax(axis=1) == np.arange(len(images))).sum())
    weak: ObservationStatus = "warn" if right > 2 * len(images) / len(texts) else "fail"
    return concluded(
        "embedder-matches",
        "ok" if right > len(images) / 2 else weak,
        f"the nearest of {len(texts)} names is the right one for {right} of {len(images)} known pictures",
        len(images),
        "pictures can be found by words",
        "photos are not found by description",
        "use an embedder of pictures and texts (CLIP-style), or `match: captions`",
    )


async def examine_polish(model: Any, prompts: Sequence[str]) -> list[Observation]:
    """A language model that mends prompts: what it says must be usable."""
    contract, kept, why = PolishContract(), 0, ""
    try:
        for prompt in prompts:
            _, reason = contract.read(await model.chat(contract.messages(prompt)), prompt)
            kept += not reason
            why = reason or why
    except FailscapeError as error:
        return [down("llm", error)]
    return [
        concluded(
            "llm-polishes",
            "ok" if kept == len(prompts) else "warn" if kept else "fail",
            f"{kept} of {len(prompts)} mended prompts can be used" + (f" ({why})" if why else ""),
            len(prompts),
            "prompts keep what they ask for",
            "where it cannot be used, the prompt stays as it is",
            "use another `polish`, or none",
        )
    ]


async def examine_llm(ask: Any, questions: Sequence[str], usable: Any, what: str) -> list[Observation]:
    """A language model with the very questions of the hunt. `usable` counts what a reply brings."""
    try:
        texts = [await ask(question) for question in questions]
    except FailscapeError as error:
        return [down("llm", error)]
    counts = [usable(text) for text in texts]
    good = sum(count > 0 for count in counts)
    seen = f"{good} of {len(questions)} replies bring {what}"
    if good < len(questions):
        shown = next(text for text, count in zip(texts, counts, strict=True) if not count)
        fix = "try it by hand; raise `max_tokens`, or switch thinking off"
        status: ObservationStatus = "warn" if good else "fail"
        means = "the hunt goes on without its help"
        return [
            Observation("llm-helps", status, f"{seen}; one said {shown[:60]!r}", means, fix, len(questions))
        ]
    if len(questions) > 1 and len(set(texts)) == 1:
        means = "it says the same to different questions"
        return [
            Observation("llm-helps", "fail", f"{seen}, all the same", means, "see its log", len(questions))
        ]
    return [Observation("llm-helps", "ok", f"{seen} ({sum(counts)} in all)", "it helps", n=len(questions))]
