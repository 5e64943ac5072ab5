"""Names of providers → what makes their models. Nothing is imported before it is asked for.

A stranger's provider joins through the entry-point group `failscape.providers`: a `Provider`, or a callable
`(role, config) -> Model` that may carry `roles`; see `failscape.plugins`.
"""

from importlib.metadata import EntryPoint
from typing import Any

from failscape.config import ModelConfig
from failscape.errors import ConfigError, FailscapeError, suggest
from failscape.models.clip_views import with_frames
from failscape.models.roles import PLAYED_AS, ROLES, Model
from failscape.plugins import PROVIDERS, Provider, load_plugin, plugins_of

#: A helper role: plain chat for wording and naming, never a step of a probe.
LLM = "llm"

ALL_ROLES = (*ROLES, LLM)

OUR_PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            "openai",
            "failscape.models.providers.openai:create",
            (*(role for role in ROLES if role != "classifier"), LLM),
            "any server with the OpenAI API: images, edits, chat with images, embeddings",
        ),
        Provider(
            "generate",
            "failscape.models.providers.http:create",
            ("generator",),
            "image servers with FailureAtlas's POST /generate",
        ),
        Provider(
            "http",
            "failscape.models.providers.http:create",
            ("classifier",),
            "classifiers with POST /v1/classify",
        ),
        Provider(
            "onnx",
            "failscape.models.providers.onnx:create",
            ("classifier", "embedder"),
            "a model file run in process by onnxruntime",
        ),
        Provider(
            "exact",
            "failscape.models.providers.exact:create",
            ("verifier",),
            "compares answers with the right one, where that is known by construction: no model",
        ),
        Provider(
            "grpo",
            "failscape.models.providers.grpo:create",
            ("questioner",),
            "a language or vision-language model that is trained while it asks (extra `rl`)",
        ),
        Provider(
            "panel",
            "failscape.models.providers.exact:create_panel",
            ("verifier",),
            "several verifiers, or one asked several times: the majority decides",
        ),
        Provider(
            "ocr",
            "failscape.models.providers.ocr:create",
            ("judge",),
            "reads the text in a picture and decides checks of the family Text (extra `ocr`)",
        ),
        Provider(
            "by_family",
            "failscape.models.providers.ocr:create_by_family",
            ("judge",),
            'several judges, each for its family of checks; written as `judge: {text: …, "*": …}`',
        ),
        Provider(
            "python",
            "failscape.models.providers.python:create",
            ALL_ROLES,
            "your own function, class or object: module:attr or file.py:attr",
        ),
        Provider(
            "transformers",
            "failscape.models.providers.transformers:create",
            (*(role for role in ROLES if role not in ("generator", "editor")), LLM),
            "classifiers, chat models with and without pictures, CLIP-style embedders, in process",
        ),
        Provider(
            "diffusers",
            "failscape.models.providers.diffusers:create",
            ("generator", "editor"),
            "text-to-image, image-to-image and inpainting pipelines of the Diffusers library, in process",
        ),
        Provider(
            "composite",
            "failscape.toybox.renderer:create",
            ("editor",),
            "lays a sprite on a picture, for minimal pairs whose truth is known by construction",
        ),
        Provider(
            "toybox",
            "failscape.toybox.provider:create",
            tuple(ROLES),
            "small trained models that come with the package",
        ),
    )
}


def create_model(role: str, config: ModelConfig) -> Model:
    """The model that plays `role` as `config` says. It is not started yet."""
    role = PLAYED_AS.get(role, role)
    if role not in ALL_ROLES:
        raise ConfigError(f"there is no role {role!r}", suggest(role, ALL_ROLES))
    provider = find_provider(config.provider)
    if provider.roles and role not in provider.roles:
        able = [name for name, other in OUR_PROVIDERS.items() if role in other.roles]
        raise ConfigError(
            f"provider {provider.name} cannot play the role {role}, only: {', '.join(provider.roles)}",
            f"use one of these providers: {', '.join(able)}",
        )
    model = provider.model(role, config)
    shows_clips_itself = provider.name in ("openai", "toybox")
    return model if config.video is None or shows_clips_itself else with_frames(role, model, config.video)


def provider_names() -> list[str]:
    return sorted({*OUR_PROVIDERS, *(point.name for point in plugins_of(PROVIDERS))})


def list_providers() -> list[Provider]:
    """Every provider, ours first. Plugins are loaded to see what they can do; a broken one says so."""
    strangers = [point for point in plugins_of(PROVIDERS) if point.name not in OUR_PROVIDERS]
    return [
        *OUR_PROVIDERS.values(),
        *(_described(point) for point in sorted(strangers, key=lambda p: p.name)),
    ]


def find_provider(name: str) -> Provider:
    if name in OUR_PROVIDERS:
        return OUR_PROVIDERS[name]
    for point in plugins_of(PROVIDERS):
        if point.name == name:
            return _provider(load_plugin(point, "provider"), point)
    raise ConfigError(f"there is no provider {name!r}", suggest(name, provider_names()))


def _provider(found: Any, point: EntryPoint) -> Provider:
    if isinstance(found, Provider):
        return found
    if not callable(found):
        raise ConfigError(
            f"the plugin behind provider {point.name!r} ({point.value}) is not callable",
            "let its entry point name a failscape.Provider, or a callable (role, config) -> Model",
        )
    about = (found.__doc__ or "").strip().partition("\n")[0] or "a plugin"
    return Provider(point.name, found, tuple(getattr(found, "roles", ())), about)


def _described(point: EntryPoint) -> Provider:
    try:
        return _provider(load_plugin(point, "provider"), point)
    except FailscapeError as error:
        return Provider(point.name, point.value, about=error.message)
