"""What the images so far make us expect of every prompt of a list. It guides the search and the list. Pure.

Log-odds of success from crossed effects of tags, kinds of checks and checks that several prompts share; then,
by empirical Bayes, a prior over the true rate for every prediction. Prompts without tags share their mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from failscape.search.belief.transfer import learn_share
from failscape.spaces.prompt_list import ListedPrompt
from failscape.stats.effects import fit_effects
from failscape.stats.rate_priors import GRID, bell_priors, log_likelihoods, mix_priors, row_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Log-odds of success expected of a prompt before anything is known, and how far prompts vary.
_FIRST_GUESS, _FIRST_SPREAD = 1.5, 3.0
_LEAST_SPREAD = 0.8
#: Fewer tried prompts than this teach nothing about the others.
LEAST_PROMPTS = 12


@dataclass(frozen=True, slots=True)
class PromptFeatures:
    """By factor: [prompt, k] levels (−1: none), and how many levels there are."""

    levels: tuple[Ints, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, prompts: Sequence[ListedPrompt]) -> PromptFeatures:
        shared = Counter((check.kind, check.value) for one in prompts for check in one.checks)
        factors = [
            [tuple(map(str, one.tags)) for one in prompts],
            [tuple(dict.fromkeys(one.kinds)) for one in prompts],
            [
                tuple(
                    f"{check.kind}={check.value}"
                    for check in one.checks
                    if shared[check.kind, check.value] > 1
                )
                for one in prompts
            ],
        ]
        made = [_levels(names) for names in factors if any(names)]
        return cls(tuple(levels for levels, _ in made), tuple(size for _, size in made))

    def rows(self, places: Ints) -> list[Ints]:
        return [levels[places] for levels in self.levels]


def _levels(names: Sequence[tuple[str, ...]]) -> tuple[Ints, int]:
    numbers: dict[str, int] = {}
    width = max(1, *(len(one) for one in names))
    levels = np.full((len(names), width), -1, dtype=np.int64)
    for row, some in enumerate(names):
        levels[row, : len(some)] = [numbers.setdefault(name, len(numbers)) for name in some]
    return levels, len(numbers)


def expect(
    features: PromptFeatures, count: int, passes: Floats, fails: Floats, earlier: Floats | None = None
) -> Floats:
    """[prompt, grid point]: a prior over the judged rate of each prompt, from what all images say.

    `earlier` has the log-odds that another hunt made one expect of each; these images say how much of it
    holds.
    """
    tried = np.flatnonzero(passes + fails > 0)
    if len(tried) < LEAST_PROMPTS:
        predicted, priors = np.full(count, _FIRST_GUESS), bell_priors(_FIRST_SPREAD)
        return np.asarray(priors[row_of(predicted)])
    offset, images = np.zeros(count), passes[tried] + fails[tried]
    if earlier is not None:
        offset = earlier * learn_share(earlier[tried], offset[tried], passes[tried], images, 0.0)
    fit = fit_effects(features.rows(tried), features.sizes, offset[tried], passes[tried], images)
    priors = mix_priors(fit.held_out, passes[tried], fails[tried], max(fit.spread, _LEAST_SPREAD))
    predicted = fit.predict(list(features.levels), offset)
    predicted[tried] = fit.held_out
    return np.asarray(priors[row_of(predicted)])


def known_before(features: PromptFeatures, passes: Floats, fails: Floats) -> Floats:
    """The log-odds of each prompt by the counts of another hunt, as distances from the usual one."""
    means = posteriors(expect(features, len(passes), passes, fails), passes, fails) @ GRID
    return np.asarray(means - np.median(means))


def posteriors(priors: Floats, passes: Floats, fails: Floats) -> Floats:
    """[prompt, grid point]: the prior weighed by the prompt's own images."""
    logs = log_likelihoods(passes, fails) + np.log(np.maximum(priors, 1e-12))
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
