"""Finds the hunt of an atlas to go on with, or starts one; refuses settings that do not belong together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from failscape.atlas.configs import complete_config, diff_configs
from failscape.atlas.corpora import digest_of, keep_corpus
from failscape.atlas.records import HuntRow
from failscape.atlas.store import Atlas
from failscape.errors import AtlasError
from failscape.models.roles import Identity


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
    now = _Wish(settings, dict(identities), shard)
    hunts = atlas.stored_hunts()
    for hunt in reversed(hunts):
        if not now.differences(hunt):
            keep_corpus(atlas.folder, settings, now.identities)
            _note_changes(atlas, hunt, settings)
            return hunt.id
    if hunts and not fork:
        lines = now.differences(hunts[-1])
        raise AtlasError(
            f"{atlas.folder} was made with other settings:\n    " + "\n    ".join(lines),
            "go back to those settings, give another --atlas, or start a second hunt in this one with --fork",
        )
    keep_corpus(atlas.folder, settings, now.identities)
    parent = parent or (hunts[-1].id if hunts else None)
    return atlas.start_hunt(str(settings["hunt"]), settings, now.identities, shard, parent)


def _note_changes(atlas: Atlas, hunt: HuntRow, settings: dict[str, Any]) -> None:
    """Settings that may change are kept as they are now; the event log remembers what changed when."""
    if diff_configs(hunt.config, settings, free=True):
        atlas.update_config(hunt.id, settings)
    lines = diff_configs(complete_config(hunt.config), settings, free=True)
    if lines:
        atlas.log("settings", {"changed": lines}, hunt.id)


class _Wish:
    """What somebody wants to run."""

    def __init__(
        self, settings: dict[str, Any], identities: dict[str, Identity], shard: tuple[int, int]
    ) -> None:
        self.settings = settings
        self.identities = identities
        self.shard = shard

    def differences(self, hunt: HuntRow) -> list[str]:
        lines = diff_hunts(hunt, self.settings, self.identities)
        if hunt.shard != self.shard:
            lines.append(f"shard: {_shard(hunt.shard)} -> {_shard(self.shard)}")
        return lines


def diff_hunts(old: HuntRow, config: Mapping[str, Any], identities: Mapping[str, Identity]) -> list[str]:
    """What a hunt measures otherwise, as readable lines; empty when its trials and the others' are alike."""
    before, after = complete_config(old.config), complete_config(config)
    known, found = dict(old.identities), dict(identities)
    if digest_of(known) and digest_of(known) == digest_of(found):
        # The same corpus by content: where it lies does not matter.
        before, after = _without_corpus(before), _without_corpus(after)
        del known["space"], found["space"]
    # Identities know what settings cannot: a new version of a contract, a changed model file.
    return diff_configs(before, after) or diff_identities(known, found)


def _without_corpus(config: dict[str, Any]) -> dict[str, Any]:
    space = config.get("space")
    return {**config, "space": {**space, "corpus": ""}} if isinstance(space, Mapping) else config


def diff_identities(old: Mapping[str, Identity], new: Mapping[str, Identity]) -> list[str]:
    before = {role: identity.data for role, identity in old.items()}
    after = {role: identity.data for role, identity in new.items()}
    return [f"{line} (the model's identity)" for line in diff_configs(before, after, free=True)]


def _shard(shard: tuple[int, int]) -> str:
    return f"{shard[0] + 1}/{shard[1]}"
