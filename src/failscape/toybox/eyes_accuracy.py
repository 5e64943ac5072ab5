"""toy-eyes's shipped measurements as a table of accuracy per kind of check of the toybox corpus."""

from functools import cache
from typing import Any, Final

from failscape.stats.judging.accuracy import ALL_OTHERS, JudgeAccuracy
from failscape.stats.judging.errors import KindAccuracy, Measured
from failscape.toybox.eyes import card
from failscape.toybox.world.vocab import FAMILIES

#: Measured on degraded scenes, which look more like what a generator draws than clean ones do.
SCENES: Final = "degraded"


@cache
def eyes_accuracy() -> JudgeAccuracy:
    """Return how toy-eyes errs. Kinds it does not know are left undecided; they count as its worst kind."""
    measured = {head: _kind(counts) for head, counts in card()[SCENES]["checks"].items()}
    kinds = {"entity": measured["entity"]}
    for family, heads in FAMILIES.items():
        kinds.update({f"{family.capitalize()}: {head}": measured[head] for head in heads})
    kinds[ALL_OTHERS] = min(measured.values(), key=lambda kind: kind.sensitivity.rate)
    return JudgeAccuracy(kinds, source="shipped with toy-eyes")


def _kind(counts: dict[str, Any]) -> KindAccuracy:
    """Take pictures as independent cases: the wrong values of one picture were asked about together."""
    pictures = counts["true_asked"]
    rejected = counts["false_rejected"] / counts["false_asked"]
    return KindAccuracy(Measured.counted(counts["true_accepted"], pictures), Measured(rejected, pictures))
