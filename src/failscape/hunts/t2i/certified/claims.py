"""Which nodes are claimed: certified to fail or likely to, and minimal by what is known of ancestors.

That a node fails is certified by its own e-value, or listed by its posterior chance. That it is minimal is a
matter of belief. Both doubts are kept below their levels in the mean over all that is claimed. A claim once
made stays: it goes only when new images of it, or of its ancestors, speak against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from failscape.hunts.belief.nodes import Key
from failscape.hunts.t2i.certified import tuning
from failscape.hunts.t2i.certified.ledger import Ledger
from failscape.hunts.t2i.certified.posterior import Posterior
from failscape.hunts.t2i.certified.standing import ancestors_of

CERTIFIED, LISTED = "certified", "listed"


@dataclass(frozen=True, slots=True)
class Claim:
    """`doubt` is the chance that an ancestor fails too, so that the claim is not minimal; `doubt_fails` that
    the node itself does not fail. `since`: trials told when it was first claimed. `images` are the numbers of
    images of the node, and of all its ancestors, when it was last held against them."""

    slot: int
    doubt: float
    doubt_fails: float = 0.0
    status: str = CERTIFIED
    since: int = 0
    images: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A claim that new images spoke against, `at` so many trials."""

    slot: int
    since: int
    at: int
    reason: str


@dataclass(frozen=True, slots=True)
class Levels:
    """Largest mean doubts over all claims: that they fail, and that they are minimal; in a space with so many
    entities."""

    fails: float
    minimal: float
    entities: int = tuning.MANY_ENTITIES

    def of_list(self, count: int) -> Levels:
        """Of a list with so many claims: a short one must be surer."""
        missing = max(0.0, 1 - (count - 1) / tuning.MANY_CLAIMS)
        missing *= min(1.0, self.entities / tuning.MANY_ENTITIES)
        fails, minimal = (1 - (1 - early) * missing for early in tuning.FILLED_EARLY)
        return Levels(fails * self.fails, minimal * self.minimal, self.entities)


