"""Which table of a judge's accuracy a run uses: a file, a review in the atlas, what ships with the judge."""

from dataclasses import replace
from pathlib import Path

from failscape.atlas import Atlas
from failscape.atlas.connect import holds_atlas
from failscape.atlas.reviews import AUTO, NONE, reviewed_accuracy
from failscape.config import HuntConfig
from failscape.errors import ConfigError
from failscape.models.roles import Model
from failscape.stats.judging.accuracy import JudgeAccuracy


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
