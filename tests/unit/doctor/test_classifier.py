"""What the doctor says about classifiers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from failscape.doctor.classifier import examine_classifier
from failscape.errors import Permanent
from failscape.models.roles import Identity, Ranking, Reply
from failscape.pictures import Picture

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


async def test_a_classifier_that_is_down() -> None:
    class Down(Scripted):
        async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]:
            raise Permanent("no such model", "name another")

    (found,) = await examine_classifier(Down(), SHOWN, KNOWN)
    assert (found.status, found.fix) == ("fail", "name another")