class ClaimBook:
    """The claims that stand, and those that were withdrawn. Changes by `revise` alone."""

    def __init__(self, ledger: Ledger, levels: Levels, listing: bool) -> None:
        self._ledger = ledger
        self._levels = levels
        self._listing = listing
        self._standing: dict[int, Claim] = {}
        self.certified: set[int] = set()
        """Slots that were certified to fail, minimal or not, and have not been refuted since."""
        self.withdrawn: dict[int, Withdrawn] = {}

    @property
    def claims(self) -> list[Claim]:
        """Those that stand: certified ones first, then the surest."""
        ranked = {CERTIFIED: 0, LISTED: 1}
        return sorted(
            self._standing.values(),
            key=lambda one: (ranked[one.status], one.doubt + one.doubt_fails, one.slot),
        )

    def __len__(self) -> int:
        return len(self._standing)

    def __contains__(self, slot: object) -> bool:
        return slot in self._standing

    @property
    def crowded(self) -> bool:
        """Are claims so doubtful in the mean that new ones may have to wait for them to be surer?"""
        count = len(self._standing)
        doubts = sum(claim.doubt_fails for claim in self._standing.values())
        return doubts > tuning.CROWDED * self._levels.of_list(count + 1).fails * count

    def failing(self, posterior: Posterior) -> set[int]:
        """Slots taken to fail, minimal or not."""
        found = {slot for slot in self.certified if posterior.of(slot).fails >= tuning.KEEP_FAILS}
        if self._listing:
            found |= {slot for slot in self._seen_failing() if posterior.fails(slot) >= tuning.LISTED}
        return found | self._standing.keys()

    def revise(self, posterior: Posterior, certified: Collection[int], told: int) -> None:
        """Withdraw what new images speak against, then claim what may be claimed beside what stands."""
        self.certified.update(certified)
        failing = self.failing(posterior)
        self._withdraw(posterior, failing, told)
        candidates = set(self._candidates(posterior, failing)) - self._standing.keys()
        weighed = weigh_claims(self._ledger, posterior, candidates, failing, self._standing, self.certified)
        self._refresh(posterior)
        for claim in self._affordable(weighed):
            self._enter(claim, told)

    def _seen_failing(self) -> list[int]:
        """Slots with enough images to be listed, and a failed one among them."""
        ledger = self._ledger
        enough = (ledger.passes + ledger.fails >= tuning.LEAST_OWN_IMAGES) & (ledger.fails > 0)
        return [int(slot) for slot in enough.nonzero()[0]]

    def _candidates(self, posterior: Posterior, failing: set[int]) -> Iterable[int]:
        if not self._listing:
            return failing & self.certified
        likely = (slot for slot in self._seen_failing() if posterior.fails(slot) >= tuning.LEAST_CHANCE)
        return failing | set(likely)

    # What stands

    def _withdraw(self, posterior: Posterior, failing: set[int], told: int) -> None:
        for slot, claim in list(self._standing.items()):
            images = self._images_behind(slot)
            if images == claim.images:
                continue
            reason = self._against_it(posterior, slot) if images[0] != claim.images[0] else ""
            if not reason and images[1] != claim.images[1]:
                reason = self._against_ancestors(posterior, failing, slot)
            if reason:
                del self._standing[slot]
                self.certified.discard(slot)
                self.withdrawn[slot] = Withdrawn(slot, claim.since, told, reason)
            else:
                self._standing[slot] = replace(claim, images=images)

    def doubtful(self, posterior: Posterior) -> list[int]:
        """Slots whose images would tell most about claims that are by now too doubtful to stay, the worst
        first. What is believed changes without new images of a claim; it must not stay unasked."""
        worst: dict[int, float] = {}
        for slot, claim in self._standing.items():
            if claim.status == LISTED and claim.doubt_fails > 1 - tuning.KEEP_FAILS:
                worst[slot] = max(claim.doubt_fails, worst.get(slot, 0.0))
            if claim.doubt > tuning.KEEP_MINIMAL:
                bases = (self._ledger.slot_by_key[key] for key in ancestors_of(self._ledger.keys[slot]))
                base = max(bases, key=posterior.doubt)
                worst[base] = worst.get(base, 0.0) + claim.doubt
        return sorted(worst, key=lambda slot: (-worst[slot], slot))

    def _images_behind(self, slot: int) -> tuple[int, int]:
        ledger = self._ledger
        bases = (ledger.slot_by_key[key] for key in ancestors_of(ledger.keys[slot]))
        return ledger.images(slot), sum(map(ledger.images, bases))

    def _against_it(self, posterior: Posterior, slot: int) -> str:
        """What new images of a node say against the claim that it fails; empty if it stays."""
        fails = posterior.fails(slot)
        if fails >= tuning.KEEP_FAILS:
            return ""
        return f"by more images of it ({_counts(self._ledger, slot)}) it fails with a chance of {fails:.0%}"

    def _against_ancestors(self, posterior: Posterior, failing: set[int], slot: int) -> str:
        """What new images of ancestors say against the claim that a node is minimal; empty if it stays."""
        ledger = self._ledger
        bases = [ledger.slot_by_key[key] for key in ancestors_of(ledger.keys[slot])]
        for base in bases:
            if base in failing and posterior.of(base).passes < tuning.MOST_DOUBT:
                return f"“{ledger.subjects[base]}” fails by itself: {_counts(ledger, base)}"
        doubt = doubt_minimal(posterior, slot, [posterior.doubt(base) for base in bases])
        if doubt > tuning.KEEP_MINIMAL:
            worst = max(bases, key=posterior.doubt)
            return f"by more images “{ledger.subjects[worst]}” may fail by itself: {_counts(ledger, worst)}"
        return ""

    def _refresh(self, posterior: Posterior) -> None:
        """Doubts and statuses of the claims that stand, as they are now."""
        slots, keys = self._ledger.slot_by_key, self._ledger.keys
        above = {slot: [slots[key] for key in ancestors_of(keys[slot])] for slot in self._standing}
        resting = Counter(base for bases in above.values() for base in bases)
        doubts = {base: posterior.doubt(base, count) for base, count in resting.items()}
        for slot, claim in self._standing.items():
            doubt = doubt_minimal(posterior, slot, [doubts[base] for base in above[slot]])
            status = CERTIFIED if slot in self.certified else LISTED
            unsure = posterior.misread(slot) if status == CERTIFIED else 1 - posterior.fails(slot)
            self._standing[slot] = replace(claim, doubt=doubt, doubt_fails=unsure, status=status)

    # What is new

    def _affordable(self, weighed: list[Claim]) -> list[Claim]:
        """As many as keep both mean doubts below their levels, the surest first.

        What stands may by now be more doubtful than the levels allow: then only claims are made that are
        surer than that, each of which lowers the mean.
        """
        count = len(self._standing)
        fails = sum(claim.doubt_fails for claim in self._standing.values())
        minimal = sum(claim.doubt for claim in self._standing.values())
        taken, resting = [], self._resting()
        for claim in sorted(weighed, key=lambda one: (one.doubt + one.doubt_fails, one.slot)):
            bases = ancestors_of(self._ledger.keys[claim.slot])
            level = self._levels.of_list(count + 1)
            if (
                all(resting[base] < self._most_on_one(count + 1) for base in bases)
                and claim.doubt_fails <= max(level.fails * (count + 1) - fails, level.fails)
                and claim.doubt <= max(level.minimal * (count + 1) - minimal, level.minimal)
            ):
                count, fails, minimal = count + 1, fails + claim.doubt_fails, minimal + claim.doubt
                taken.append(claim)
                resting.update(bases)
        return taken

    def _resting(self) -> Counter[Key]:
        """How many claims rest on each ancestor."""
        keys = self._ledger.keys
        return Counter(base for slot in self._standing for base in ancestors_of(keys[slot]))

    def _most_on_one(self, count: int) -> float:
        """How many of so many claims may rest on one ancestor: they would all fall with it."""
        entities = len(self._ledger.lattice.entities)
        return max(tuning.FEW_ON_ONE, max(tuning.SHARE_ON_ONE, tuning.TIMES_EVEN / entities) * count)

    def _enter(self, claim: Claim, told: int) -> None:
        status = CERTIFIED if claim.slot in self.certified else LISTED
        before = self.withdrawn.pop(claim.slot, None)
        self._standing[claim.slot] = replace(
            claim,
            status=status,
            since=told if before is None else before.since,
            images=self._images_behind(claim.slot),
        )


