"""The audit of the list: a random sample of it is tested with fresh images, and what is simpler inside too.

What made the list plays no part. Each sampled finding has a test that it fails, and one that each simpler
node inside it passes. No two findings share an image: that the tests are independent is what the bound
rests on. The size of the sample is settled before its first image; what is not confirmed when the images are
spent counts against the list. `stats/audited_share.py` has the arithmetic.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from failscape.kinds.t2i.survey.judge_view import TriedCounts
from failscape.kinds.t2i.survey.survey import ListAudit, ListAuditPart
from failscape.stats.audited_share import (
    LEVELS,
    MOST_IMAGES,
    REFUTED,
    images_expected,
    log_failing,
    log_passing,
    share_right,
    size_of_test,
)
from failscape.trials import Trial, Verdict

#: Number k of the tests of one finding is k · STRIDE + the finding's own place below it. Smaller numbers are
#: images of findings that were tried again before there were audits.
STRIDE = 1024
#: Images of an audit where nobody said how many there are in all.
AUDIT_WITHOUT_BUDGET = 1_000
#: The surest parts of the list that are told of, in this order.
PARTS = (0.5, 0.7, 0.85, 1.0)
#: A bound below four in five tells little: then the images show more elsewhere.
USEFUL = 0.8
#: Both statements, that so many fail and that so many are minimal, hold together with 95 %.
DOUBT = 0.05 / 2


class AuditTest(NamedTuple):
    """A node that is to be shown to fail, or to pass: its judged success rate lies below or above `limit`.

    `known` are its images so far. They decide how many findings can be audited, and nothing else.
    """

    subject: str
    limit: float
    passing: bool
    known: TriedCounts

    def size(self, level: float) -> float:
        """How likely an e-value of `level` confirms it at the most although it is not so."""
        return size_of_test(round(1 - self.limit, 9) if self.passing else self.limit, level)

    def images(self, level: float) -> float:
        """About how many it takes to confirm it by an e-value of `level`."""
        return images_expected(*self.known, self.limit, level)

    def evidence(self, counts: TriedCounts) -> tuple[float, float]:
        """Logarithms of e-values: for what is to be shown, and for the contrary."""
        failing = log_failing(*counts, self.limit)
        passing = log_passing(*counts, self.limit)
        return (passing, failing) if self.passing else (failing, passing)


class AuditCase(NamedTuple):
    """A finding, the test that it fails, and those that all simpler nodes inside it pass."""

    own: AuditTest
    inside: tuple[AuditTest, ...] = ()

    @property
    def subject(self) -> str:
        return self.own.subject


@dataclass(slots=True)
class _OpenTest:
    """A test with the images that were told of it. An e-value of `level` confirms it. `place` belongs to its
    finding, `position` is its own among all tests."""

    test: AuditTest
    level: float
    place: int
    position: int
    passes: int = 0
    fails: int = 0
    numbers: set[int] = field(default_factory=set)
    flying: set[int] = field(default_factory=set)

    @property
    def drawn(self) -> int:
        """Images told or under way."""
        return len(self.numbers) + len(self.flying)

    @property
    def progress(self) -> float:
        return self.drawn / self.test.images(self.level)

    @property
    def confirmed(self) -> bool:
        return self._evidence[0] >= math.log(self.level)

    @property
    def size(self) -> float:
        return self.test.size(self.level)

    @property
    def refuted(self) -> bool:
        return self._evidence[1] >= REFUTED

    @property
    def _evidence(self) -> tuple[float, float]:
        return self.test.evidence(TriedCounts(self.passes, self.fails))

    @property
    def closed(self) -> bool:
        return len(self.numbers) >= MOST_IMAGES or self.confirmed or self.refuted

    @property
    def waits(self) -> bool:
        """Half as many may be under way as are known: most tests are over after a few."""
        return len(self.flying) >= max(1, len(self.numbers) // 2)

    def take(self) -> int:
        """The lowest number of its own that is neither told nor under way."""
        number = self.place + STRIDE
        while number in self.numbers or number in self.flying:
            number += STRIDE
        self.flying.add(number)
        return number

    def count(self, number: int, verdict: Verdict) -> None:
        self.flying.discard(number)
        self.numbers.add(number)
        # A confirmed test stays so: the evidence may fall again after its images were spent.
        if self.confirmed:
            return
        self.passes += verdict is Verdict.PASS
        self.fails += verdict is Verdict.FAIL


class ListAuditDraws:
    """Draws the sample, asks for its images, and says what they show."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        #: (subject, number) → verdict, of every image of this and earlier audits, in the order told.
        self._told: dict[tuple[str, int], Verdict] = {}
        self.cases: list[AuditCase] = []
        self._sample: list[int] = []
        self._plan = AuditPlan()
        self._tests: list[list[_OpenTest]] = []
        self._by_image: dict[tuple[str, int], _OpenTest] = {}
        self._queue: list[tuple[float, int, int]] = []
        self._order: list[_OpenTest] = []
        self._images = 0
        self._spent = 0
        self.begun = False
        self.since = 0
        self.in_flight = 0

    # What is tested

    def begin(self, cases: Sequence[AuditCase], images: int, since: int) -> None:
        """Audit a list, the surest finding first, with about so many images. It was made after `since`
        trials. Images of earlier audits that fit are counted: no list was made by them."""
        self.begun = True
        self.cases = list(cases)
        self._images = images
        self._spent = 0
        self.since = since
        self._sample = sorted(range(len(cases)), key=lambda at: self._rank(cases[at].subject))
        self._plan = plan_audit(cases, images)
        del self._sample[self._plan.audited :]
        self._open()

    def _rank(self, subject: str) -> bytes:
        return hashlib.blake2b(f"{self._seed}|{subject}".encode(), digest_size=16).digest()

    def _open(self) -> None:
        """Each finding has a place of its own below `STRIDE`, by its name where that is free, so that a
        later audit finds the images of this one."""
        taken: set[int] = set()
        self._tests = []
        self._order = []
        self._by_image = {}
        for number, at in enumerate(self._sample):
            case = self.cases[at]
            place = int.from_bytes(self._rank(case.subject)[-4:]) % STRIDE
            while place in taken:
                place = (place + 1) % STRIDE
            taken.add(place)
            tests = [self._test(case.own, self._plan.own_level, place)]
            for test in case.inside if number < self._plan.audited_inside else ():
                tests.append(self._test(test, self._plan.inside_level, place))
            self._by_image |= {(one.test.subject, place): one for one in tests}
            self._tests.append(tests)
        for (subject, number), verdict in self._told.items():
            self._count(subject, number, verdict)
        self._queue = []
        for one in self._order:
            self._enqueue(one)

    def _test(self, test: AuditTest, level: float, place: int) -> _OpenTest:
        made = _OpenTest(test, level, place, len(self._order))
        self._order.append(made)
        return made

    def _enqueue(self, test: _OpenTest) -> None:
        """The test that has had the least of what it was expected to take comes first."""
        if not test.closed and not test.waits:
            heapq.heappush(self._queue, (test.progress, test.position, test.drawn))

    # Asking and telling

    @property
    def running(self) -> bool:
        """Are there images left for tests that are open?"""
        return self._spent < self._images and not all(test.closed for test in self._order)

    def next_try(self) -> tuple[str, int] | None:
        """A subject and the number of its try; None when nothing is open, or all that is waits."""
        while self._queue and self._spent < self._images:
            _, position, drawn = heapq.heappop(self._queue)
            test = self._order[position]
            if test.closed or test.waits or test.drawn != drawn:
                continue
            number = test.take()
            self._spent += 1
            self.in_flight += 1
            self._enqueue(test)
            return test.test.subject, number
        return None

    def tell(self, trial: Trial, number: int) -> bool:
        """Count a trial; false if it was told before."""
        if (trial.subject, number) in self._told:
            return False
        self._told[trial.subject, number] = trial.verdict
        test = self._by_image.get((trial.subject, number % STRIDE))
        if test is not None and number in test.flying:
            self.in_flight -= 1
        else:
            self._spent += 1
        if test is not None:
            self._count(trial.subject, number, trial.verdict)
            self._enqueue(test)
        return True

    def _count(self, subject: str, number: int, verdict: Verdict) -> None:
        test = self._by_image.get((subject, number % STRIDE))
        if test is not None:
            test.count(number, verdict)

    @property
    def asked(self) -> int:
        return len(self._told) + self.in_flight

    # What it shows

    def result(self, standing: Iterable[str]) -> ListAudit | None:
        """None before the first image. `standing` are the findings as they are now."""
        if not self._tests or not any(test.numbers for tests in self._tests for test in tests):
            return None
        audited, now = {case.subject for case in self.cases}, set(standing)
        layered = any(case.inside for case in self.cases)
        return ListAudit(
            findings=len(self.cases),
            since=self.since,
            images=sum(len(test.numbers) for test in self._order),
            parts=tuple(self._part(share, layered) for share in PARTS),
            refuted=tuple(tests[0].test.subject for tests in self._tests if tests[0].refuted),
            not_minimal=tuple(
                tests[0].test.subject for tests in self._tests if any(test.refuted for test in tests[1:])
            ),
            added=len(now - audited),
            withdrawn=len(audited - now),
        )

    def _part(self, share: float, layered: bool) -> ListAuditPart:
        """What is shown of the surest part of the list. The sample of the whole is one of the part, too."""
        findings = math.ceil(share * len(self.cases))
        mine = [tests for tests, at in zip(self._tests, self._sample, strict=True) if at < findings]
        confirmed = sum(tests[0].confirmed for tests in mine)
        part = ListAuditPart(
            surest=share,
            findings=findings,
            audited=len(mine),
            confirmed=confirmed,
            failing_at_least=_right(findings, [tests[:1] for tests in mine]),
        )
        if not layered:
            return part
        whole = self._tests[: self._plan.audited_inside]
        inside = [tests for tests, at in zip(whole, self._sample, strict=False) if at < findings]
        return replace(
            part,
            audited_inside=len(inside),
            minimal=sum(all(test.confirmed for test in tests) for tests in inside),
            minimal_at_least=_right(findings, inside),
        )


