"""Experiments with the helpers of a hunt: captioner, embedder, language model.

One that is dead, or says always the same, would stop a run or spoil it hours later.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from failscape.doctor.comparisons import FEWEST
from failscape.doctor.observations import Calls, Observation, Status, concluded, down
from failscape.doctor.samples import known_pictures
from failscape.errors import FailscapeError, ModelError
from failscape.models.contracts.language import PolishContract
from failscape.models.roles import Captioner, Embedder, Reply
from failscape.pictures import Picture
from failscape.spaces.wording import plural_of
from failscape.stats.texts import words_of

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
    poor: Status = "fail" if not named and n >= FEWEST else "warn"
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
    weak: Status = "warn" if right > 2 * len(images) / len(texts) else "fail"
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
        status: Status = "warn" if good else "fail"
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
