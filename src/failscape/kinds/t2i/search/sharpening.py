"""What is left of a budget when nothing more can be claimed: the rates of findings are made sharper.

"5 of 5, 38–100 %" is a proof but no answer. The finding with the widest interval comes first, until all are
known to ± 10 points.
"""

import heapq
from collections.abc import Iterable
from functools import lru_cache

from failscape.kinds.t2i.search import tuning
from failscape.stats.intervals import anytime_interval


class Sharpening:
    """Slots whose rates are not sharp enough, the widest first; `counts` are their passes and fails."""

    def __init__(self, counts: Iterable[tuple[int, int, int]]) -> None:
        rows = ((-half_width(fails, passes + fails), slot, passes, fails) for slot, passes, fails in counts)
        self._heap = [row for row in rows if -row[0] > tuning.SHARP]
        heapq.heapify(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    def take(self) -> int | None:
        """The slot to draw next. It is reckoned with as if the image had gone as its rate says."""
        if not self._heap:
            return None
        _, slot, passes, fails = heapq.heappop(self._heap)
        if fails * (passes + 1) >= passes * (fails + 1):
            fails += 1
        else:
            passes += 1
        width = half_width(fails, passes + fails)
        if width > tuning.SHARP:
            heapq.heappush(self._heap, (-width, slot, passes, fails))
        return slot


@lru_cache(maxsize=1 << 16)
def half_width(hits: int, trials: int) -> float:
    low, high = anytime_interval(hits, trials)
    return (high - low) / 2
