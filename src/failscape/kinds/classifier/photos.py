"""Photos instead of a generator: every photo is classified once, and slices of them are tested. Pure.

What is wrong is told first: how many photos, which class is called what. Then come slices that fail more
often than the rest: of one fact or two, of one class or across classes (`photo_slices.py`). The tests are for
a number of photos that was fixed beforehand, so nothing is claimed before all of them are classified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from failscape.errors import ConfigError
from failscape.kinds.classifier.clause_mining import Words
from failscape.kinds.classifier.drawing import wrong_label
from failscape.kinds.classifier.editing import Edited, Editing
from failscape.kinds.classifier.judge_looks import JudgeLook, JudgeLooks, absorb_look
from failscape.kinds.classifier.photo_findings import ACROSS, SliceTeller
from failscape.kinds.classifier.photo_slices import PhotoSlice, PhotoTable, SliceSearch, suggested_clauses
from failscape.kinds.classifier.photo_survey import PhotoSurvey, photo_survey
from failscape.kinds.classifier.prompts import CLUSTER, COLUMN, Clause
from failscape.kinds.classifier.purposes import PHOTO
from failscape.kinds.classifier.sentences import points
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.kinds.classifier.slices import cluster_clauses, metadata_facts
from failscape.kinds.classifier.tallies import LabelledPhoto, Look, SeenPhoto, Target
from failscape.search.rounds import Outcome, Planned, ProbeRounds
from failscape.spaces.corpus import Corpus
from failscape.trials import (
    Caption,
    Classify,
    Decide,
    Embed,
    Finding,
    Probe,
    Progress,
    Show,
    Step,
    Subject,
    Trial,
    key_of_try,
)

SUSPECTS = 12

#: Slices that share this much of their photos are one.
SAME = 0.8


class PhotoHunt(ProbeRounds):
    """`captions`: the captioner describes photos that come without a caption. `edits`: there is an editor."""

    def __init__(
        self,
        targets: Sequence[Target],
        photos: Sequence[LabelledPhoto],
        corpus: Corpus | None,
        rules: ClassifierRules,
        *,
        judged: bool = False,
        captions: bool = False,
        edits: bool = False,
        vectors: bool = False,
    ) -> None:
        super().__init__()
        if not photos:
            raise ConfigError(
                "no photo has the label of a class",
                "put photos into folders named by class, or give `metadata.jsonl` with a `label` each; "
                "name the labels in `classes`",
            )
        self.targets, self.photos, self.rules = tuple(targets), tuple(photos), rules
        self._words = Words(corpus)
        self._facts = metadata_facts([photo.details for photo in photos])
        self._judged, self._captions, self._vectors = judged, captions, vectors
        self._names = {ACROSS, *(target.name for target in targets)}
        self._issued = 0
        self._seen: list[SeenPhoto] = []
        self._judge_looks = JudgeLooks(corpus, suggested_clauses, rules.round) if judged else None
        self._editing = Editing(rules) if edits else None
        self._looking = 0
        #: Grows with everything that may change which slices there are.
        self._changes = 0
        self._found: tuple[int, list[Finding], list[Finding]] = (-1, [], [])

    def plan(self) -> list[Planned]:
        if len(self._seen) == len(self.photos):
            planned = self._judge_looks.plan(self.targets, self._seen) if self._judge_looks else []
            if planned or self._editing is None or self._looking:
                self._looking += len(planned)
                return planned
            return self._editing.plan(self.findings(), self.targets, self._seen, self._gate)
        part = range(self._issued, min(len(self.photos), self._issued + self.rules.round))
        self._issued = part.stop
        return [Planned(self._probe(number), number) for number in part]

    def _probe(self, number: int) -> Probe:
        photo = self.photos[number]
        target = self.targets[photo.label]
        see: tuple[Step, ...] = (Caption(),) if self._captions and not photo.captions else ()
        see = (Embed(), *see) if self._vectors else see
        last = Classify(target.accept, self.rules.top_k, target.aim)
        steps = (Show((photo.digest,)), *self._gate(target), *see, last)
        return Probe(key_of_try(target.name, PHOTO, number), target.name, steps)

    def _gate(self, target: Target) -> tuple[Step, ...]:
        return (Decide((target.presence(),)),) if self._judged else ()

    def know(self, trial: Trial) -> None:
        if Subject.parse(trial.subject).name not in self._names:
            raise ConfigError(
                f"the trial {trial.key!r} is about {trial.subject!r}, which this hunt does not know",
                "resume with the classes and the folder that it was run with",
            )

    def absorb(self, use: Any, outcome: Outcome) -> None:
        if isinstance(use, JudgeLook):
            self._changes += 1
            self._looking -= 1
            absorb_look(use, outcome, self._seen[use.number])
            return
        if self._editing is not None and isinstance(use, Edited):
            self._editing.absorb(use, outcome)
            return
        self._changes += 1
        photo = self.photos[use]
        target = self.targets[photo.label]
        said: Sequence[Any] = photo.captions
        captioned = self._captions and not said
        if captioned and outcome.valid:
            said = outcome.facts[-2]
        clauses = [
            *self._words.clauses(map(str, said), target.name, target.superclass),
            *self._facts[use],
        ]
        vector: tuple[float, ...] = ()
        if self._vectors and outcome.valid and len(outcome.facts) == 3 + self._judged + captioned:
            vector = tuple(outcome.facts[1 + self._judged][0])  # earlier versions did not ask for it
        look = Look(outcome.failed if outcome.valid else None, wrong_label(outcome) if outcome.failed else "")
        named = {clause.label: clause for clause in clauses}
        self._seen.append(SeenPhoto(use, photo, look, named, vector))

    # Telling

    def findings(self) -> list[Finding]:
        return [self._explained(finding) for finding in self._reported()[0]]

    def suspects(self) -> list[Finding]:
        """Slices that look worse than the rest, and what is missing to claim them."""
        return self._reported()[1]

    def survey(self) -> PhotoSurvey:
        return photo_survey(self.targets, self._seen, len(self.photos))

    @property
    def _is_complete(self) -> bool:
        return len(self._seen) == len(self.photos) and not self._looking

    def _reported(self) -> tuple[list[Finding], list[Finding]]:
        if self._found[0] != self._changes:
            self._found = (self._changes, *self._tell())
        return self._found[1], self._found[2]

    def _explained(self, finding: Finding) -> Finding:
        toggle = self._editing.toggle(finding) if self._editing is not None else None
        if toggle is None:
            return finding
        title = finding.title
        around: tuple[str, ...] = ()
        if toggle.is_cause:
            title = f"{title.rstrip('.')}; edited into other photos, it adds {points(toggle.effect)}."
            around = (toggle.clause,) if toggle.around else ()
        return replace(
            finding, title=title, details=replace(finding.details, toggles=(toggle,), spurious=around)
        )

    def _tell(self) -> tuple[list[Finding], list[Finding]]:
        teller = SliceTeller(self.targets, self._seen, self.rules)
        if self._vectors:
            cluster_clauses(self._seen, len(self.targets))
        table = PhotoTable(self._seen, len(self.targets), teller.gone)
        search = SliceSearch(table, self.rules.fdr, self._is_fixed)
        tested = sorted(search.decided(self._looks), key=_surest_first)
        claims = [one for one in tested if one.proven and teller.is_told(one)]
        rest = [one for one in tested if not one.proven and teller.is_told(one)]
        nameless = [one for one in sorted(search.nameless(), key=_surest_first) if teller.is_told(one)]
        told = _without_single_classes(_told_apart(claims))
        missing = "" if self._is_complete else teller.not_classified(len(self.photos), self._looking)
        news = [one for one in [*rest, *nameless] if teller.is_news(one, claims)]
        suspects = [teller.suspect(one, missing) for one in news[:SUSPECTS]]
        if missing:
            return [], [*(teller.suspect(one, missing, also) for one, also in told), *suspects]
        return [teller.finding(one, claims, also) for one, also in told], suspects

    @property
    def _looks(self) -> bool:
        """Whether captions or a judge's word depend on somebody who looks at photos during the hunt."""
        return self._captions or self._judged

    def _is_fixed(self, clause: Clause) -> bool:
        """Known before anything was classified: columns, and captions that came with the folder."""
        return clause.kind.startswith(COLUMN) or (clause.kind != CLUSTER and not self._looks)

    def progress(self) -> Progress:
        done, total = len(self._seen), len(self.photos)
        findings = len(self._reported()[0]) if self._is_complete else 0
        return Progress("photos" if done < total else "done", done, total, findings)


