"""The classifier hunt: one pattern search over classes × clauses, with pictures, captions and proposals.

The search (`search/patterns`) decides what to draw. This hunt turns its requests into pictures, tells it what
they show and whether they fail, and measures what was proven on fresh images. See docs/classifier.md.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from failscape.errors import ConfigError
from failscape.kinds.classifier.caption_study import CaptionStudy
from failscape.kinds.classifier.clause_sight import UNASKED, ClauseSight
from failscape.kinds.classifier.drawing import Drawer, DrawnPicture
from failscape.kinds.classifier.earlier import DescriptionReader, read_anew
from failscape.kinds.classifier.excuses import ExcuseControl
from failscape.kinds.classifier.findings import describe_bug, describe_suspect
from failscape.kinds.classifier.language_model import LanguageModel
from failscape.kinds.classifier.pattern_rule import PresenceAwareExcess, fact_space
from failscape.kinds.classifier.prompts import Clause, Description, Template, describe
from failscape.kinds.classifier.purposes import EXPLORING, FRESH, LOOK, PLAIN, SEARCH
from failscape.kinds.classifier.real_photos import RealPhotos
from failscape.kinds.classifier.record import HuntRecord
from failscape.kinds.classifier.settings import ClassifierRules, stream_seed
from failscape.kinds.classifier.survey import WRITTEN, ClassifierSurvey, survey_of, unexamined_classes
from failscape.kinds.classifier.tallies import Described, DescriptionTest, LabelledPhoto, Look, Target, Use
from failscape.search.patterns import PatternRequest, PatternSearch, PatternSuspect, RequestPurpose, TrialRow
from failscape.search.rounds import Planned, RoundHunt
from failscape.spaces.corpus import Corpus
from failscape.spaces.earlier import Earlier, refuse_strangers
from failscape.trials import Finding, Progress, Subject, Trial, thing_text

#: The chance that a bug of an earlier hunt is one here: as likely as not.
EARLIER_HOLDS = 0.5

#: Toggles take at most this part of a round, so that the search goes on beside them.
TOGGLES_SHARE = 0.5

#: A sentence becomes a fact when this many captions say it: what was said once cannot be tested.
CAPTIONS_FOR_FACT = 2


class ClassifierHunt(RoundHunt[Planned]):
    """Many classes, one budget.

    Args:
        targets: The classes.
        template: The prompt of a plain picture.
        corpus: Values that can be asked for, if there is one.
        rules: Budget and numbers.
        judged: There is a judge for the presence of the class.
        sees: The judge is asked about clauses.
        twice: The judge is asked whether the wrong label's object is in the picture too.
        realistic: Only pictures count that the judge takes for photographs.
        captions: There is a captioner.
        asks: There is a language model that proposes descriptions.
        photos: Real pictures to compare findings with, found by `match`.
        always: Descriptions that somebody wrote, by class: they are tested whatever else is found.
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
        asks: bool = False,
        photos: Sequence[LabelledPhoto] = (),
        match: str = "captions",
        always: Mapping[int, Sequence[Clause]] | None = None,
    ) -> None:
        super().__init__()
        self.rules = rules
        self.sees = sees and judged
        self.record = HuntRecord(targets, template, corpus, rules)
        rule = PresenceAwareExcess(self.record)
        self.search = PatternSearch(fact_space(self.record), rules.search_settings(len(targets)), rule)
        self.record.test_slots = self.search.ledger.slots
        self._judged = judged
        self._captions = captions
        self._drawer = Drawer(
            targets,
            self.record.prompt,
            self.record.subject,
            judged=judged,
            sees=sees,
            twice=twice,
            realistic=realistic,
            captions=captions,
            top_k=rules.top_k,
            seed=rules.seed,
        )
        self._study = CaptionStudy()
        self._sight = ClauseSight()
        self._excuses = ExcuseControl()
        self._language = LanguageModel(self.record, self.search) if asks else None
        self._real = RealPhotos(self.record, photos, match == "embedding", captions)
        self._said: dict[str, int] = {}
        self._sources: dict[str, str] = {}
        self._looks: dict[str, int] = {}
        self._excused: list[str] = []
        #: Keys of pictures in which the judge does not see all clauses: those that count all the same, and
        #: those that do not.
        self._as_asked: list[str] = []
        self._unheeded: list[str] = []
        #: Usable pictures by class: the facts they are taken to show, whether they failed, and their key.
        self._shown: list[list[tuple[frozenset[str], bool, str]]] = [[] for _ in targets]
        #: Subjects of claims whose name is minimal as far as trials tell.
        self._settled: set[str] = set()
        self._anew: tuple[tuple[int, int], HuntRecord] | None = None
        self.record.fresh.companions = self._study.companions
        self.record.fresh.seen_rate = self._seen_rate
        self._enter_written(always or {})

    def _enter_written(self, written: Mapping[int, Sequence[Clause]]) -> None:
        for label, clauses in written.items():
            for clause in clauses:
                self._propose(describe(label, [clause]), WRITTEN, EARLIER_HOLDS, always_test=True)

    def begin_with(self, earlier: Earlier) -> None:
        """Bugs found there are proposed before anything else was seen."""
        reader = DescriptionReader(self.record)
        known = [found for subject in earlier.findings if (found := reader.read(subject)) is not None]
        refuse_strangers(earlier, known, "is about a class and clauses of this hunt")
        for description in known:
            self._propose(description, "an earlier hunt", EARLIER_HOLDS)

    def _propose(
        self, description: Description, source: str, chance: float, always_test: bool = False
    ) -> None:
        """Let the search look at a description that somebody thinks is a bug."""
        target = self.record.targets[description.label]
        if not self.record.candidates.compatible(target, description.clauses):
            return
        for clause in description.clauses:
            self._learn_clause(clause)
        self._sources.setdefault(self.record.subject(description), source)
        facts = [clause.label for clause in description.clauses]
        self.search.propose(target.name, facts, chance, always_test=always_test)

    def _learn_clause(self, clause: Clause) -> None:
        """A sentence excludes no other one, so it is a kind of its own."""
        self.record.learn_clause(clause)
        if clause.label not in self.search.space:
            self.search.space.offer(self.search.space.add(clause.label, clause.label))

    # Planning

    def plan(self) -> list[Planned]:
        """The budget is planned to the last image; probes that draw nothing come on top."""
        size = self.rules.planned_together
        planned: list[Planned] = self._language.plan() if self._language else []
        planned += self._real.plan(size)
        drawn = list(self._plan_toggles(int(TOGGLES_SHARE * size)))
        requests = self.search.choose(size - len(drawn))
        drawn += [self._drawn_for(request) for request in requests]
        drawn += self._plan_toggles(size - len(drawn))
        return planned + drawn

    def _plan_toggles(self, room: int) -> Iterator[DrawnPicture]:
        """Their images were set aside when they were ordered."""
        for block in self.record.fresh.waiting():
            while block.issued < block.goal and room > 0:
                room -= 1
                yield self._draw_fresh(block.subject, block.description)

    def _draw_fresh(
        self, subject: str, description: Description, request: PatternRequest | None = None
    ) -> DrawnPicture:
        block = self.record.fresh.block(description, 0, 0)
        number = block.issued
        block.issued += 1
        self.record.drawn["fresh"] += 1
        name = self.record.targets[description.label].name
        use = Use("fresh", subject, number, description, request)
        drawn = self._drawer.planned(use, description, FRESH, f"final/{name}", number)
        # What is said of fresh images must suggest nothing: they measure what was suggested before.
        drawn.captioned = False
        return drawn

    def _drawn_for(self, request: PatternRequest) -> DrawnPicture:
        description = self.record.describe(request.context, request.facts)
        if request.purpose is RequestPurpose.CONFIRM:
            block = self.record.fresh.block(description, 0, 0)
            block.goal = max(block.goal, block.issued + 1)
            return self._draw_fresh(block.subject, description, request)
        self.record.drawn[request.purpose.value] += 1
        is_plain = request.purpose is RequestPurpose.PLAIN
        draw = self._draw_plain if is_plain else self._draw_described
        drawn = draw(request, description)
        drawn.captioned_always = request.number % self.rules.described_passes == 0
        return drawn

    def _draw_plain(self, request: PatternRequest, description: Description) -> DrawnPicture:
        state = self.record.classes[description.label]
        number = state.issued
        state.issued += 1
        return self._drawer.planned(
            Use("plain", request.context, number, description, request),
            description,
            PLAIN,
            f"base/{state.name}",
            number,
            self._unasked(description.label, number),
            self._control(description.label, number),
        )

    def _draw_described(self, request: PatternRequest, description: Description) -> DrawnPicture:
        subject = self.record.subject(description)
        if request.purpose is RequestPurpose.TEST:
            test = self._test_of(request, description)
            number = test.issued
            test.issued += 1
            purpose, stream, what = SEARCH, f"race/{subject}", "test"
        elif request.purpose is RequestPurpose.EXPLORE:
            state = self.record.classes[description.label]
            number = state.explored
            state.explored += 1
            purpose, stream, what = EXPLORING, f"crowd/{state.name}", "explore"
        else:
            number = self._looks.get(subject, 0)
            self._looks[subject] = number + 1
            purpose, stream, what = LOOK, f"look/{subject}", "look"
        use = Use(what, subject, number, description, request)
        return self._drawer.planned(use, description, purpose, stream, number)

    def _test_of(self, request: PatternRequest, description: Description) -> DescriptionTest:
        """The counts of a test, by the same rule that the search counts by."""
        search_test = self.search.ledger.find(request.context, self.search.space.key(request.pattern))
        assert search_test is not None
        subject = self.record.subject(description)
        source = self._sources.get(subject, "search")
        return self.record.test(description, source, search_test.only_shown)

    def _unasked(self, label: int, number: int) -> list[Clause]:
        """Clauses to ask the judge about in a plain picture: they show whether the judge sees clauses."""
        target = self.record.targets[label]
        options = self.record.candidates.options(target)
        if not self.sees or len(options) < UNASKED:
            return []
        luck = random.Random(stream_seed(self.rules.seed, f"unasked/{target.name}", number))
        return [self.record.candidates.clauses[at] for at in luck.sample(options, UNASKED)]

    def _control(self, label: int, number: int) -> Target | None:
        """Another class, whose object nobody asked for: a judge that sees it would excuse anything.

        A hunt of a single class takes a thing of the corpus.
        """
        name = self.record.targets[label].name
        others = [target for at, target in enumerate(self.record.targets) if at != label]
        if not others:
            things = self.record.candidates.things
            others = [Target(thing, (thing,)) for thing in things if thing != name.lower()]
        luck = random.Random(stream_seed(self.rules.seed, f"control/{name}", number))
        return luck.choice(others) if others else None

    # Learning

    def know(self, trial: Trial) -> None:
        name = Subject.parse(trial.subject).name
        if not self.record.knows_class(name):
            raise ConfigError(
                f"the trial {trial.key!r} is about {name!r}, which this hunt does not know",
                "resume with the classes and the shard that it was run with",
            )

    def close(self, finished: Sequence[Planned]) -> None:
        drawn = [one for one in finished if isinstance(one, DrawnPicture)]
        self._learn_about_judge(drawn)
        for one in finished:
            assert one.outcome is not None
            assert isinstance(one.use, Use)
            if isinstance(one, DrawnPicture):
                self._absorb(one, one.use)
            elif one.use.what in ("photo", "text"):
                self._real.absorb(one.use, one.outcome)
            elif self._language is not None:
                for clause in self._language.absorb(one.use, one.outcome):
                    self._propose(describe(one.use.owner, [clause]), "llm", self._language.chance)
        self._settle()

    def _learn_about_judge(self, drawn: Sequence[DrawnPicture]) -> None:
        """What is known of the judge after a round holds for the whole round."""
        for one in drawn:
            assert isinstance(one.use, Use)
            self._excuses.note_excuse(one.beside)
            self._excuses.note_control(one.control_seen)
            self._note_clauses(one, one.use)
        if self._sight.decide():
            self.search.distrust_judge()
            self.record.take_as_asked()
            self._as_asked += self._unheeded
            self._unheeded.clear()
        elif self.sees:
            self.search.judge_sees_facts = self._sight.is_trusted

    def _note_clauses(self, drawn: DrawnPicture, use: Use) -> None:
        """What the judge says of clauses that were asked for, and of others."""
        label = use.description.label
        if not self.sees:
            return
        if use.description.clauses:
            look = self._look(drawn, use)
            asked = ((label, clause.label) for clause in use.description.clauses)
            self._sight.note(True, zip(asked, look.shown, strict=False))
        elif drawn.unasked:
            names = ((label, clause.label) for clause in drawn.unasked)
            self._sight.note(False, zip(names, drawn.unasked_seen, strict=False))

    def _look(self, drawn: DrawnPicture, use: Use) -> Look:
        is_excused = drawn.beside is True and self._excuses.holds and not self.rules.both_fails
        look = drawn.look(self._judged, self._drawer.notes(use.description), is_excused)
        if use.description.clauses and not self.search.judge_sees_facts:
            # Before the judge is known to see clauses, pictures count as they were asked for.
            return replace(look, heeded=None)
        return look

    def _absorb(self, drawn: DrawnPicture, use: Use) -> None:
        look = self._look(drawn, use)
        if look.both:
            self._excused.append(drawn.probe.key)
        if False in look.shown:
            (self._unheeded if look.heeded is False else self._as_asked).append(drawn.probe.key)
        state = self.record.classes[use.description.label]
        if use.what == "plain":
            state.base.add(look)
        elif use.what == "test":
            self.record.tests[use.owner].add(look)
        elif use.what == "fresh":
            self.record.fresh.blocks[use.owner].add(use.number, look)
        state.failures += look.failed is True
        shown = self._shown_facts(use, look)
        described = self._read_caption(drawn, use, look, shown)
        if look.failed is not None:
            facts = frozenset(shown).union(described or ())
            self._shown[use.description.label].append((facts, look.failed, drawn.probe.key))
        if use.request is not None:
            self.search.observe(use.request, TrialRow(look.failed, shown, described))

    def _shown_facts(self, use: Use, look: Look) -> list[str]:
        """What was asked for, without what a trusted judge does not see."""
        labels = [clause.label for clause in use.description.clauses]
        if not self.search.judge_sees_facts or len(look.shown) != len(labels):
            return labels
        return [label for label, seen in zip(labels, look.shown, strict=True) if seen is not False]

    def _read_caption(
        self, drawn: DrawnPicture, use: Use, look: Look, shown: Sequence[str]
    ) -> list[str] | None:
        """The facts that a caption says; new ones join once enough captions say them."""
        if drawn.sentences is None or look.failed is None:
            return None
        target = self.record.targets[use.description.label]
        said = self.record.words.clauses(drawn.sentences, target.name, target.superclass)
        asked = tuple(shown) if self.search.judge_sees_facts else ()
        image = Described(look.failed, look.wrong, drawn.sentences, asked, use.what == "plain")
        self._study.learn(image, said)
        for clause in said:
            self._said[clause.label] = self._said.get(clause.label, 0) + 1
            if self._said[clause.label] >= CAPTIONS_FOR_FACT:
                self._sources.setdefault(thing_text(target.name, [clause.label]), "captions")
                self._learn_clause(clause)
        return [clause.label for clause in said if clause.label in self.search.space]

    def _settle(self) -> None:
        self._give_up_classes()
        self.search.refresh()
        self._read_claims()
        for test in self.record.bugs():
            for shorter in self.record.shorter_descriptions(test.description):
                if self.record.subject(shorter) not in self._sources:
                    self._propose(shorter, "a shorter sentence", EARLIER_HOLDS, always_test=True)
        self._order_toggles()

    def _read_claims(self) -> None:
        for test in self.search.tests():
            known = self.record.tests.get(self._subject_of(test.context, test.facts))
            if known is not None:
                known.log_evidence = test.log_evidence
        claims = self.search.claims()
        self.record.claimed = [
            self.record.tests[self._subject_of(claim.context, claim.facts)] for claim in claims
        ]
        self._settled = {
            self._subject_of(claim.context, claim.facts) for claim in claims if claim.parts_cleared
        }

    def _subject_of(self, context: str, facts: Sequence[str]) -> str:
        return self.record.subject(self.record.describe(context, facts))

    def _order_toggles(self) -> None:
        """Toggles of claims whose name is settled, from at most half of what is left."""
        for test in self.record.bugs():
            if test.subject in self._settled or not self.search.left:
                ordered = self.record.fresh.order_toggles(test.description, self.search.left // 2)
                self.search.charge(ordered)

    def _give_up_classes(self) -> None:
        for state in self.record.classes:
            base = state.base
            enough = base.drawn >= min(20, 2 * self.rules.baseline)
            if state.skip or not enough or base.valid >= self.rules.least_presence * base.drawn:
                continue
            shown = f"{base.valid} of {base.tries} images could be used"
            if base.absent > base.invalid / 2:
                shown = f"{base.tries - base.absent} of {base.tries} images show it"
            state.skip = f"skipped: {shown}"
            self.search.skip(state.name)

    def _seen_rate(self, description: Description) -> float:
        wanted = {clause.label for clause in description.clauses}
        rows = [failed for facts, failed, _ in self._shown[description.label] if wanted <= facts]
        return (sum(rows) + 0.5) / (len(rows) + 1)

    # Looking

    def findings(self) -> list[Finding]:
        """Proven descriptions that no shorter one explains, most certain first."""
        record = self._all_told()
        return [describe_bug(record, test, self._real.about(test), self.sees) for test in record.bugs()]

    def _all_told(self) -> HuntRecord:
        """The record, with trials that an earlier version planned and this one has not asked for."""
        known = len(self._told) - len(self._early), len(self._early)
        if not self._early:
            return self.record
        if self._anew is None or self._anew[0] != known:
            self._anew = known, read_anew(self.record, self._early.values(), self._judged)
        return self._anew[1]

    def suspects(self) -> list[Finding]:
        """Descriptions that fail more than their class and are not proven, nearest to a proof first."""
        claimed = {test.subject for test in self._all_told().claimed}
        found: list[Finding] = []
        for suspect in self.search.suspects():
            is_claimed = self._subject_of(suspect.context, suspect.facts) in claimed
            if not is_claimed and suspect.counts.fails > suspect.limit * suspect.counts.trials:
                found.append(self._tell_suspect(suspect))
        return found

    def _tell_suspect(self, suspect: PatternSuspect) -> Finding:
        description = self.record.describe(suspect.context, suspect.facts)
        subject = self.record.subject(description)
        test = self.record.tests.get(subject)
        if test is not None and test.counts.valid:
            return describe_suspect(self.record, test, suspect, (), self.sees)
        wanted = set(suspect.facts)
        rows = [row for row in self._shown[description.label] if wanted <= row[0]]
        seen = DescriptionTest(description, subject, self._sources.get(subject, "search"))
        for _, failed, _ in rows:
            seen.add(Look(failed))
        keys = tuple(key for _, _, key in rows)
        return describe_suspect(self.record, seen, suspect, keys, self.sees)

    def excused(self) -> list[str]:
        """Wrong labels whose object is in the picture too: no failures."""
        return self._excused

    def counted_as_asked(self) -> list[str]:
        return self._as_asked

    def survey(self) -> ClassifierSurvey:
        notes = [self._sight.doubt, *self.notices()]
        return survey_of(self._all_told(), self.search, self._study, [text for text in notes if text])

    def notices(self) -> list[str]:
        found = [self._sight.sentence, self._excuses.sentence, self._unexamined(), self._end()]
        return [text for text in found if text]

    def _unexamined(self) -> str:
        """Classes about which too little was learned, said beside the headline."""
        names = list(unexamined_classes(self.record, self.search)) if self.done else []
        return f"not examined: {', '.join(names)}" if names else ""

    def _end(self) -> str:
        """Why it is over, in one line; "" while it goes on."""
        if not self.done:
            return ""
        tested = len(self.record.tests)
        if self.search.left:
            return f"no class is left that can be drawn: {self.search.left:,} images are left"
        total = self.record.drawn.total()
        return f"the budget is used up: {total:,} images, {tested:,} descriptions tested"

    def progress(self) -> Progress:
        tested = len(self.record.tests)
        found = len(self._all_told().bugs())
        if self.done:
            return Progress("done", tested, tested, found)
        return Progress(f"{tested} descriptions in test", tested, None, found)
