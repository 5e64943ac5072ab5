"""A model that goes round in circles must not hold the event loop up: reading takes time by length alone."""

import json
import time
from collections.abc import Callable

import pytest

from failscape.models.contracts.judge import BooleanContract
from failscape.models.contracts.vision import CaptionContract, VerifyContract
from failscape.trials import Check

CHECKS = [Check("entity", "cat", "it is a cat")]

#: Each took seconds in 0.2, and four times as many at twice the length.
REPLIES: dict[str, tuple[Callable[[str], object], str]] = {
    "sentences that look like abbreviations": (CaptionContract().read, "a. " * 12_000),
    "quotes that nobody closes": (CaptionContract().read, "“" * 60_000),
    "other quotes that nobody closes": (CaptionContract().read, "«" * 60_000),
    "blanks inside the JSON": (
        lambda text: BooleanContract().read(text, CHECKS, ""),
        '{"answers":' + " " * 19_900 + "[true]}",
    ),
    "blanks inside a fence": (
        lambda text: BooleanContract().read(text, CHECKS, ""),
        "```json\n" + "[true " * 10 + " " * 19_800 + "x```",
    ),
    "line ends in a reason": (
        lambda text: VerifyContract().read(text, "valid"),
        json.dumps({"reason": "x" + " " * 19_000 + "x", "valid": True}),
    ),
}


@pytest.mark.parametrize("name", REPLIES)
def test_long_replies_are_read_at_once(name: str) -> None:
    read, text = REPLIES[name]
    before = time.process_time()

    read(text)

    assert time.process_time() - before < 1


def test_end_tokens_and_blanks_are_taken_off_in_any_order() -> None:
    answer = '```json\n{"answers": [true]} \n ```'

    for end in ("", " \n<|im_end|>", "</s> <|eot_id|>\n</s>  ", "<|im_end|>" * 1000):
        assert BooleanContract().read(answer + end, CHECKS, "").value == [True]

    assert BooleanContract().read(answer + "<|no_image|>", CHECKS, "").value is None
