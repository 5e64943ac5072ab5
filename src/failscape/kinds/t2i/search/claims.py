"""The list of findings: nodes that fail and are minimal, with the probability that each is wrong.

A claim is wrong if its node does not fail, or if one of its ancestors fails too. Both probabilities come from
the belief as the hunt's later images have corrected it (`calibration.py`). The list holds as many claims,
the surest first, as keep the mean probability of being wrong at or below `fdr`. A claim once made stays: it
goes only when new images of it, or of its ancestors, speak against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.calibration import Role, WatchedNode
from failscape.kinds.t2i.search.ledger import Ledger
from failscape.kinds.t2i.search.posterior import Posterior
from failscape.search.belief.nodes import Key
from failscape.trials import Status

CERTIFIED = Status.CERTIFIED
LISTED = Status.LISTED


@dataclass(frozen=True, slots=True)
class Claim:
    """`pass_probability`: that the node does not fail. `nested_probability`: that it fails, and an ancestor
    too, so that it is not minimal. `since`: trials told when it was first claimed. `images` are the numbers
    of images of the node, and of all its ancestors, when it was last held against them; `wrong_before` is
    how likely it was wrong then."""

    slot: int
    pass_probability: float
    nested_probability: float
    status: Status = LISTED
    since: int = 0
    images: tuple[int, int] = (0, 0)
    wrong_before: float = 0.0

    @property
    def wrong_probability(self) -> float:
        """That it is wrong in any way."""
        return self.pass_probability + self.nested_probability


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A claim that new images spoke against, `at` so many trials."""

    slot: int
    since: int
    at: int
    reason: str


