"""What settings may name: the user's own config may name code, files and addresses; an atlas may not.

An atlas keeps the settings that its hunts were run with, and it may come from a stranger. Its settings pass
through one gate, in two parts:

- Settings that name a file or code (a corpus, photos, a grammar) are declared with `Outside` where they are
  defined. When settings are read from an atlas, `confine` replaces every such value that is neither shipped
  with Failscape nor kept inside the atlas by a text that no loader accepts; `refuse_outside` says why.
- Settings of models are left as they are, because reading never uses them. A `HuntConfig` that comes from an
  atlas carries a `Vouched`, and no model is made from it that this does not cover.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, get_args

from pydantic import BaseModel

from failscape.errors import AtlasError

Trusted = Literal["config", "atlas"]

#: What the value of a setting begins with that an atlas names and that lies outside of it.
OUTSIDE = "outside the atlas: "


@dataclass(frozen=True, slots=True)
class Outside:
    """Marks a setting that names `what`: a file, a folder or code.

    `shipped` gives the names that need no trust. `spare`: findings do not depend
    on it, so that it is left out of settings from an atlas.
    """

    what: str
    shipped: Callable[[], Collection[str]] = tuple
    spare: bool = False


#: What settings name, in the words of an error.
CORPUS, ALBUM, LABELS, PROMPTS = "a corpus", "a folder of photos", "a file of labels", "a list of prompts"
GRAMMAR = "code that makes questions"
ACCURACY = Outside("a table of accuracy", lambda: ("auto", "none"))


def refuse_outside(value: str, what: str) -> None:
    """Raise when `value` is a name that `confine` did not let through."""
    if value.startswith(OUTSIDE):
        named = value.removeprefix(OUTSIDE)
        raise AtlasError(
            f"the atlas names {what} outside of it, {named!r}: an atlas may only name what is shipped with"
            " failscape or kept inside it",
            "if the hunt is yours, `failscape run CONFIG --atlas ATLAS` with your own config reads it anew",
        )


def confine(settings: type[BaseModel], data: dict[str, Any], kept: Collection[str]) -> dict[str, Any]:
    """Settings of an atlas with every name that leads outside made unusable. `kept` are paths inside it."""
    for path, mark in outside_settings(settings):
        value = _value_at(data, path)
        if not isinstance(value, str) or not value or value in kept or value in mark.shipped():
            continue
        data = _with_value(data, path, None if mark.spare else OUTSIDE + value)
    return data


def let_out(data: dict[str, Any], vouched: Vouched) -> dict[str, Any]:
    """The settings as they were before `confine`, where the user vouches for what they name."""
    return {key: _let_out(value, vouched) for key, value in data.items()}


def _let_out(value: Any, vouched: Vouched) -> Any:
    if isinstance(value, str) and value.startswith(OUTSIDE):
        named = value.removeprefix(OUTSIDE)
        return named if vouched.everything or named in vouched.names else value
    return let_out(value, vouched) if isinstance(value, dict) else value


@cache
def outside_settings(settings: type[BaseModel]) -> tuple[tuple[tuple[str, ...], Outside], ...]:
    """Every setting below `settings` that is marked, with its path."""
    return tuple(_marked(settings, ()))


def _marked(settings: type[BaseModel], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Outside]]:
    for name, field in settings.model_fields.items():
        path = (*above, name)
        for mark in field.metadata:
            if isinstance(mark, Outside):
                yield path, mark
        for inner in _models_in(field.annotation):
            yield from _marked(inner, path)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The settings that a field may hold, itself or in a union. Those in lists are sections of models."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    else:
        for part in get_args(annotation):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield part


def _value_at(data: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(data, Mapping):
            return None
        data = data.get(name)
    return data


def _with_value(data: dict[str, Any], path: tuple[str, ...], value: str | None) -> dict[str, Any]:
    """A copy with another value at `path`; `None` leaves the setting out."""
    name, *rest = path
    if rest:
        return {**data, name: _with_value(data[name], tuple(rest), value)}
    changed = {key: one for key, one in data.items() if key != name}
    return changed if value is None else {**changed, name: value}


#: Providers whose models come with failscape, as long as their section names no file.
SHIPPED_PROVIDERS = frozenset({"toybox", "exact", "composite", "ocr"})

#: Providers that ask several models, which `params.members` describes.
_GROUPS = frozenset({"panel", "by_family"})


@dataclass(frozen=True, slots=True)
class Vouched:
    """What a user says about an atlas: all of its models are trusted, or those that their own config names.

    `sections` are sections of models from the user's own config files, as plain data; `names` are the files
    and the code that those name.
    """

    everything: bool = False
    sections: tuple[Mapping[str, Any], ...] = ()
    names: frozenset[str] = frozenset()

    def plus(self, section: Mapping[str, Any]) -> Vouched:
        """As well as a section of a model that the user gave."""
        return replace(self, sections=(*self.sections, section))

    def covers(self, section: Mapping[str, Any]) -> bool:
        """Whether a model may be made from this section of an atlas."""
        return self.everything or is_shipped(section) or any(_alike(section, own) for own in self.sections)


def names_in(settings: BaseModel) -> frozenset[str]:
    """What the user's own settings name outside of themselves."""
    data = settings.model_dump(mode="json")
    values = (_value_at(data, path) for path, _ in outside_settings(type(settings)))
    return frozenset(value for value in values if isinstance(value, str) and value)


