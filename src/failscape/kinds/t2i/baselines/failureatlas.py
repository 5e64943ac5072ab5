"""The FailureAtlas rule: a fixed number of images per node, a threshold, and all parents must pass.

It is the baseline that other strategies are measured against, with variants that stop a node earlier or
draw nodes at random. A stopping rule looks at the counts of one node only. It gives intervals and e-values
with its findings but does not use them: a finding is a bare comparison with the threshold (status
`threshold`).
"""

import math
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Protocol

from failscape.errors import ConfigError
from failscape.kinds.t2i.baselines.lanes import Frontier, Lane, Ordering, RandomLane
from failscape.kinds.t2i.findings import all_images, describe_failure
from failscape.kinds.t2i.probes import Prompting
from failscape.kinds.t2i.purposes import EVIDENCE
from failscape.kinds.t2i.survey.assemble import survey_of_tallies
from failscape.kinds.t2i.survey.survey import T2ISurvey
from failscape.search.counts import Tally
from failscape.search.protocol import Hunt
from failscape.spaces.lattice import Lattice
from failscape.spaces.wording import Wording
from failscape.trials import (
    Finding,
    Probe,
    Progress,
    Status,
    Trial,
    Verdict,
    derive_seed,
    key_of_try,
    number_of_plain_try,
)


class StoppingRule(Protocol):
    """`fewest` images may settle a node; no node gets more than `most_tries`, invalid ones included."""

    fewest: int
    most_tries: int

    def outcome(self, tally: Tally) -> str:
        """`pass`, `fail`, `open`, or "" while images are still wanted."""
        ...

    def wanted(self, tally: Tally) -> int:
        """How many more tries may be started now. Never more than are sure to be needed."""


class FixedRule:
    """N valid images decide a node. Tries that turn out invalid are replaced, up to 2 N tries.

    A node fails when its share of passes is below the threshold; with `at_threshold="fail"` also when it
    is equal, as FailureAtlas's code does (`acc <= prune_threshold`). A node that used up its tries is
    settled by what it has when no further image could change the verdict, and is "open" otherwise.
    """

    def __init__(self, images: int, threshold: float, at_threshold: str) -> None:
        _check(images, threshold, at_threshold)
        self.images = images
        self.fewest = images
        self.most_tries = 2 * images
        exact = threshold * images
        # 0.8 · 25 must count as 20, although floats may say 20.000000000000004.
        near = round(exact) if math.isclose(exact, round(exact), abs_tol=1e-9) else None
        if near is None:
            self.needed = math.ceil(exact)
        else:
            self.needed = near + (at_threshold == "fail")
        self.too_many = images - self.needed + 1

    def outcome(self, tally: Tally) -> str:
        if tally.valid >= self.images:
            return "pass" if tally.passes >= self.needed else "fail"
        return self._fixed(tally) or "open" if tally.tries >= self.most_tries else ""

    def wanted(self, tally: Tally) -> int:
        flying = tally.flying.bit_count()
        return min(self.images - tally.valid, self.most_tries - tally.tries) - flying

    def _fixed(self, tally: Tally) -> str:
        """The verdict that no further image could change, if there is one."""
        if tally.passes >= self.needed:
            return "pass"
        return "fail" if tally.fails >= self.too_many else ""


class CurtailedRule(FixedRule):
    """The verdict of the fixed rule, reached as soon as no further image could change it.

    At 25 images and 0.8 that is after 6 failures or 20 passes.
    """

    def __init__(self, images: int, threshold: float, at_threshold: str) -> None:
        super().__init__(images, threshold, at_threshold)
        self.fewest = min(self.needed, self.too_many)

    def outcome(self, tally: Tally) -> str:
        return self._fixed(tally) or ("open" if tally.tries >= self.most_tries else "")

    def wanted(self, tally: Tally) -> int:
        missing = min(self.needed - tally.passes, self.too_many - tally.fails)
        return min(missing, self.most_tries - tally.tries) - tally.flying.bit_count()


