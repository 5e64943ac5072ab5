"""What the doctor says about classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from failscape.config.files import parse_config
from failscape.errors import Permanent
from failscape.kinds.classifier.doctor import examine_classifier, examine_clauses
from failscape.kinds.classifier.tallies import Target
from failscape.models.roles import Identity, Ranking, Reply
from failscape.pictures import Picture
from failscape.trials import Check

SHOWN = [
    (Picture.from_array(np.full((8, 8, 3), 20 * n, np.uint8)), name, (name,))
    for n, name in enumerate(("cat", "dog"))
]
KNOWN = ["cat", "dog"]


class Scripted:
    identity = Identity("classifier", "python", "scripted")
    batch = parallel = 1

    def __init__(self, *replies: list[tuple[str, float]] | None) -> None:
        self._replies = list(replies)

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]:
        said = self._replies.pop(0)
        return [Reply(None, "scores are no numbers") if said is None else Reply(said)]


@pytest.mark.parametrize(
    ("said", "name", "status"),
    [
        (("cat", "dog", "cat"), "", "ok"),
        (("Cat", "DOG", "Cat"), "", "ok"),
        (("cat", "cat", "cat"), "classifier-varies", "fail"),
        (("n01", "n02", "n01"), "classifier-labels", "fail"),
        (("dog", "cat", "dog"), "classifier-right", "warn"),
        (("cat", "dog", "dog"), "classifier-repeats", "warn"),
        ((None, "dog", "dog"), "classifier-form", "fail"),
    ],
)
async def test_each_trouble_is_named(said: tuple[str | None, ...], name: str, status: str) -> None:
    model = Scripted(*(None if label is None else [(label, 0.9)] for label in said))
    found = {one.name: one.status for one in await examine_classifier(model, SHOWN, KNOWN)}
    if name:
        assert found[name] == status
    else:
        assert set(found.values()) == {"ok"}


async def test_two_of_sixteen_right_is_a_warning_with_the_likely_causes() -> None:
    replies = [[("cat" if at in (0, 3, 16) else "dog", 0.9)] for at in range(17)]
    shown = [(SHOWN[0][0], "cat", ("cat",))] * 16
    found = {one.name: one for one in await examine_classifier(Scripted(*replies), shown, KNOWN)}
    right = found["classifier-right"]
    assert right.status == "warn"
    assert right.seen.startswith("2 of 16 plain pictures are called by their class")
    for cause in ("`mean`", "`labels` are in another order", "`channels`", "`size`"):
        assert cause in right.fix


async def test_what_a_model_file_does_not_state_is_said_to_be_assumed() -> None:
    class File(Scripted):
        about_input = ("28 × 28 grey pixels (NCHW)", ("mean", "std"))

    model = File(*([(name, 0.9)] for name in ("cat", "dog", "cat")))
    found = {one.name: one for one in await examine_classifier(model, SHOWN, KNOWN)}
    assert "nobody stated mean, std" in found["classifier-input"].means


async def test_a_classifier_that_is_down() -> None:
    class Down(Scripted):
        async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]:
            raise Permanent("no such model", "name another")

    (found,) = await examine_classifier(Down(), SHOWN, KNOWN)
    assert (found.status, found.fix) == ("fail", "name another")


class Painter(Scripted):
    identity = Identity("generator", "python", "painter")

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        return [Reply(Picture.from_array(np.full((8, 8, 3), len(one), np.uint8))) for one in prompts]


class Stubborn(Scripted):
    """Gives one answer whatever it is shown, or tells longer prompts by their brighter pictures."""

    identity = Identity("judge", "python", "stubborn")

    def __init__(self, says: bool | None) -> None:
        super().__init__()
        self._says = says

    async def judge(self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]) -> list[Reply[Any]]:
        bright = [int(one.array[0, 0, 0]) > PLAIN_LENGTH for one in images]
        return [Reply([seen if self._says is None else self._says]) for seen in bright]


PLAIN_LENGTH = len("a penguin.")


@pytest.mark.parametrize(("says", "status"), [(True, "warn"), (False, "warn"), (None, "ok")])
async def test_a_judge_that_cannot_see_clauses_is_named(says: bool | None, status: str) -> None:
    settings = parse_config(
        {
            "hunt": "classifier",
            "target": {"provider": "toybox"},
            "generator": {"provider": "toybox"},
            "judge": {"provider": "toybox"},
            "classes": ["penguin"],
            "space": {"corpus": "toybox"},
            "template": "a {class}",
        },
        "test",
    )
    targets = [Target("penguin", ("penguin",))]
    (found,) = await examine_clauses(Painter(), Stubborn(says), targets, settings)
    assert (found.name, found.status) == ("judge-clauses", status)
