"""Each endpoint of a pool by itself. Only roles with several endpoints are looked at.

A dead one hides behind the others, and one that serves another model spoils every number.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from failscape.config import ModelConfig
from failscape.doctor.generator import NEARLY_SAME, SEEDS, difference, readable
from failscape.doctor.known import known_pictures
from failscape.doctor.observations import PATIENCE, Observation
from failscape.errors import FailscapeError
from failscape.models.registry import create_model
from failscape.models.roles import Reply

Ask = Callable[[Any], Awaitable[Reply[Any]]]


@dataclass(frozen=True, slots=True)
class EndpointReply:
    """What one endpoint said to the question that all were asked, or why it said nothing."""

    endpoint: str
    value: Any
    seconds: float
    trouble: str = ""


async def examine_endpoints(
    role: str, config: ModelConfig, ask: Ask, same: Callable[[Any, Any], bool]
) -> list[Observation]:
    """One question to each; `same` tells whether two replies can come from one model."""
    if len(config.endpoints) < 2:
        return []
    heard = [await _hear(role, config, endpoint, ask) for endpoint in config.endpoints]
    return [*_dead(role, heard), *_agree(role, [one for one in heard if not one.trouble], same)]


async def examine_generators(config: ModelConfig, prompt: str) -> list[Observation]:
    async def draw(model: Any) -> Reply[Any]:
        reply: Reply[Any] = (await model.generate([prompt], [SEEDS[0]]))[0]
        return reply if readable(reply) else Reply(None, reply.invalid or "the bytes do not decode")

    return await examine_endpoints(
        "generator", config, draw, lambda one, other: difference(one, other) <= NEARLY_SAME
    )


async def examine_judges(config: ModelConfig) -> list[Observation]:
    first, second = known_pictures()[:2]
    checks = (*first.checks, *second.checks)

    async def decide(model: Any) -> Reply[Any]:
        reply: Reply[Any] = (await model.judge([first.picture], [checks]))[0]
        return reply

    return await examine_endpoints("judge", config, decide, lambda one, other: bool(one == other))


async def _hear(role: str, config: ModelConfig, endpoint: str, ask: Ask) -> EndpointReply:
    alone = config.model_copy(update={"endpoints": (endpoint,), "patience": min(config.patience, PATIENCE)})
    started = time.perf_counter()
    try:
        model = create_model(role, alone)
        await model.start()
        try:
            reply = await ask(model)
        finally:
            await model.close()
    except FailscapeError as error:
        return EndpointReply(endpoint, None, 0.0, error.message)
    trouble = "" if reply.value is not None else reply.invalid or "no usable reply"
    return EndpointReply(endpoint, reply.value, time.perf_counter() - started, trouble)


def _dead(role: str, heard: Sequence[EndpointReply]) -> list[Observation]:
    bad = [one for one in heard if one.trouble]
    alive = len(heard) - len(bad)
    seen = f"{alive} of {len(heard)} endpoints answer"
    if not bad:
        slowest = max(heard, key=lambda one: one.seconds)
        seen += f"; the slowest, {slowest.endpoint}, in {slowest.seconds:.3g} s"
        return [Observation(f"{role}-endpoints", "ok", seen, "all of the pool can work", n=len(heard))]
    named = "; ".join(f"{one.endpoint}: {one.trouble}" for one in bad)
    means, fix = "the others carry its load", "start it again, or take it out of `endpoints`"
    return [Observation(f"{role}-endpoints", "fail", f"{seen}. {named}", means, fix, len(heard))]


def _agree(role: str, heard: Sequence[EndpointReply], same: Callable[[Any, Any], bool]) -> list[Observation]:
    if len(heard) < 2:
        return []
    odd = [one.endpoint for one in heard[1:] if not same(heard[0].value, one.value)]
    name, seen = f"{role}-endpoints-agree", f"{len(heard) - len(odd)} of {len(heard)} endpoints say the same"
    if not odd:
        return [Observation(name, "ok", seen, "they serve one model", n=len(heard))]
    means = "they may serve different models or settings, and results would be mixed"
    fix = "compare their models and parameters; a server that ignores `seed` shows this, too"
    return [Observation(name, "warn", f"{seen}, not: {', '.join(odd)}", means, fix, len(heard))]
