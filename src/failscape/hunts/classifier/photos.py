"""Photos instead of a generator: the hunt selects. Half of the photos suggest, the other half decides. Pure.

Every photo is classified once. Which half it belongs to follows from its content, before anybody looks. What
is wrong is told first: so many photos, which class is called what; then slices that fail more than the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from failscape.errors import ConfigError
from failscape.hunts.certify import evidence_needed
from failscape.hunts.classifier.clause_mining import Words
from failscape.hunts.classifier.details import BugDetails, ClauseSaid, RateCounts
from failscape.hunts.classifier.drawing import wrong_label
from failscape.hunts.classifier.editing import Edited, Editing
from failscape.hunts.classifier.findings import gone_of, growth, widened
from failscape.hunts.classifier.judge_looks import JudgeLook, JudgeLooks, absorb_look
from failscape.hunts.classifier.photo_survey import PhotoSurvey, photo_survey
from failscape.hunts.classifier.prompts import CLUSTER, COLUMN, Clause, describe
from failscape.hunts.classifier.sentences import many, points, sentence
from failscape.hunts.classifier.settings import ClassifierRules
from failscape.hunts.classifier.slices import cluster_clauses, metadata_clauses
from failscape.hunts.classifier.tallies import ImageCounts, LabelledPhoto, Look, SeenPhoto, Target
from failscape.hunts.rounds import Outcome, Planned, ProbeRounds
from failscape.spaces.corpus import Corpus
from failscape.stats.differences import log_excess, log_excess_grid
from failscape.stats.evalues import log_e_bh
from failscape.trials import Caption, Classify, Decide, Embed, Finding, Probe, Progress, Show, Step, Trial

#: Slices that may be claimed per class: what e-BH counts over.
PER_CLASS = 20

#: Slices that share this much of their photos are one.
FEWEST = 5
MOSTLY = 0.6
SUSPECTS = 12
SAME = 0.8


class Slice(NamedTuple):
    """Photos of a class that have a clause, beside those that do not: the deciding half of them."""

    log_e: float
    label: int
    clause: Clause
    having: ImageCounts
    rest: ImageCounts
    together: tuple[str, ...] = ()
    """Other clauses of nearly the same photos: nobody can tell them apart here."""


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
        self._judged, self._captions, self._vectors = judged, captions, vectors
        self._names = {target.name for target in targets}
        self._issued = 0
        self._seen: list[SeenPhoto] = []
        self._judge_looks = JudgeLooks(corpus, _suggested, rules.round) if judged else None
        self._editing = Editing(rules) if edits else None
        self._looking = self._changes = 0
        self._found: tuple[int, list[Slice], list[Slice]] = (-1, [], [])

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
        return Probe(f"{target.name}#p{number}", target.name, steps)

    def _gate(self, target: Target) -> tuple[Step, ...]:
        return (Decide((target.presence(),)),) if self._judged else ()

    def know(self, trial: Trial) -> None:
        if trial.subject.partition("; ")[0] not in self._names:
            raise ConfigError(
                f"the trial {trial.key!r} is about {trial.subject!r}, which this hunt does not know",
                "resume with the classes and the folder that it was run with",
            )

    def absorb(self, use: Any, outcome: Outcome) -> None:
        self._changes += 1
        if isinstance(use, JudgeLook):
            self._looking -= 1
            absorb_look(use, outcome, self._seen[use.number])
            return
        if self._editing is not None and isinstance(use, Edited):
            self._editing.absorb(use, outcome)
            return
        photo = self.photos[use]
        target = self.targets[photo.label]
        said: Sequence[Any] = photo.captions
        captioned = self._captions and not said
        if captioned and outcome.valid:
            said = outcome.facts[-2]
        clauses = [
            *self._words.clauses(map(str, said), target.name, target.superclass),
            *metadata_clauses(photo.details),
        ]
        vector: tuple[float, ...] = ()
        if self._vectors and outcome.valid and len(outcome.facts) == 3 + self._judged + captioned:
            vector = tuple(outcome.facts[1 + self._judged][0])  # earlier versions did not ask for it
        look = Look(outcome.failed if outcome.valid else None, wrong_label(outcome) if outcome.failed else "")
        named = {clause.label: clause for clause in clauses}
        self._seen.append(SeenPhoto(use, photo, look, named, vector))

    # Telling

    def findings(self) -> list[Finding]:
        return [self._explained(self._finding(one)) for one in self._slices()[0]]

    def suspects(self) -> list[Finding]:
        """Slices that look worse than the rest, and how many more photos like them would settle it."""
        return [self._suspect(one) for one in self._slices()[1]]

    def survey(self) -> PhotoSurvey:
        return photo_survey(self.targets, self._seen, len(self.photos))

    def _slices(self) -> tuple[list[Slice], list[Slice]]:
        if self._found[0] != self._changes:
            self._found = (self._changes, *self._analyse())
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

    def _analyse(self) -> tuple[list[Slice], list[Slice]]:
        if self._vectors:
            cluster_clauses(self._seen, len(self.targets))
        tested: list[Slice] = []
        for label in range(len(self.targets)):
            mine, gone = self._usable(label)
            decide = [seen for seen in mine if not seen.photo.suggests]
            for clause in _suggested([seen for seen in mine if seen.photo.suggests]):
                having = _counts([seen for seen in decide if clause.label in seen.clauses])
                rest = _counts([seen for seen in decide if clause.label not in seen.clauses])
                if min(having.valid, rest.valid) >= FEWEST:
                    grid = log_excess_grid(rest.fails, rest.passes)
                    counts = [having.fails], [having.passes]
                    log_e = log_excess(grid, *counts, self.rules.margin, gone, small=False)[0]
                    tested.append(Slice(float(log_e), label, clause, having, rest))
        tested.sort(key=lambda one: (-one.log_e, one.label, one.clause.label))
        sure = log_e_bh([one.log_e for one in tested], self.rules.fdr, PER_CLASS * len(self.targets))
        claims = [one for one, yes in zip(tested, sure, strict=True) if yes]
        unproven = [one for one, yes in zip(tested, sure, strict=True) if not yes and self._more(one)]
        open_ones = [one for one in unproven if self._is_news(one, claims)]
        return self._told_apart(claims), open_ones[:SUSPECTS]

    def _told_apart(self, claims: Sequence[Slice]) -> list[Slice]:
        """Slices of nearly the same photos are one finding: what words say before columns and groups."""
        kept: list[Slice] = []
        for one in sorted(claims, key=lambda one: (_vagueness(one.clause), -one.log_e)):
            photos = self._members(one)
            same = [at for at, other in enumerate(kept) if _overlap(photos, self._members(other)) >= SAME]
            for at in same[:1]:
                kept[at] = kept[at]._replace(together=(*kept[at].together, one.clause.value))
            if not same:
                kept.append(one)
        return sorted(kept, key=lambda one: (-one.log_e, one.label, one.clause.label))

    def _members(self, one: Slice) -> set[str]:
        mine = self._usable(one.label)[0]
        return {seen.photo.digest for seen in mine if one.clause.label in seen.clauses}

    def _is_news(self, one: Slice, claims: Sequence[Slice]) -> bool:
        """Whether it still looks worse than the rest once the photos of proven slices are left out."""
        known = {digest for other in claims if other.label == one.label for digest in self._members(other)}
        left = [
            seen
            for seen in self._usable(one.label)[0]
            if not seen.photo.suggests and seen.photo.digest not in known
        ]
        having = _counts([seen for seen in left if one.clause.label in seen.clauses])
        rest = _counts([seen for seen in left if one.clause.label not in seen.clauses])
        return having.valid >= FEWEST and self._more(one._replace(having=having, rest=rest)) > 0

    def _more(self, one: Slice) -> int:
        """Photos like these that would settle it if they fail as those did; 0 where they are no worse."""
        gain = growth(one.having.rate, one.rest.rate + self.rules.margin)
        if not gain:
            return 0
        need = evidence_needed([one.log_e], self.rules.fdr, PER_CLASS * len(self.targets))
        return int(np.ceil(max(1.0, (need - one.log_e) / gain)))

    def _usable(self, label: int) -> tuple[list[SeenPhoto], float]:
        """Valid photos of a class, and the share that may not show it (rejected ones have no caption)."""
        mine = [seen for seen in self._seen if seen.photo.label == label]
        return [seen for seen in mine if seen.valid], gone_of(self.rules, _counts(mine))

    def _suspect(self, one: Slice) -> Finding:
        found = self._finding(one)
        missing = f"about {self._more(one):,} more photos like these would settle it"
        details = replace(found.details, missing=missing)
        return replace(
            found, title=f"{found.title.rstrip('.')}; {missing}.", status="suspect", details=details
        )

    def _finding(self, one: Slice) -> Finding:
        target, having, rest = self.targets[one.label], one.having, one.rest
        often, hits = having.wrong.most_common(1)[0] if having.wrong else ("", 0)
        mostly = often if hits >= MOSTLY * having.fails else ""
        gone = self._usable(one.label)[1]
        interval = widened(having.fails, having.valid, gone)
        members = [seen for seen in self._usable(one.label)[0] if one.clause.label in seen.clauses]
        rates, general = (having.rate, rest.rate), "other photos of {things}"
        clause = ClauseSaid(one.clause.label, one.clause.kind, one.clause.value, one.clause.around)
        others = widened(rest.fails, rest.valid, gone)
        return Finding(
            subject=_subject(target.name, one.clause),
            title=sentence(target.name, [one.clause], mostly, rates, interval, often, "", general),
            caption=f"photos of {target.name}: {one.clause.value}",
            status="certified",
            rate=having.rate,
            interval=interval,
            e_value=float(np.exp(min(one.log_e, 700.0))),
            trials=having.valid,
            failures=having.fails,
            invalid=having.invalid,
            counted=("photo",),
            keys=tuple(f"{target.name}#p{one.number}" for one in members if not one.photo.suggests),
            parents=({"subject": target.name, "failures": rest.fails, "trials": rest.valid},),
            details=BugDetails(
                class_name=target.name,
                short=many(target.name, [one.clause]).rstrip(","),
                clauses=(clause,),
                source="photos",
                confirmed=True,
                race=None,
                baseline=RateCounts(rest.fails, rest.valid, rest.invalid, 0, rest.rate, others),
                wrong=dict(having.wrong),
                baseline_wrong=dict(rest.wrong),
                together=one.together,
                photos=tuple(seen.photo.digest for seen in members if seen.failed),
                decided=tuple(seen.photo.digest for seen in members if not seen.photo.suggests),
            ),
        )

    def progress(self) -> Progress:
        done, total = len(self._seen), len(self.photos)
        return Progress("photos" if done < total else "done", done, total, len(self._slices()[0]))


def _vagueness(clause: Clause) -> int:
    return 2 if clause.kind == CLUSTER else 1 if clause.kind.startswith(COLUMN) else 0


def _overlap(first: set[str], second: set[str]) -> float:
    return len(first & second) / max(1, len(first | second))


def _suggested(seen: Sequence[SeenPhoto]) -> list[Clause]:
    """Clauses commoner among the failed photos of the suggesting half than among the others, by lift."""
    failed = Counter(label for one in seen if one.failed for label in one.clauses)
    passed = Counter(label for one in seen if not one.failed for label in one.clauses)
    fails = max(1, sum(one.failed for one in seen))
    passes = max(1, len(seen) - fails)
    known = {label: clause for one in seen for label, clause in one.clauses.items()}
    lift = {label: hits / fails - passed[label] / passes for label, hits in failed.items()}
    ranked = sorted((label for label in lift if lift[label] > 0), key=lambda label: (-lift[label], label))
    return [known[label] for label in ranked[:PER_CLASS]]


def _counts(seen: Sequence[SeenPhoto]) -> ImageCounts:
    counts = ImageCounts()
    for one in seen:
        counts.add(one.look)
    return counts


def _subject(name: str, clause: Clause) -> str:
    return "; ".join([name, *(one.label for one in describe(0, [clause]).clauses)])
