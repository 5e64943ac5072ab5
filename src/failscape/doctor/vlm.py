"""Experiments that tell whether the models of a vlm config can be trusted: plain red and blue pictures.

A verifier must call a right answer right, a wrong one wrong, and
a question that no picture answers invalid; a target should not say the same about both pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from failscape.doctor.observations import Observation, team_of
from failscape.errors import ConfigError, ModelError
from failscape.hunts.vlm.config import VlmConfig
from failscape.models.roles import Answerer, AnswerToVerify, Conversation, Questioner, Verification, Verifier
from failscape.pictures import Picture

SIDE = 224
QUESTION = "What colour is the picture?"
VAGUE = "What was the painter thinking about on the day before?"


def plain(colour: tuple[int, int, int]) -> Picture:
    return Picture.from_array(np.full((SIDE, SIDE, 3), colour, np.uint8))


RED, BLUE = (200, 20, 20), (20, 20, 200)


async def examine_vlm(settings: VlmConfig) -> list[Observation]:
    """Experiments with target, verifier and writer of a config."""
    if settings.questioner.strategy == "grpo":
        raise ConfigError("doctor cannot examine this `hunt: vlm`", "it examines vlm without grpo")
    async with team_of(settings) as team:
        observations = await examine_answerer(cast(Answerer, team.models["answerer"]))
        verifier = cast(Verifier, team.models["verifier"])
        observations += await examine_verifier(verifier, settings.verifier == "exact")
        if "questioner" in team.models:
            observations += await examine_questioner(cast(Questioner, team.models["questioner"]))
    return observations


async def examine_answerer(answerer: Answerer) -> list[Observation]:
    talks = [Conversation((plain(colour),), QUESTION) for colour in (RED, BLUE, RED)]
    try:
        replies = [(await answerer.answer([talk]))[0] for talk in talks]
    except ModelError as error:
        return [_down("answerer", error)]
    said = [(reply.value or "").strip() for reply in replies]
    if not all(said):
        why = next((reply.invalid for reply in replies if reply.invalid), "an empty answer")
        seen = f"{sum(map(bool, said))} of {len(said)} plain questions were answered ({why})"
        return [Observation("answers", "fail", seen, "Unanswered questions are invalid.", "try it by hand")]
    found = [Observation("answers", "ok", f"{QUESTION} → {said[0][:60]!r}", "The target answers.")]
    if said[0].lower() == said[1].lower():
        seen = f"red and blue get the same answer: {said[0][:60]!r}"
        means = "Perhaps it does not see the picture."
        found.append(
            Observation("sees", "warn", seen, means, "send a picture by hand; check `image_max_side`")
        )
    else:
        found.append(Observation("sees", "ok", "another picture, another answer", "It sees the picture."))
    if said[0] != said[2]:
        seen = "the same question got two different answers"
        means = "Rates are over its chance, too."
        found.append(Observation("repeats", "warn", seen, means, "set `params.temperature: 0` if you can"))
    return found


async def examine_verifier(verifier: Verifier, exact: bool) -> list[Observation]:
    truth = "red" if exact else ""
    picture = (plain(RED),)
    claims = [AnswerToVerify(picture, QUESTION, answer, truth=truth) for answer in ("red", "blue")]
    try:
        replies = [(await verifier.verify([claim]))[0] for claim in claims]
        vague = None if exact else (await verifier.verify([AnswerToVerify(picture, VAGUE, "lunch")]))[0]
    except ModelError as error:
        return [_down("verifier", error)]
    said = [reply.value.right if reply.value else None for reply in replies]
    if said != [True, False]:
        seen = f"a right answer was called {_word(said[0])}, a wrong one {_word(said[1])}"
        means = "Its mistakes would be taken for the target's."
        return [Observation("verifies", "fail", seen, means, "use a stronger verifier, or several")]
    found = [
        Observation("verifies", "ok", "right is right and wrong is wrong", "The verifier sees and decides.")
    ]
    if vague is not None:
        found.append(_about_vague(vague.value))
    return found


async def examine_questioner(questioner: Questioner) -> list[Observation]:
    try:
        (reply,) = await questioner.propose([(plain(RED),)], ["it takes colour to answer it"], [2])
    except ModelError as error:
        return [_down("questioner", error)]
    texts: Sequence[str] = reply.value or ()
    if len(set(texts)) < 2:
        seen = f"{len(set(texts))} of 2 questions were written {reply.invalid}".strip()
        return [Observation("writes", "warn", seen, "The search will be slow.", "try it by hand")]
    return [Observation("writes", "ok", f"{texts[0][:80]!r} and another", "The questioner writes.")]


def _about_vague(said: Verification | None) -> Observation:
    if said is not None and said.valid is False:
        return Observation(
            "rejects", "ok", "a question that no picture answers is invalid", "It keeps order."
        )
    seen = f"{VAGUE!r} passed as a valid question"
    means = "Failures may be questions that nobody can answer."
    return Observation("rejects", "warn", seen, means, "use a stronger verifier, or several")


def _word(right: bool | None) -> str:
    return {True: "right", False: "wrong", None: "neither"}[right]


def _down(role: str, error: ModelError) -> Observation:
    return Observation(role, "fail", error.message, f"The {role} cannot be used.", error.fix)
