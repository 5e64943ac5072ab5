"""Experiments that tell whether the models of a vlm config can be trusted, on pictures whose truth is known.

A verifier must call right answers right and wrong ones wrong, proven by as many as that takes, and a question
that no picture answers invalid; a target should not say the same about all pictures.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import ImageColor

from failscape.doctor.comparisons import CLEAR_MARGIN, Pairs
from failscape.doctor.experiments import examine_editor, examine_embedder, examine_generator, examine_llm
from failscape.doctor.observations import Calls, Observation, Status, concluded, down, patients_of
from failscape.errors import ModelError
from failscape.hunts.vlm.config import COMPOSITE, TOYBOX, VlmConfig
from failscape.models.contracts.language import SkillsContract
from failscape.models.roles import Answerer, AnswerToVerify, Conversation, Questioner, Verification, Verifier
from failscape.pictures import Picture

SIDE = 224
QUESTION = "What colour is the picture?"
VAGUE = "What was the painter thinking about on the day before?"
COLOURS = ("red", "blue", "yellow", "green", "black", "white", "orange", "purple")
#: Pairs of a right and a wrong answer that a verifier is given at most.
MOST = 40

QUESTIONS = ("How many apples are on the table?", "What colour is the car left of the tree?")


def plain(colour: str) -> Picture:
    return Picture.from_array(np.full((SIDE, SIDE, 3), ImageColor.getrgb(colour), np.uint8))


async def examine_vlm(settings: VlmConfig) -> list[Observation]:
    """Experiments with every model of a config. One that is trained while it asks is left to the run."""
    trained = settings.questioner.strategy == "grpo"
    async with patients_of(settings, ("questioner",) if trained else ()) as patients:
        models, found = patients.models, patients.ailing
        if "answerer" in models:
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
        status: Status = "warn" if answered > len(said) / 2 else "fail"
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
    weak: Status = "warn" if pairs.found == "open" and pairs.margin >= CLEAR_MARGIN else "fail"
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
