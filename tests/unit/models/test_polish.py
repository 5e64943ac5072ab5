"""A polished prompt is used only when it says the same."""

from __future__ import annotations

import pytest

from failscape.models.contracts.language import PolishContract
from failscape.models.roles import Reply

PROMPT = "An image of two red cats by a brick wall, under the moon."


@pytest.mark.parametrize(
    ("reply", "prompt"),
    [
        ("Two red cats by a brick wall under the moon.", "Two red cats by a brick wall under the moon."),
        (
            '"Two red cats beside a brick wall, the moon above."',
            "Two red cats beside a brick wall, the moon above.",
        ),
        (
            "<think>hm, a red cat</think>\nPrompt: Under the moon,\n two red cats by a brick wall.",
            "Under the moon, two red cats by a brick wall.",
        ),
    ],
)
def test_faithful_replies_are_used(reply: str, prompt: str) -> None:
    assert PolishContract().read(Reply(reply), PROMPT) == (prompt, "")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("Two cats by a brick wall under the moon.", "leaves out"),
        ("Two red dogs by a brick wall under the moon.", "leaves out"),
        ("Sure! Here it is: " + "Two red cats by a brick wall under the moon. " * 3, "much longer"),
        ("", "empty"),
        ("…", "empty"),
        ('""', "empty"),
    ],
)
def test_other_replies_leave_the_prompt_as_it_was(reply: str, reason: str) -> None:
    prompt, why = PolishContract().read(Reply(reply), PROMPT)
    assert prompt == PROMPT
    assert reason in why


def test_a_model_that_fails_leaves_the_prompt_as_it_was() -> None:
    assert PolishContract().read(Reply(None, "the model refused"), PROMPT) == (PROMPT, "the model refused")


def test_the_instruction_carries_the_prompt() -> None:
    (message,) = PolishContract().messages(PROMPT)
    assert message["role"] == "user"
    assert PolishContract.instruction.match(message["content"]) == {"text": PROMPT}
