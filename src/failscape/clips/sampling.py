"""Which frames of a clip a model is shown. Pure."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

Sampling = Literal["ends", "middles"]


def sample_times(
    starts: Sequence[float], seconds: float, most: int, fps: float | None = None, sampling: Sampling = "ends"
) -> list[int]:
    """The numbers of the frames to show, in order and each once.

    Args:
        starts: When each frame begins, in seconds, rising from 0.
        seconds: When the last frame ends.
        most: How many frames to show at most.
        fps: Frames to show per second of the clip, up to `most`; without it, `most` frames.
        sampling: `ends` shows the first and the last frame and spreads the others evenly between them;
            `middles` cuts the clip into equal parts and shows the middle of each.
    """
    number = most if fps is None else min(most, max(1, math.ceil(seconds * fps)))
    if number >= len(starts):
        return list(range(len(starts)))
    if sampling == "middles" or number == 1:
        moments = [(at + 0.5) / number * seconds for at in range(number)]
    else:
        moments = [at / (number - 1) * starts[-1] for at in range(number)]
    return sorted({max(0, bisect_right(starts, moment + 1e-9) - 1) for moment in moments})
