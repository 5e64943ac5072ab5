"""The ranges of a plan hold what runs find, in worlds that no plan has simulated: `benchmarks.plan`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from unittest import mock

from benchmarks.campaign.measurements import Measurement, at_least
from benchmarks.plan import Row, classifier_runs, lattice_runs, prompt_runs, question_runs
from failscape.kinds.t2i import plan as t2i

THINGS = ["penguin", "camel", "owl", "turtle", "apple", "cupcake", "car", "boat", "cow", "crab"]
SPACE = {"corpus": "toybox", "depth": 2}
SEEDS = range(100, 103)
PLANS: dict[str, Callable[[range], Iterator[Row]]] = {
    "t2i": partial(lattice_runs, 300, {**SPACE, "entities": THINGS[:6]}, strategy="listed"),
    "t2i, scaled up": partial(lattice_runs, 800, {**SPACE, "entities": THINGS}, strategy="listed"),
    "t2i, certified, scaled up": partial(
        lattice_runs, 800, {**SPACE, "entities": THINGS}, strategy="certified"
    ),
    "prompts": partial(prompt_runs, 40, 300),
    "vlm": partial(question_runs, 250),
    "classifier": partial(classifier_runs, 600, 2),
}


def plans() -> Iterator[Measurement]:
    """Three sorts of models, three worlds each. A plan simulates the worlds 0 to 7."""
    with mock.patch.object(t2i, "SIMULATED_IMAGES", 400):
        for name, runs in PLANS.items():
            inside = [said.low <= number <= said.high for _, said, number, _ in runs(SEEDS)]
            yield at_least(f"{name}: share of worlds inside the range", sum(inside) / len(inside), 0.8)
