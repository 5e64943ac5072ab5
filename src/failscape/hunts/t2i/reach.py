"""Can a judge with these errors tell at all? Said before the first image, and by name of the check. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from failscape.errors import ConfigError
from failscape.stats.judging.accuracy import JudgeAccuracy

ENTITY = "entity"


FIX = (
    "label more of these checks (`failscape review`), use a better judge or another threshold, leave their "
    "family out, or set `judge_accuracy: none` to take the judge at its word"
)


def check_reach(kinds: Sequence[str], depth: int, accuracy: JudgeAccuracy, threshold: float) -> list[str]:
    """Warnings about nodes that can be neither certified nor passed; `kinds` are those of attribute values.

    Raises when failures of an entity alone, or with a single value, could never be certified.
    """
    values = list(dict.fromkeys(kinds)) if depth else []
    for checks in [(ENTITY,), *((ENTITY, kind) for kind in values)]:
        if text := accuracy.unreachable(checks, threshold, passes=False):
            raise ConfigError(text, FIX)
    worst = sorted(values, key=lambda kind: accuracy.room((ENTITY, kind), threshold))
    for layer in range(min(depth, len(worst)) + 1):
        if text := accuracy.unreachable((ENTITY, *worst[:layer]), threshold):
            return [f"some nodes with {layer} values are out of reach: {text}"]
    return []
