"""Experiments with the helpers of a hunt: captioner, embedder, language model.

One that is dead, or says always the same, would stop a run or spoil it hours later.
"""

import math
from collections.abc import Sequence
from typing import Any

from failscape.doctor.calls import Calls
from failscape.doctor.comparisons import FEWEST
from failscape.doctor.known import known_pictures
from failscape.doctor.observations import Observation, Status, down
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
        first = await calls.one(shown[0][0])
        replies = [first, *await calls.each([(picture,) for picture, _ in shown[1:]])]
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
    seen = f"{len(written)} of {asked} pictures got a caption, {different} of them different"
    if different <= max(1, len(written) // 3):
        means = "it says the same of all pictures: nothing can be learnt from failures"
        fix = "check that the captioner takes images, and its `image_max_side`"
        return Observation("captioner-writes", "fail", f"{seen}: {written[0][:60]!r}", means, fix, asked)
    return Observation(
        "captioner-writes", "ok", f"{seen}; one says {written[0][:60]!r}", "it describes", n=asked
    )


def _mentions(names: Sequence[Sequence[str]], written: Sequence[str]) -> Observation:
    named = sum(any(_names(text, name) for name in each) for each, text in zip(names, written, strict=True))
    share, n = named / len(written), len(written)
    seen = f"{named} of {n} captions name what is shown"
    if share >= LEAST_MENTIONED:
        return Observation("captioner-names", "ok", seen, "it sees what is there", n=n)
    status: Status = "fail" if not named and n >= FEWEST else "warn"
    means = "it misses what is plainly there: descriptions of failures will be poor"
    return Observation("captioner-names", status, seen, means, "use a better captioner", n)


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
    length = len(vectors[0] or ())
    seen = f"{len(vectors)} vectors of {length} numbers, no two of the same sort alike"
    found = [Observation("embedder-vectors", "ok", seen, "things can be told apart", n=len(vectors))]
    if images and words:
        found.append(_matches(vectors[: len(images)], vectors[len(images) :]))
    return [*found, calls.latency("one vector")]


def _trouble_with(vectors: Sequence[list[float] | None], first: Reply[Any]) -> str:
    if not vectors or any(not vector for vector in vectors):
        empty = sum(not vector for vector in vectors)
        return f"{empty} of {len(vectors)} replies hold no vector"
    whole = [vector for vector in vectors if vector]
    if any(not math.isfinite(number) for vector in whole for number in vector):
        return "some numbers are not finite"
    if len({len(vector) for vector in whole}) > 1:
        return f"vectors have different lengths: {sorted({len(vector) for vector in whole})}"
    if len({tuple(vector) for vector in whole}) <= max(1, len(whole) // 3):
        return f"{len(whole)} different things got {len({tuple(v) for v in whole})} different vectors"
    apart = math.dist(first.value or [], whole[0]) if len(first.value or []) == len(whole[0]) else math.inf
    if apart > 0.05 * math.hypot(*whole[0]):
        return "the same thing twice got two different vectors"
    return ""


def _matches(images: Sequence[list[float]], texts: Sequence[list[float]]) -> Observation:
    """How often a picture's nearest text is its own."""
    right = sum(
        max(range(len(texts)), key=lambda at: _cosine(image, texts[at])) == place
        for place, image in enumerate(images)
    )
    seen = f"the nearest of {len(texts)} names is the right one for {right} of {len(images)} known pictures"
    if right > len(images) / 2:
        return Observation("embedder-matches", "ok", seen, "pictures can be found by words", n=len(images))
    fix = "use an embedder of pictures and texts (CLIP-style), or `match: captions`"
    status: Status = "warn" if right > 2 * len(images) / len(texts) else "fail"
    return Observation(
        "embedder-matches", status, seen, "photos are not found by description", fix, len(images)
    )


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    size = math.hypot(*one) * math.hypot(*other)
    return math.fsum(a * b for a, b in zip(one, other, strict=True)) / size if size else 0.0


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
    seen = f"{kept} of {len(prompts)} mended prompts can be used"
    if kept == len(prompts):
        return [Observation("llm-polishes", "ok", seen, "prompts keep what they ask for", n=len(prompts))]
    means = "where it cannot be used, the prompt stays as it is"
    status: Status = "warn" if kept else "fail"
    return [
        Observation(
            "llm-polishes", status, f"{seen} ({why})", means, "use another `polish`, or none", len(prompts)
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
