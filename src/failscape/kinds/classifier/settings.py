"""The settings of a classifier hunt as its parts use them, and how it numbers its luck."""

from __future__ import annotations

from dataclasses import dataclass

from failscape.search.patterns import SearchSettings
from failscape.trials import seed_from_text


@dataclass(frozen=True, slots=True)
class ClassifierRules:
    """The settings of the search, with what the config says of classes, judge and budget.

    Args:
        margin: By how much a bug must exceed the plain pictures of its class.
        fdr: Largest expected share of false claims.
        images: The budget; 0 if none is set.
        together: Values of the corpus that are shown together when the search explores.
        baseline: Plain pictures that a class begins with.
        confirm: Fresh images of a finding.
        toggles: Fresh images of each counterfactual, with `alternatives` per clause.
        families: Families of the corpus whose values are facts.
        proposals: Descriptions asked from the language model at a time.
        round: Probes planned together.
        described_passes: Every so many passes are described by the captioner; failures always are.
        least_presence: A class is left out if fewer than this share of its pictures can be used.
        sensitivity: Upper bound of how often the judge sees a class that is there.
        slip: Upper bound of how often it sees one that is not.
        both_fails: A wrong label is a failure even if its object is in the picture too.
    """

    margin: float = 0.05
    fdr: float = 0.05
    top_k: int = 1
    families: tuple[str, ...] = ("Base", "Background", "Image")
    images: int = 0
    together: int = 5
    baseline: int = 50
    confirm: int = 50
    toggles: int = 25
    alternatives: int = 1
    proposals: int = 12
    round: int = 128
    described_passes: int = 4
    least_presence: float = 0.1
    sensitivity: float = 1.0
    slip: float = 0.0
    both_fails: bool = False
    seed: int = 0

    def search_settings(self, classes: int) -> SearchSettings:
        return SearchSettings(
            budget=self.images or IMAGES_PER_CLASS * classes,
            level=self.fdr,
            seed=self.seed,
            crowd_size=max(1, self.together),
            first_plain=self.baseline,
            confirm_images=self.confirm,
            described_passes=self.described_passes,
        )

    @property
    def planned_together(self) -> int:
        """Probes of a round: small budgets are decided in smaller steps."""
        return min(self.round, max(16, self.images // 150)) if self.images else self.round


#: What a hunt without a budget plans with: enough to prove a bug of twenty points or two in every class.
IMAGES_PER_CLASS = 1_000


def stream_seed(seed: int, stream: str, number: int) -> int:
    """The seed of one image. Streams share none: an image that suggests a bug is never evidence for it."""
    return seed_from_text(f"{seed}|{stream}|{number}")
