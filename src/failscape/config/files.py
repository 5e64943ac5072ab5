"""Reads a run's YAML file and turns every mistake in it into one clear line: file, key, value, fix."""

from __future__ import annotations

import re
import types
import typing
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from failscape import __version__
from failscape.config import EarlierWord, HuntConfig, ModelConfig, Settings, is_secret_name
from failscape.errors import ConfigError, nearest_names
from failscape.plugins import find_kind, kind_names

S = TypeVar("S", bound=Settings)


def load_config(path: Path, overrides: Sequence[str] = ()) -> HuntConfig:
    """The checked settings of `path`, with `a.b=c` overrides applied on top."""
    data = read_yaml(path)
    for override in overrides:
        _apply_override(data, override)
    # Values are not repeated: one of them may be a key in the wrong place.
    names = [f"--set {override.partition('=')[0]}=…" for override in overrides]
    source = f"{path} with {' '.join(names)}" if names else str(path)
    return parse_config(data, source)


def load_model(path: Path, role: str) -> ModelConfig:
    """How a role is reached: the section `role` of a config file, or a file that holds nothing else."""
    data = read_yaml(path)
    section = data.get(role, data)
    if not isinstance(section, dict) or "provider" not in section:
        raise ConfigError(
            f"{path} has no section `{role}` with a provider", f"write `{role}: {{provider: …, model: …}}`"
        )
    return _validated(ModelConfig, section, str(path))


def parse_config(data: dict[str, Any], source: str) -> HuntConfig:
    hunt, kinds = data.get("hunt"), kind_names()
    if not isinstance(hunt, str) or hunt not in kinds:
        got = f"{hunt!r}{_nearest(str(hunt), kinds)}"
        raise ConfigError(
            f"{source}: `hunt` must be one of {', '.join(kinds)}, but got {got}",
            "write `hunt: t2i` at the top of the file",
        )
    settings = find_kind(hunt).settings
    for (key, earlier), word in settings.earlier_words.items():
        at: Any = data
        for part in key.split("."):
            at = at.get(part) if isinstance(at, dict) else None
        if at == earlier:
            _speak_of(f"{source}: `{key}: {earlier}`", word)
    return _validated(settings, data, source)


def _speak_of(what: str, word: EarlierWord) -> None:
    """An earlier word is understood for one minor version, with a warning; then it is an error."""
    called = f"{what} is called `{word.now}` now"
    if tuple(map(int, __version__.split(".")[:2])) >= word.until:
        raise ConfigError(called, f"write `{word.now}`")
    until = ".".join(map(str, word.until))
    warnings.warn(f"{called}; the earlier word is refused from {until} on", FutureWarning, stacklevel=4)


def _validated(settings: type[S], data: dict[str, Any], source: str) -> S:
    try:
        return settings.model_validate(data)
    except ValidationError as error:
        lines = [_explain(settings, item) for item in error.errors(include_url=False)]
        count = "1 mistake" if len(lines) == 1 else f"{len(lines)} mistakes"
        text = "".join(f"\n  {line}" for line in lines)
        raise ConfigError(f"{source}: {count} in the settings{text}", "see `failscape schema`") from None


def _nearest(name: str, known: Iterable[str]) -> str:
    names = nearest_names(name, known)
    return f" (did you mean {' or '.join(names)}?)" if names else ""


def read_yaml(path: Path) -> dict[str, Any]:
    """The keys of a file, unchecked."""
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), _EachKeyOnce)
    except FileNotFoundError:
        raise ConfigError(f"no such file: {path}", "name an existing config file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}", "name a readable file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: is not UTF-8 (byte {error.start})", "save it as UTF-8: iconv -t UTF-8 does it"
        ) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {_yaml_problem(error)}", "mend that line") from None
    if data is None:
        raise ConfigError(f"{path}: is empty", EXAMPLE)
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: must hold `key: value` lines, but holds {type(data).__name__}", EXAMPLE)
    return data


EXAMPLE = "begin with `hunt: t2i`, then `target:` and `judge:`; the folder examples has whole files"


class _EachKeyOnce(yaml.SafeLoader):
    """Plain YAML would keep the last of two equal keys, and nobody would know."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                problem = f"the key `{key.value}` is there twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(str(key.value))
        return node


def _yaml_problem(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}" if mark else str(problem)


def _apply_override(data: dict[str, Any], override: str) -> None:
    name, equals, text = override.partition("=")
    if not equals or not name:
        raise ConfigError(f"--set takes `key=value`, but got {override!r}", "such as --set budget.images=500")
    *path, last = name.split(".")
    place = data
    for part in path:
        inner = place.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"--set {name}=…: `{part}` is no section, and has no keys", "name a section")
        place = inner
    try:
        place[last] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {name}=…: {_yaml_problem(error)}", "quote the value as in YAML") from None


def _explain(settings: type[BaseModel], error: Any) -> str:
    # Members of a union stand in the path as well; a user knows only keys.
    place = [str(part) for part in error["loc"] if "[" not in str(part)]
    key = ".".join(place)
    if error["type"] == "extra_forbidden":
        owner = _model_at(settings, place[:-1])
        known = list(owner.model_fields) if owner else []
        return f"unknown key `{key}`" + (_nearest(place[-1], known) or f" (known: {', '.join(known)})")
    if error["type"] == "missing":
        return f"missing key `{key}`"
    told = error["msg"].removeprefix("Value error, ")
    message = told[0].lower() + told[1:]
    if not place:  # about the whole file: there is no single value to show
        return str(message)
    # What a user may have put into an address by mistake is a secret: it is not repeated.
    secret = place[-1] == "endpoints" or is_secret_name(place[-1])
    got = "" if secret else f", but got {error['input']!r}"
    if error["type"] == "literal_error":
        got += _nearest(str(error["input"]), re.findall(r"'([^']*)'", error["ctx"]["expected"]))
    return f"`{key}`: {message}{got}"


def _model_at(settings: type[BaseModel], place: Sequence[str]) -> type[BaseModel] | None:
    """The settings class that a key path leads to."""
    owner: type[BaseModel] | None = settings
    for part in place:
        if owner is None or part not in owner.model_fields:
            return None
        owner = _settings_class(owner.model_fields[part].annotation)
    return owner


def _settings_class(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return next(filter(None, map(_settings_class, typing.get_args(annotation))), None)
    return None
