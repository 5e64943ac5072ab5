"""What size of bug so many images can prove: said before a run, tabulated in docs/classifier.md. Pure."""

from __future__ import annotations

import numpy as np

from failscape.hunts.certify import evidence_needed
from failscape.hunts.classifier.race import proof_images
from failscape.hunts.classifier.settings import ClassifierRules

#: The baseline that the line before a run speaks of; nobody knows it yet.
USUAL_BASELINE = 0.03

#: How many more images than on average: four bugs of five are proven then.
SLACK = 1.3


def images_to_prove(base: float, effect: float, baseline: int, need: float, margin: float) -> float:
    """Images of a description that fails so much more often than its class, until it is proven."""
    rate, usual, known = (np.array([one], np.float64) for one in (min(base + effect, 0.995), base, baseline))
    if effect <= margin:
        return float("inf")
    return float(SLACK * proof_images(rate, usual, known, margin, need)[0])


def smallest_effect(rules: ClassifierRules, classes: int, base: float = USUAL_BASELINE) -> float | None:
    """The smallest excess that the budget can prove of a description; `None` where it can prove none."""
    baseline = rules.baseline_goal(classes)
    need = evidence_needed([], rules.fdr, rules.candidates * classes)
    images = rules.most_in_test
    if rules.images:
        images = min(images, rules.images - classes * rules.baseline)
    for effect in np.arange(0.01, 1 - base, 0.01):
        if images_to_prove(base, float(effect), baseline, need, rules.margin) <= images:
            return float(effect)
    return None


def power_line(rules: ClassifierRules, classes: int) -> str:
    """One line on what the budget can prove."""
    effect = smallest_effect(rules, classes)
    about = f"{rules.images:,} images" if rules.images else "without a budget, a test"
    if effect is None:
        return f"{about} can prove no bug of {classes} classes: raise `budget.images` or name fewer classes"
    return (
        f"{about} can prove bugs of {round(100 * effect)} points and more over a baseline of "
        f"{USUAL_BASELINE:.0%}, with at most {rules.most_in_test:,} images for one description"
    )
