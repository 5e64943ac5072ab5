"""Starts a hunt from what an earlier one saw: `warm_start: runs/old`. Reads the old atlas once.

What is taken from it is kept in the new atlas. A resumed hunt goes by that, whatever became of the old one.
"""

import contextlib
from pathlib import Path

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.connect import holds_atlas, parse_reference
from failscape.atlas.contents import digest_of, earlier_of
from failscape.atlas.results import last_results
from failscape.atlas.resume import complete_config
from failscape.atlas.reviews import hunt_accuracy
from failscape.config import HuntConfig
from failscape.config.files import parse_config
from failscape.errors import ConfigError
from failscape.hunts.protocol import Hunt, replay
from failscape.hunts.told import from_bytes
from failscape.plugins import begin_hunt, find_kind, kind_of
from failscape.spaces.earlier import Earlier
from failscape.trials import Finding, Verdict

#: What both hunts must have been run on, by content: else subjects of one mean nothing to the other.
SAME = {"space": "corpus", "prompts": "list of prompts", "grammar": "grammar of questions"}


def find_earlier(config: HuntConfig, folder: Path | None = None) -> Earlier | None:
    """What `config.warm_start` names: as a hunt in the atlas at `folder` kept it, else from the old atlas."""
    if not config.warm_start:
        return None
    kept = _kept(config, folder) if folder is not None and holds_atlas(folder) else None
    return kept or read_earlier(config)


def _kept(config: HuntConfig, folder: Path) -> Earlier | None:
    with Atlas.open(folder, readonly=True) as atlas:
        rows = zip(atlas.hunts(), atlas.stored_hunts(), strict=True)
        mine = [row for row, stored in rows if stored.config.get("warm_start") == config.warm_start]
        return next((found for row in reversed(mine) if (found := earlier_of(row)) is not None), None)


def read_earlier(config: HuntConfig) -> Earlier:
    path, number = parse_reference(config.warm_start)
    with Atlas.open(path.expanduser(), readonly=True) as atlas:
        row = atlas.hunt(number)
        _refuse_others(config, row)
        counts = {
            subject: (found[Verdict.PASS], found[Verdict.FAIL])
            for subject, found in atlas.subject_counts(row.id)
            if found[Verdict.PASS] + found[Verdict.FAIL]
        }
        if not counts:
            raise ConfigError(
                f"`warm_start: {config.warm_start}`: hunt {row.id} has no trial with a verdict",
                "name a hunt that has run, or take `warm_start` out",
            )
        findings = tuple(finding.subject for finding in _findings(atlas, row))
        target = row.config.get("target")
        name = str(target.get("model") or "") if isinstance(target, dict) else ""
        return Earlier(row.kind, name, counts, findings)


def _refuse_others(config: HuntConfig, row: HuntRow) -> None:
    """Another kind of hunt, or one in another space, proposes nothing here."""
    named = f"`warm_start: {config.warm_start}`"
    if row.kind != config.hunt:
        raise ConfigError(
            f"{named}: hunt {row.id} there is a {row.kind} hunt, and this is a {config.hunt} hunt",
            f"name an atlas of a {config.hunt} hunt, or its hunt as `ATLAS@NUMBER`",
        )
    contents = kind_of(config).contents(config)
    for name, words in SAME.items():
        here = contents[name].digest if name in contents else ""
        there = digest_of(row.identities, name)
        if here != there:
            raise ConfigError(
                f"{named}: hunt {row.id} there was run on another {words} than this one"
                f" ({there[:12] or 'none'}, here {here[:12] or 'none'})",
                f"name an atlas of the same {words}, or take `warm_start` out",
            )


def _findings(atlas: Atlas, row: HuntRow) -> list[Finding]:
    """As its last run left them; told again where nothing was kept, as for what was imported or merged."""
    content = last_results(atlas, row.id)
    if content:
        with contextlib.suppress(ValueError):
            return from_bytes(content, type(find_kind(row.kind)).__module__).findings
    hunt = fresh_hunt(atlas, row)
    replay(hunt, atlas.replay(row.id))
    return hunt.findings()


def fresh_hunt(atlas: Atlas, row: HuntRow) -> Hunt:
    """A hunt of the atlas as it began, before its first trial."""
    config = parse_config(complete_config(row.config), f"hunt {row.id}")
    return begin_hunt(config, row.shard, hunt_accuracy(atlas, row), earlier_of(row))
