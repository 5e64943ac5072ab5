"""Work of a round that draws a picture, has it looked at, and asks once more when it fails. Pure.

The judge says whether the class is visible (else the trial is invalid) and whether each clause is; when the
classifier is wrong, it is asked in a second probe whether the object that the wrong label names is there too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from failscape.hunts.classifier.prompts import Clause, Description
from failscape.hunts.classifier.settings import stream_seed
from failscape.hunts.classifier.tallies import Look, Target
from failscape.hunts.rounds import Outcome, Planned
from failscape.spaces.wording import capitalised, with_article
from failscape.trials import NOT_SHOWN, Check, Classify, Decide, Generate, Probe, Show, Step, Trial


class DrawnPicture(Planned):
    """`second` makes the check for a wrong label, or nothing where nobody shall be asked again."""

    __slots__ = ("_beside", "_second")

    def __init__(self, probe: Probe, use: Hashable, second: Callable[[str], Check | None] | None) -> None:
        super().__init__(probe, use)
        self._second = second
        self._beside: bool | None = None

    def tell(self, trial: Trial) -> tuple[Probe, ...]:
        if self.outcome is not None:
            fact = trial.facts[-1] if len(trial.facts) > 1 else None
            self._beside = fact[0] if isinstance(fact, list) and fact else None
            return ()
        super().tell(trial)
        assert self.outcome is not None
        if self._second is None or not self.outcome.failed:
            return ()
        check = self._second(wrong_label(self.outcome))
        if check is None:
            return ()
        subject = self.probe.subject
        key = f"{subject}#?{self.probe.key.rpartition('#')[2]}"
        return (Probe(key, subject, (Show((str(trial.facts[0]),)), Decide((check,)))),)

    @property
    def unasked(self) -> Sequence[bool | None]:
        """Whether the judge sees, in a plain picture, clauses that nobody asked for."""
        said = self.outcome.facts[1] if self.outcome is not None and len(self.outcome.facts) > 1 else None
        return said[1:] if isinstance(said, list) else ()

    def look(self, judged: bool, clauses: int, both_fails: bool) -> Look:
        assert self.outcome is not None
        return look_of(self.outcome, judged, clauses, self._beside, both_fails)


def look_of(outcome: Outcome, judged: bool, clauses: int, beside: bool | None, both_fails: bool) -> Look:
    """What is known of a picture. Trials of earlier versions have no word on its clauses."""
    if not outcome.valid:
        return Look(None, absent=outcome.reason.startswith(NOT_SHOWN))
    notes: Sequence[Any] = outcome.facts[1][1:] if judged and isinstance(outcome.facts[1], list) else ()
    notes = notes if len(notes) == clauses else (None,) * clauses
    heeded = False if False in notes else None if None in notes else True
    both = bool(beside) and outcome.failed and not both_fails
    failed = outcome.failed and not both
    wrong = wrong_label(outcome) if failed else ""
    return Look(failed, wrong, False, heeded, both, str(outcome.facts[0]), tuple(notes))


class Drawer:
    """Makes the probes of drawn pictures.

    `sees`: the judge is asked about clauses; `twice`: about the objects that wrong labels name.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        prompt: Callable[[Description], str],
        subject: Callable[[Description], str],
        *,
        judged: bool,
        sees: bool,
        twice: bool,
        realistic: bool,
        top_k: int,
        seed: int,
    ) -> None:
        self._targets = targets
        self._prompt, self._subject = prompt, subject
        self._judged, self._sees = judged, sees and judged
        self._twice, self._realistic = twice and judged, realistic and judged
        self._top_k, self._seed = top_k, seed
        self._steps: dict[tuple[str, str], tuple[Step, ...]] = {}
        self._spelled = {label: target for target in targets for label in target.labels}

    def planned(
        self,
        use: Hashable,
        description: Description,
        mark: str,
        stream: str,
        number: int,
        unasked: Sequence[Clause] = (),
    ) -> DrawnPicture:
        """`unasked`: clauses that the judge is asked about though the picture was drawn without them."""
        subject = self._subject(description)
        probe = Probe(
            f"{subject}#{mark}",
            subject,
            self._steps_of(subject, description, unasked if self._sees else ()),
            stream_seed(self._seed, stream, number),
        )
        return DrawnPicture(probe, use, self._second if self._twice else None)

    def notes(self, description: Description) -> int:
        """How many checks of a probe are about its clauses."""
        return len(description.clauses) if self._sees else 0

    def _steps_of(
        self, subject: str, description: Description, unasked: Sequence[Clause]
    ) -> tuple[Step, ...]:
        key = subject, "; ".join(clause.label for clause in unasked)
        steps = self._steps.get(key)
        if steps is None:
            target = self._targets[description.label]
            checks: list[Check] = [target.presence()] if self._judged else []
            clauses = (*description.clauses, *unasked) if self._sees else ()
            checks += [clause.check(target.name) for clause in clauses]
            gates = (Decide((REALISTIC,)),) if self._realistic else ()
            looked = (Decide(tuple(checks)),) if checks else ()
            last = Classify(target.accept, self._top_k, target.aim)
            steps = (Generate(self._prompt(description)), *looked, *gates, last)
            self._steps[key] = steps
        return steps

    def _second(self, wrong: str) -> Check | None:
        target = self._spelled.get(wrong.lower())
        name = target.name if target else wrong
        others = target.others if target else ()
        statement = f"{capitalised(with_article(name))} is visible in the image."
        return Check("entity", name, statement, others, note=True) if name else None


#: The optional gate: a picture off the distribution of photographs says nothing about photographs.
REALISTIC = Check(
    "realistic",
    "a realistic photograph",
    "The image is a realistic photograph.",
    ("a drawing", "a collage"),
    gate=True,
)


def wrong_label(outcome: Outcome) -> str:
    """The best label of a failed image."""
    ranking = outcome.facts[-1]
    return str(ranking[0][0]) if ranking else ""


def names_class(clause: Clause, targets: Sequence[Target], own: Target) -> str:
    """The other class of the label set that a clause names, "" for none."""
    words = f" {clause.value.lower()} "
    for target in targets:
        if target is not own and any(f" {label} " in words for label in target.labels):
            return target.name
    return ""