NOTHING_VOUCHED = Vouched()

#: The keys of a section that say what runs, which files are read, who is called and which key is sent.
NAMING = ("provider", "model", "path", "labels", "endpoints", "image_hosts", "api_key_env", "params")


def _alike(section: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    return all((section.get(key) or None) == (own.get(key) or None) for key in NAMING)


def is_shipped(section: Mapping[str, Any]) -> bool:
    """Whether a section of a model names nothing but what comes with failscape."""
    provider, params = section.get("provider"), section.get("params") or {}
    if provider in _GROUPS:
        members = params.get("members")
        return isinstance(members, list) and all(isinstance(one, dict) and is_shipped(one) for one in members)
    if provider == "grpo":
        # What is passed on to the trainer may name folders and addresses.
        return section.get("model") == "toybox" and not params.get("options")
    named = any(section.get(key) for key in ("path", "labels", "endpoints", "params"))
    return provider in SHIPPED_PROVIDERS and not named


def what_runs(section: Mapping[str, Any]) -> str:
    """In words what a section of a model would run, read and call, and which key it would send where."""
    provider, model = section.get("provider"), section.get("model")
    parts = [f"provider {provider}" + (f", model {model}" if model else "")]
    if path := section.get("path"):
        parts.append(f"runs the code {path}" if provider == "python" else f"loads {path}")
    if labels := section.get("labels"):
        parts.append(f"reads {labels}")
    if endpoints := section.get("endpoints"):
        parts.append(f"sends pictures and prompts to {', '.join(map(str, endpoints))}")
        if variable := section.get("api_key_env"):
            parts.append(f"and sends the key in ${variable} there")
    members = (section.get("params") or {}).get("members")
    if isinstance(members, list):
        parts += [f"[{what_runs(one)}]" for one in members if isinstance(one, Mapping)]
    return "; ".join(parts)


def refuse_models(sections: Mapping[str, Mapping[str, Any]], vouched: Vouched) -> None:
    """Raise for the models of an atlas, by role, that the user has not vouched for."""
    strange = {role: section for role, section in sections.items() if not vouched.covers(section)}
    if strange:
        # On one line each: a name with a line end in it could look like a model that needs no trust.
        told = {role: " ".join(what_runs(section).split()) for role, section in strange.items()}
        lines = "".join(f"\n    {role}: {text}" for role, text in told.items())
        raise AtlasError(
            f"this would use models that the atlas names, and an atlas may come from a stranger:{lines}",
            "name your own config of the hunt with --config FILE, or add --trust-models if you trust whoever"
            " made the atlas",
        )
