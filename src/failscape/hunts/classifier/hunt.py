"""The classifier hunt: baselines, proposals, a race of descriptions, and fresh images for what won.

All decisions are made between rounds (`rounds.py`), from finished rounds alone. Claims rest on e-values over
everything that may be tried; see docs/classifier.md for the argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from failscape.errors import ConfigError
from failscape.hunts.classifier.arena import Arena, Scales
from failscape.hunts.classifier.findings import describe_bug
from failscape.hunts.classifier.helpers import Helpers, Use
from failscape.hunts.classifier.prompts import Description, Template
from failscape.hunts.classifier.race import BugChances
from failscape.hunts.classifier.real_photos import RealPhotos
from failscape.hunts.classifier.settings import ClassifierRules, stream_seed
from failscape.hunts.classifier.survey import ClassifierSurvey, survey_of
from failscape.hunts.classifier.tallies import ClassState, ImageCounts, LabelledPhoto, Target, wrong_label
from failscape.hunts.rounds import Outcome, Planned, ProbeRounds
from failscape.spaces.corpus import Corpus
from failscape.trials import (
    Classify,
    Decide,
    Finding,
    Generate,
    Probe,
    Progress,
    Step,
    Trial,
    Verdict,
)

HOPELESS = 0.003
"""Descriptions with a smaller chance of being a bug get no more images."""

FEWEST = 10
"""Images that every tried description gets before it can be given up."""


FIRST = 2
"""Images that a description gets at first: most are no bugs, and two show a strong one."""

FRESH = 0.5
"""Fresh images for findings take at most this share of a round while the race needs the rest."""


class ClassifierHunt(ProbeRounds):
    """Many classes, one budget. `judged`, `captions`, `vectors` and `asks` say which helpers there are.

    `photos` are real pictures to compare findings with, found by `match`: captions or embedding.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        template: Template,
        corpus: Corpus | None,
        rules: ClassifierRules,
        *,
        judged: bool = True,
        captions: bool = True,
        vectors: bool = False,
        asks: bool = False,
        photos: Sequence[LabelledPhoto] = (),
        match: str = "captions",
    ) -> None:
        super().__init__()
        self.arena = Arena(targets, template, corpus, rules)
        self.rules = rules
        self._judged = judged
        self._helpers = Helpers(self.arena, captions, vectors, asks)
        self._scales = Scales(self.arena)
        self._real = RealPhotos(self.arena, photos, match == "embedding", captions)
        self._names = {target.name for target in targets}
        self._steps: dict[str, tuple[Step, ...]] = {}
        self._touched: set[str] = set()
        self._look()

    # Planning

    def plan(self) -> list[Planned]:
        planned: list[Planned] = []
        for part, share in (
            (self._plan_baselines, 1.0),
            (self._plan_helpers, 1.0),
            (self._real.plan, 1.0),
            (self._plan_blocks, FRESH),
            (self._plan_race, 1.0),
            (self._plan_blocks, 1.0),
        ):
            room = int(share * (self.rules.round - len(planned)))
            if room > 0:
                planned += part(room)
        return planned

    def _plan_baselines(self, room: int) -> list[Planned]:
        """In turn over all classes: one that cannot be drawn must not look like a run that cannot work."""
        wanted = []
        for at, state in enumerate(self.arena.classes):
            wanted += [(state.issued + step, at) for step in range(self._missing(state))]
        planned = []
        for number, at in sorted(wanted)[:room]:
            state = self.arena.classes[at]
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
        for at, state in enumerate(self.arena.classes):
            if state.to_describe is not None or state.skip or not state.ready:
                continue
            probes = self._helpers.probes(at, state)
            state.to_describe = state.waiting = len(probes)
            planned += probes
            if len(planned) >= room:
                break
        return planned

    def _plan_blocks(self, room: int) -> list[Planned]:
        planned: list[Planned] = []
        for subject, block in self.arena.blocks.items():
            name = self.arena.targets[block.description.label].name
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
            arm = self.arena.arms[subject]
            if arm.pending or not self.arena.classes[arm.description.label].ready:
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
        subject = self.arena.subject(description)
        steps = self._steps.get(subject)
        if steps is None:
            target = self.arena.targets[description.label]
            gate = (Decide((target.presence(),)),) if self._judged else ()
            last = Classify(target.accept, self.rules.top_k, target.aim)
            steps = self._steps[subject] = (Generate(self.arena.prompt(description)), *gate, last)
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
            arm = self.arena.arms[use.owner]
            arm.counts.add(outcome)
            self._touched.add(use.owner)
        elif use.what == "block":
            self.arena.blocks[use.owner].add(use.number, outcome)
        elif use.what == "base":
            self._absorb_baseline(self.arena.classes[use.owner], outcome)
        elif use.what in ("photo", "text"):
            self._real.absorb(use, outcome)
        elif use.what == "caption":
            self._helpers.absorb_caption(use, outcome)
        else:
            self._helpers.absorb_answer(use, outcome)

    def _absorb_baseline(self, state: ClassState, outcome: Outcome) -> None:
        state.base.add(outcome)
        failed = outcome.verdict is Verdict.FAIL
        if state.to_describe is None and outcome.verdict in (Verdict.PASS, Verdict.FAIL):
            state.images.append((str(outcome.facts[0]), failed, wrong_label(outcome) if failed else ""))

    def settle(self) -> None:
        self._give_up_classes()
        self._scales.weigh(self._touched)
        self._touched.clear()
        for arm in self.arena.claimed:
            self.arena.minimise(arm)
        self._look()
        self.arena.confirm(self._racing)

    def _give_up_classes(self) -> None:
        for state in self.arena.classes:
            base = state.base
            state.ready |= state.issued == base.tries and not self._missing(state)
            if state.skip or not self._is_undrawable(base):
                continue
            shown = f"{base.valid} of {base.tries} images could be used"
            if base.absent > base.invalid / 2:
                shown = f"{base.tries - base.absent} of {base.tries} images show it"
            state.skip = f"skipped: {shown}"

    def _is_undrawable(self, counts: ImageCounts) -> bool:
        """Hardly any image of it can be used."""
        enough = min(20, 2 * self.rules.baseline)
        return counts.tries >= enough and counts.valid < self.rules.least_presence * counts.tries

    def _look(self) -> None:
        """Rank what is still in the race; what is hopeless, proven or used up has left it."""
        arms = [arm for arm in self.arena.arms.values() if not self.arena.classes[arm.description.label].skip]
        need, most = self._scales.need(), self.rules.most_images
        outlook = BugChances(arms, self.arena.classes, self.rules.margin, need)
        index = outlook.index
        self._racing: set[str] = set()
        for at, arm in enumerate(arms):
            hopeless = outlook.chance[at] < HOPELESS and arm.counts.valid >= FEWEST
            hopeless |= self._is_undrawable(arm.counts)
            if not hopeless and arm.log_e < need and arm.counts.tries < most:
                self._racing.add(arm.subject)
                if arm.urgent:
                    index[at] *= 8.0
            if arm.log_e > 1.5:
                self.arena.classes[arm.description.label].goal = max(
                    self.rules.baseline, self.rules.baseline_more
                )
        order = np.argsort(-index, kind="stable")
        sizes = np.clip(outlook.chance * outlook.images, 2, 16).astype(int)
        self._ranking = [
            (arms[at].subject, int(sizes[at]) if arms[at].counts.tries else FIRST)
            for at in order
            if arms[at].subject in self._racing
        ]

    # Looking

    def findings(self) -> list[Finding]:
        """Proven descriptions that no shorter one explains, most certain first."""
        bugs = sorted(self.arena.bugs(), key=lambda arm: (-arm.log_e, arm.subject))
        return [describe_bug(self.arena, arm, self._real.about(arm)) for arm in bugs]

    def survey(self) -> ClassifierSurvey:
        return survey_of(self.arena)

    def progress(self) -> Progress:
        tried = sum(arm.issued > 0 for arm in self.arena.arms.values())
        if self.done:
            return Progress("done", tried, tried, len(self.arena.bugs()))
        waiting = sum(not state.ready and not state.skip for state in self.arena.classes)
        phase = f"baselines of {waiting} classes" if waiting else "race"
        return Progress(phase, tried, None, len(self.arena.bugs()))
