"""How sure a judge is, read from log-probabilities; thresholds by kind of check."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import pytest

from failscape.config import ModelConfig
from failscape.config.files import parse_config
from failscape.errors import ConfigError
from failscape.models.contracts.judge import (
    BooleanContract,
    ChoiceContract,
    Token,
    by_thresholds,
    read_tokens,
    tokens_of_answer,
)
from failscape.models.roles import Reply, Usage
from failscape.servers.app import ChatAnswer, logprobs_of
from failscape.trials import Check

CAT, RED = (
    Check("entity", "cat", "It is a cat."),
    Check("Base: Colour", "red", "It is red.", ("blue", "green")),
)


def token(text: str, **chances: float) -> Token:
    return Token(text, {word: math.log(chance) for word, chance in (chances or {text: 1.0}).items()})


def test_a_boolean_is_as_sure_as_its_token() -> None:
    tokens = [
        token('{"answers": ['),
        token("true", true=0.9, false=0.1),
        token(", "),
        Token(" false", {" false": math.log(0.8), " true": math.log(0.15), " null": math.log(0.05)}),
        token("]}"),
    ]
    first, second = BooleanContract().weigh(tokens, [CAT, RED], "")
    assert first == pytest.approx(0.9)
    assert second == pytest.approx(0.15 / 0.95)


def test_thoughts_before_the_answer_are_not_the_answer() -> None:
    tokens = [token("Is it true? Then false. "), token("{"), token("true", true=0.7, false=0.3), token("}")]
    assert BooleanContract().weigh(tokens, [CAT], "") == pytest.approx((0.7,))


def test_what_is_not_listed_is_given_to_the_one_that_is_missing() -> None:
    (sure,) = BooleanContract().weigh([token("true", true=0.99)], [CAT], "")
    assert sure == pytest.approx(0.99)


def test_a_choice_is_as_sure_as_the_letter_of_its_value() -> None:
    contract = ChoiceContract()
    letters = {option: letter for letter, option in contract.options(RED, "salt").items()}
    chances = {letters["red"]: 0.6, letters["blue"]: 0.3, letters["green"]: 0.1}
    tokens = [
        token('{"q1": "'),
        Token(letters["blue"], {k: math.log(v) for k, v in chances.items()}),
        token('"}'),
    ]
    assert contract.weigh(tokens, [RED], "salt") == pytest.approx((0.6,))


@pytest.mark.parametrize("tokens", [[], [token("I cannot say")], [token("true", true=0.9, false=0.1)]])
def test_tokens_that_do_not_fit_say_nothing(tokens: list[Token]) -> None:
    assert BooleanContract().weigh(tokens, [CAT, RED], "") == ()


@pytest.mark.parametrize(
    ("spelled", "said"),
    [
        (("<think>", "true", "</think>", '{"answers": [', "null", "]}"), '{"answers": [null]}'),
        (("<think>", "true", "</think>", '{"answers": [', "null", "]}"), "<think>true</think>[null]"),
        (('{"answers": [', "false", "]}"), '{"answers": [true]}'),
        (('{"answers": [true]}',), '{"answers": [true]}'),
        (("true", " or", " not"), "<think>true"),
    ],
)
def test_tokens_that_spell_another_answer_decide_nothing(spelled: tuple[str, ...], said: str) -> None:
    """A word of the thoughts decided a check that the judge had left open."""
    tokens = tokens_of_answer([token(text) for text in spelled], said)
    assert BooleanContract().weigh(tokens, [CAT], "") == ()


def test_tokens_of_the_answer_alone_are_weighed() -> None:
    tokens = [
        token("<think>false"),
        token('</think>\n```json\n{"answers": ['),
        token("true", true=0.7, false=0.3),
    ]
    tokens += [token("]}"), token("\n```"), token("<|im_end|>")]
    for said in ('{"answers": [true]}', '<think>false</think>\n```json\n{"answers": [true]}\n```'):
        assert BooleanContract().weigh(tokens_of_answer(tokens, said), [CAT], "") == pytest.approx((0.7,))


def test_letters_in_another_order_belong_to_their_questions() -> None:
    contract = ChoiceContract()
    tokens = [token('{"q2": "'), token("B", A=0.2, B=0.8), token('", "q1": "'), token("A", A=0.9, B=0.1)]
    assert contract.weigh([*tokens, token('"}')], [CAT, CAT], "") == pytest.approx((0.9, 0.2))


@pytest.mark.parametrize(
    "odd", [None, {}, {"content": None}, {"content": [{"token": "a"}]}, {"content": 3}, []]
)
def test_odd_log_probabilities_are_none(odd: Any) -> None:
    assert read_tokens(odd) == ()


@pytest.mark.parametrize("odd", [math.nan, math.inf, 1000, 1e308, 0.7, 10**400])
@pytest.mark.parametrize("own", [True, False])
def test_chances_that_are_none_decide_nothing(odd: float, own: bool) -> None:
    """With thresholds, a NaN was below every one of them: each check failed."""
    row = {"token": "true", "logprob": odd if own else -0.1, "top_logprobs": []}
    if not own:
        row["top_logprobs"] = [{"token": "false", "logprob": odd}]
    tokens = read_tokens({"content": [row]})
    assert tokens == ()
    confidence = BooleanContract().weigh(tokens, [CAT], "")
    reply = by_thresholds(Reply([True], confidence=confidence), [CAT], {"*": 0.5})
    assert reply.value is None


def test_rounding_is_no_odd_chance() -> None:
    assert read_tokens({"content": [{"token": "true", "logprob": 1e-4}]})


def test_what_our_server_gives_can_be_read() -> None:
    answer = ChatAnswer(json.dumps({"answers": [True, False]}), (0.9, 0.75))
    tokens = read_tokens(logprobs_of(answer))
    assert "".join(one.text for one in tokens) == answer.text
    assert BooleanContract().weigh(tokens, [CAT, RED], "") == pytest.approx((0.9, 0.25))


def test_thresholds_decide_by_kind() -> None:
    reply: Reply[list[bool | None]] = Reply([True, True], confidence=(0.6, 0.6))
    assert by_thresholds(reply, [CAT, RED], {}).value == [True, True]
    assert by_thresholds(reply, [CAT, RED], {"entity": 0.7}).value == [False, True]
    assert by_thresholds(reply, [CAT, RED], {"entity": 0.5, "*": 0.8}).value == [True, False]


def test_thresholds_without_confidence_make_a_reply_invalid() -> None:
    reply: Reply[list[bool | None]] = Reply([True, True])
    assert "logprobs" in by_thresholds(reply, [CAT, RED], {"*": 0.5}).invalid


def test_thresholds_are_shares_and_part_of_the_identity() -> None:
    from failscape.models.providers.openai import OpenAIJudge

    judge = {"provider": "openai", "model": "eyes", "endpoints": ["http://gpu:8000"]}
    plain = OpenAIJudge(ModelConfig.model_validate(judge))
    strict = OpenAIJudge(ModelConfig.model_validate({**judge, "thresholds": {"*": 0.8}}))
    assert plain.identity.digest != strict.identity.digest
    assert "thresholds" not in plain.identity.settings
    data = {"hunt": "t2i", "target": {"provider": "toybox"}, "judge": {**judge, "thresholds": {"*": 1.5}}}
    with pytest.raises(ConfigError, match="between 0 and 1"):
        parse_config(data, "a test")


async def test_a_check_left_open_is_not_decided_by_a_thought(monkeypatch: pytest.MonkeyPatch) -> None:
    from failscape.models.providers.openai import OpenAIJudge, _read_chat
    from tests.unit.atlas.suite import make_picture

    said = '<think>Is it false?</think>{"answers": [null]}'
    pieces = ("<think>Is it", " false", "?</think>", '{"answers": [', "null", "]}")
    rows = [{"token": piece, "logprob": 0.0, "top_logprobs": []} for piece in pieces]
    choice = {"message": {"content": said}, "finish_reason": "stop", "logprobs": {"content": rows}}
    chat = _read_chat(json.dumps({"choices": [choice]}).encode())
    settings = {"provider": "openai", "model": "eyes", "endpoints": ["http://gpu:8000"]}
    judge = OpenAIJudge(ModelConfig.model_validate({**settings, "thresholds": {"*": 0.5}}))

    async def post(*_: Any) -> Any:
        return SimpleNamespace(value=chat)

    monkeypatch.setattr(judge, "pool", SimpleNamespace(post=post), raising=False)
    monkeypatch.setattr(judge, "bill", lambda *_: Usage(requests=1))
    (reply,) = await judge.judge([make_picture(1)], [[CAT]])
    assert reply.value is None
