"""Answers a chat: the instruction's text tells which role is wanted.

What is not an instruction of one of our contracts is a plain question, and goes to the answerer.
"""

from __future__ import annotations

import json
from typing import TypeVar

from failscape.models.hearing import Choices, Description, Propose, Statements, Verify, hear
from failscape.models.roles import Claim, Conversation, Reply
from failscape.pictures import Picture
from failscape.servers.judging import answer_choices, answer_statements
from failscape.servers.served import RequestError, Served

T = TypeVar("T")
CANNOT_TELL = "I cannot tell"


async def answer_chat(served: Served, talk: Conversation) -> str:
    """What the model that is asked for says, in the form that its contract wants."""
    heard = hear(talk.question)
    if isinstance(heard, Statements | Choices):
        return await _judge(served, heard, talk)
    if isinstance(heard, Description):
        captioner = _need(served.captioner, "captioner", served)
        (sentences,) = await captioner.caption([_one_picture(talk)])
        lines = said(sentences)
        return "\n".join(lines)
    if isinstance(heard, Verify):
        return await _verify(served, heard, talk)
    if isinstance(heard, Propose):
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


async def _judge(served: Served, heard: Statements | Choices, talk: Conversation) -> str:
    judge = _need(served.judge, "judge", served)
    understanding = _need(served.understanding, "judge", served)
    picture = _one_picture(talk)
    reply: object
    if isinstance(heard, Statements):
        reply = await answer_statements(heard.statements, picture, judge, understanding)
    else:
        reply = await answer_choices(heard.questions, picture, judge, understanding)
    return json.dumps(reply) if reply is not None else f"{CANNOT_TELL}."


async def _verify(served: Served, heard: Verify, talk: Conversation) -> str:
    verifier = _need(served.verifier, "verifier", served)
    claim = Claim(talk.images, heard.question, heard.answer, heard.history, heard.truth)
    (reply,) = await verifier.verify([claim])
    found = said(reply)
    decided = found.valid if heard.wanted == "valid" else found.right
    if decided is None:
        return f"{CANNOT_TELL}: {found.reason}"
    return json.dumps({"reason": found.reason, heard.wanted: decided})


def _one_picture(talk: Conversation) -> Picture:
    if len(talk.images) != 1:
        raise RequestError(f"one image is needed, but there are {len(talk.images)}")
    return talk.images[0]


def _need(model: T | None, role: str, served: Served) -> T:
    if model is None:
        offered = ", ".join(served.chat_roles())
        raise RequestError(f"this request needs the role {role}, but the server has only: {offered}")
    return model
