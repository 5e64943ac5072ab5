"""What a run knows before it starts: how its judge errs, what an earlier hunt saw (`warm_start: runs/old`).

A table of accuracy comes from a file, a review in the atlas, or ships with the judge. The old atlas is read
once; what is taken from it is kept in the new one. A resumed hunt goes by that, whatever became of the old
one.
"""

import contextlib
from dataclasses import replace
from pathlib import Path

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.database import holds_atlas, parse_reference
from failscape.atlas.hunts import digest_of, earlier_of, last_results, stored_settings
from failscape.atlas.judging import AUTO, NONE, hunt_accuracy, reviewed_accuracy
from failscape.config import HuntConfig
from failscape.errors import ConfigError
from failscape.models.roles import Model
from failscape.plugins import begin_hunt, find_kind, kind_of
from failscape.search.hunt_results import from_bytes
from failscape.search.protocol import Hunt, replay
from failscape.spaces.earlier import Earlier
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Finding, Verdict


def choose_accuracy(config: HuntConfig, judge: Model | None, folder: Path) -> JudgeAccuracy | None:
    """`None`: nothing is known, and the judge is taken at its word."""
    # A vlm hunt names a file of its verifier's accuracy as `accuracy`, and reads it by itself.
    setting = str(getattr(config, "judge_accuracy", NONE if getattr(config, "accuracy", "") else AUTO))
    if setting == NONE or judge is None:
        return None
    digest = judge.identity.digest
    if setting != AUTO:
        return read_accuracy(Path(setting), digest)
    shipped = getattr(judge, "accuracy", None)
    return _reviewed(folder, digest) or (shipped if isinstance(shipped, JudgeAccuracy) else None)


def read_accuracy(path: Path, judge: str) -> JudgeAccuracy:
    """A table that names no judge is taken for this one; one of another judge is refused."""
    try:
        text = path.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"`judge_accuracy: {path}` cannot be read: {error}", "give a JSON file, auto or none"
        ) from None
    accuracy = JudgeAccuracy.from_json(text, str(path))
    if accuracy.judge not in ("", judge):
        raise ConfigError(
            f"{path} was measured for another judge ({accuracy.judge[:12]}…, here {judge[:12]}…)",
            "review what this one judged, or take `judge` out of the file if you know that they err alike",
        )
    return replace(accuracy, judge=judge, source=accuracy.source or str(path))


def _reviewed(folder: Path, judge: str) -> JudgeAccuracy | None:
    if not holds_atlas(folder):
        return None
    with Atlas.open(folder, readonly=True) as atlas:
        return reviewed_accuracy(atlas, judge)


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
        # Another kind of hunt, or one in another space, proposes nothing here.
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
    return begin_hunt(stored_settings(row), row.shard, hunt_accuracy(atlas, row), earlier_of(row))
