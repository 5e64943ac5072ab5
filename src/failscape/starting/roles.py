"""From what a user says about a role to how it is reached: what is missing is asked, endpoints too."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from failscape.config import ModelConfig
from failscape.doctor.known import known_pictures
from failscape.errors import ConfigError, FailscapeError
from failscape.models.providers.openai import openai_base
from failscape.models.registry import OUR_PROVIDERS, create_model, find_provider
from failscape.models.transport.faults import shown_url
from failscape.models.transport.http import decode
from failscape.starting.drafts import FUNCTIONS, RoleDraft, hints_for

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
                    trouble=f"{shown_url(url)} wants a key ({reply.status}): name its variable with --key-env"
                )
            if reply.status != 200:
                return Offered(trouble=f"{shown_url(url)} answers {reply.status}")
            names = _names(decode(await reply.content.read(LARGEST)))
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        return Offered(trouble=f"{shown_url(url)} cannot be asked: {type(error).__name__}")
    return Offered(names) if names else Offered(trouble=f"{shown_url(url)} lists no models")


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


OVER_HTTP = ("openai", "generate", "http")
FILE = "my_models.py"

TOYS = {"generator": "toy-painter", "judge": "toy-eyes", "classifier": "cnn", "answerer": "toy-vlm"}
EXAMPLES = {"diffusers": "stabilityai/sdxl-turbo", "transformers": "google/vit-base-patch16-224"}

#: Asks a person: question, default, choices.
Prompt = Callable[[str, str, Sequence[str]], str]


@dataclass(slots=True)
class Asker:
    """Asks people where there are some, else takes what is likely, else says which flag is missing.

    `told` gathers lines that a user should see at the end; `to_fill` the roles of a model file.
    """

    prompt: Prompt | None = None
    told: list[str] = field(default_factory=list)
    to_fill: list[str] = field(default_factory=list)
    _offered: dict[str, Offered] = field(default_factory=dict)

    def ask(
        self, question: str, flag: str, given: str = "", default: str = "", choices: Sequence[str] = ()
    ) -> str:
        if given:
            if choices and given not in choices:
                raise ConfigError(
                    f"{flag} must be one of {', '.join(choices)}, but got {given!r}", "name one"
                )
            return given
        if self.prompt is not None:
            return self.prompt(question, default, choices)
        if default:
            return default
        raise ConfigError(f"{flag} is needed: {question}", f"add `{flag} …`, or answer at a terminal")

    def offered(self, endpoint: str, key_env: str) -> Offered:
        if endpoint not in self._offered:
            self._offered[endpoint] = asyncio.run(offered_models(endpoint, key_env))
        return self._offered[endpoint]


@dataclass(frozen=True, slots=True)
class RoleFlags:
    """What the flags say about a role; `prefix` is that of its flags (`--judge-endpoint`)."""

    provider: str = ""
    endpoints: tuple[str, ...] = ()
    model: str = ""
    path: str = ""
    key_env: str = ""
    prefix: str = ""

    def flag(self, name: str) -> str:
        return f"--{self.prefix}-{name}" if self.prefix else f"--{name}"


def settle_role(
    asker: Asker, role: str, what: str, said: RoleFlags, like: RoleDraft | None = None
) -> RoleDraft:
    """`like`: the role before, whose provider, endpoint and model are likely for this one too."""
    known = like.settings if like else {}
    likely = like.provider if like and role in OUR_PROVIDERS[like.provider].roles else "openai"
    named = f"--{said.prefix or 'target'}"
    # Those that a user may name for a role.
    hidden = ("exact", "panel", "grpo")
    provider = asker.ask(
        f"How is {what} reached?",
        named,
        said.provider,
        likely,
        [name for name, one in OUR_PROVIDERS.items() if role in one.roles and name not in hidden],
    )
    find_provider(provider)
    if provider == "toybox":
        return RoleDraft(provider, {"model": said.model or TOYS.get(role, "toy-eyes")})
    if provider == "python":
        asker.to_fill += [] if said.path else [role]
        return RoleDraft(provider, {"path": said.path or f"{FILE}:{FUNCTIONS.get(role, role)}"})
    if provider == "onnx":
        path = asker.ask(f"Where is the ONNX file of {what}?", said.flag("path"), said.path, "model.onnx")
        return _hinted(RoleDraft(provider, {"path": path}), role)
    if provider not in OVER_HTTP:
        default = EXAMPLES.get(provider, "")
        name = asker.ask(f"Which model is {what}?", said.flag("model"), said.model, default)
        return _hinted(RoleDraft(provider, {"model": name}), role)
    return _hinted(_over_http(asker, provider, what, said, known), role)


def _hinted(role: RoleDraft, what: str) -> RoleDraft:
    return RoleDraft(role.provider, role.settings, hints_for(role.provider, what, role.settings))


def _over_http(asker: Asker, provider: str, what: str, said: RoleFlags, known: Any) -> RoleDraft:
    likely = (known.get("endpoints") or [""])[0]
    endpoints = list(said.endpoints)
    if not endpoints:
        endpoints = [asker.ask(f"At which address is {what}?", said.flag("endpoint"), "", likely)]
    settings: dict[str, Any] = {}
    same = list(known.get("endpoints") or ()) == endpoints
    settings["model"] = _model(
        asker, provider, what, said, endpoints[0], known.get("model", "") if same else ""
    )
    settings["endpoints"] = endpoints
    key = said.key_env or (known.get("api_key_env", "") if same else "")
    return RoleDraft(provider, {**settings, "api_key_env": key} if key else settings)


def _model(asker: Asker, provider: str, what: str, said: RoleFlags, endpoint: str, likely: str) -> str:
    if provider == "generate":  # such servers have one model and no list of them
        return asker.ask(f"What is the name of {what}?", said.flag("model"), said.model, likely)
    offered = asker.offered(endpoint, said.key_env)
    if said.model:
        if offered.trouble:
            asker.told.append(f"{offered.trouble}: `model: {said.model}` is taken as given")
        elif said.model not in offered.models:
            asker.told.append(
                f"{endpoint} does not list {said.model!r}, only: {', '.join(offered.models[:8])}"
            )
        return said.model
    if offered.trouble and asker.prompt is None and not likely:
        raise ConfigError(offered.trouble, f"start the server, or name the model with {said.flag('model')}")
    if offered.trouble:
        asker.told.append(offered.trouble)
        return asker.ask(f"Which model there is {what}?", said.flag("model"), "", likely)
    if likely in offered.models or len(offered.models) == 1:
        default = likely or offered.models[0]
        return asker.ask(f"Which model there is {what}?", said.flag("model"), "", default, offered.models)
    if asker.prompt is None:
        names = ", ".join(offered.models[:12])
        raise ConfigError(
            f"{endpoint} has {len(offered.models)} models: {names}", f"name one with {said.flag('model')}"
        )
    first = offered.models[0]
    return asker.ask(f"Which model there is {what}?", said.flag("model"), "", first, offered.models)