def _surest_first(one: PhotoSlice) -> tuple[float, int, tuple[int, tuple[str, ...]]]:
    return one.p_value, len(one.clauses), one.name


def _vagueness(one: PhotoSlice) -> int:
    return max(1 if clause.kind.startswith(COLUMN) else 0 for clause in one.clauses)


def _told_apart(claims: Sequence[PhotoSlice]) -> list[tuple[PhotoSlice, tuple[str, ...]]]:
    """Slices of nearly the same photos are one finding, named by words rather than by a column."""
    kept: list[tuple[PhotoSlice, tuple[str, ...]]] = []
    for one in sorted(claims, key=lambda one: (len(one.clauses), _vagueness(one), one.p_value, one.name)):
        photos = set(one.members)
        same = [at for at, (other, _) in enumerate(kept) if _overlap(photos, set(other.members)) >= SAME]
        for at in same[:1]:
            also = " and ".join(clause.value for clause in one.clauses)
            kept[at] = kept[at][0], (*kept[at][1], also)
        if not same:
            kept.append((one, ()))
    return sorted(kept, key=lambda one: _surest_first(one[0]))


def _without_single_classes(
    told: Sequence[tuple[PhotoSlice, tuple[str, ...]]],
) -> list[tuple[PhotoSlice, tuple[str, ...]]]:
    """A slice of one class is told by the slice of the same facts across classes, where there is one."""
    across = {one.clauses for one, _ in told if one.label is None}
    return [(one, also) for one, also in told if one.label is None or one.clauses not in across]


def _overlap(first: set[int], second: set[int]) -> float:
    return len(first & second) / max(1, len(first | second))
