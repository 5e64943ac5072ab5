"""`failscape doctor`: is there a die?"""

import failscape

from .config import DiceConfig


async def examine(config: DiceConfig) -> list[failscape.Observation]:
    return [failscape.Observation("dice", "ok", f"{config.throws} throws a face", "The die is there.")]