class SprtRule:
    """Wald's sequential test of a good rate against a bad one, both a step away from the threshold.

    The step is half the distance to the nearer of 0 and 1: at 0.8 the rates are 0.9 and 0.7. Both errors
    are 5 %. A node that reaches 4 N valid images undecided takes the side it leans to.
    """

    ERROR = 0.05

    def __init__(self, images: int, threshold: float, at_threshold: str) -> None:
        _check(images, threshold, at_threshold)
        step = min(threshold, 1 - threshold) / 2
        good, bad = threshold + step, threshold - step
        self.per_fail = math.log((1 - bad) / (1 - good))
        self.per_pass = math.log(bad / good)
        self.bound = math.log((1 - self.ERROR) / self.ERROR)
        self.images = 4 * images
        self.most_tries = 2 * self.images
        self.fewest = min(math.ceil(self.bound / self.per_fail), math.ceil(-self.bound / self.per_pass))
        self.fewest = min(self.fewest, self.images)

    def outcome(self, tally: Tally) -> str:
        leaning = self._leaning(tally)
        if abs(leaning) >= self.bound or tally.valid >= self.images:
            return "fail" if leaning > 0 else "pass"
        return "open" if tally.tries >= self.most_tries else ""

    def wanted(self, tally: Tally) -> int:
        leaning = self._leaning(tally)
        to_fail = math.ceil((self.bound - leaning) / self.per_fail)
        to_pass = math.ceil((self.bound + leaning) / -self.per_pass)
        left = min(self.images - tally.valid, self.most_tries - tally.tries)
        return min(to_fail, to_pass, left) - tally.flying.bit_count()

    def _leaning(self, tally: Tally) -> float:
        """The log likelihood ratio of the bad rate against the good one."""
        return tally.fails * self.per_fail + tally.passes * self.per_pass


def _check(images: int, threshold: float, at_threshold: str) -> None:
    if images < 1:
        raise ConfigError(f"images_per_node must be at least 1, but is {images}", "set it to 25")
    if not 0 < threshold < 1:
        raise ConfigError(f"threshold must lie between 0 and 1, but is {threshold}", "set it to 0.8")
    if at_threshold not in ("pass", "fail"):
        raise ConfigError(f"at_threshold must be pass or fail, but is {at_threshold!r}", "choose one")


RULES: dict[str, type[FixedRule] | type[SprtRule]] = {
    "fixed": FixedRule,
    "curtailed": CurtailedRule,
    "sprt": SprtRule,
}


