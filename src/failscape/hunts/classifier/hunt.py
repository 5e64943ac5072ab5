"""The classifier hunt: baselines, first looks, proposals, tests of descriptions, fresh images for what won.

It goes on while there is budget. All decisions are made between rounds (`hunts/rounds.py`), from finished
rounds alone. Claims rest on e-values over everything that may be tested; see docs/classifier.md.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from failscape.errors import ConfigError
from failscape.hunts.classifier.arena import Arena
from failscape.hunts.classifier.clause_sight import UNASKED, ClauseSight
from failscape.hunts.classifier.drawing import Drawer, DrawnPicture
from failscape.hunts.classifier.earlier import DescriptionReader, read_anew
from failscape.hunts.classifier.findings import describe_bug, describe_suspect
from failscape.hunts.classifier.helpers import Helpers, Use
from failscape.hunts.classifier.prompts import Clause, Description, Template, describe
from failscape.hunts.classifier.prospects import FEWEST, FIRST, Prospects
from failscape.hunts.classifier.real_photos import RealPhotos
from failscape.hunts.classifier.scales import Scales
from failscape.hunts.classifier.scouting import AGAIN, scouts_of
from failscape.hunts.classifier.settings import ClassifierRules, stream_seed
from failscape.hunts.classifier.survey import WRITTEN, ClassifierSurvey, survey_of
from failscape.hunts.classifier.suspicions import Suspicions
from failscape.hunts.classifier.tallies import Arm, ClassState, LabelledPhoto, Look, Target
from failscape.hunts.rounds import Planned, RoundHunt
from failscape.spaces.corpus import Corpus
from failscape.spaces.earlier import Earlier, refuse_strangers
from failscape.trials import Finding, Progress, Trial

#: Fresh images for findings take at most this share of a round while tests need the rest.
FRESH = 0.5

#: Tests take at most this share of what a round has left, so that first looks go on beside them: the larger
#: share when all that is left would be needed to prove what looks like a bug now.
TESTS, MOST_TESTS = 0.5, 0.75

#: Tests that are expected to take more images than a bug has cost so far take at most this share of the rest:
#: looking on pays better, and still they come to an end.
COSTLY_TESTS = 0.2

#: Looks at single values on a faint suspicion leave the rest of their room to crowds.
LOOKS = 0.5

#: With fewer images left than this, a crowd that fails could not be followed up any more.
KEPT_FOR_PROOF = 40

#: Where an old bug comes from, and its chance to be one here before it is looked at: two failures out of two
#: looks admit it to a test, two passes leave it.
EARLIER, EARLIER_HOLDS = "an earlier hunt", 0.3

#: Without a budget: crowds that every value is shown in before the hunt may end.
SUSPECTS = 12
ENOUGH_LOOKS = 40


class ClassifierHunt(RoundHunt[Planned]):
    """Many classes, one budget. `judged`, `captions`, `vectors` and `asks` say which helpers there are.

    `sees`: the judge is asked about clauses. `twice`: it is asked whether the wrong label's object is there.
    `photos` are real pictures to compare findings with, found by `match`. `always` are descriptions that
    somebody wrote, by class: they are tested whatever else is found.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        template: Template,
        corpus: Corpus | None,
        rules: ClassifierRules,
        *,
        judged: bool = True,
        sees: bool = True,
        twice: bool = False,
        realistic: bool = False,
        captions: bool = True,
        vectors: bool = False,
        asks: bool = False,
        photos: Sequence[LabelledPhoto] = (),
        match: str = "captions",
        always: Mapping[int, Sequence[Clause]] | None = None,
    ) -> None:
        super().__init__()
        self.arena = Arena(targets, template, corpus, rules)
        self.rules = rules
        self.sees = sees and judged
        self._judged = judged
        self._drawer = Drawer(
            targets,
            self.arena.prompt,
            self.arena.subject,
            judged=judged,
            sees=sees,
            twice=twice,
            realistic=realistic,
            top_k=rules.top_k,
            seed=rules.seed,
        )
        self.scouts = scouts_of(self.arena)
        self._helpers = Helpers(self.arena, captions, vectors, asks)
        self.arena.companions = self._helpers.study.companions
        self._scales = Scales(self.arena)
        self._sight = ClauseSight()
        self._real = RealPhotos(self.arena, photos, match == "embedding", captions)
        self._names = {target.name for target in targets}
        self._touched: set[str] = set()
        self._excused: list[str] = []
        self._prospects = Prospects(self.arena, self.scouts)
        self._suspicions = Suspicions(self.arena, self.scouts, self._prospects)
        self._anew: tuple[tuple[int, int], Arena] | None = None
        self._enter_written(always or {})
        self._prospects.rank(self._scales.need())

    def _enter_written(self, written: Mapping[int, Sequence[Clause]]) -> None:
        for label, clauses in written.items():
            for clause in clauses:
                arm = self.arena.enter(describe(label, [clause]), WRITTEN, 0.3)
                if arm is not None:
                    arm.urgent = self.arena.test(arm)

    def begin_with(self, earlier: Earlier) -> None:
        """Bugs found there join the race before anything else was seen: each gets a first look."""
        reader = DescriptionReader(self.arena)
        known = [found for subject in earlier.findings if (found := reader.read(subject)) is not None]
        refuse_strangers(earlier, known, "is about a class and clauses of this hunt")
        for description in known:
            self.arena.enter(description, EARLIER, EARLIER_HOLDS)
        self._prospects.rank(self._scales.need())

    # Planning

    def plan(self) -> list[Planned]:
        """The budget is planned to the last image; probes that draw nothing come on top."""
        planned: list[Planned] = []
        size = self.rules.planned_together
        for part, share in (
            (self._plan_baselines, 1.0),
            (self._plan_helpers, 1.0),
            (self._real.plan, 1.0),
            (self._plan_blocks, FRESH),
            (self._plan_cheap_tests, self._tests_share()),
            (self._plan_repeats, 1.0),
            (self._plan_wanted_looks, 1.0),
            (self._plan_tests, COSTLY_TESTS),
            (self._plan_looks, LOOKS),
            (self._plan_crowds, 1.0),
            (self._plan_looks, 1.0),
            (self._plan_tests, 1.0),
            (self._plan_blocks, 1.0),
        ):
            room = int(share * (size - len(planned)))
            left = self.arena.left
            room = room if left is None or part in (self._plan_helpers, self._real.plan) else min(room, left)
            if room > 0:
                planned += part(room)
        return planned or self._plan_capped_tests(size)

    def _plan_capped_tests(self, room: int) -> list[Planned]:
        """Where nothing else is left, tests go on beyond what one may take of a budget that others need."""
        left = self.arena.left
        if self.under_way or left is None or self.rules.most_images is not None:
            return []
        return self._plan_tests(min(room, left), tests=self._prospects.capped)

    def _spare(self) -> float:
        """Images that need not be kept for the fresh ones of what is proven, or about to be."""
        left = self.arena.left
        if left is None:
            return float("inf")
        fresh = self.rules.confirm + self.rules.toggles
        soon = sum(arm.log_e > 3.0 for arm in self._prospects.testing)
        return left - self.arena.owed - self.arena.unmeasured - min(soon * fresh, left / 3)

    def _tests_share(self) -> float:
        """How much of a round tests may take: looking for more is idle when what is known takes all."""
        return float(np.clip(self._prospects.demand / max(1.0, self._spare()), TESTS, MOST_TESTS))

    def _plan_baselines(self, room: int) -> list[Planned]:
        """In turn over all classes: one that cannot be drawn must not look like a run that cannot work."""
        wanted = []
        for at, state in enumerate(self.arena.classes):
            wanted += [(state.issued + step, at) for step in range(self._missing(state))]
        planned: list[Planned] = []
        for number, at in sorted(wanted)[:room]:
            state = self.arena.classes[at]
            state.issued += 1
            use = ("base", at, Description(at), f"b{number}", f"base/{state.name}", number)
            planned.append(self._drawn(*use, self._unasked(at, number)))
        return planned

    def _unasked(self, label: int, number: int) -> list[Clause]:
        """Clauses to ask the judge about in a plain picture: they show whether the judge sees clauses."""
        options = self.scouts.classes[label].options
        if not self.sees or len(options) < UNASKED:
            return []
        name = self.arena.targets[label].name
        luck = random.Random(stream_seed(self.rules.seed, f"unasked/{name}", number))
        return [self.scouts.clauses[int(at)] for at in luck.sample(options.tolist(), UNASKED)]

    def _missing(self, state: ClassState) -> int:
        """Baseline images still to be asked for; invalid ones are replaced, within limits."""
        pending = state.issued - state.base.drawn
        wanted = min(state.goal - state.base.valid - pending, 2 * state.goal - state.issued)
        return 0 if state.skip else max(0, wanted)

    def _plan_helpers(self, room: int) -> list[Planned]:
        """Captions and questions to the language model: for a class whenever enough of it has failed anew."""
        planned: list[Planned] = []
        for at, state in enumerate(self.arena.classes):
            once = self.rules.rounds and state.minings >= self.rules.rounds
            if state.waiting or state.skip or not state.ready or once or not self._helpers.wanted(state):
                continue
            planned += self._helpers.probes(at, state)
            if len(planned) >= room:
                break
        return planned

    def _plan_blocks(self, room: int) -> list[Planned]:
        planned: list[Planned] = []
        for subject, block in sorted(self.arena.blocks.items(), key=lambda item: item[1].order):
            name = self.arena.targets[block.description.label].name
            while block.issued < block.goal and len(planned) < room:
                number = block.issued
                block.issued += 1
                use = ("block", subject, block.description, f"f{number}", f"final/{name}", number)
                planned.append(self._drawn(*use))
        return planned

    def _plan_cheap_tests(self, room: int) -> list[Planned]:
        return self._plan_tests(room, self._prospects.costly)

    def _plan_tests(
        self, room: int, later: Collection[str] = (), tests: Sequence[tuple[Arm, int]] | None = None
    ) -> list[Planned]:
        """The most promising tests first, without those that are for `later`."""
        planned: list[Planned] = []
        for arm, images in self._prospects.tests if tests is None else tests:
            if arm.subject in later:
                continue
            if len(planned) >= min(room, self._spare()):
                break
            if arm.pending or not self.arena.classes[arm.description.label].ready:
                continue
            if not self.arena.test(arm):
                continue
            for _ in range(min(images, room - len(planned))):
                number = arm.issued
                arm.issued += 1
                use = ("race", arm.subject, arm.description, str(number), f"race/{arm.subject}", number)
                planned.append(self._drawn(*use))
        return planned

    def _plan_repeats(self, room: int) -> list[Planned]:
        planned: list[Planned] = []
        for label, state in enumerate(self.arena.classes):
            for number in self.scouts.to_repeat(label, self._prospects.hot[label]) if state.ready else ():
                if len(planned) + AGAIN > min(room, self._spare()):
                    return planned
                crowd = self.scouts.classes[label].crowds[number]
                description = self.scouts.description(label, crowd.values)
                for step in range(AGAIN):
                    crowd.again += 1
                    self.arena.looked_in_crowds += 1
                    mark, stream = f"w{number}.{step}", f"again/{state.name}/{number}"
                    planned.append(self._drawn("again", (label, number), description, mark, stream, step))
        return planned

    def _plan_wanted_looks(self, room: int) -> list[Planned]:
        """Looks at what failures suggest (crowds that failed again, captions, parts), while they pay well."""
        return self._plan_looks(room, wanted=True) if self._suspicions.pairs_pay_well else []

    def _plan_looks(self, room: int, wanted: bool = False) -> list[Planned]:
        """A few images of descriptions by themselves, the most promising first."""
        planned: list[Planned] = []
        for arm, images in self._prospects.looks:
            if wanted and not arm.wanted and arm.source == "corpus":
                continue
            if len(planned) + FIRST > min(room, self._spare()):
                break
            if arm.pending or not self.arena.classes[arm.description.label].ready:
                continue
            for _ in range(min(images, room - len(planned))):
                number = arm.looked
                arm.looked += 1
                use = ("look", arm.subject, arm.description, f"k{number}", f"look/{arm.subject}", number)
                planned.append(self._drawn(*use))
        return planned

    def _plan_crowds(self, room: int) -> list[Planned]:
        planned: list[Planned] = []
        if self._spare() < KEPT_FOR_PROOF or not self.rules.together:
            return planned
        ready = [at for at, state in enumerate(self.arena.classes) if state.ready and not state.skip]
        if self.rules.rounds:  # cut to a number of rounds: every value gets so many looks and no more
            ready = [at for at in ready if self.scouts.least_looked(at) < self.rules.rounds]
        elif self.arena.left is None:
            ready = [at for at in ready if self.scouts.least_looked(at) < ENOUGH_LOOKS]
        while ready and len(planned) < room:
            for label in sorted(ready, key=lambda at: (len(self.scouts.classes[at].crowds), at)):
                number = self.scouts.compose(label, self._prospects.hot[label])
                if number is None:
                    ready.remove(label)
                    break
                self.arena.looked_in_crowds += 1
                values = self.scouts.classes[label].crowds[number].values
                name = self.arena.targets[label].name
                use = (
                    "crowd",
                    (label, number),
                    self.scouts.description(label, values),
                    f"w{number}",
                    f"crowd/{name}",
                )
                planned.append(self._drawn(*use, number))
                if len(planned) >= min(room, self._spare()):
                    return planned
        return planned

    def _drawn(
        self,
        what: str,
        owner: object,
        description: Description,
        mark: str,
        stream: str,
        number: int,
        unasked: Sequence[Clause] = (),
    ) -> DrawnPicture:
        use = Use(what, owner, number, description)
        self.arena.drawn += 1
        return self._drawer.planned(use, description, mark, stream, number, unasked)

    # Learning

    def know(self, trial: Trial) -> None:
        name = trial.subject.partition("; ")[0]
        if name not in self._names:
            raise ConfigError(
                f"the trial {trial.key!r} is about {name!r}, which this hunt does not know",
                "resume with the classes and the shard that it was run with",
            )

    def close(self, finished: Sequence[Planned]) -> None:
        for one in finished:
            assert one.outcome is not None
            assert isinstance(one.use, Use)
            if isinstance(one, DrawnPicture):
                notes = self._drawer.notes(one.use.description)
                look = self._understood(one, one.look(self._judged, notes, self.rules.both_fails))
                if look.both:
                    self._excused.append(one.probe.key)
                self._absorb(one.use, look)
            elif one.use.what in ("photo", "text"):
                self._real.absorb(one.use, one.outcome)
            else:
                self._helpers.absorb(one.use, one.outcome)
        if self._sight.decide():
            self.arena.take_as_asked()
            self.scouts.take_as_asked()
            self._touched.update(self.arena.arms)
        self._settle()

    def _understood(self, drawn: DrawnPicture, look: Look) -> Look:
        """What the judge says of clauses is noted; once it is known to see none, it counts no more."""
        use = drawn.use
        assert isinstance(use, Use)
        if not self.sees:
            return look
        label, clauses = use.description.label, use.description.clauses
        if clauses:
            said = zip(((label, one.label) for one in clauses), look.shown, strict=False)
            self._sight.note(True, said)
        elif use.what == "base":
            names = ((label, one.label) for one in self._unasked(label, use.number))
            self._sight.note(False, zip(names, drawn.unasked, strict=False))
        return replace(look, heeded=None, shown=()) if self._sight.is_blind and clauses else look

    def _absorb(self, use: Use, look: Look) -> None:
        state = self.arena.classes[use.description.label]
        if use.what == "race":
            self.arena.arms[use.owner].counts.add(look)
            self._touched.add(use.owner)
        elif use.what == "look":
            self.arena.arms[use.owner].looks.add(look)
        elif use.what == "block":
            self.arena.blocks[use.owner].add(use.number, look)
        elif use.what == "base":
            state.base.add(look)
        elif use.what == "again":
            self.scouts.absorb_again(use.owner[0], use.owner[1], look.failed)
        elif look.failed is not None:
            values = self.scouts.classes[use.owner[0]].crowds[use.owner[1]].values
            labels = [clause.label for clause in use.description.clauses]
            hidden = {name for name, seen in zip(labels, look.shown, strict=False) if seen is False}
            shown = [at for at in values if self.scouts.clauses[at].label not in hidden]
            self.scouts.absorb(use.owner[0], use.owner[1], shown, look.failed)
        if use.what != "block":
            labels = [clause.label for clause in use.description.clauses]
            asked = tuple(name for name, seen in zip(labels, look.shown, strict=False) if seen)
            self._helpers.notice(state, replace(look, asked=asked, plain=use.what == "base"))

    def _settle(self) -> None:
        self._give_up_classes()
        self._scales.weigh(self._touched)
        self._touched.clear()
        for arm in self.arena.claimed:
            self.arena.minimise(arm)
        self._suspicions.learn(self._helpers.take_unasked())
        self._prospects.rank(self._scales.need())
        self.arena.confirm({arm.subject for arm in self._prospects.testing})

    def _give_up_classes(self) -> None:
        for state in self.arena.classes:
            base = state.base
            state.ready |= state.issued == base.drawn and not self._missing(state)
            if state.skip or not self._prospects.is_undrawable(base):
                continue
            shown = f"{base.valid} of {base.tries} images could be used"
            if base.absent > base.invalid / 2:
                shown = f"{base.tries - base.absent} of {base.tries} images show it"
            state.skip = f"skipped: {shown}"

    # Looking

    def findings(self) -> list[Finding]:
        """Proven descriptions that no shorter one explains, most certain first."""
        arena = self._all_told()
        bugs = sorted(arena.bugs(), key=lambda arm: (-arm.log_e, arm.subject))
        return [describe_bug(arena, arm, self._real.about(arm), self.sees) for arm in bugs]

    def _all_told(self) -> Arena:
        """The arena, with trials that an earlier version planned and this one has not asked for."""
        known = len(self._told) - len(self._early), len(self._early)
        if not self._early:
            return self.arena
        if self._anew is None or self._anew[0] != known:
            self._anew = known, read_anew(self.arena, self._early.values(), self._judged)
        return self._anew[1]

    def suspects(self) -> list[Finding]:
        """Tested descriptions that fail more than their class and are not proven, nearest to it first."""
        arena, need = self._all_told(), self._scales.need()
        claimed = {arm.subject for arm in arena.claimed}
        open_ones = [
            arm
            for arm in arena.arms.values()
            if arm.tested and arm.subject not in claimed and arm.counts.valid >= FEWEST and arm.log_e > 0
        ]
        ranked = sorted(open_ones, key=lambda arm: (-arm.log_e, arm.subject))
        found = [describe_suspect(arena, arm, need, self.sees) for arm in ranked]
        return [one for one in found if one is not None][:SUSPECTS]

    def excused(self) -> list[str]:
        """Wrong labels whose object is in the picture too: no failures."""
        return self._excused

    def survey(self) -> ClassifierSurvey:
        return survey_of(self._all_told(), self.scouts, self._helpers.study, self.notices())

    def notices(self) -> list[str]:
        return [text for text in (self._sight.sentence, self._end()) if text]

    def _end(self) -> str:
        """Why it is over, in one line; "" while it goes on."""
        if not self.done:
            return ""
        left, need = self.arena.left, self._scales.need()
        tested = sum(arm.tested for arm in self.arena.arms.values())
        if left is not None and left <= KEPT_FOR_PROOF:
            return f"the budget is used up: {self.arena.drawn:,} images, {tested:,} descriptions tested"
        rest = "no budget was set" if left is None else f"{left:,} images are left"
        return (
            f"nothing is left that could be proven: {rest}, {tested:,} of {self.arena.most_tried:,} "
            f"descriptions tested, and a proof takes evidence of {np.exp(min(need, 700.0)):,.0f}"
            + self._capped()
        )

    def _capped(self) -> str:
        """Tests that ended unproven at the most images of one description: a person may allow more."""
        proven, most = {arm.subject for arm in self.arena.claimed}, self.rules.most_in_test
        tests = [arm for arm in self.arena.arms.values() if arm.counts.drawn >= most]
        capped = sum(arm.subject not in proven for arm in tests)
        each = f"; not proven in the {most:,} images that one may take (`search.most_images`)"
        return f"{each}: {capped:,}" if capped else ""

    def progress(self) -> Progress:
        tried = sum(arm.tested for arm in self.arena.arms.values())
        if self.done:
            return Progress("done", tried, tried, len(self._all_told().bugs()))
        waiting = sum(not state.ready and not state.skip for state in self.arena.classes)
        tests = f"{len(self._prospects.tests)} tests, first looks"
        phase = f"baselines of {waiting} classes" if waiting else tests
        return Progress(phase, tried, None, len(self._all_told().bugs()))
