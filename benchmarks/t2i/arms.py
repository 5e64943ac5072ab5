"""What is compared: strategies by their settings, built the way a user's config is; and judges."""

from __future__ import annotations

from typing import Any

import numpy as np

from failscape.kinds.t2i.build import build_hunt
from failscape.kinds.t2i.config import T2IConfig
from failscape.search.protocol import Hunt
from failscape.stats.judging.accuracy import JudgeAccuracy

RIDGE = {"predictor": {"kind": "ridge", "warm_up": 200, "retrain_every": 200}}
"""Trained early and often: a stronger baseline than FailureAtlas's."""
TRANSFORMER = {"predictor": {"kind": "transformer"}}
"""FailureAtlas's, trained as it does: after 1,000 nodes, and every 10,000."""

ARMS: dict[str, dict[str, Any]] = {
    "random": {"strategy": "random"},
    "failureatlas": {"strategy": "failureatlas"},
    "failureatlas+transformer": {"strategy": "failureatlas", **TRANSFORMER},
    "failureatlas+ridge": {"strategy": "failureatlas", **RIDGE},
    "curtailed+ridge": {"strategy": "curtailed", **RIDGE},
    "sprt+ridge": {"strategy": "sprt", **RIDGE},
    "certified": {"strategy": "certified"},
    "listed": {"strategy": "listed"},
    "oracle": {},
    "fair oracle": {},
}
"""`transformer` needs torch. The last two are no strategies: see `ORACLES`."""

ORACLES = ("oracle", "fair oracle")
"""What could be found by who knows all rates: paying for certificates alone, and for parents too."""

KNOWS_THE_JUDGE = ("certified", "listed", *ORACLES)
"""The others make nothing of a judge's accuracy, so a reviewed judge is to them what a noisy one is."""

NOISE = {"entity": (0.96, 0.96), "*": (0.84, 0.84)}
"""A judge's agreement with people on entities and on attributes, as FailureAtlas reports it."""

EVEN_MEAN = {"*": (0.96, 0.96)}
UNEVEN = (0.05, 0.5)
"""The uneven judge is right on 96 % in the mean, and that is all the hunt is told; but one word in twenty it
recognises only half of the time."""

JUDGES = ("perfect", "noisy", "reviewed", "uneven")
"""`noisy`: the hunt knows the accuracies. `toy-eyes`, on real pictures, counts as perfect."""
REVIEWED = 100
"""The reviewed judge: noisy, and its accuracies known only from so many true and as many false checks of
entities, and of attributes: 400 in all."""


def make_hunt(
    arm: str,
    corpus: str,
    images: int,
    seed: int,
    accuracy: JudgeAccuracy | None,
    depth: int = 2,
    **runtime: int,
) -> Hunt:
    """As `failscape run` would build it. The models are never asked: the world answers."""
    model = {"provider": "python", "path": "failscape.simulate.planted:PlantedGenerator"}
    config = T2IConfig.model_validate(
        {
            "hunt": "t2i",
            "target": model,
            "judge": model,
            "space": {"corpus": corpus, "depth": depth},
            "search": ARMS[arm],
            "budget": {"images": images},
            "runtime": runtime,
            "seed": seed,
        }
    )
    return build_hunt(config, (0, 1), accuracy)


def errors_of(judge: str) -> dict[str, Any]:
    """How the judge truly errs: settings of the world."""
    if judge == "perfect":
        return {}
    return {"accuracy": EVEN_MEAN, "uneven": UNEVEN} if judge == "uneven" else {"accuracy": NOISE}


def known_accuracy(judge: str, seed: int) -> JudgeAccuracy | None:
    """What the hunt is told of the judge's errors."""
    if judge in ("perfect", "toy-eyes"):
        return None
    if judge == "uneven":
        return JudgeAccuracy.from_rates(EVEN_MEAN)
    if judge == "noisy":
        return JudgeAccuracy.from_rates(NOISE)
    rng = np.random.default_rng([seed, 13])
    counts = {
        kind: (rng.binomial(REVIEWED, right), REVIEWED, rng.binomial(REVIEWED, wrong), REVIEWED)
        for kind, (right, wrong) in NOISE.items()
    }
    return JudgeAccuracy.from_counts(counts)
