"""The groups that a hunt tests: which are open, what each draws next, and which are claimed."""

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.forecast import Bars
from failscape.kinds.t2i.search.group_choice import GroupChoice
from failscape.kinds.t2i.search.groups import SCOPES, Draw, Group, GroupCode
from failscape.search.belief.nodes import NO_VALUE, Key, Nodes, nodes_of
from failscape.search.certify import certify
from failscape.trials import Verdict


class GroupTests:
    """Each group that was opened is one test, in the order of opening. Changes by trials alone."""

    def __init__(self, bars: tuple[Bars, Bars], width: int, seed: int) -> None:
        """`bars` are those of nodes at τ/2 and at τ; `width` is the most values that a node has."""
        self._bars = bars
        self._width = width
        self._seed = seed
        self._groups: dict[GroupCode, Group] = {}
        self._looked_at = -1
        self.asked = 0

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    @property
    def claimed(self) -> list[Group]:
        """Those that stand, without those inside a wider one of the same values."""
        standing = [group for group in self if group.stands]
        wide = {group.code: set(group.places.tolist()) for group in standing}
        return [group for group in standing if not self._inside_another(group, wide)]

    @staticmethod
    def _inside_another(group: Group, wide: dict[GroupCode, set[int]]) -> bool:
        code, mine = group.code, wide[group.code]
        return any(
            other.values == code.values and other.scope > code.scope and mine <= places
            for other, places in wide.items()
        )

    @property
    def in_flight(self) -> int:
        return sum(bits.bit_count() for group in self for bits in group.flying.values())

    # Drawing and telling

    def next_draw(self) -> Draw | None:
        """Of the largest group that wants one: its test, and then its measurement, says most."""
        for group in sorted(self, key=lambda one: (-len(one.places), one.code)):
            draw = group.next_draw()
            if draw is not None:
                self.asked += 1
                return draw
        return None

    def tell(self, key: Key, stream: str, number: int, verdict: Verdict, choice: GroupChoice) -> bool:
        """Count the image of a member; false if it was told before. A group that an earlier session opened
        and this one has not is opened now."""
        at, scope = divmod(number, len(SCOPES))
        code = choice.code_of(scope, key[0], key[1:])
        group = self._groups.get(code) or self._open(code, choice)
        if not (group.flying[stream] | group.told[stream]) >> at & 1:
            self.asked += 1
        passed = verdict is Verdict.PASS if verdict in (Verdict.PASS, Verdict.FAIL) else None
        return group.tell(stream, at, passed)

    def _open(self, code: GroupCode, choice: GroupChoice) -> Group:
        places = choice.members(code)
        values = np.full((1, self._width), NO_VALUE, dtype=np.int64)
        values[0, : len(code.values)] = code.values
        node = Nodes(np.zeros(1, dtype=np.int64), values)
        half, whole = (bars.limits[int(bars.of(node)[0])] for bars in self._bars)
        return self._groups.setdefault(code, Group(code, places, (half, whole), self._seed))

    # Deciding

    def revise(self, level: float, total: int, told: int) -> None:
        """Claim what e-BH over `total` groups claims; give up what is hopeless or contradicted."""
        groups = list(self)
        evidence = np.array([group.log_e for group in groups], dtype=np.float64)
        for at in certify(evidence, range(len(groups)), level, total):
            if groups[at].since is None and not groups[at].given_up:
                groups[at].since = told
        for group in groups:
            if not group.given_up and (reason := group.look(level)):
                group.given_up, group.given_up_at = reason, told

    def open_more(self, choice: GroupChoice, refit: int, room: int) -> None:
        """Open the most promising groups, at most so many in all; once for every belief."""
        if refit == self._looked_at or len(self) >= room:
            return
        self._looked_at = refit
        for promise in choice.promising(self._groups):
            if len(self) < room and not choice.within(promise, self._groups):
                self._open(promise.code, choice)

    # What follows for the search

    def members(self) -> set[Key]:
        """Nodes that need no images of their own: nearly all of their group fail."""
        return {key for group in self if group.whole for key in group.cases()}


def most_groups(images: int) -> int:
    """The number of groups that may become tests in so many images."""
    return max(tuning.FEWEST_GROUPS, math.ceil(tuning.GROUPS_PER_IMAGE * images))


def codes_of(keys: Iterable[Key], width: int) -> NDArray[np.uint64]:
    return nodes_of(sorted(keys), width).codes
