"""What the tests of the HTTP providers share: a started model, quick back-off, a few things to ask."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from failscape.config import ModelConfig
from failscape.models.transport.endpoints import Backoff
from failscape.pictures import Picture
from failscape.testing.faulty import FaultyServer, chat_reply, scripted_picture
from failscape.trials import Check

QUICK = Backoff(first=0.01, longest=0.05)
CAT = Check("entity", "cat", "It is a cat.", ("dog", "cow"))
RED = Check("Base: Colour", "red", "It is red.", ("blue", "green"))
PICTURE = Picture(scripted_picture("x", 1, side=64))


@asynccontextmanager
async def opened(provider: Any, role: str, server: FaultyServer, **settings: Any) -> AsyncIterator[Any]:
    values: dict[str, Any] = {"model": "m", "endpoints": (server.url,), "timeout": 60.0, "patience": 60.0}
    config = ModelConfig(provider="openai", **{**values, **settings})
    model = provider.create(role, config, QUICK)
    await model.start()
    try:
        yield model
    finally:
        await model.close()


def says(*texts: str) -> Any:
    """A chat server that says these texts in turn, the last one for ever."""
    lock = threading.Lock()
    left = list(texts)

    def answer(path: str, payload: Mapping[str, Any]) -> Any:
        with lock:
            return chat_reply(left.pop(0) if len(left) > 1 else left[0])

    return answer
