"""The classifier hunt: baselines, proposals, a race of descriptions, and fresh images for what won.

All decisions are made between rounds (`rounds.py`), from finished rounds alone. Claims rest on e-values over
everything that may be tried; see docs/classifier.md for the argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from failscape.errors import ConfigError
from failscape.hunts.classifier.candidates import question_for
from failscape.hunts.classifier.describe import proposals
from failscape.hunts.classifier.field import Field
from failscape.hunts.classifier.findings import describe_bug
from failscape.hunts.classifier.labels import Target
from failscape.hunts.classifier.prompts import Description, Template, describe
from failscape.hunts.classifier.race import Outlook
from failscape.hunts.classifier.rounds import Outcome, Planned, RoundHunt
from failscape.hunts.classifier.rules import Rules, stream_seed
from failscape.hunts.classifier.survey import ClassifierSurvey, survey_of
from failscape.hunts.classifier.tallies import ClassState, Described, wrong_label
from failscape.hunts.classifier.words import parse_list
from failscape.spaces.corpus import Corpus
from failscape.stats.excess import absent_share, log_excess, log_excess_grid
from failscape.stats.fdr import log_e_bh
from failscape.trials import (
    Answer,
    Caption,
    Classify,
    Decide,
    Embed,
    Finding,
    Generate,
    Probe,
    Progress,
    Show,
    Step,
    Trial,
    Verdict,
)

HOPELESS = 0.003
"""Descriptions with a smaller chance of being a bug get no more images."""

FEWEST = 4
"""Images that every tried description gets before it can be given up."""


class Use(NamedTuple):
    """What a planned trial is for: `what` is base, race, block, caption or answer."""

    what: str
    owner: Any
    number: int


class ClassifierHunt(RoundHunt):
    """Many classes, one budget. `judged`, `captions`, `vectors` and `asks` say which helpers there are."""

    def __init__(
        self,
        targets: Sequence[Target],
        template: Template,
        corpus: Corpus | None,
        rules: Rules,
        *,
        judged: bool = True,
        captions: bool = True,
        vectors: bool = False,
        asks: bool = False,
    ) -> None:
        super().__init__()
        self.field = Field(targets, template, corpus, rules)
        self.rules = rules
        self._judged, self._captions, self._vectors, self._asks = judged, captions, vectors, asks
        self._names = {target.name for target in targets}
        self._steps: dict[str, tuple[Step, ...]] = {}
        self._touched: set[str] = set()
        self._grids: dict[int, tuple[tuple[int, int], Any]] = {}
        self._look()

    # Planning

    def plan(self) -> list[Planned]:
        planned: list[Planned] = []
        for part in (self._plan_baselines, self._plan_helpers, self._plan_blocks, self._plan_race):
            room = self.rules.round - len(planned)
            if room > 0:
                planned += part(room)
        return planned

    def _plan_baselines(self, room: int) -> list[Planned]:
        """In turn over all classes: one that cannot be drawn must not look like a run that cannot work."""
        wanted = []
        for at, state in enumerate(self.field.classes):
            wanted += [(state.issued + step, at) for step in range(self._missing(state))]
        planned = []
        for number, at in sorted(wanted)[:room]:
            state = self.field.classes[at]
            state.issued += 1
            planned.append(
                self._planned("base", at, Description(at), f"b{number}", f"base/{state.name}", number)
            )
        return planned

    def _missing(self, state: ClassState) -> int:
        """Baseline images still to be asked for; invalid ones are replaced, within limits."""
        pending = state.issued - state.base.tries
        wanted = min(state.goal - state.base.valid - pending, 2 * state.goal - state.issued)
        return 0 if state.skip else max(0, wanted)

    def _plan_helpers(self, room: int) -> list[Planned]:
        planned: list[Planned] = []
        for at, state in enumerate(self.field.classes):
            if state.to_describe is not None or state.skip or not state.ready:
                continue
            probes = self._helper_probes(at, state)
            state.to_describe = state.waiting = len(probes)
            planned += probes
            if len(planned) >= room:
                break
        return planned

    def _helper_probes(self, at: int, state: ClassState) -> list[Planned]:
        """Captions of failures and of as many passes, and one question to the language model."""
        failed = [image for image in state.images if image[1]][: self.rules.captions]
        passed = [image for image in state.images if not image[1]][: max(8, len(failed))]
        chosen = [*failed, *passed] if failed and self._captions else []
        see: tuple[Step, ...] = (Caption(), Embed()) if self._vectors else (Caption(),)
        planned = [
            Planned(
                Probe(f"{state.name}#c{number}", state.name, (Show((digest,)), *see)),
                Use("caption", (at, bad, wrong), number),
            )
            for number, (digest, bad, wrong) in enumerate(chosen)
        ]
        if self._asks:
            question = question_for(self.field.targets[at], self.rules.proposals)
            probe = Probe(
                f"{state.name}#l0", state.name, (Answer(question),), stream_seed(self.rules.seed, "ask", 0)
            )
            planned.append(Planned(probe, Use("answer", at, 0)))
        state.images.clear()
        return planned

    def _plan_blocks(self, room: int) -> list[Planned]:
        planned: list[Planned] = []
        for subject, block in self.field.blocks.items():
            name = self.field.targets[block.description.label].name
            while block.issued < block.goal and len(planned) < room:
                number = block.issued
                block.issued += 1
                planned.append(
                    self._planned("block", subject, block.description, f"f{number}", f"final/{name}", number)
                )
        return planned

    def _plan_race(self, room: int) -> list[Planned]:
        planned: list[Planned] = []
        for subject, images in self._ranking:
            arm = self.field.arms[subject]
            if arm.pending or not self.field.classes[arm.description.label].ready:
                continue
            for _ in range(min(images, room - len(planned))):
                number = arm.issued
                arm.issued += 1
                planned.append(
                    self._planned("race", subject, arm.description, str(number), f"race/{subject}", number)
                )
            if len(planned) >= room:
                break
        return planned

    def _planned(
        self, what: str, owner: Any, description: Description, mark: str, stream: str, number: int
    ) -> Planned:
        subject = self.field.subject(description)
        steps = self._steps.get(subject)
        if steps is None:
            target = self.field.targets[description.label]
            gate = (Decide((target.presence(),)),) if self._judged else ()
            last = Classify(target.accept, self.rules.top_k, target.aim)
            steps = self._steps[subject] = (Generate(self.field.prompt(description)), *gate, last)
        probe = Probe(f"{subject}#{mark}", subject, steps, stream_seed(self.rules.seed, stream, number))
        return Planned(probe, Use(what, owner, number))

    # Learning

    def know(self, trial: Trial) -> None:
        name = trial.subject.partition("; ")[0]
        if name not in self._names:
            raise ConfigError(
                f"the trial {trial.key!r} is about {name!r}, which this hunt does not know",
                "resume with the classes and the shard that it was run with",
            )

    def absorb(self, use: Use, outcome: Outcome) -> None:
        if use.what == "race":
            arm = self.field.arms[use.owner]
            arm.counts.add(outcome)
            self._touched.add(use.owner)
        elif use.what == "block":
            self.field.blocks[use.owner].add(use.number, outcome)
        elif use.what == "base":
            self._absorb_baseline(self.field.classes[use.owner], outcome)
        elif use.what == "caption":
            self._absorb_caption(use, outcome)
        else:
            self._absorb_answer(use, outcome)

    def _absorb_baseline(self, state: ClassState, outcome: Outcome) -> None:
        state.base.add(outcome)
        failed = outcome.verdict is Verdict.FAIL
        if state.to_describe is None and outcome.verdict in (Verdict.PASS, Verdict.FAIL):
            state.images.append((str(outcome.facts[0]), failed, wrong_label(outcome) if failed else ""))

    def _absorb_caption(self, use: Use, outcome: Outcome) -> None:
        at, failed, wrong = use.owner
        state = self.field.classes[at]
        state.waiting -= 1
        if outcome.verdict is Verdict.NONE:
            sentences = tuple(str(sentence) for sentence in outcome.facts[1] or ())
            vector = tuple(outcome.facts[2][0]) if self._vectors else ()
            state.described.append(Described(failed, wrong, sentences, vector))
        if not state.waiting:
            self._propose(at, state)

    def _absorb_answer(self, use: Use, outcome: Outcome) -> None:
        state, target = self.field.classes[use.owner], self.field.targets[use.owner]
        state.waiting -= 1
        if outcome.verdict is Verdict.NONE:
            lines = parse_list(str(outcome.facts[0]), self.rules.proposals)
            for clause in self.field.words.clauses(lines, target.name, target.superclass):
                self.field.enter(describe(use.owner, [clause]), "llm")
        if not state.waiting:
            self._propose(use.owner, state)

    def _propose(self, at: int, state: ClassState) -> None:
        """What captions of failures have in common joins the race."""
        target = self.field.targets[at]
        rows = [
            self.field.words.clauses(image.sentences, target.name, target.superclass)
            for image in state.described
        ]
        for clauses in proposals(state.described, rows, self.rules.proposed):
            self.field.enter(describe(at, clauses), "captions")
        state.described.clear()

    def settle(self) -> None:
        self._give_up_classes()
        self._weigh()
        for arm in self.field.claimed:
            self.field.minimise(arm)
        self._look()
        self.field.confirm(self._racing)

    def _give_up_classes(self) -> None:
        for state in self.field.classes:
            base = state.base
            state.ready |= state.issued == base.tries and not self._missing(state)
            if state.skip or base.tries < 20 or base.valid >= self.rules.least_presence * base.tries:
                continue
            shown = f"{base.valid} of {base.tries} images could be used"
            if base.absent > base.invalid / 2:
                shown = f"{base.tries - base.absent} of {base.tries} images show it"
            state.skip = f"skipped: {shown}"

    def _weigh(self) -> None:
        """Bring evidence up to date. A moved baseline touches all descriptions of its class."""
        rules, stale = self.rules, set(self._touched)
        moved = set()
        for at, state in enumerate(self.field.classes):
            counts = (state.base.fails, state.base.passes)
            if self._grids.get(at, (None,))[0] != counts:
                self._grids[at] = (counts, log_excess_grid(*counts)[0])
                moved.add(at)
        stale |= {
            name for name, arm in self.field.arms.items() if arm.issued and arm.description.label in moved
        }
        self._touched.clear()
        arms = [self.field.arms[name] for name in sorted(stale) if self.field.arms[name].counts.tries]
        if arms:
            base = np.stack([self._grids[arm.description.label][1] for arm in arms])
            fails, passes = [[getattr(arm.counts, side) for arm in arms] for side in ("fails", "passes")]
            seen = [arm.counts.valid + arm.counts.absent for arm in arms]
            absent = (
                absent_share(np.add(fails, passes), seen, rules.sensitivity, rules.slip)
                if rules.slip
                else 0.0
            )
            found = log_excess(base, fails, passes, rules.margin, absent)
            for arm, value in zip(arms, found, strict=True):
                arm.log_e = float(value)
        opened = [arm for arm in self.field.arms.values() if arm.counts.tries]
        sure = log_e_bh([arm.log_e for arm in opened], rules.fdr, self.field.most_tried)
        self.field.claimed = [arm for arm, yes in zip(opened, sure, strict=True) if yes]

    def _need(self) -> float:
        """log of the evidence at which a description may stop: a little more than e-BH asks for now."""
        strong = sum(arm.log_e >= -np.log(self.rules.fdr) for arm in self.field.arms.values())
        return float(np.log(max(1.5, 1.25 * self.field.most_tried / max(1, strong)) / self.rules.fdr))

    def _look(self) -> None:
        """Rank what is still in the race; what is hopeless, proven or used up has left it."""
        arms = [arm for arm in self.field.arms.values() if not self.field.classes[arm.description.label].skip]
        need, most = self._need(), self.rules.most_images
        outlook = Outlook(arms, self.field.classes, self.rules.margin, need)
        index = outlook.index
        self._racing: set[str] = set()
        for at, arm in enumerate(arms):
            hopeless = outlook.chance[at] < HOPELESS and arm.counts.tries >= FEWEST
            if not hopeless and arm.log_e < need and arm.counts.tries < most:
                self._racing.add(arm.subject)
                if arm.urgent:
                    index[at] *= 8.0
            if arm.log_e > 1.5:
                self.field.classes[arm.description.label].goal = max(
                    self.rules.baseline, self.rules.baseline_more
                )
        order = np.argsort(-index, kind="stable")
        sizes = np.clip(outlook.images / 2, 2, 6).astype(int)
        self._ranking = [
            (arms[at].subject, int(sizes[at]) if arms[at].counts.tries else 3)
            for at in order
            if arms[at].subject in self._racing
        ]

    # Looking

    def findings(self) -> list[Finding]:
        """Proven descriptions that no shorter one explains, most certain first."""
        bugs = sorted(self.field.bugs(), key=lambda arm: (-arm.log_e, arm.subject))
        return [describe_bug(self.field, arm) for arm in bugs]

    def survey(self) -> ClassifierSurvey:
        return survey_of(self.field)

    def progress(self) -> Progress:
        tried = sum(arm.issued > 0 for arm in self.field.arms.values())
        if self.done:
            return Progress("done", tried, tried, len(self.field.bugs()))
        waiting = sum(not state.ready and not state.skip for state in self.field.classes)
        phase = f"baselines of {waiting} classes" if waiting else "race"
        return Progress(phase, tried, None, len(self.field.bugs()))
