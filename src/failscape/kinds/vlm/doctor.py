"""Experiments that tell whether the models of a vlm config can be trusted, on pictures whose truth is known.

A verifier must call right answers right and wrong ones wrong, proven by as many as that takes, and a question
that no picture answers invalid; a target should not say the same about all pictures.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from PIL import ImageColor

from failscape.doctor.comparisons import CLEAR_MARGIN, Pairs
from failscape.doctor.experiments import examine_editor, examine_embedder, examine_generator, examine_llm
from failscape.doctor.observations import Calls, Observation, ObservationStatus, concluded, down, patients_of
from failscape.errors import ModelError
from failscape.kinds.vlm.config import COMPOSITE, TOYBOX, VlmConfig
from failscape.models.contracts.language import SkillsContract
from failscape.models.roles import Answerer, AnswerToVerify, Conversation, Questioner, Verification, Verifier
from failscape.pictures import Picture
from failscape.spaces.albums import QUESTIONS as ANNOTATED
from failscape.spaces.albums import album_of
from failscape.spaces.questions import ANNOTATIONS

SIDE = 224
QUESTION = "What colour is the picture?"
VAGUE = "What was the painter thinking about on the day before?"
COLOURS = ("red", "blue", "yellow", "green", "black", "white", "orange", "purple")
#: Pairs of a right and a wrong answer that a verifier is given at most.
MOST = 40

#: Annotated questions that the target is asked.
ANNOTATIONS_ASKED = 16

QUESTIONS = ("How many apples are on the table?", "What colour is the car left of the tree?")


def plain(colour: str) -> Picture:
    return Picture.from_array(np.full((SIDE, SIDE, 3), ImageColor.getrgb(colour), np.uint8))


async def examine_vlm(settings: VlmConfig) -> list[Observation]:
    """Experiments with every model of a config. One that is trained while it asks is left to the run."""
    trained = settings.questioner.strategy == "grpo"
    async with patients_of(settings, ("questioner",) if trained else ()) as patients:
        models, found = patients.models, patients.ailing
        if "answerer" in models and settings.questioner.grammar == ANNOTATIONS:
            verifier = models.get("verifier")
            found += await examine_on_annotations(models["answerer"], verifier, annotated_samples(settings))
        elif "answerer" in models:
            found += await examine_answerer(models["answerer"])
        if "verifier" in models:
            found += await examine_verifier(models["verifier"], settings.verifier == "exact")
        if "generator" in models and settings.images.source != TOYBOX:
            prompts = list(dict.fromkeys(settings.images.prompts))[:4]
            found += (await examine_generator(models["generator"], prompts))[0]
        if "editor" in models and settings.editor is not None and settings.editor.provider != COMPOSITE:
            found += await examine_editor(models["editor"], plain("red"))
        if "questioner" in models:
            found += await examine_questioner(models["questioner"])
        if "embedder" in models:
            found += await examine_embedder(models["embedder"], False, True)
        if "llm" in models:
            found += await _name_skills(models["llm"])
    if trained:
        seen = "a questioner that learns by reward is not examined here"
        fix = "a short run shows it: `--set questions=200`"
        found.append(Observation("questioner-learns", "warn", seen, "its first steps will tell", fix))
    return found


async def _name_skills(llm: Any) -> list[Observation]:
    contract = SkillsContract()

    async def ask(question: str) -> str:
        return str((await llm.chat(contract.messages(question))).value or "")

    return await examine_llm(ask, QUESTIONS, lambda text: len(contract.read(text).value or ()), "skills")


async def examine_answerer(answerer: Answerer) -> list[Observation]:
    calls = Calls("answerer", answerer)
    talks = [Conversation((plain(colour),), QUESTION) for colour in (*COLOURS, COLOURS[0])]
    try:
        replies = [await calls.one(talk) for talk in talks]
    except ModelError as error:
        return [down("answerer", error)]
    said = [(reply.value or "").strip() for reply in replies]
    if not all(said):
        why = next((reply.invalid for reply in replies if reply.invalid), "an empty answer")
        answered = sum(map(bool, said))
        status: ObservationStatus = "warn" if answered > len(said) / 2 else "fail"
        seen = f"{answered} of {len(said)} plain questions were answered ({why})"
        means = "unanswered questions are invalid"
        return [Observation("answers", status, seen, means, "try it by hand", len(said))]
    seen = f"{QUESTION} → {said[0][:60]!r}"
    found = [Observation("answers", "ok", seen, "the target answers", n=len(said))]
    found += [_sees(said[:-1]), calls.latency("one answer")]
    if said[0] != said[-1]:
        seen = "the same question got two different answers"
        means = "rates are over its chance, too"
        found.append(Observation("repeats", "warn", seen, means, "set `params.temperature: 0` if you can", 2))
    return found


#: A picture, its question and the annotated answer.
AnnotatedSample = tuple[Picture, str, str]


def annotated_samples(settings: VlmConfig) -> list[AnnotatedSample]:
    """Questions of the folder, one of each photo, of all answers in turn."""
    by_answer: dict[str, list[AnnotatedSample]] = {}
    for photo in album_of(settings.images.folder).photos:
        for row in photo.details.get(ANNOTATED, ())[:1]:
            sample = (photo.picture(), str(row["question"]), str(row["answer"]))
            by_answer.setdefault(sample[2], []).append(sample)
    in_turn = [one for group in zip_longest(*by_answer.values()) for one in group if one is not None]
    return in_turn[:ANNOTATIONS_ASKED]


async def examine_on_annotations(
    answerer: Answerer, verifier: Verifier | None, samples: Sequence[AnnotatedSample]
) -> list[Observation]:
    """The target on questions of the folder itself: does it answer, and is it right about some of them?"""
    calls = Calls("answerer", answerer)
    try:
        replies = [await calls.one(Conversation((picture,), text)) for picture, text, _ in samples]
    except ModelError as error:
        return [down("answerer", error)]
    said = [(reply.value or "").strip() for reply in replies]
    right = 0
    for (picture, text, truth), answer in zip(samples, said, strict=True):
        if verifier is not None and answer:
            (found,) = await verifier.verify([AnswerToVerify((picture,), text, answer, (), truth)])
            right += bool(found.value and found.value.right)
    first = f"{samples[0][1]} → {said[0][:60]!r} (right: {samples[0][2]!r})"
    fine = bool(said) and 2 * right >= len(said)
    return [
        concluded(
            "annotated-questions",
            "ok" if fine else "warn",
            f"{sum(map(bool, said))} of {len(said)} were answered, {right} of them as annotated; {first}",
            len(said),
            "the target can do most of what is asked",
            "it is wrong nearly everywhere: the hunt can only say so, and name no cause",
            "look at its answers: another language, or the same in other words than annotated?",
        ),
        calls.latency("one answer"),
    ]


def _sees(said: Sequence[str]) -> Observation:
    different = len({text.lower() for text in said})
    seen = f"{len(said)} colours got {different} different answers"
    return concluded(
        "sees",
        "ok" if different > 1 else "warn",
        seen if different > 1 else f"{seen}: {said[0][:60]!r}",
        len(said),
        "another picture, another answer",
        "perhaps it does not see the picture",
        "send a picture by hand; check `image_max_side`",
    )


async def examine_verifier(verifier: Verifier, exact: bool) -> list[Observation]:
    """Right and wrong answers in pairs, until it is proven that it tells them apart, or that it does not."""
    calls, pairs = Calls("verifier", verifier), Pairs()
    try:
        while pairs.found == "open" and pairs.n < MOST:
            if not await _add_pairs(calls, pairs, exact):
                break
        vague = None if exact else await calls.one(AnswerToVerify((plain("red"),), VAGUE, "lunch"))
    except ModelError as error:
        return [down("verifier", error)]
    found = [_verifies(pairs)]
    if vague is not None and found[0].status != "fail":
        found.append(_about_vague(vague.value))
    return [*found, calls.latency("one verification")] if calls.seconds else found


async def _add_pairs(calls: Calls, pairs: Pairs, exact: bool) -> bool:
    """Eight more pairs; whether any of them was decided."""
    before, items = pairs.n, list[tuple[AnswerToVerify]]()
    for number, colour in enumerate(COLOURS):
        wrong = COLOURS[(number + 1 + before // len(COLOURS)) % len(COLOURS)]
        truth = colour if exact else ""
        items += [
            (AnswerToVerify((plain(colour),), QUESTION, said, truth=truth),) for said in (colour, wrong)
        ]
    replies = [reply.value for reply in await calls.each(items)]
    for first, second in zip(replies[::2], replies[1::2], strict=True):
        if first and second and first.right is not None and second.right is not None:
            pairs.add(first.right, second.right)
    return pairs.n > before


def _verifies(pairs: Pairs) -> Observation:
    right = f"{pairs.yes} of {pairs.n} right answers were called right"
    weak: ObservationStatus = "warn" if pairs.found == "open" and pairs.margin >= CLEAR_MARGIN else "fail"
    return concluded(
        "verifies",
        "ok" if pairs.found == "sees" else weak,
        f"{right}, {pairs.false_yes} of {pairs.n} wrong ones"
        if pairs.n
        else "neither right nor wrong answers were decided",
        pairs.n,
        "the verifier sees and decides",
        "its mistakes would be taken for the target's",
        "use a stronger verifier, or several",
    )


async def examine_questioner(questioner: Questioner) -> list[Observation]:
    calls, guidance = Calls("questioner", questioner), "it takes colour to answer it"
    try:
        replies = [await calls.one((plain(colour),), guidance, 2) for colour in COLOURS[:2]]
    except ModelError as error:
        return [down("questioner", error)]
    texts = [text for reply in replies for text in reply.value or ()]
    if len(set(texts)) < 2:
        seen = f"{len(set(texts))} different questions of 4 were written {replies[0].invalid}".strip()
        return [Observation("writes", "warn", seen, "the search will be slow", "try it by hand", 4)]
    seen = f"{texts[0][:80]!r} and {len(texts) - 1} more"
    return [
        Observation("writes", "ok", seen, "the questioner writes", n=len(texts)),
        calls.latency("one request"),
    ]


def _about_vague(said: Verification | None) -> Observation:
    rejected = said is not None and said.valid is False
    return concluded(
        "rejects",
        "ok" if rejected else "warn",
        "a question that no picture answers is invalid"
        if rejected
        else f"{VAGUE!r} passed as a valid question",
        1,
        "it keeps order",
        "failures may be questions that nobody can answer",
        "use a stronger verifier, or several",
    )