def weigh_claims(
    ledger: Ledger,
    posterior: Posterior,
    candidates: Collection[int],
    failing: Collection[int],
    standing: Collection[int] = (),
    certified: Collection[int] = (),
) -> list[Claim]:
    """Candidates whose ancestors seem to pass, with their doubts. `standing` ones are claimed already. That a
    `certified` one fails is in doubt only as far as the judge is.

    Where many claims would rest on one doubtful ancestor, all of them wait until more is known of it.
    """
    everything = sorted({*candidates, *standing})
    bases = {slot: bases_of(ledger, posterior, failing, slot) for slot in everything}
    resting = Counter(base for found in bases.values() if found is not None for base in found)
    doubts = {base: posterior.doubt(base, count) for base, count in resting.items()}
    most = tuning.SHARED / 2 + tuning.SHARE_AT_RISK * len(bases)
    found = []
    for slot in sorted(candidates):
        ancestors = bases[slot]
        if ancestors is not None and all(doubts[base] * resting[base] <= most for base in ancestors):
            doubt = doubt_minimal(posterior, slot, [doubts[base] for base in ancestors])
            misread = posterior.misread(slot)
            unsure = misread if slot in certified else 1 - posterior.fails(slot)
            # Whether a word is misread labels must tell: images cannot.
            if misread <= tuning.MOST_MISREAD and doubt <= tuning.MOST_NESTED and unsure < tuning.MOST_DOUBT:
                found.append(Claim(slot, doubt, unsure))
    return found


def bases_of(ledger: Ledger, posterior: Posterior, failing: Collection[int], slot: int) -> list[int] | None:
    """The slots of all ancestors; None if one fails itself, or is hardly known."""
    found = []
    for ancestor in ancestors_of(ledger.keys[slot]):
        at = ledger.slot_by_key.get(ancestor)
        if at is None or ledger.images(at) < tuning.LEAST_IMAGES:
            return None
        if at in failing and posterior.of(at).passes < tuning.MOST_DOUBT:
            return None
        found.append(at)
    return found


def doubt_minimal(posterior: Posterior, slot: int, doubts: Iterable[float]) -> float:
    """The chance that one of the ancestors fails too, now that the node itself is known to fail.

    A failing parent explains a failing child: that speaks against the parent, the more so the less the child
    was expected to fail by itself.
    """
    expected = max(posterior.before(slot).fails, tuning.LEAST_EXPECTED)
    sure = 1.0
    for doubt in doubts:
        sure *= 1 / (1 + doubt / max(1 - doubt, 1e-9) / expected)
    return 1 - sure


def _counts(ledger: Ledger, slot: int) -> str:
    passes, fails = ledger.tallies[slot][:2]
    return f"{fails} of {passes + fails} failed"
