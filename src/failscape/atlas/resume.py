"""Finds the hunt of an atlas to go on with, or starts one.

A hunt is gone on with when the settings it was started with and those of now measure the same thing. Settings
that only say how much, how fast or through which door may change at any time; with any other change, trials
from before and after would not belong together, and the run is refused with the differences.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from failscape.atlas.contents import digest_of, keep_corpus, keep_prompts
from failscape.atlas.reader import WARM_START
from failscape.atlas.records import HuntRow
from failscape.atlas.store import Atlas
from failscape.config.files import parse_config
from failscape.errors import AtlasError, ConfigError
from failscape.models.roles import Identity

#: Top-level keys that may change on resume. How a judge errs changes what is made of its answers only.
FREE_SECTIONS = frozenset({"budget", "runtime", "judge_accuracy"})

#: Settings deeper down that may change: a predictor says what comes first, not what is made of it.
FREE_SETTINGS = (("search", "predictor"),)

#: Keys of a model's section that may change on resume: the same model answers.
FREE_MODEL_KEYS = frozenset(
    {
        "endpoints",
        "api_key_env",
        "timeout",
        "patience",
        "concurrency",
        "batch",
        "price",
        "image_hosts",
        "image_max_bytes",
        "image_max_pixels",
    }
)


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


def open_hunt(
    atlas: Atlas,
    config: BaseModel | Mapping[str, Any],
    identities: Mapping[str, Identity],
    shard: tuple[int, int] = (0, 1),
    fork: bool = False,
    parent: int | None = None,
) -> int:
    """The newest hunt that `config` fits; a new one in an empty atlas.

    A new one comes from `parent`, by default the newest.

    A config that fits none is refused with the differences, unless `fork`: then a new hunt starts in the
    same atlas, and replies to identical calls come from there. A fork that fits a hunt resumes it.
    """
    settings = config.model_dump(mode="json") if isinstance(config, BaseModel) else dict(config)
    hunts = atlas.stored_hunts()
    fits = (hunt for hunt in reversed(hunts) if not diff_hunts(hunt, settings, identities, shard))
    fitting = next(fits, None)
    if hunts and fitting is None and not fork:
        lines = diff_hunts(hunts[-1], settings, identities, shard)
        raise AtlasError(
            f"{atlas.folder} was made with other settings:\n    " + "\n    ".join(lines),
            "go back to those settings, give another --atlas, or start a second hunt in this one with --fork",
        )
    keep_corpus(atlas.folder, settings, identities)
    keep_prompts(atlas.folder, settings, identities)
    if fitting is not None:
        _note_changes(atlas, fitting, settings)
        return fitting.id
    parent = parent or (hunts[-1].id if hunts else None)
    return atlas.start_hunt(str(settings["hunt"]), settings, dict(identities), shard, parent)


def _note_changes(atlas: Atlas, hunt: HuntRow, settings: dict[str, Any]) -> None:
    """Settings that may change are kept as they are now; the event log remembers what changed when."""
    if diff_configs(hunt.config, settings, free=True):
        atlas.update_config(hunt.id, settings)
    lines = diff_configs(complete_config(hunt.config), settings, free=True)
    if lines:
        atlas.log("settings", {"changed": lines}, hunt.id)


def diff_hunts(
    old: HuntRow,
    config: Mapping[str, Any],
    identities: Mapping[str, Identity],
    shard: tuple[int, int] | None = None,
) -> list[str]:
    """What a hunt measures otherwise, as readable lines; empty when its trials and the others' are alike.

    Shards of one hunt measure the same: they differ only where `shard` is given.
    """
    before, after = complete_config(old.config), complete_config(config)
    known, found = dict(old.identities), dict(identities)
    for what, setting in (("space", "corpus"), ("prompts", "prompts")):
        if digest_of(known, what) and digest_of(known, what) == digest_of(found, what):
            # The same corpus or list by content: where it lies does not matter.
            before, after = _without(before, setting), _without(after, setting)
            del known[what], found[what]
    if digest_of(known, WARM_START) and digest_of(known, WARM_START) == digest_of(found, WARM_START):
        before, after = {**before, WARM_START: ""}, {**after, WARM_START: ""}
        del known[WARM_START], found[WARM_START]
    # Identities know what settings cannot: a new version of a contract, a changed model file.
    lines = diff_configs(before, after) or diff_identities(known, found)
    if shard not in (None, old.shard):
        lines += ["shard: " + " -> ".join(f"{number + 1}/{of}" for number, of in (old.shard, shard))]
    return lines


def _without(config: dict[str, Any], setting: str) -> dict[str, Any]:
    space = config.get("space")
    return {**config, "space": {**space, setting: ""}} if isinstance(space, Mapping) else config


def diff_identities(old: Mapping[str, Identity], new: Mapping[str, Identity]) -> list[str]:
    before = {role: identity.data for role, identity in old.items()}
    after = {role: identity.data for role, identity in new.items()}
    return [f"{line} (the model's identity)" for line in diff_configs(before, after, free=True)]
