"""Writes what a hunt has found into the atlas, for those who only read.

Telling all that a hunt knows takes a while when it has many trials, so that is done rarely: at most a
fiftieth of the time goes there.
"""

import time

from failscape.atlas import Atlas
from failscape.atlas.hunts import keep_results, last_results, rules_version
from failscape.search.hunt_results import HuntResults, from_bytes, results_of, to_bytes
from failscape.search.protocol import Hunt

EVERY_SECONDS = 60.0
#: A checkpoint waits at least so many times as long as the one before took.
SHARE = 50

#: Most points of the curve of findings that are kept.
POINTS = 160


class ResultsKeeper:
    """`trials` were told before this session. `judge` is the digest of the accuracy that the hunt reckons
    with, `module` that of its kind."""

    def __init__(
        self, atlas: Atlas, hunt_id: int, hunt: Hunt, trials: int, judge: str = "", module: str = "failscape"
    ) -> None:
        self._atlas = atlas
        self._hunt_id = hunt_id
        self._hunt = hunt
        self._module = module
        self._judge = judge
        self._curve = self._earlier_curve(trials) if trials else [(0, 0)]
        self._next = time.monotonic() + EVERY_SECONDS

    def _earlier_curve(self, trials: int) -> list[tuple[int, int]]:
        content = last_results(self._atlas, self._hunt_id)
        try:
            earlier = from_bytes(content, self._module).curve if content else [(0, 0)]
        except ValueError:
            earlier = [(0, 0)]
        before = [(told, found) for told, found in earlier if told < trials]
        return [*before, (trials, self._hunt.progress().findings)]

    def note(self, trials: int, findings: int) -> None:
        """A point of the curve. When there are too many, every second one goes."""
        if trials > self._curve[-1][0]:
            self._curve.append((trials, findings))
        if len(self._curve) > 2 * POINTS:
            self._curve = [self._curve[0], *self._curve[1:-1:2], self._curve[-1]]

    def look(self, trials: int) -> None:
        """Called after every group of trials, when all that is recorded has been told."""
        if time.monotonic() >= self._next:
            clock = time.monotonic()
            self.keep(trials)
            now = time.monotonic()
            self._next = now + max(EVERY_SECONDS, SHARE * (now - clock))

    def keep(self, trials: int) -> HuntResults:
        self.note(trials, self._curve[-1][1])
        told = results_of(self._hunt, self._curve)
        try:
            content = to_bytes(told)
        except TypeError as error:
            self._atlas.log("note", {"text": f"findings are not kept: {error}"}, self._hunt_id)
        else:
            rules = rules_version(self._module)
            keep_results(self._atlas, self._hunt_id, content, rules, self._judge, trials)
        return told
