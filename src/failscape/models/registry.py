"""Names of providers → what makes their models. Nothing is imported before it is asked for.

Plugins join through the entry-point group `failscape.providers`: a name and a callable
`(role, config) -> Model`. It may carry `roles` (a tuple of role names) and a docstring for `failscape list`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from failscape.config import ModelConfig
from failscape.errors import ConfigError, FailscapeError
from failscape.models.roles import ROLES, Model
from failscape.names import suggest

Provider = Callable[[str, ModelConfig], Model]

GROUP = "failscape.providers"
LLM = "llm"
"""A helper role: plain chat for wording and naming, never a step of a probe."""

ALL_ROLES = (*ROLES, LLM)


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """A line of `failscape list`. `roles` is empty when a plugin does not say."""

    name: str
    target: str
    roles: tuple[str, ...]
    about: str


BUILT_IN: dict[str, ProviderInfo] = {
    info.name: info
    for info in (
        ProviderInfo(
            "openai",
            "failscape.models.providers.openai:create",
            (*(role for role in ROLES if role != "classifier"), LLM),
            "any server with the OpenAI API: images, edits, chat with images, embeddings",
        ),
        ProviderInfo(
            "generate",
            "failscape.models.providers.generate:create",
            ("generator",),
            "image servers with FailureAtlas's POST /generate",
        ),
        ProviderInfo(
            "http",
            "failscape.models.providers.http:create",
            ("classifier",),
            "classifiers with POST /v1/classify",
        ),
        ProviderInfo(
            "onnx",
            "failscape.models.providers.onnx:create",
            ("classifier", "embedder"),
            "a model file run in process by onnxruntime",
        ),
        ProviderInfo(
            "exact",
            "failscape.models.providers.exact:create",
            ("verifier",),
            "compares answers with the right one, where that is known by construction: no model",
        ),
        ProviderInfo(
            "grpo",
            "failscape.models.providers.grpo:create",
            ("questioner",),
            "a language or vision-language model that is trained while it asks (extra `rl`)",
        ),
        ProviderInfo(
            "panel",
            "failscape.models.providers.verifier_vote:create",
            ("verifier",),
            "several verifiers, or one asked several times: the majority decides",
        ),
        ProviderInfo(
            "python",
            "failscape.models.providers.python:create",
            ALL_ROLES,
            "your own function, class or object: module:attr or file.py:attr",
        ),
        ProviderInfo(
            "transformers",
            "failscape.models.providers.transformers:create",
            ("classifier", "answerer"),
            "image classifiers and vision-language models of the Transformers library, in process",
        ),
        ProviderInfo(
            "toybox",
            "failscape.toybox.provider:create",
            tuple(ROLES),
            "small trained models that come with the package",
        ),
    )
}


def create_model(role: str, config: ModelConfig) -> Model:
    """The model that plays `role` as `config` says. It is not started yet."""
    if role not in ALL_ROLES:
        raise ConfigError(f"there is no role {role!r}", suggest(role, ALL_ROLES))
    provider, info = _find(config.provider)
    if info.roles and role not in info.roles:
        able = [name for name, other in BUILT_IN.items() if role in other.roles]
        raise ConfigError(
            f"provider {info.name} cannot play the role {role}, only: {', '.join(info.roles)}",
            f"use one of these providers: {', '.join(able)}",
        )
    return provider(role, config)


def provider_names() -> list[str]:
    return sorted({*BUILT_IN, *(point.name for point in _plugins())})


def list_providers() -> list[ProviderInfo]:
    """Every provider, built in first. Plugins are loaded to see what they can do; a broken one says so."""
    plugins = [point for point in _plugins() if point.name not in BUILT_IN]
    return [*BUILT_IN.values(), *(_describe(point) for point in sorted(plugins, key=lambda p: p.name))]


def _find(name: str) -> tuple[Provider, ProviderInfo]:
    if name in BUILT_IN:
        info = BUILT_IN[name]
        module, _, attribute = info.target.partition(":")
        return cast(Provider, getattr(importlib.import_module(module), attribute)), info
    for point in _plugins():
        if point.name == name:
            return _load(point)
    raise ConfigError(f"there is no provider {name!r}", suggest(name, provider_names()))


def _load(point: EntryPoint) -> tuple[Provider, ProviderInfo]:
    try:
        provider = point.load()
    except Exception as error:
        raise ConfigError(
            f"the plugin behind provider {point.name!r} ({point.value}) cannot be loaded: {error!r}",
            "mend or uninstall the plugin",
        ) from error
    if not callable(provider):
        raise ConfigError(
            f"the plugin behind provider {point.name!r} ({point.value}) is not callable",
            "let its entry point name a callable (role, config) -> Model",
        )
    roles = tuple(getattr(provider, "roles", ()))
    about = (provider.__doc__ or "").strip().partition("\n")[0] or "a plugin"
    return cast(Provider, provider), ProviderInfo(point.name, point.value, roles, about)


def _describe(point: EntryPoint) -> ProviderInfo:
    try:
        return _load(point)[1]
    except FailscapeError as error:
        return ProviderInfo(point.name, point.value, (), error.message)


def _plugins() -> Iterable[EntryPoint]:
    return entry_points(group=GROUP)
