"""What in-process models cost, where a config gives them a price: rented hardware is not free either.

Models behind HTTP do not need it: they know themselves which of their requests were answered.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from failscape.models.roles import Model, Reply

M = TypeVar("M", bound=Model)
Method = Callable[..., Awaitable[Any]]


def charge(model: M, method: str, price: float) -> M:
    """Let every reply of the model's `method` cost `price` per request. A cost it gives itself stands."""
    if price:
        setattr(model, method, _charging(getattr(model, method), price))
    return model


def _charging(ask: Method, price: float) -> Method:
    async def charging(*arguments: Any, **named: Any) -> Any:
        replies = await ask(*arguments, **named)
        if isinstance(replies, Reply):
            return _charged(replies, price)
        return [_charged(reply, price) for reply in replies]

    return charging


def _charged(reply: Reply[Any], price: float) -> Reply[Any]:
    usage = reply.usage
    return reply if usage.cost else replace(reply, usage=replace(usage, cost=price * usage.requests))
