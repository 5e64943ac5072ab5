"""What a contract says is recognised as its own and understood word for word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.models.contracts import contracts
from failscape.models.contracts.contracts import (
    NONE_OF_THESE,
    BooleanContract,
    CaptionContract,
    ChoiceContract,
    ProposeContract,
    VerifyContract,
)
from failscape.models.contracts.parsing import Instruction
from failscape.models.contracts.recognise import Choices, Description, Propose, Statements, Verify, hear
from failscape.models.roles import Claim
from failscape.trials import Check

CAT = Check("entity", "cat", "It is a cat.", ("dog", "cow", "hen"))
RED = Check("Base: Colour", "red", "It is red.", ("blue", "green"))
ODD = Check("mood", "happy", "It is happy.", ("sad",))
PLAIN = Check("Image: Style", "sketch", "It is a sketch.")
CHECKS = (CAT, RED, ODD, PLAIN)
CLAIM = Claim(
    (), "What colour is it?", "It is red.\nI think.", (("Is it a cat?", "Yes."), ("Sure?", "Yes,\nI am."))
)
KNOWN = Claim((), "What colour\nis it?", "blue", truth="red")

line = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=30)


def test_boolean() -> None:
    heard = hear(BooleanContract().ask(CHECKS, "salt").text)
    assert heard == Statements(tuple(check.statement for check in CHECKS))


def test_choice() -> None:
    contract = ChoiceContract()
    heard = hear(contract.ask(CHECKS, "salt").text)
    assert isinstance(heard, Choices)
    assert [choice.name for choice in heard.questions] == ["q1", "q2", "q3", "q4"]
    assert [choice.options for choice in heard.questions] == [contract.options(c, "salt") for c in CHECKS]
    assert [choice.kind for choice in heard.questions] == ["entity", "Base: colour", "mood", None]
    assert heard.questions[3].text == PLAIN.statement
    assert list(heard.questions[0].options.values())[-1] == NONE_OF_THESE


def test_caption() -> None:
    assert hear(CaptionContract().ask().text) == Description()


@pytest.mark.parametrize("claim", [CLAIM, KNOWN])
def test_verify(claim: Claim) -> None:
    contract = VerifyContract()
    assert hear(contract.ask_valid(claim).text) == Verify("valid", claim.question, history=claim.history)
    assert hear(contract.ask_right(claim).text) == Verify(
        "right", claim.question, claim.answer, claim.history, claim.truth
    )


@pytest.mark.parametrize("guidance", ["", "ask about colours, and about what is left of what"])
@pytest.mark.parametrize("count", [1, 4])
def test_propose(guidance: str, count: int) -> None:
    assert hear(ProposeContract().ask(guidance, count).text) == Propose(guidance, count)


def test_every_contract_is_heard() -> None:
    """A new contract must be taught to the servers: then add it to this test's pairs."""
    heard = {"BooleanContract", "ChoiceContract", "CaptionContract", "VerifyContract", "ProposeContract"}
    made = {
        name for name, kind in vars(contracts).items() if name.endswith("Contract") and "label" in vars(kind)
    }
    assert made == heard


@pytest.mark.parametrize("text", ["", "What colour is the cat?", "1. It is a cat.", "Is the answer right?"])
def test_other_texts_are_not_ours(text: str) -> None:
    assert hear(text) is None


def test_a_changed_instruction_is_not_ours() -> None:
    text = BooleanContract().ask(CHECKS, "").text
    assert hear(f"  {text}\n") is not None, "space around it does not count"
    assert hear(text.replace("partly", "nearly")) is None
    assert hear(f"{text} Thanks.") is None


@given(st.lists(line, min_size=1, max_size=6))
def test_any_statements(statements: list[str]) -> None:
    checks = [Check("kind", "value", statement) for statement in statements]
    assert hear(BooleanContract().ask(checks, "").text) == Statements(tuple(statements))


@given(line, line, line)
def test_any_claim(question: str, answer: str, truth: str) -> None:
    heard = hear(VerifyContract().ask_right(Claim((), question, answer, truth=truth)).text)
    assert heard == Verify("right", question, answer, (), truth)


def test_slots_are_filled_once() -> None:
    both = Instruction("[[one]] and [[two]]")
    assert both.fill(one="[[two]]", two="x") == "[[two]] and x"
    assert both.match("a and b") == {"one": "a", "two": "b"}
    assert both.match("a or b") is None
