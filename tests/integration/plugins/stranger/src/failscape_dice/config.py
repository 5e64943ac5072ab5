"""The settings of a hunt for faces."""

from typing import Literal

import failscape


class DiceConfig(failscape.HuntConfig):
    """The settings of `hunt: dice`."""

    hunt: Literal["dice"]
    judge: failscape.ModelConfig
    throws: int = 12

    def models(self) -> dict[str, failscape.ModelConfig]:
        return {"generator": self.target, "judge": self.judge}
