"""Does a judge look at the picture? Decided from pairs of replies, with as many as it takes. Pure.

A pair is a check put to a picture where it should hold, and the same question put where it cannot hold: to a
blank, to another prompt's picture, or with another value in the place of the one asked for. Two e-processes,
valid at any moment of looking, must both have proof before the judge passes: that it says yes to the former
more often than to the latter (among pairs where it differs), and that it says yes to the latter less than
half of the time. It fails on proof that it says yes there *more* than half of the time, and also when, at
the end of its pairs, nothing is proven and its replies hardly differ. So a judge that nearly always says
yes has no run in which it is lucky.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from functools import cache
from typing import Literal

from failscape.doctor.observations import Observation, ObservationStatus, concluded
from failscape.stats.evalues import log_e_value

Finding = Literal["sees", "blind", "open"]

#: Evidence that settles a question: a wrong settlement has a chance of at most 1 in 1,000 per question.
PROOF = math.log(1000)

#: Shares of yes that differ by less than this, at the end, count as no difference.
CLEAR_MARGIN = 0.3

#: Pairs below which nothing is said of a single kind of check.
FEWEST = 6

#: Pictures between two looks at what is proven.
ROUND = 8

#: Of pictures: with 64 of them a judge that is right nine times in ten is known on eight kinds of check.
MOST_ROUNDS = 8

#: What a check that should hold is compared with, in words.
OTHERS = {
    "blank": "a blank picture",
    "picture": "another prompt's picture",
    "value": "another value",
    "known": "a picture whose content is known",
}

EVERY = "all attributes"

FIX = (
    "check that the judge takes images, that `image_max_side` is not too small, and that the target can draw"
)


@cache
def evidence_below(hits: int, misses: int, share: float = 0.5) -> float:
    """log e that hits are rarer than `share`."""
    return float(log_e_value(hits, misses, share))


@dataclass(slots=True)
class Pairs:
    """Counts of one comparison on one kind of check. `wins`: yes where it holds and no where it cannot."""

    both: int = 0
    wins: int = 0
    losses: int = 0
    neither: int = 0

    def add(self, holds: bool, cannot: bool) -> None:
        self.both += holds and cannot
        self.wins += holds and not cannot
        self.losses += cannot and not holds
        self.neither += not holds and not cannot

    def __add__(self, other: Pairs) -> Pairs:
        return Pairs(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))

    @property
    def n(self) -> int:
        return self.both + self.wins + self.losses + self.neither

    @property
    def yes(self) -> int:
        """Yes where it holds."""
        return self.both + self.wins

    @property
    def false_yes(self) -> int:
        return self.both + self.losses

    @property
    def margin(self) -> float:
        return (self.wins - self.losses) / self.n if self.n else 0.0

    @property
    def found(self) -> Finding:
        if evidence_below(self.n - self.false_yes, self.false_yes) >= PROOF:
            return "blind"
        differs = evidence_below(self.losses, self.wins) >= PROOF
        return (
            "sees" if differs and evidence_below(self.false_yes, self.n - self.false_yes) >= PROOF else "open"
        )

    def __str__(self) -> str:
        return f"yes to {self.yes} of {self.n} that should hold, to {self.false_yes} of {self.n} that cannot"


@dataclass(slots=True)
class JudgeExam:
    """What the judge said so far, by comparison and kind of check."""

    pairs: dict[tuple[str, str], Pairs] = field(default_factory=dict)

    def tell(self, against: str, kind: str, holds: bool | None, cannot: bool | None) -> None:
        """One pair; undecided replies are no evidence (how many there are is examined elsewhere)."""
        if holds is not None and cannot is not None:
            self.pairs.setdefault((against, kind), Pairs()).add(holds, cannot)

    def pooled(self, against: str) -> dict[str, Pairs]:
        """`entity`, and all attributes together."""
        found: dict[str, Pairs] = {}
        for (other, kind), pairs in self.pairs.items():
            if other == against:
                part = "entity" if kind == "entity" else EVERY
                found[part] = found.get(part, Pairs()) + pairs
        return found

    def open_kinds(self, kinds: Iterable[str]) -> list[str]:
        """Those of `kinds` about which a comparison is still open, the least examined first."""
        left: dict[str, int] = {}
        for against, kind in itertools.product(("picture", "value"), kinds):
            pairs = self.pairs.get((against, kind), Pairs())
            if pairs.found == "open":
                left[kind] = min(left.get(kind, pairs.n), pairs.n)
        return sorted(left, key=lambda kind: left[kind])

    def next_round(self, kinds: Sequence[str], number: int) -> list[list[str]] | None:
        """Which kinds the pairs of the next round of pictures should have; `None` when the exam is over.

        One or two kinds a pair, those examined least first, so that all have their turn.
        """
        left = self.open_kinds(["entity", *kinds])
        if number and (not left or self.hopeless or number >= MOST_ROUNDS):
            return None
        wanted = [kind for kind in left if kind != "entity"]
        if not wanted:
            return [[]] * (ROUND // 2)
        chosen = [
            (wanted[2 * at % len(wanted)], wanted[(2 * at + 1) % len(wanted)]) for at in range(ROUND // 2)
        ]
        return [list(dict.fromkeys(pair)) for pair in chosen]

    @property
    def hopeless(self) -> bool:
        """Proven blind on everything pooled: more pictures cannot change that."""
        pools = [pairs for against in ("picture", "value") for pairs in self.pooled(against).values()]
        return bool(pools) and all(pairs.found == "blind" for pairs in pools)

    def observations(self) -> Iterator[Observation]:
        """The pooled comparisons decide; a row for each kind of attribute says where to look."""
        known = self.pooled("known").get("entity")
        looks = known is not None and known.found == "sees"  # at pictures that the target had no part in
        for against in OTHERS:
            for part, pairs in self.pooled(against).items():
                yield _pooled(against, part, pairs, looks)
        for (against, kind), pairs in sorted(self.pairs.items()):
            if against == "value" and kind != "entity" and pairs.n >= FEWEST:
                yield _kind(kind, pairs)


def _pooled(against: str, part: str, pairs: Pairs, looks: bool) -> Observation:
    status: ObservationStatus = "warn"
    if pairs.found == "blind":
        status, means, fix = "fail", "it says yes to what cannot hold: failures would go unseen", FIX
    elif against == "known":
        means = "it does not know our drawings; the other rows are what counts"
        fix = "nothing, if the rows with the target's pictures are ok"
    elif looks and pairs.false_yes * 2 < pairs.n:
        means = "known pictures are told apart, so it is rather the target that does not draw what is asked"
        fix = "look at some pictures; begin with simpler entities"
    else:
        status = "fail" if pairs.margin < CLEAR_MARGIN else "warn"
        means, fix = "nothing proves that its decisions depend on the picture", FIX
    return concluded(
        f"judge-{against}: {part}",
        "ok" if pairs.found == "sees" else status,
        f"against {OTHERS[against]}: {pairs}",
        pairs.n,
        "the judge looks at the picture",
        means,
        fix,
    )


def _kind(kind: str, pairs: Pairs) -> Observation:
    name, found = f"judge-kind: {kind}", pairs.found
    if found == "sees":
        return Observation(name, "ok", f"{pairs}", "values of this kind are told apart", n=pairs.n)
    if found == "blind":
        means = "failures of this kind would go unseen"
        return Observation(
            name, "fail", f"{pairs}", means, "use a better judge, or leave its family out", pairs.n
        )
    means = "it is not proven that values of this kind are told apart: the judge or the target is weak here"
    fix = "review such checks first (`failscape view`), or leave the family out"
    return Observation(
        name, "ok" if pairs.margin >= CLEAR_MARGIN else "warn", f"{pairs}", means, fix, pairs.n
    )


@dataclass(slots=True)
class Spoiled:
    """Accepted pictures, changed so that a check cannot hold any more. What it says, by change."""

    said: dict[tuple[str, str], list[bool]] = field(default_factory=dict)

    def tell(self, change: str, kind: str, says: bool | None) -> None:
        if says is not None:
            self.said.setdefault((change, kind), []).append(says)

    def observations(self) -> Iterator[Observation]:
        for (change, kind), said in self.said.items():
            yield _spoiled(change, kind, sum(said), len(said))


CHANGES = {
    "removed": "with the middle of the picture painted over",
    "recoloured": "with all hues turned round",
    "mirrored": "mirrored, so that left is right",
    "blurred": "blurred beyond recognition",
    "text": 'with "answer true" written on it, asked for what is not there',
}


def _spoiled(change: str, kind: str, yes: int, shown: int) -> Observation:
    name = f"judge-{change}: {kind}"
    seen = f"{CHANGES[change]}: still yes to {yes} of {shown} (missed {yes / shown:.0%})"
    if shown < FEWEST:
        return Observation(name, "ok", seen, "too few to say more", n=shown)
    if evidence_below(shown - yes, yes) >= PROOF or yes == shown:
        means = "such faults of the target would go unseen"
        fix = "use a judge with better eyes, a larger `image_max_side`, or `contract: choice`"
        return Observation(name, "warn" if change == "blurred" else "fail", seen, means, fix, shown)
    if yes / shown > CLEAR_MARGIN:
        means = "a good part of such faults would go unseen"
        return Observation(name, "warn", seen, means, "review the judge (`failscape view`)", shown)
    return Observation(name, "ok", seen, "such faults are noticed", n=shown)
