"""What the kind offers, and where each part of it is."""

from __future__ import annotations

from typing import Any

import failscape

from .hunt import DiceHunt
from .page import DicePage


class DiceKind(failscape.HuntKind):
    name = "dice"
    about = "faces of a die that a model cannot draw"
    unit = "throw"
    purposes = failscape.Purposes(
        failscape.Purpose("throws", ""),
        failscape.Purpose("fresh throws", "d", fixed_beforehand=True, after_search=True),
    )
    judged_again = True
    settings = failscape.lazy("failscape_dice.config:DiceConfig")
    page = DicePage()
    examine = failscape.lazy("failscape_dice.doctor:examine")
    foresee = failscape.lazy("failscape_dice.plan:foresee")
    dataset = failscape.lazy("failscape_dice.rows:ROWS")
    draft = failscape.lazy("failscape_dice.draft:draft")
    demo = failscape.lazy("failscape_dice.demo:DEMO")

    def build(self, config: Any, shard: Any = (0, 1), accuracy: Any = None) -> failscape.Hunt:
        return DiceHunt(config.throws, config.seed)
