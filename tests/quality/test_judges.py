"""What is promised about judges that err, when their accuracy is known: exact, by enumeration.

Judges whose accuracy is itself measured are in `benchmarks/campaign/judges.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from failscape.stats.evalues import log_e_value
from failscape.stats.judging.accuracy import JudgeAccuracy
from tests.quality.exact import chance_to_cross

ALPHA, THRESHOLD, IMAGES = 0.05, 0.8, 120
KINDS = ("entity", "Base: Colour", "Image: Style")
TRUE = {"entity": (0.97, 0.95), "Base: Colour": (0.93, 0.9), "Image: Style": (0.88, 0.85)}


def judged_rate(rate: float, drop: Sequence[int]) -> float:
    """How often this judge passes images of a node with a true `rate`; failed images miss `drop`."""
    right = np.prod([TRUE[kind][0] for kind in KINDS])
    wrong = np.prod([1 - TRUE[kind][1] if at in drop else TRUE[kind][0] for at, kind in enumerate(KINDS)])
    return float(rate * right + (1 - rate) * wrong)


def called_lower(rate: float, limit: float) -> float:
    """The chance that a rate is ever called lower than `limit` in the first images."""
    return chance_to_cross(
        lambda hits, misses: log_e_value(hits, misses, limit), rate, IMAGES, np.log(1 / ALPHA)
    )


@pytest.mark.parametrize("drop", [(0, 1, 2), (0, 1), (2,), (1,), (0,)])
def test_nodes_at_the_threshold_are_rarely_called_failing_or_passing(drop: tuple[int, ...]) -> None:
    limits = JudgeAccuracy.from_rates(TRUE).limits(KINDS, THRESHOLD)
    seen = judged_rate(THRESHOLD, drop)
    assert called_lower(seen, limits.fail) <= ALPHA
    assert called_lower(1 - seen, 1 - limits.passes) <= ALPHA
    assert called_lower(seen, THRESHOLD) > 0.5, "taken at its word, this judge ruins the test"


def test_real_failures_are_still_found() -> None:
    """A limit that is never crossed would pass the test above."""
    counts = {kind: (150 * sens, 150, 150 * spec, 150) for kind, (sens, spec) in TRUE.items()}
    limits = JudgeAccuracy.from_counts(counts).limits(KINDS, THRESHOLD)
    assert called_lower(judged_rate(0.2, (1,)), limits.fail) > 0.95
    exact = JudgeAccuracy.from_rates(TRUE).limits(KINDS, THRESHOLD)
    assert called_lower(1 - judged_rate(1.0, ()), 1 - exact.passes) > 0.3
