"""What a contract says is recognised as its own and understood word for word."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

import failscape.models.contracts
from failscape.models.contracts.asking import Instruction
from failscape.models.contracts.judge import NONE_OF_THESE, BooleanContract, ChoiceContract
from failscape.models.contracts.vision import (
    CaptionContract,
    ChoicesAsked,
    DescriptionAsked,
    ProposeContract,
    QuestionsAsked,
    StatementsAsked,
    VerificationAsked,
    VerifyContract,
    recognise,
)
from failscape.models.roles import AnswerToVerify
from failscape.trials import Check

CAT = Check("entity", "cat", "It is a cat.", ("dog", "cow", "hen"))
RED = Check("Base: Colour", "red", "It is red.", ("blue", "green"))
ODD = Check("mood", "happy", "It is happy.", ("sad",))
PLAIN = Check("Image: Style", "sketch", "It is a sketch.")
CHECKS = (CAT, RED, ODD, PLAIN)
CLAIM = AnswerToVerify(
    (), "What colour is it?", "It is red.\nI think.", (("Is it a cat?", "Yes."), ("Sure?", "Yes,\nI am."))
)
KNOWN = AnswerToVerify((), "What colour\nis it?", "blue", truth="red")

line = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=30)


def test_boolean() -> None:
    heard = recognise(BooleanContract().ask(CHECKS, "salt").text)
    assert heard == StatementsAsked(tuple(check.statement for check in CHECKS))


def test_choice() -> None:
    contract = ChoiceContract()
    heard = recognise(contract.ask(CHECKS, "salt").text)
    assert isinstance(heard, ChoicesAsked)
    assert [choice.name for choice in heard.questions] == ["q1", "q2", "q3", "q4"]
    assert [choice.options for choice in heard.questions] == [contract.options(c, "salt") for c in CHECKS]
    assert [choice.kind for choice in heard.questions] == ["entity", "Base: colour", "mood", None]
    assert heard.questions[3].text == PLAIN.statement
    assert list(heard.questions[0].options.values())[-1] == NONE_OF_THESE


def test_caption() -> None:
    assert recognise(CaptionContract().ask().text) == DescriptionAsked()


@pytest.mark.parametrize("claim", [CLAIM, KNOWN])
def test_verify(claim: AnswerToVerify) -> None:
    contract = VerifyContract()
    assert recognise(contract.ask_valid(claim).text) == VerificationAsked(
        "valid", claim.question, history=claim.history
    )
    assert recognise(contract.ask_right(claim).text) == VerificationAsked(
        "right", claim.question, claim.answer, claim.history, claim.truth
    )


@pytest.mark.parametrize("guidance", ["", "ask about colours, and about what is left of what"])
@pytest.mark.parametrize("count", [1, 4])
def test_propose(guidance: str, count: int) -> None:
    assert recognise(ProposeContract().ask(guidance, count).text) == QuestionsAsked(guidance, count)


def test_every_contract_is_heard() -> None:
    """A new contract must be taught to the servers: then add it to this test's pairs."""
    heard = {"BooleanContract", "ChoiceContract", "CaptionContract", "VerifyContract", "ProposeContract"}
    words_only = {"DefinitionContract", "PlausibilityContract", "PolishContract", "SkillsContract"}
    package = failscape.models.contracts
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
    ]
    made = {
        name
        for module in modules
        for name, kind in vars(module).items()
        if name.endswith("Contract") and "label" in vars(kind)
    }
    assert made == heard | words_only


@pytest.mark.parametrize("text", ["", "What colour is the cat?", "1. It is a cat.", "Is the answer right?"])
def test_other_texts_are_not_ours(text: str) -> None:
    assert recognise(text) is None


def test_a_changed_instruction_is_not_ours() -> None:
    text = BooleanContract().ask(CHECKS, "").text
    assert recognise(f"  {text}\n") is not None, "space around it does not count"
    assert recognise(text.replace("partly", "nearly")) is None
    assert recognise(f"{text} Thanks.") is None


@given(st.lists(line, min_size=1, max_size=6))
def test_any_statements(statements: list[str]) -> None:
    checks = [Check("kind", "value", statement) for statement in statements]
    assert recognise(BooleanContract().ask(checks, "").text) == StatementsAsked(tuple(statements))


@given(line, line, line)
def test_any_claim(question: str, answer: str, truth: str) -> None:
    heard = recognise(VerifyContract().ask_right(AnswerToVerify((), question, answer, truth=truth)).text)
    assert heard == VerificationAsked("right", question, answer, (), truth)


def test_slots_are_filled_once() -> None:
    both = Instruction("[[one]] and [[two]]")
    assert both.fill(one="[[two]]", two="x") == "[[two]] and x"
    assert both.match("a and b") == {"one": "a", "two": "b"}
    assert both.match("a or b") is None
