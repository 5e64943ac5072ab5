"""What size of bug so many images can prove: said before a run. Pure."""

from __future__ import annotations

import numpy as np

from failscape.kinds.classifier.settings import ClassifierRules
from failscape.search.certify import evidence_needed
from failscape.search.patterns.settings import divergence

#: The baseline that the line before a run speaks of; nobody knows it yet.
USUAL_BASELINE = 0.03

#: How many more images than on average: four bugs of five are proven then.
SLACK = 1.3


def smallest_effect(rules: ClassifierRules, classes: int, base: float = USUAL_BASELINE) -> float | None:
    """The smallest excess that the budget can prove of a description; `None` where it can prove none."""
    settings = rules.search_settings(classes)
    limit = base + rules.margin
    need = evidence_needed([], rules.fdr, settings.slot_count(limit))
    images = settings.budget - classes * settings.first_plain
    for effect in np.arange(rules.margin + 0.01, 1 - base, 0.01):
        if SLACK * need / divergence(min(base + effect, 0.995), limit) <= images:
            return float(effect)
    return None


def power_line(rules: ClassifierRules, classes: int) -> str:
    """One line on what the budget can prove."""
    effect = smallest_effect(rules, classes)
    images = rules.search_settings(classes).budget
    if effect is None:
        return (
            f"{images:,} images can prove no bug of {classes} classes: raise `budget.images` or name fewer "
            "classes"
        )
    return (
        f"{images:,} images can prove bugs of {round(100 * effect)} points and more over a baseline of "
        f"{USUAL_BASELINE:.0%}"
    )
