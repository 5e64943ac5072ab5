"""A chat goes to the role that its instruction asks for, and what is not known is not guessed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from failscape.models.contracts.judge import BooleanContract, ChoiceContract
from failscape.models.contracts.vision import CaptionContract, ProposeContract, VerifyContract
from failscape.models.roles import AnswerToVerify, Conversation, Reply, Verification
from failscape.pictures import Picture
from failscape.servers.app import answer_chat
from failscape.servers.backends import RequestError, Served, read_conversation
from failscape.spaces import Wording, load_corpus
from failscape.spaces.lattice import Lattice
from failscape.spaces.wording import Understanding
from failscape.testing.model_suite import plain_pictures
from failscape.trials import Check

CORPUS = load_corpus("toybox")
WORDING = Wording(CORPUS)
(IMAGE,) = plain_pictures("red")
NODE = Lattice(CORPUS, depth=2).parse("cow; Base: colour=red; Background: place=beach")
CHECKS = WORDING.checks(NODE)
UNKNOWN = Check("Base: Mood", "happy", "The cow is in a happy mood.", ("sad",))
PLAIN_UNKNOWN = Check("Base: Mood", "happy", "The cow is in a happy mood.")


class Fakes:
    """Plays all chat roles; the judge holds what `facts` says, and remembers what it was asked."""

    def __init__(self, facts: dict[str, bool | None] | None = None) -> None:
        self.facts = {"cow": True, "red": True, "beach": True} if facts is None else facts
        self.asked: list[Any] = []

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[list[bool | None]]]:
        return [Reply([self.facts.get(check.value, False) for check in row]) for row in checks]

    async def caption(self, images: Sequence[Picture]) -> list[Reply[list[str]]]:
        return [Reply(["there is a cow.", "it is red."])]

    async def answer(self, talks: Sequence[Conversation]) -> list[Reply[str]]:
        self.asked += talks
        return [Reply("blue")]

    async def verify(self, claims: Sequence[AnswerToVerify]) -> list[Reply[Verification]]:
        self.asked += claims
        known = claims[0].truth != ""
        return [Reply(Verification(known or None, claims[0].answer == "red" if known else None, "so it is"))]

    async def propose(self, images: Any, guidance: Any, counts: Any) -> list[Reply[list[str]]]:
        return [Reply([f"{guidance[0]} {number}?" for number in range(counts[0])])]


def serving(fakes: Any, *roles: str) -> Served:
    return Served(**dict.fromkeys(roles, fakes), understanding=Understanding(WORDING))


EVERYTHING = ("judge", "captioner", "answerer", "verifier", "questioner")


async def say(text: str, fakes: Fakes | None = None, roles: Sequence[str] = EVERYTHING) -> str:
    answer = await answer_chat(serving(fakes or Fakes(), *roles), Conversation((IMAGE,), text))
    return answer.text


@pytest.mark.parametrize("contract", [BooleanContract(), ChoiceContract()])
@pytest.mark.parametrize("wrong", [None, "cow", "red", "beach"])
async def test_the_judge_is_asked_in_both_contracts(contract: Any, wrong: str | None) -> None:
    fakes = Fakes({value: value != wrong for value in ("cow", "red", "beach")})
    reply = await say(contract.ask(CHECKS, "salt").text, fakes)
    assert contract.read(reply, CHECKS, "salt").value == [check.value != wrong for check in CHECKS]


async def test_every_check_of_the_corpus_is_understood() -> None:
    """Statements are read back as the very check they were made from."""
    understanding, lattice = Understanding(WORDING), Lattice(CORPUS, depth=1)
    nodes = [node for depth in (0, 1) for node in lattice.nodes(depth)]
    for check in {check for node in nodes for check in WORDING.checks(node)}:
        found = understanding.check(check.statement)
        assert found is not None
        assert (found.kind, found.value) == (check.kind, check.value)


async def test_statements_that_are_not_understood_are_left_undecided() -> None:
    contract, checks = BooleanContract(), [CHECKS[0], PLAIN_UNKNOWN]
    reply = await say(contract.ask(checks, "").text)
    assert json.loads(reply) == {"answers": [True, None]}
    assert contract.read(reply, checks, "").value == [True, None]


@pytest.mark.parametrize("odd", [UNKNOWN, PLAIN_UNKNOWN])
async def test_a_question_that_is_not_understood_voids_the_reply(odd: Check) -> None:
    contract, checks = ChoiceContract(), [CHECKS[0], odd]
    reply = await say(contract.ask(checks, "").text)
    assert reply == "I cannot tell."
    assert contract.read(reply, checks, "").value is None


async def test_a_judge_that_cannot_decide_says_so() -> None:
    fakes = Fakes({"cow": None, "red": True, "beach": False})
    reply = await say(BooleanContract().ask(CHECKS, "").text, fakes)
    assert json.loads(reply) == {
        "answers": [None if c.value == "cow" else fakes.facts[c.value] for c in CHECKS]
    }


async def test_captioner() -> None:
    contract = CaptionContract()
    assert contract.read(await say(contract.ask().text)).value == ["there is a cow.", "it is red."]


@pytest.mark.parametrize(("answer", "right"), [("red", True), ("blue", False)])
async def test_verifier(answer: str, right: bool) -> None:
    fakes, contract = Fakes(), VerifyContract()
    claim = AnswerToVerify((IMAGE,), "Which colour?", answer, (("A cow?", "Yes."),), "red")
    reply = await say(contract.ask_right(claim).text, fakes)
    assert contract.read(reply, "right").value == (right, "so it is", "")
    assert fakes.asked == [claim]


async def test_a_verifier_that_does_not_commit_says_so() -> None:
    contract, claim = VerifyContract(), AnswerToVerify((IMAGE,), "Which colour?", "red")
    for key, ask in (("valid", contract.ask_valid), ("right", contract.ask_right)):
        reply = await say(ask(claim).text)
        assert reply == "I cannot tell: so it is"
        assert contract.read(reply, key).value is None


async def test_questioner() -> None:
    contract = ProposeContract()
    assert contract.read(await say(contract.ask("counting", 2).text), 2).value == [
        "counting 0?",
        "counting 1?",
    ]


async def test_anything_else_is_a_question_for_the_answerer() -> None:
    fakes = Fakes()
    talk = Conversation((IMAGE, IMAGE), "1. Is it true?", (("before?", "yes"),))
    assert (await answer_chat(serving(fakes, "answerer"), talk)).text == "blue"
    assert fakes.asked == [talk]


@pytest.mark.parametrize(
    ("text", "role"),
    [
        (BooleanContract().ask(CHECKS, "").text, "judge"),
        (CaptionContract().ask().text, "captioner"),
        (VerifyContract().ask_valid(AnswerToVerify((), "a?", "b")).text, "verifier"),
        (ProposeContract().ask("", 1).text, "questioner"),
        ("What is this?", "answerer"),
    ],
)
async def test_a_role_that_is_not_served_is_named(text: str, role: str) -> None:
    others = [other for other in EVERYTHING if other != role]
    with pytest.raises(RequestError, match=f"the role {role}, but the server has only: {', '.join(others)}"):
        await say(text, roles=others)


async def test_a_model_without_a_reply_says_why() -> None:
    async def answer(talks: Any) -> list[Reply[str]]:
        return [Reply(None, "too dark")]

    with pytest.raises(RequestError, match="too dark"):
        await answer_chat(serving(SimpleNamespace(answer=answer), "answerer"), Conversation((), "what?"))


def test_messages_become_a_conversation() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "A cow?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": [{"type": "text", "text": "Which"}, {"type": "text", "text": "colour?"}]},
    ]
    assert read_conversation(messages) == Conversation((), "Which\ncolour?", (("A cow?", "Yes."),))
