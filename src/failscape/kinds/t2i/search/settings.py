"""The settings of the certified search, as a config gives them."""

from dataclasses import dataclass

from failscape.kinds.t2i.search.claims import LISTED
from failscape.kinds.t2i.search.rules_version import RULES_VERSION


@dataclass(frozen=True, slots=True)
class CertifiedSettings:
    """`strategy` is `certified` (claims by e-BH only) or `listed` (beside them claims by posterior).

    `fdr` bounds the mean probability that a claim is wrong in any way: that it does not fail, or that it is
    not minimal. With a `tolerance` a parent passes from `threshold` − `tolerance` on. `openings`: at most so
    many nodes become tests per image, besides the entities: e-BH counts that limit, which no outcome can
    move. `panel` and `audit` are the shares of `images` (the budget, if there is one) that go there.
    """

    threshold: float = 0.8
    fdr: float = 0.05
    strategy: str = "certified"
    tolerance: float = 0.0
    openings: float = 0.12
    explore: float = 0.02
    panel: float = 0.04
    audit: float = 0.03
    images: int | None = None
    #: The version that its trials were recorded under.
    rules: int = RULES_VERSION

    @property
    def listing(self) -> bool:
        return self.strategy == LISTED

    def share(self, part: float, otherwise: int) -> int:
        """So many images are this part of the budget."""
        return otherwise if self.images is None else round(part * self.images)
