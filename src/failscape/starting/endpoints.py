"""What `failscape init` asks a server: which models it has, and whether a judge there sees pictures."""

import os
from dataclasses import dataclass
from typing import Any

import aiohttp

from failscape.config import ModelConfig
from failscape.doctor.samples import known_pictures
from failscape.errors import FailscapeError
from failscape.models.registry import create_model
from failscape.models.transport.faults import shown_url
from failscape.models.transport.http import decode, openai_base

SECONDS = 8.0
#: A server that was started a moment ago loads its models, and says so with `Retry-After`.
PATIENCE = 15.0
LARGEST = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Offered:
    """What an endpoint says it has. `trouble` says why that is nothing."""

    models: tuple[str, ...] = ()
    trouble: str = ""


async def offered_models(endpoint: str, key_env: str = "") -> Offered:
    """`GET …/v1/models`, as all servers with the OpenAI API have it."""
    url = f"{openai_base(endpoint.strip().rstrip('/'))}/models"
    key = os.environ.get(key_env, "").strip() if key_env else ""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, headers=headers) as reply,
        ):
            if reply.status in (401, 403):
                return Offered(
                    trouble=f"{shown_url(url)} answers {reply.status}: {_key_wanted(key_env, key)}"
                )
            if reply.status != 200:
                return Offered(trouble=f"{shown_url(url)} answers {reply.status}")
            names = _names(decode(await reply.content.read(LARGEST)))
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        return Offered(trouble=f"{shown_url(url)} cannot be asked: {type(error).__name__}")
    return Offered(names) if names else Offered(trouble=f"{shown_url(url)} lists no models")


def _key_wanted(variable: str, key: str) -> str:
    """What to do about a server that wants another key."""
    if not variable:
        return "it wants a key; export it, and name its variable: --key-env API_KEY"
    if not key:
        return f"it wants a key; set the environment variable {variable}"
    return f"it does not take the key in the environment variable {variable}"


def _names(data: Any) -> tuple[str, ...]:
    rows = data.get("data") if isinstance(data, dict) else data
    found = [row.get("id") if isinstance(row, dict) else row for row in rows or []]
    return tuple(name for name in found if isinstance(name, str) and name)


async def trouble_with_eyes(config: ModelConfig) -> str:
    """Why a judge cannot be used, found by one known picture; empty when it tells what it shows."""
    shown, other = known_pictures()[:2]
    asked = (shown.checks[0], other.checks[0])
    try:
        judge: Any = create_model("judge", config.model_copy(update={"patience": PATIENCE, "timeout": 30.0}))
        await judge.start()
        try:
            (reply,) = await judge.judge([shown.picture], [asked])
        finally:
            await judge.close()
    except FailscapeError as error:
        return error.message
    if reply.value is None:
        return reply.invalid or "its reply cannot be read"
    if reply.value[0] == reply.value[1]:
        thing = f"a picture of a {shown.thing}"
        return f"of {thing} it says the same about {asked[0].statement!r} and {asked[1].statement!r}"
    return ""
