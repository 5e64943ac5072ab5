"""Judges that share the checks of one picture, and what the config makes of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from failscape.config import ModelConfig
from failscape.config.files import parse_config
from failscape.errors import ConfigError
from failscape.models.contracts.asking import replies_in_text
from failscape.models.in_process import Unloaded
from failscape.models.providers.ocr import JudgeByFamily, create_by_family
from failscape.models.roles import Identity, Reply, Usage
from failscape.pictures import Picture
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Check
from failscape.trust import is_shipped

CHECKS = (
    Check("entity", "mug", "The image shows a mug."),
    Check("Text: says", "OPEN", 'The text "OPEN" is written on the mug.'),
    Check("Base: Colour", "red", "The mug is red."),
)


class FixedJudge(Unloaded):
    def __init__(self, name: str, says: bool | None, usable: bool = True) -> None:
        self.identity = Identity("judge", "test", name)
        self.says = says
        self.usable = usable
        self.asked: list[str] = []

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[list[bool | None]]]:
        self.asked += [check.kind for row in checks for check in row]
        if not self.usable:
            return [Reply(None, "no JSON", raw="?") for _ in checks]
        return [
            Reply([self.says] * len(row), raw=self.identity.model, usage=Usage(cost=1.0)) for row in checks
        ]


@pytest.fixture
def picture() -> Picture:
    from PIL import Image

    return Picture.from_image(Image.new("RGB", (16, 16)))


async def test_every_check_goes_to_the_judge_of_its_family(picture: Picture) -> None:
    reader, viewer = FixedJudge("reader", False), FixedJudge("viewer", True)
    judge = JudgeByFamily({"text": reader, "*": viewer})
    [reply] = await judge.judge([picture], [CHECKS])
    assert reply.value == [True, False, True]
    assert reader.asked == ["Text: says"]
    assert viewer.asked == ["entity", "Base: Colour"]
    assert sorted(replies_in_text(reply.raw)) == ["reader", "viewer"]
    assert (reply.usage.requests, reply.usage.cost) == (2, 2.0)


async def test_a_judge_without_checks_is_not_asked(picture: Picture) -> None:
    reader = FixedJudge("reader", False)
    judge = JudgeByFamily({"text": reader, "*": FixedJudge("viewer", True)})
    [reply] = await judge.judge([picture], [CHECKS[:1]])
    assert reply.value == [True]
    assert reader.asked == []


async def test_one_unusable_reply_makes_the_whole_unusable(picture: Picture) -> None:
    judge = JudgeByFamily({"text": FixedJudge("reader", True), "*": FixedJudge("viewer", True, usable=False)})
    [reply] = await judge.judge([picture], [CHECKS])
    assert reply.value is None
    assert reply.invalid == "no JSON"


def test_accuracy_is_that_of_each_judge_on_its_own_checks() -> None:
    reader = FixedJudge("reader", True)
    reader.accuracy = JudgeAccuracy.from_rates({"Text: says": (0.9, 0.8), "entity": (0.5, 0.5)})  # type: ignore[attr-defined]
    known = JudgeByFamily({"text": reader, "*": FixedJudge("viewer", True)}).accuracy
    assert known.of("Text: says").sensitivity.rate == 0.9
    assert known.of("entity").sensitivity.rate == 1.0


T2I = {"hunt": "t2i", "target": {"provider": "toybox"}, "space": {"corpus": "signs", "families": ["Text"]}}


def test_a_config_may_name_judges_by_family() -> None:
    config = parse_config(
        {**T2I, "judge": {"text": {"provider": "ocr"}, "*": {"provider": "toybox"}}}, "here"
    )
    judge = config.models()["judge"]
    assert judge.provider == "by_family"
    assert judge.params["families"] == ["text", "*"]
    again = parse_config(config.model_dump(mode="json"), "the atlas")
    assert again.models()["judge"] == judge
    assert is_shipped(judge.model_dump(mode="json"))


def test_an_unknown_family_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="'words' is no family"):
        parse_config({**T2I, "judge": {"words": {"provider": "ocr"}}}, "here")


def test_judges_by_family_need_one_for_the_rest() -> None:
    config = ModelConfig(
        provider="by_family", params={"families": ["text"], "members": [{"provider": "ocr"}]}
    )
    with pytest.raises(ConfigError, match="one for all other checks"):
        create_by_family("judge", config)


def test_a_stranger_among_the_judges_is_not_shipped() -> None:
    section = {"provider": "python", "path": "evil.py:judge"}
    params = {"families": ["text", "*"], "members": [{"provider": "ocr"}, section]}
    assert not is_shipped({"provider": "by_family", "params": params})
