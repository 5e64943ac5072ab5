"""When may a hunt be resumed? Compares the settings it was started with to those of now. Pure.

Settings that only say how much, how fast or through which door may change at any time. All others change
what is measured: trials from before and after would not belong together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from failscape.config_files import parse_config
from failscape.errors import ConfigError

FREE_SECTIONS = frozenset({"budget", "runtime", "judge_accuracy"})
"""Top-level keys that may change on resume. How a judge errs changes what is made of its answers only."""

FREE_SETTINGS = (("search", "predictor"),)
"""Settings deeper down that may change: a predictor says what comes first, not what is made of it."""

FREE_MODEL_KEYS = frozenset(
    {"endpoints", "api_key_env", "timeout", "patience", "concurrency", "batch", "price"}
)
"""Keys of a model's section that may change on resume: the same model answers."""


def diff_configs(old: Mapping[str, Any], new: Mapping[str, Any], free: bool = False) -> list[str]:
    """Readable lines such as `search.threshold: 0.8 -> 0.9`; empty when `old` can be resumed as `new`.

    With `free`, settings that may change on resume are listed too.
    """
    before, after = dict(_flat(_plain(old))), dict(_flat(_plain(new)))
    lines = []
    for path in sorted(before.keys() | after.keys()):
        if before.get(path, _MISSING) != after.get(path, _MISSING) and (
            free or not may_change(path, old, new)
        ):
            lines.append(f"{'.'.join(path)}: {_show(before, path)} -> {_show(after, path)}")
    return lines


def complete_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an earlier version with today's defaults for what was not there yet.

    Settings that are no longer understood stay as they are.
    """
    try:
        return parse_config(dict(config), "the atlas").model_dump(mode="json")
    except ConfigError:
        return dict(config)


def may_change(path: tuple[str, ...], old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the setting at `path` leaves what is measured as it is."""
    if path[0] in FREE_SECTIONS or path[:2] in FREE_SETTINGS:
        return True
    is_model = any(isinstance(one.get(path[0]), Mapping) and "provider" in one[path[0]] for one in (old, new))
    return is_model and len(path) > 1 and path[1] in FREE_MODEL_KEYS


class _Missing:
    def __repr__(self) -> str:
        return "(not set)"


_MISSING = _Missing()


def _show(flat: dict[tuple[str, ...], Any], path: tuple[str, ...]) -> str:
    value = flat.get(path, _MISSING)
    return "(none)" if value is None else value if isinstance(value, str) and value else repr(value)


def _plain(value: Any) -> Any:
    """Tuples as lists, as they come back from JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _flat(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and (value or not path):
        for key, one in value.items():
            yield from _flat(one, (*path, key))
    else:
        yield path, value
