"""Answers a chat: the instruction's text tells which role is wanted.

What is not an instruction of one of our contracts is a plain question, and goes to the answerer. What is not
understood is not guessed: a statement gets `null`, a question of multiple choice makes the whole reply void.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from failscape.models.contracts.judge import NONE_OF_THESE
from failscape.models.contracts.recognise import (
    ChoiceAsked,
    ChoicesAsked,
    DescriptionAsked,
    QuestionsAsked,
    StatementsAsked,
    VerificationAsked,
    recognise,
)
from failscape.models.roles import AnswerToVerify, Conversation, Judge, Reply
from failscape.pictures import Picture
from failscape.servers.offer import Served
from failscape.servers.requests import RequestError
from failscape.spaces.understanding import Understanding
from failscape.trials import Check

Decided = list[bool | None]


class ChatAnswer(NamedTuple):
    """What is said; `sure` has the chance of each answer of a judge, in order, where it tells."""

    text: str
    sure: tuple[float, ...] = ()


_ANSWER = re.compile(r'true|false|(?<=": ")[A-Z](?=")')


def logprobs_of(answer: ChatAnswer) -> dict[str, Any]:
    """The reply as tokens with log-probabilities, as chat servers give them: each answer is one token."""
    found = list(_ANSWER.finditer(answer.text)) if answer.sure else []
    content, end = [], 0
    for match, chance in zip(found, answer.sure, strict=False):
        content += [_token(answer.text[end : match.start()], 1.0, "")]
        other = {"true": "false", "false": "true"}.get(match.group(), "?")
        content.append(_token(match.group(), chance, other))
        end = match.end()
    return {"content": [*content, _token(answer.text[end:], 1.0, "")]}


def _token(text: str, chance: float, other: str) -> dict[str, Any]:
    own = {"token": text, "logprob": _log(chance)}
    return {**own, "top_logprobs": [own, *([{"token": other, "logprob": _log(1 - chance)}] if other else [])]}


def _log(chance: float) -> float:
    return math.log(min(1.0, max(1e-9, chance)))


async def answer_statements(
    statements: Sequence[str], picture: Picture, judge: Judge, understanding: Understanding
) -> ChatAnswer | None:
    """The reply to contract `boolean`; `None` when the judge has none."""
    checks = [understanding.check(statement) for statement in statements]
    decided, sure = await _decide(judge, picture, checks)
    if decided is None:
        return None
    told = [chance if held else 1 - chance for held, chance in zip(decided, sure, strict=False)]
    return ChatAnswer(json.dumps({"answers": decided}), tuple(told))


async def answer_choices(
    questions: Sequence[ChoiceAsked], picture: Picture, judge: Judge, understanding: Understanding
) -> ChatAnswer | None:
    """The reply to contract `choice`: one letter for each question; `None` when one cannot be decided."""
    letters: dict[str, str] = {}
    told: list[float] = []
    for question in questions:
        options = list(question.options.values())
        checks = _option_checks(question, options, understanding)
        decided, sure = await _decide(judge, picture, checks) if any(checks) else (None, ())
        if decided is None or all(held is None for held in decided):
            return None
        chosen = options[decided.index(True)] if True in decided else _otherwise(options)
        letters[question.name] = next(key for key, option in question.options.items() if option == chosen)
        told.append(max(sure) if True in decided and sure else 1 - max(sure, default=0.0))
    return ChatAnswer(json.dumps(letters), tuple(told))


def _otherwise(options: Sequence[str]) -> str:
    return NONE_OF_THESE if NONE_OF_THESE in options else "false"


def _option_checks(
    question: ChoiceAsked, options: Sequence[str], understanding: Understanding
) -> list[Check | None]:
    """One check per option; the question names their kind, or is itself a statement to call true or false."""
    if question.kind is None:
        return [understanding.check(question.text) if option == "true" else None for option in options]
    kind = "entity" if question.kind == "entity" else understanding.kind(question.kind)
    return [Check(kind, option, "") if kind and option != NONE_OF_THESE else None for option in options]


async def _decide(
    judge: Judge, picture: Picture, checks: Sequence[Check | None]
) -> tuple[Decided | None, tuple[float, ...]]:
    """One decision per check, `None` for what is no check; `None` in all when the judge has no reply.

    And how sure it is of each, where it says so and all are checks.
    """
    known = [check for check in checks if check is not None]
    if not known:
        return [None] * len(checks), ()
    (reply,) = await judge.judge([picture], [known])
    if reply.value is None:
        return None, ()
    answers = iter(reply.value)
    return [next(answers) if check is not None else None for check in checks], reply.confidence


T = TypeVar("T")
CANNOT_TELL = "I cannot tell"


async def answer_chat(served: Served, talk: Conversation) -> ChatAnswer:
    """What the model that is asked for says, in the form that its contract wants."""
    heard = recognise(talk.question)
    if isinstance(heard, StatementsAsked | ChoicesAsked):
        return await _judge(served, heard, talk)
    return ChatAnswer(await _answer(served, heard, talk))


async def _answer(served: Served, heard: object, talk: Conversation) -> str:
    if isinstance(heard, DescriptionAsked):
        captioner = _need(served.captioner, "captioner", served)
        (sentences,) = await captioner.caption([_one_picture(talk)])
        lines = said(sentences)
        return "\n".join(lines)
    if isinstance(heard, VerificationAsked):
        return await _verify(served, heard, talk)
    if isinstance(heard, QuestionsAsked):
        questioner = _need(served.questioner, "questioner", served)
        (questions,) = await questioner.propose([talk.images], [heard.guidance], [heard.count])
        return json.dumps({"questions": said(questions)})
    (answer,) = await _need(served.answerer, "answerer", served).answer([talk])
    return said(answer)


def said(reply: Reply[T]) -> T:
    """The value of a reply; when there is none the client hears why."""
    if reply.value is None:
        raise RequestError(reply.invalid or "the model gave no reply")
    return reply.value


async def _judge(served: Served, heard: StatementsAsked | ChoicesAsked, talk: Conversation) -> ChatAnswer:
    judge = _need(served.judge, "judge", served)
    understanding = _need(served.understanding, "judge", served)
    picture = _one_picture(talk)
    if isinstance(heard, StatementsAsked):
        reply = await answer_statements(heard.statements, picture, judge, understanding)
    else:
        reply = await answer_choices(heard.questions, picture, judge, understanding)
    return reply if reply is not None else ChatAnswer(f"{CANNOT_TELL}.")


async def _verify(served: Served, heard: VerificationAsked, talk: Conversation) -> str:
    verifier = _need(served.verifier, "verifier", served)
    given = AnswerToVerify(talk.images, heard.question, heard.answer, heard.history, heard.truth)
    (reply,) = await verifier.verify([given])
    found = said(reply)
    decided = found.valid if heard.wanted == "valid" else found.right
    if decided is None:
        return f"{CANNOT_TELL}: {found.reason}"
    known = {} if heard.wanted == "valid" or heard.truth else {"answer": found.answer}
    return json.dumps({"reason": found.reason, **known, heard.wanted: decided})


def _one_picture(talk: Conversation) -> Picture:
    if len(talk.images) != 1:
        raise RequestError(f"one image is needed, but there are {len(talk.images)}")
    return talk.images[0]


def _need(model: T | None, role: str, served: Served) -> T:
    if model is None:
        offered = ", ".join(served.chat_roles())
        raise RequestError(f"this request needs the role {role}, but the server has only: {offered}")
    return model
