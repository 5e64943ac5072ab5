"""The ranges of a plan hold what runs find, in worlds that no plan has simulated: `benchmarks.plan`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from benchmarks.plan import Row, classifier_runs, lattice_runs, prompt_runs, question_runs

from failscape.planning import t2i

THINGS = ["penguin", "camel", "owl", "turtle", "apple", "cupcake", "car", "boat", "cow", "crab"]
SPACE = {"corpus": "toybox", "depth": 2}
SEEDS = range(100, 103)


@pytest.mark.parametrize(
    "runs",
    [
        partial(lattice_runs, 300, {**SPACE, "entities": THINGS[:6]}, strategy="listed"),
        partial(lattice_runs, 800, {**SPACE, "entities": THINGS}, strategy="listed"),
        partial(lattice_runs, 800, {**SPACE, "entities": THINGS}, strategy="certified"),
        partial(prompt_runs, 40, 300),
        partial(question_runs, 250),
        partial(classifier_runs, 600, 2),
    ],
    ids=[
        "t2i",
        "t2i, scaled up from parts",
        "t2i, certified, scaled up from parts",
        "prompts",
        "vlm",
        "classifier",
    ],
)
def test_ranges_hold_the_truth_in_four_of_five_worlds(
    runs: Callable[[range], Iterator[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three sorts of models, three worlds each. A plan simulates the worlds 0 to 7."""
    monkeypatch.setattr(t2i, "SIMULATED_IMAGES", 400)
    found = [(what, number, said, said.low <= number <= said.high) for what, said, number, _ in runs(SEEDS)]
    outside = [f"{what}: {number} not in {said}" for what, number, said, inside in found if not inside]
    assert len(outside) <= 0.2 * len(found), outside