class ClaimList:
    """The claims that stand, and those that were withdrawn. Changes by `revise` alone."""

    def __init__(self, ledger: Ledger, level: float, listing: bool) -> None:
        """`level`: the largest mean probability that a claim is wrong in any way. Without `listing`, only
        certified nodes are claimed."""
        self._ledger = ledger
        self._level = level
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
            self._standing.values(), key=lambda one: (ranked[one.status], one.wrong_probability, one.slot)
        )

    def __len__(self) -> int:
        return len(self._standing)

    def __contains__(self, slot: object) -> bool:
        return slot in self._standing

    def failing(self, posterior: Posterior) -> set[int]:
        """Slots taken to fail, minimal or not."""
        found = {slot for slot in self.certified if posterior.of(slot).fails >= tuning.EVEN_ODDS}
        if self._listing:
            sure = 1 - self._level
            found |= {slot for slot in self._seen_failing() if posterior.fails(slot) >= sure}
        return found | self._standing.keys()

    def revise(self, posterior: Posterior, certified: Collection[int], trials_told: int) -> None:
        """Withdraw what new images speak against, then claim what may be claimed beside what stands."""
        self.certified.update(certified)
        weighed = self._weigh(posterior)
        self._refresh(weighed)
        self._withdraw(posterior, trials_told)
        for claim in self._affordable(posterior, weighed):
            self._enter(claim, trials_told)

    def to_watch(self, posterior: Posterior) -> dict[tuple[Role, int], WatchedNode]:
        """The nodes that decide the list, and what is believed of them: all that are more likely a finding
        than not, and their ancestors."""
        found: dict[tuple[Role, int], WatchedNode] = {}
        for slot, claim in self._weigh(posterior).items():
            if claim.wrong_probability >= tuning.EVEN_ODDS:
                continue
            found[Role.CLAIMED, slot] = posterior.watch(slot, Role.CLAIMED)
            for key in self._ledger.ancestors_of(self._ledger.keys[slot]):
                role = Role.ENTITY if len(key) == 1 else Role.ANCESTOR
                base = self._ledger.slot_by_key[key]
                if (role, base) not in found:
                    found[role, base] = posterior.watch(base, role)
        return found

    # Weighing

    def _seen_failing(self) -> list[int]:
        """Slots with enough images to be listed, and a failed one among them."""
        ledger = self._ledger
        enough = (ledger.passes + ledger.fails >= tuning.LEAST_OWN_IMAGES) & (ledger.fails > 0)
        return [int(slot) for slot in enough.nonzero()[0]]

    def _weigh(self, posterior: Posterior) -> dict[int, Claim]:
        """All that could be claimed, and all that is, as it stands now."""
        candidates = self._seen_failing() if self._listing else sorted(self.certified)
        found = {}
        for slot in sorted({*candidates, *self._standing}):
            pass_probability = self._pass_probability(posterior, slot)
            if pass_probability >= tuning.EVEN_ODDS and slot not in self._standing:
                continue
            bases = known_ancestors(self._ledger, slot)
            if bases is not None:
                nested = (1 - pass_probability) * nested_probability(posterior, slot, bases)
                found[slot] = Claim(slot, pass_probability, nested)
        return found

    def _pass_probability(self, posterior: Posterior, slot: int) -> float:
        """That a node does not fail. Where only certificates count, it is in doubt only as far as the judge
        is."""
        return 1 - posterior.fails(slot) if self._listing else posterior.misread(slot)

    # What stands

    def _refresh(self, weighed: dict[int, Claim]) -> None:
        """Probabilities and statuses of the claims that stand, as they are now."""
        for slot, claim in self._standing.items():
            now = weighed[slot]
            status = CERTIFIED if slot in self.certified else LISTED
            self._standing[slot] = replace(
                claim,
                pass_probability=now.pass_probability,
                nested_probability=now.nested_probability,
                status=status,
            )

    def _withdraw(self, posterior: Posterior, trials_told: int) -> None:
        """A claim goes when new images made it less sure, and it is more likely wrong than right or one of
        those that lift the list above its level."""
        too_much = self._above_level()
        for slot, claim in list(self._standing.items()):
            images = self._images_behind(slot)
            if images == claim.images:
                continue
            wrong = claim.wrong_probability
            if wrong < tuning.EVEN_ODDS and not (slot in too_much and wrong > claim.wrong_before):
                self._standing[slot] = replace(claim, images=images, wrong_before=wrong)
                continue
            reason = self._speaks_against(posterior, claim)
            del self._standing[slot]
            self.certified.discard(slot)
            self.withdrawn[slot] = Withdrawn(slot, claim.since, trials_told, reason)

    def _above_level(self) -> set[int]:
        """The fewest claims without which the mean probability of being wrong is at the level: the least
        sure ones."""
        count = len(self._standing)
        risk = sum(claim.wrong_probability for claim in self._standing.values())
        found = set()
        for claim in sorted(self._standing.values(), key=lambda one: (-one.wrong_probability, one.slot)):
            if risk <= self._level * count:
                break
            count -= 1
            risk -= claim.wrong_probability
            found.add(claim.slot)
        return found

    def to_draw_again(self, posterior: Posterior) -> list[int]:
        """Slots whose images would tell most about the claims that lift the list above its level, the worst
        first. What is believed changes without images of a claim; it must not stay unasked."""
        worst: dict[int, float] = {}
        for slot in self._above_level():
            claim = self._standing[slot]
            asked = slot
            if claim.nested_probability > claim.pass_probability:
                asked = self._likeliest_to_fail(posterior, slot)
            worst[asked] = worst.get(asked, 0.0) + claim.wrong_probability
        return sorted(worst, key=lambda slot: (-worst[slot], slot))

    def _likeliest_to_fail(self, posterior: Posterior, slot: int) -> int:
        bases = known_ancestors(self._ledger, slot) or [slot]
        return min(bases, key=lambda base: posterior.of(base).passes)

    def _images_behind(self, slot: int) -> tuple[int, int]:
        ledger = self._ledger
        bases = (ledger.slot_by_key[key] for key in ledger.ancestors_of(ledger.keys[slot]))
        return ledger.images(slot), sum(map(ledger.images, bases))

    def _speaks_against(self, posterior: Posterior, claim: Claim) -> str:
        """What new images say against a claim."""
        slot, ledger = claim.slot, self._ledger
        if claim.pass_probability >= claim.nested_probability:
            counts = _counts(ledger, slot)
            return (
                f"by more images ({counts}) it fails with a probability of {1 - claim.pass_probability:.0%}"
            )
        base = self._likeliest_to_fail(posterior, slot)
        probability = 1 - posterior.of(base).passes
        return (
            f"by more images “{ledger.subjects[base]}” may fail by itself ({_counts(ledger, base)}, "
            f"a probability of {probability:.0%})"
        )

    # What is new

    def _affordable(self, posterior: Posterior, weighed: dict[int, Claim]) -> list[Claim]:
        """As many new claims as keep the mean probability of being wrong at the level, the surest first.

        What stands may by now be more doubtful than the level allows: then only claims are made that are
        surer than that, each of which lowers the mean.
        """
        count = len(self._standing)
        risk = sum(claim.wrong_probability for claim in self._standing.values())
        ledger = self._ledger
        resting = Counter(key for slot in self._standing for key in ledger.ancestors_of(ledger.keys[slot]))
        new = (claim for claim in weighed.values() if claim.slot not in self._standing)
        taken = []
        for claim in sorted(new, key=lambda one: (one.wrong_probability, one.slot)):
            allowed = max(self._level * (count + 1) - risk, self._level)
            if claim.wrong_probability > allowed:
                break
            bases = ledger.ancestors_of(ledger.keys[claim.slot])
            if all(resting[base] < self._most_on(posterior, base) for base in bases):
                count += 1
                risk += claim.wrong_probability
                resting.update(bases)
                taken.append(claim)
        return taken

    def _most_on(self, posterior: Posterior, base: Key) -> float:
        """How many claims may rest on one ancestor. They would all fall with it: of all of them together no
        more than `level` may be expected to, as when the search settles it."""
        failure_probability = 1 - posterior.of(self._ledger.slot_by_key[base]).passes
        return max(1.0, self._level / max(failure_probability, 1e-9))

    def _enter(self, claim: Claim, trials_told: int) -> None:
        status = CERTIFIED if claim.slot in self.certified else LISTED
        before = self.withdrawn.pop(claim.slot, None)
        self._standing[claim.slot] = replace(
            claim,
            status=status,
            since=trials_told if before is None else before.since,
            images=self._images_behind(claim.slot),
            wrong_before=claim.wrong_probability,
        )


def known_ancestors(ledger: Ledger, slot: int) -> list[int] | None:
    """The slots of all ancestors; None if one is hardly known."""
    found = []
    for ancestor in ledger.ancestors_of(ledger.keys[slot]):
        at = ledger.slot_by_key.get(ancestor)
        if at is None or ledger.images(at) < tuning.LEAST_IMAGES:
            return None
        found.append(at)
    return found


def nested_probability(posterior: Posterior, slot: int, bases: Sequence[int]) -> float:
    """The probability that one of the ancestors fails too, now that the node itself is known to fail.

    A failing parent explains a failing child: that speaks against the parent, the more so the less the child
    was expected to fail by itself.
    """
    expected = max(posterior.before(slot).fails, tuning.LEAST_EXPECTED)
    minimal = 1.0
    for base in bases:
        passes = posterior.of(base).passes
        minimal *= 1 / (1 + (1 - passes) / max(passes, 1e-9) / expected)
    return 1 - minimal


def _counts(ledger: Ledger, slot: int) -> str:
    passes, fails = ledger.tallies[slot][:2]
    return f"{fails} of {passes + fails} failed"