def _right(findings: int, audited: Sequence[Sequence[_OpenTest]]) -> float:
    """The share of a list that is right at the least if all tests of a right finding were confirmed."""
    size = max((test.size for tests in audited for test in tests), default=1.0)
    unconfirmed = sum(not all(test.confirmed for test in tests) for tests in audited)
    return share_right(findings, len(audited), unconfirmed, size, DOUBT)


class AuditPlan(NamedTuple):
    """How many findings are audited, of how many of these also what is simpler inside, and the e-values that
    confirm the one and the other."""

    audited: int = 0
    audited_inside: int = 0
    own_level: float = LEVELS[0]
    inside_level: float = LEVELS[0]


def plan_audit(cases: Sequence[AuditCase], images: int) -> AuditPlan:
    """The audit that shows most of a list for so many images, if all of it is right.

    Half of the images is for either question; what the first does not need goes to the second. All go to the
    first where the rest could not show that four in five findings are minimal.
    """
    if not cases or images <= 0:
        return AuditPlan()
    own_tests = [[case.own] for case in cases]
    if any(case.inside for case in cases):
        own = _best(own_tests, images / 2)
        inside = _best([case.inside for case in cases], images - own.images)
        if inside.shown >= USEFUL:
            return AuditPlan(own.audited, min(inside.audited, own.audited), own.level, inside.level)
    own = _best(own_tests, images)
    return AuditPlan(own.audited, 0, own.level)


class _Option(NamedTuple):
    shown: float
    audited: int
    level: float
    images: float


def _best(tests: Sequence[Sequence[AuditTest]], images: float) -> _Option:
    """By what it shows, then by how many it tests."""
    options = []
    for level in LEVELS:
        each = sum(test.images(level) for some in tests for test in some) / len(tests)
        audited = min(len(tests), STRIDE, int(images / max(each, 1e-9)))
        size = max(test.size(level) for some in tests for test in some)
        shown = share_right(len(tests), audited, 0, size, DOUBT)
        options.append(_Option(shown, audited, level, audited * each))
    return max(options, key=lambda one: (one.shown, one.audited, -one.level))