class FailureAtlasHunt(Hunt):
    """Opens nodes layer by layer (`layer`: over all entities at once; `entity`: entity after entity), or
    nodes drawn at random and the ancestors of those that fail (`random`).

    Every verdict follows from the set of trials told, not from their order (but for `stopping="sprt"`);
    see `docs/t2i.md`.
    """

    def __init__(
        self,
        lattice: Lattice,
        wording: Wording,
        *,
        images_per_node: int = 25,
        threshold: float = 0.8,
        at_threshold: str = "pass",
        stopping: str = "fixed",
        traversal: str = "layer",
        batch_nodes: int = 32,
        seed: int = 0,
        shard: tuple[int, int] = (0, 1),
        order: Ordering | None = None,
        prompting: Prompting | None = None,
    ) -> None:
        if batch_nodes < 1:
            raise ConfigError(f"batch_nodes must be at least 1, but is {batch_nodes}", "set it to 32")
        self.lattice = lattice
        self.wording = wording
        self.prompting = prompting or Prompting(wording)
        self.threshold = threshold
        self.rule: StoppingRule = RULES[stopping](images_per_node, threshold, at_threshold)
        self._entities = entities_of_shard(lattice, shard)
        self._mine = frozenset(self._entities)
        self._batch_nodes = batch_nodes
        self._seeds = [derive_seed(seed, number) for number in range(self.rule.most_tries)]
        self._tallies: dict[str, Tally] = {}
        self._frontier = Frontier(lattice)
        self._order = order
        self._random = RandomLane(lattice, self._entities, seed) if traversal == "random" else None
        self._new_lanes = self._plan_lanes(traversal)
        self._lanes: list[Lane | RandomLane] = []
        self._lane_of: dict[str, Lane | RandomLane] = {}
        self._ready: deque[str] = deque()
        self._per_layer = traversal != "entity"
        self._settled = 0
        self._failed: list[Tally] = []
        self._findings: dict[str, Finding] = {}
        self._elsewhere: dict[str, tuple[int, bool]] = {}

    def _plan_lanes(self, traversal: str) -> Iterator[Lane | RandomLane]:
        if self._random:
            return iter((self._random,))
        if traversal == "layer":
            groups = [self._entities]
        elif traversal == "entity":
            groups = [(entity,) for entity in self._entities]
        else:
            rule = "traversal must be layer, entity or random"
            raise ConfigError(f"{rule}, but is {traversal!r}", "choose one")
        return (Lane(group, self._frontier, self.lattice.depth, self._order) for group in groups)

    # Asking

    def ask(self, count: int) -> list[Probe]:
        probes: list[Probe] = []
        while len(probes) < count and self._refill():
            subject = self._ready[0]
            tally = self._tallies[subject]
            room = min(count - len(probes), self.rule.wanted(tally))
            probes += [self._probe(subject, tally) for _ in range(room)]
            if self.rule.wanted(tally) <= 0:
                self._ready.popleft()
        return probes

    def _probe(self, subject: str, tally: Tally) -> Probe:
        number = tally.next_try()
        tally.flying |= 1 << number
        steps = self.prompting.steps(tally.node, number)
        return Probe(key_of_try(subject, EVIDENCE, number), subject, steps, self._seeds[number])

    def _refill(self) -> bool:
        """Make sure that a node wants images, opening the next batch of nodes when none does."""
        while not self._ready:
            if not self._open_batch():
                return False
        return True

    def _open_batch(self) -> bool:
        """Earlier lanes first; a new lane starts only when all others wait for verdicts."""
        for lane in self._lanes:
            if self._open_from(lane):
                return True
        self._lanes = [lane for lane in self._lanes if not lane.finished]
        return any(self._open_from(lane) for lane in self._begin_lanes())

    def _begin_lanes(self) -> Iterator[Lane | RandomLane]:
        for lane in self._new_lanes:
            self._lanes.append(lane)
            yield lane

    def _open_from(self, lane: Lane | RandomLane) -> bool:
        nodes = lane.take(self._batch_nodes)
        for node in nodes:
            subject = self.lattice.subject(node)
            tally = self._tallies.setdefault(subject, Tally(node))
            if not tally.outcome:
                lane.waiting += 1
                self._lane_of[subject] = lane
                self._ready.append(subject)
        return bool(nodes)

    # Telling

    def tell(self, trial: Trial) -> None:
        subject, verdict = trial.subject, trial.verdict
        tally = self._tallies.get(subject) or self._meet(subject)
        bit = 1 << self._number(trial)
        if tally.told & bit:
            return
        tally.told |= bit
        tally.flying &= ~bit
        if verdict is Verdict.PASS:
            tally.passes += 1
        elif verdict is Verdict.FAIL:
            tally.fails += 1
            tally.blame(trial)
        else:
            tally.invalid += 1
        if tally.outcome:
            self._describe_again(subject, tally)  # replayed in another order than it was run
        elif self._elsewhere and subject in self._elsewhere:
            self._settle_as_expected(subject, tally)
        elif tally.tries >= self.rule.fewest:
            outcome = self.rule.outcome(tally)
            if outcome:
                self._settle(subject, tally, outcome)
        if subject in self._lane_of and subject not in self._ready and self.rule.wanted(tally) > 0:
            self._ready.appendleft(subject)

    def expect(self, subject: str, trials: int, passed: bool) -> None:
        """A verdict that was reached elsewhere: it settles the node once all its `trials` are told.

        For results of other programs. Call it before the first trial is told.
        """
        self._elsewhere[subject] = (trials, passed)
        if not trials:
            self._settle_as_expected(subject, self._meet(subject))

    def _settle_as_expected(self, subject: str, tally: Tally) -> None:
        trials, passed = self._elsewhere[subject]
        if tally.passes + tally.fails + tally.invalid >= trials:
            # A failure that no valid image shows is no finding.
            self._settle(subject, tally, "pass" if passed else "fail" if tally.fails else "open")

    def _meet(self, subject: str) -> Tally:
        """A replayed trial may be about a node that was not opened in this session."""
        node = self.lattice.parse(subject)
        if node.entity not in self._mine:
            raise ConfigError(
                f"{subject!r} belongs to another shard", "resume with the shard it was run with"
            )
        tally = self._tallies[subject] = Tally(node)
        if self._order:
            self._order.begin(node)
        return tally

    def _number(self, trial: Trial) -> int:
        number = number_of_plain_try(trial.key, trial.subject)
        if number is not None and number < self.rule.most_tries:
            return number
        rule = f"the trial {trial.key!r} is no try of this hunt"
        raise ConfigError(rule, "resume with the images_per_node it was run with")

    def _settle(self, subject: str, tally: Tally, outcome: str) -> None:
        tally.outcome = outcome
        self._settled += 1
        self._frontier.decide(tally.node, outcome == "pass")
        if self._order:
            self._order.learn(tally.node, tally.passes / tally.valid if tally.valid else None)
        lane = self._lane_of.pop(subject, None)
        if lane is not None:
            lane.waiting -= 1
            if subject in self._ready:
                self._ready.remove(subject)
        if outcome == "fail":
            self._failed.append(tally)
            if self._random:
                self._random.explain(tally.node)

    # Looking

    @property
    def done(self) -> bool:
        if self._order is None:
            return not self._refill() and not self._lane_of
        # Nothing is opened to find out: that would train a predictor for somebody who only looks.
        lanes = chain(self._lanes, self._begin_lanes())
        return not self._ready and not self._lane_of and all(lane.exhausted() for lane in lanes)

    def findings(self) -> list[Finding]:
        """Failing nodes all of whose ancestors passed, strongest evidence first."""
        self._gather()
        found = self._findings.values()
        return sorted(found, key=lambda finding: (-finding.e_value, finding.subject))

    def _gather(self) -> None:
        """Describe failing nodes once nothing smaller can explain them."""
        waiting: list[Tally] = []
        for tally in self._failed:
            if self._frontier.ancestors_passed(tally.node):
                finding = self._describe(tally)
                self._findings[finding.subject] = finding
            else:
                waiting.append(tally)
        self._failed = waiting

    def _describe_again(self, subject: str, tally: Tally) -> None:
        if self._findings.pop(subject, None):
            self._failed.append(tally)

    def decided(self) -> dict[str, bool]:
        tallies = self._tallies.items()
        return {subject: one.outcome == "pass" for subject, one in tallies if one.outcome in ("pass", "fail")}

    def predicted(self) -> dict[str, float]:
        """What the predictor said of each node before it was tried; see `Ordering.scores`."""
        scores = self._order.scores() if self._order else {}
        return {self.lattice.subject(node): score for node, score in scores.items()}

    def undecided(self) -> list[str]:
        """Nodes that used up their tries without a verdict; nothing below them was opened."""
        return [subject for subject, tally in self._tallies.items() if tally.outcome == "open"]

    def _describe(self, tally: Tally) -> Finding:
        get = self._tallies.get
        return describe_failure(
            tally, all_images(tally, self.threshold), self.lattice, self.wording, Status.THRESHOLD, get
        )

    def survey(self) -> T2ISurvey:
        """What the counts say about the whole space: rules, for no node was drawn at random."""
        return survey_of_tallies(self.lattice, self.threshold, self._tallies.values())

    def progress(self) -> Progress:
        self._gather()
        found = len(self._findings)
        if self.done:
            return Progress("done", self._settled, self._settled, found)
        lane = next((lane for lane in self._lanes if not lane.finished), self._lanes[0])
        total = lane.total if self._per_layer else None
        phase = "random nodes" if self._random else f"layer {lane.layer} of {self.lattice.depth}"
        return Progress(phase, self._settled, total, found)


def entities_of_shard(lattice: Lattice, shard: tuple[int, int]) -> tuple[int, ...]:
    """Shard i of n takes every n-th entity, starting with the i-th (from 0)."""
    part, parts = shard
    if not 0 <= part < parts:
        raise ConfigError(f"a shard (i, n) needs 0 <= i < n, but is {shard}", "use for example --shard 1/4")
    return lattice.entities[part::parts]
