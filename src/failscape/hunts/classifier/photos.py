"""Photos instead of a generator: the hunt selects. Half of the photos suggest, the other half decides. Pure.

Every photo is classified once. Which half it belongs to follows from its content, before anybody looks.

Counterfactuals for photos: the clause of a finding is edited into photos that lack it. Pure.

Each edited photo is compared with itself before, so the pairs differ in the clause and in whatever the editor
changes on the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from failscape.errors import ConfigError
from failscape.hunts.classifier.clause_mining import Words
from failscape.hunts.classifier.findings import cause_words, gone_of, points, sentence, widened
from failscape.hunts.classifier.prompts import Clause, Template, describe
from failscape.hunts.classifier.settings import ClassifierRules, stream_seed
from failscape.hunts.classifier.tallies import ImageCounts, LabelledPhoto, Seen, Target
from failscape.hunts.rounds import Outcome, Planned, ProbeRounds
from failscape.spaces.corpus import Corpus
from failscape.stats.excess import log_excess, log_excess_grid, paired_difference
from failscape.stats.fdr import log_e_bh
from failscape.trials import (
    Caption,
    Classify,
    Decide,
    Edit,
    Finding,
    Probe,
    Progress,
    Show,
    Step,
    Trial,
    Verdict,
)

_SCENE = Template("{a class}")


class Edited(NamedTuple):
    """What a trial is for: photo `number` with the clause of a finding edited into it."""

    subject: str
    number: int
    failed_before: bool


class Editing:
    def __init__(self, rules: ClassifierRules) -> None:
        self._rules = rules
        self._asked: set[str] = set()
        self._pairs: dict[str, list[tuple[bool, bool]]] = {}
        self._clauses: dict[str, tuple[Clause, str]] = {}

    def plan(
        self,
        findings: Sequence[Finding],
        targets: Sequence[Target],
        seen: Sequence[Seen],
        gate: Callable[[Target], tuple[Step, ...]],
    ) -> list[Planned]:
        """Up to `toggles` photos of the class without the clause, for every finding that has none yet."""
        planned: list[Planned] = []
        for finding in findings:
            if finding.subject in self._asked:
                continue
            self._asked.add(finding.subject)
            label = finding.details["clauses"][0]["label"]
            name = finding.details["class"]
            owner = next(at for at, target in enumerate(targets) if target.name == name)
            clause = next(one.clauses[label] for one in seen if label in one.clauses)
            text = instruction(targets[owner], clause)
            self._clauses[finding.subject] = clause, text
            lacking = [
                one for one in seen if one.photo.label == owner and one.valid and label not in one.clauses
            ]
            for number, one in enumerate(lacking[: self._rules.toggles]):
                planned.append(self._planned(finding.subject, number, one, targets[owner], text, gate))
        return planned

    def _planned(
        self,
        subject: str,
        number: int,
        one: Seen,
        target: Target,
        text: str,
        gate: Callable[[Target], tuple[Step, ...]],
    ) -> Planned:
        last = Classify(target.accept, self._rules.top_k, target.aim)
        steps = (Show((one.photo.digest,)), Edit(text), *gate(target), last)
        seed = stream_seed(self._rules.seed, f"edit/{subject}", number)
        probe = Probe(f"{subject}#x{number}", subject, steps, seed)
        return Planned(probe, Edited(subject, number, one.failed))

    def absorb(self, use: Edited, outcome: Outcome) -> None:
        if outcome.verdict in (Verdict.PASS, Verdict.FAIL):
            pair = (outcome.verdict is Verdict.FAIL, use.failed_before)
            self._pairs.setdefault(use.subject, []).append(pair)

    def toggles(self, finding: Finding) -> list[dict[str, Any]]:
        """One row in the form of `findings.toggles_of`: with the clause edited in, and as it was."""
        pairs = self._pairs.get(finding.subject)
        if not pairs:
            return []
        clause, text = self._clauses[finding.subject]
        only = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
        effect, interval = paired_difference(*only, len(pairs))
        return [
            {
                "clause": clause.label,
                "words": cause_words(clause),
                "around": clause.around,
                "what": "without",
                "instead": "",
                "caption": text,
                "subject": finding.subject,
                "effect": effect,
                "interval": list(interval),
                "pairs": len(pairs),
                "rate": sum(b for _, b in pairs) / len(pairs),
                "full_rate": sum(a for a, _ in pairs) / len(pairs),
            }
        ]


def instruction(target: Target, clause: Clause) -> str:
    """What an editor is told: the scene as it should be, the thing itself unchanged."""
    scene = _SCENE.prompt(target.name, "", [clause]).rstrip(".")
    return f"Change the picture so that it shows {scene}. Leave everything else as it is."


PER_CLASS = 20
"""Clauses that may be claimed per class: what e-BH counts over."""

FEWEST = 5
MOSTLY = 0.6


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
    ) -> None:
        super().__init__()
        if not photos:
            raise ConfigError(
                "no photo has the label of a class", "name the labels of the folder in `classes`"
            )
        self.targets, self.photos, self.rules = tuple(targets), tuple(photos), rules
        self._words = Words(corpus)
        self._judged, self._captions = judged, captions
        self._names = {target.name for target in targets}
        self._issued = 0
        self._seen: list[Seen] = []
        self._editing = Editing(rules) if edits else None
        self._found: tuple[int, list[Finding]] = (-1, [])

    def plan(self) -> list[Planned]:
        if self._editing is not None and len(self._seen) == len(self.photos):
            return self._editing.plan(self.findings(), self.targets, self._seen, self._gate)
        part = range(self._issued, min(len(self.photos), self._issued + self.rules.round))
        self._issued = part.stop
        return [Planned(self._probe(number), number) for number in part]

    def _probe(self, number: int) -> Probe:
        photo = self.photos[number]
        target = self.targets[photo.label]
        gate = self._gate(target)
        see: tuple[Step, ...] = (Caption(),) if self._captions and not photo.captions else ()
        last = Classify(target.accept, self.rules.top_k, target.aim)
        steps = (Show((photo.digest,)), *gate, *see, last)
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
        if self._editing is not None and isinstance(use, Edited):
            self._editing.absorb(use, outcome)
            return
        photo = self.photos[use]
        target = self.targets[photo.label]
        said: Sequence[Any] = photo.captions
        if not said and self._captions and outcome.verdict is not Verdict.INVALID:
            said = outcome.facts[-2]
        clauses = self._words.clauses(map(str, said), target.name, target.superclass)
        self._seen.append(Seen(photo, outcome, {clause.label: clause for clause in clauses}))

    def findings(self) -> list[Finding]:
        if self._found[0] != len(self._seen):
            self._found = (len(self._seen), self._analyse())
        return [self._explained(finding) for finding in self._found[1]]

    def _explained(self, finding: Finding) -> Finding:
        toggles = self._editing.toggles(finding) if self._editing is not None else []
        if not toggles:
            return finding
        (toggle,) = toggles
        title, around = finding.title, []
        if toggle["interval"][0] > 0:
            title = f"{title.rstrip('.')}; edited into other photos, it adds {points(toggle['effect'])}."
            around = [toggle["clause"]] if toggle["around"] else []
        return replace(
            finding, title=title, details={**finding.details, "toggles": toggles, "spurious": around}
        )

    def _analyse(self) -> list[Finding]:
        tested: list[tuple[float, int, Clause, ImageCounts, ImageCounts]] = []
        for label in range(len(self.targets)):
            mine, gone = self._usable(label)
            decide = [seen for seen in mine if not seen.photo.suggests]
            for clause in _suggested([seen for seen in mine if seen.photo.suggests]):
                having = _counts([seen for seen in decide if clause.label in seen.clauses])
                rest = _counts([seen for seen in decide if clause.label not in seen.clauses])
                if having.valid >= FEWEST:
                    grid = log_excess_grid(rest.fails, rest.passes)
                    log_e = log_excess(grid, [having.fails], [having.passes], self.rules.margin, gone)[0]
                    tested.append((float(log_e), label, clause, having, rest))
        sure = log_e_bh([one[0] for one in tested], self.rules.fdr, PER_CLASS * len(self.targets))
        claims = [one for one, yes in zip(tested, sure, strict=True) if yes]
        return [
            self._finding(*one) for one in sorted(claims, key=lambda one: (-one[0], one[1], one[2].label))
        ]

    def _usable(self, label: int) -> tuple[list[Seen], float]:
        """Valid photos of a class, and the share that may not show it (rejected ones have no caption)."""
        mine = [seen for seen in self._seen if seen.photo.label == label]
        return [seen for seen in mine if seen.valid], gone_of(self.rules, _counts(mine))

    def _finding(
        self, log_e: float, label: int, clause: Clause, having: ImageCounts, rest: ImageCounts
    ) -> Finding:
        target = self.targets[label]
        often, hits = having.wrong.most_common(1)[0] if having.wrong else ("", 0)
        called = often if hits >= MOSTLY * having.fails else ""
        event = hits if called else having.fails
        usual = rest.wrong[called] if called else rest.fails
        gone = self._usable(label)[1]
        interval = widened(event, having.valid, gone)
        rates = (event / having.valid, usual / max(1, rest.valid))
        return Finding(
            subject=_subject(target.name, clause),
            title=sentence(
                target.name, [clause], called, rates, interval, often, "", "other photos of {things}"
            ),
            caption=f"photos of {target.name}: {clause.value}",
            status="certified",
            rate=having.rate,
            interval=widened(having.fails, having.valid, gone),
            e_value=float(np.exp(min(log_e, 700.0))),
            trials=having.valid,
            failures=having.fails,
            invalid=having.invalid,
            parents=({"subject": target.name, "failures": rest.fails, "trials": rest.valid},),
            details={
                "class": target.name,
                "short": f"{target.name}: {clause.value}",
                "clauses": [{"label": clause.label, "kind": clause.kind, "value": clause.value}],
                "source": "photos",
                "confirmed": True,
                "baseline": {"fails": rest.fails, "valid": rest.valid, "rate": rest.rate},
                "wrong": dict(having.wrong),
                "baseline_wrong": dict(rest.wrong),
                "toggles": [],
                "spurious": [],
                "photos": [seen.photo.digest for seen in self._having(label, clause) if seen.failed],
                "decided": [
                    seen.photo.digest for seen in self._having(label, clause) if not seen.photo.suggests
                ],
            },
        )

    def _having(self, label: int, clause: Clause) -> list[Seen]:
        return [seen for seen in self._usable(label)[0] if clause.label in seen.clauses]

    def progress(self) -> Progress:
        done, total = len(self._seen), len(self.photos)
        return Progress("photos" if done < total else "done", done, total, len(self.findings()))


def _suggested(seen: Sequence[Seen]) -> list[Clause]:
    """Clauses commoner among the failed photos of the suggesting half than among the others, by lift."""
    failed = Counter(label for one in seen if one.failed for label in one.clauses)
    passed = Counter(label for one in seen if not one.failed for label in one.clauses)
    fails = max(1, sum(one.failed for one in seen))
    passes = max(1, len(seen) - fails)
    known = {label: clause for one in seen for label, clause in one.clauses.items()}
    lift = {label: hits / fails - passed[label] / passes for label, hits in failed.items()}
    ranked = sorted((label for label in lift if lift[label] > 0), key=lambda label: (-lift[label], label))
    return [known[label] for label in ranked[:PER_CLASS]]


def _counts(seen: Sequence[Seen]) -> ImageCounts:
    counts = ImageCounts()
    for one in seen:
        counts.add(one.outcome)
    return counts


def _subject(name: str, clause: Clause) -> str:
    return "; ".join([name, *(one.label for one in describe(0, [clause]).clauses)])
