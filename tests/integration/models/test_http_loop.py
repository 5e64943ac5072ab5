"""Large pictures are made ready and read in threads, small ones where they are."""

from __future__ import annotations

import threading
from base64 import b64encode

import numpy as np
import pytest

from failscape.models.providers import openai
from failscape.pictures import Picture
from failscape.testing.faulty import FaultyServer
from tests.integration.models.started import CAT, PICTURE, opened, says

LARGE = Picture.from_array(np.random.default_rng(1).integers(0, 255, (300, 300, 3), dtype=np.uint8))


@pytest.mark.parametrize(("picture", "in_a_thread"), [(LARGE, True), (PICTURE, False)])
async def test_a_judged_picture(picture: Picture, in_a_thread: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    plain = Picture.for_upload

    def noting(self: Picture, *settings: object) -> Picture:
        threads.append(threading.current_thread())
        return plain(self, *settings)  # type: ignore[arg-type]

    monkeypatch.setattr(Picture, "for_upload", noting)
    with FaultyServer(answer=says("[true]")) as server:
        async with opened(openai, "judge", server, image_max_side=512) as model:
            (reply,) = await model.judge([picture], [[CAT]])
    assert reply.value == [True]
    assert [thread is not threading.main_thread() for thread in threads] == [in_a_thread]


async def test_a_drawn_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    check = Picture.check

    def noting(self: Picture) -> None:
        threads.append(threading.current_thread())
        check(self)

    monkeypatch.setattr(Picture, "check", noting)
    drawn = {"data": [{"b64_json": b64encode(LARGE.data).decode()}]}
    with FaultyServer(answer=lambda path, payload: drawn) as server:
        async with opened(openai, "generator", server) as model:
            (reply,) = await model.generate(["a"], [5])
    assert reply.value.digest == LARGE.digest
    assert "digest" in vars(reply.value), "its name is made in the thread as well"
    assert threads[0] is not threading.main_thread()
