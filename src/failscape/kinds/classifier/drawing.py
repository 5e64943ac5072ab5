"""Work of a round that draws a picture, has it looked at, and asks once more when it fails. Pure.

The judge says whether the class is visible (else the trial is invalid) and whether each clause is; when the
classifier is wrong, it is asked in a second probe whether the object that the wrong label names is there too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from failscape.kinds.classifier.prompts import Clause, Description
from failscape.kinds.classifier.purposes import CAPTION, SEEN_BESIDE
from failscape.kinds.classifier.settings import stream_seed
from failscape.kinds.classifier.tallies import Look, Target
from failscape.search.rounds import Outcome, Planned
from failscape.spaces.wording import capitalised, with_article
from failscape.trials import (
    Caption,
    Check,
    Classify,
    Decide,
    Generate,
    Probe,
    Purpose,
    Show,
    Step,
    Trial,
    Verdict,
    key_of_second_look,
    key_of_try,
)


class DrawnPicture(Planned):
    """One drawn picture with what is asked about it afterwards.

    `second` makes the check for a wrong label, or nothing where nobody is to be asked again. `captioned`: the
    picture is described if it fails, `captioned_always` also if it passes. The judge was asked about
    `unasked` clauses, and after them about a `control` object, though nobody drew them.
    """

    __slots__ = ("_beside", "_followed", "captioned", "captioned_always", "control", "second", "unasked")

    def __init__(self, probe: Probe, use: Hashable) -> None:
        super().__init__(probe, use)
        self.second: Callable[[str], Check | None] | None = None
        self.captioned = False
        self.captioned_always = False
        self.unasked: tuple[Clause, ...] = ()
        self.control = False
        self._beside: bool | None = None
        self._followed: tuple[str, ...] | None = None

    def tell(self, trial: Trial) -> tuple[Probe, ...]:
        if SEEN_BESIDE.is_of(trial.key):
            self._beside = _only_answer(trial)
            return ()
        if CAPTION.is_of(trial.key):
            self._followed = _sentences(trial)
            return ()
        super().tell(trial)
        return tuple(self._follow_ups(str(trial.facts[0]))) if self._is_usable else ()

    @property
    def _is_usable(self) -> bool:
        return self.outcome is not None and self.outcome.valid

    def _follow_ups(self, digest: str) -> Iterator[Probe]:
        assert self.outcome is not None
        subject = self.probe.subject
        check = self.second(wrong_label(self.outcome)) if self.second and self.outcome.failed else None
        if check is not None:
            key = key_of_second_look(self.probe.key, SEEN_BESIDE)
            yield Probe(key, subject, (Show((digest,)), Decide((check,))))
        if self.captioned and (self.outcome.failed or self.captioned_always):
            key = key_of_second_look(self.probe.key, CAPTION)
            yield Probe(key, subject, (Show((digest,)), Caption()))

    @property
    def sentences(self) -> tuple[str, ...] | None:
        """What the captioner said; `None` if it was not asked, or did not answer."""
        return self._followed

    @property
    def beside(self) -> bool | None:
        """Whether the judge sees the wrong label's object; `None` if it was not asked, or did not answer."""
        return self._beside

    @property
    def unasked_seen(self) -> Sequence[bool | None]:
        """Whether the judge sees, in a plain picture, clauses that nobody asked for."""
        return self._extra_answers()[: len(self.unasked)]

    @property
    def control_seen(self) -> bool | None:
        """Whether the judge sees, in a plain picture, an object of another class."""
        answers = self._extra_answers()
        return answers[len(self.unasked)] if self.control and len(answers) > len(self.unasked) else None

    def _extra_answers(self) -> Sequence[bool | None]:
        facts = self.outcome.facts if self.outcome is not None else ()
        said = facts[1] if len(facts) > 1 else None
        return said[1:] if isinstance(said, list) else ()

    def look(self, judged: bool, clauses: int, is_excused: bool) -> Look:
        assert self.outcome is not None
        return look_of(self.outcome, judged, clauses, is_excused)


def _only_answer(trial: Trial) -> bool | None:
    fact = trial.facts[-1] if len(trial.facts) > 1 else None
    return fact[0] if isinstance(fact, list) and fact else None


def _sentences(trial: Trial) -> tuple[str, ...] | None:
    if trial.verdict is not Verdict.NONE or len(trial.facts) < 2:
        return None
    return tuple(str(sentence) for sentence in trial.facts[1] or ())


def look_of(outcome: Outcome, judged: bool, clauses: int, is_excused: bool) -> Look:
    """What is known of a picture. Trials of earlier versions have no word on its clauses."""
    if not outcome.valid:
        return Look(None, absent=_gate_is_closed(outcome))
    notes: Sequence[Any] = outcome.facts[1][1:] if judged and isinstance(outcome.facts[1], list) else ()
    notes = notes if len(notes) == clauses else (None,) * clauses
    heeded = False if False in notes else None if None in notes else True
    both = is_excused and outcome.failed
    failed = outcome.failed and not both
    wrong = wrong_label(outcome) if failed else ""
    return Look(failed, wrong, False, heeded, both, str(outcome.facts[0]), tuple(notes))


def _gate_is_closed(outcome: Outcome) -> bool:
    """Whether the judge denied what a picture must show. A gate comes first among the checks of its step."""
    said = outcome.facts[-1] if outcome.facts else None
    return isinstance(said, list) and said[:1] == [False]


class Drawer:
    """Makes the probes of drawn pictures.

    `sees`: the judge is asked about clauses; `twice`: about the objects that wrong labels name. `captions`:
    failed pictures are described.
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
        captions: bool,
        top_k: int,
        seed: int,
    ) -> None:
        self._targets = targets
        self._prompt, self._subject = prompt, subject
        self._judged, self._sees = judged, sees and judged
        self._twice, self._realistic = twice and judged, realistic and judged
        self._top_k, self._seed = top_k, seed
        self._captions = captions
        self._steps: dict[tuple[str, tuple[str, ...], str], tuple[Step, ...]] = {}
        self._spelled = {label: target for target in targets for label in target.labels}

    def planned(
        self,
        use: Hashable,
        description: Description,
        purpose: Purpose,
        stream: str,
        number: int,
        unasked: Sequence[Clause] = (),
        control: Target | None = None,
    ) -> DrawnPicture:
        """`unasked` clauses and a `control` object: the judge is asked about them though nobody drew them."""
        subject = self._subject(description)
        unasked = tuple(unasked) if self._sees else ()
        control = control if self._twice else None
        probe = Probe(
            key_of_try(subject, purpose, number),
            subject,
            self._steps_of(subject, description, unasked, control),
            stream_seed(self._seed, stream, number),
        )
        drawn = DrawnPicture(probe, use)
        drawn.second = self._second if self._twice else None
        drawn.captioned = self._captions
        drawn.unasked = unasked
        drawn.control = control is not None
        return drawn

    def notes(self, description: Description) -> int:
        """How many checks of a probe are about its clauses."""
        return len(description.clauses) if self._sees else 0

    def _steps_of(
        self, subject: str, description: Description, unasked: Sequence[Clause], control: Target | None
    ) -> tuple[Step, ...]:
        key = (subject, tuple(clause.label for clause in unasked), control.name if control else "")
        steps = self._steps.get(key)
        if steps is None:
            target = self._targets[description.label]
            checks: list[Check] = [target.presence()] if self._judged else []
            clauses = (*description.clauses, *unasked) if self._sees else ()
            checks += [clause.check(target.name) for clause in clauses]
            checks += [beside_check(control.name, control.others)] if control else []
            gates = (Decide((REALISTIC,)),) if self._realistic else ()
            looked = (Decide(tuple(checks)),) if checks else ()
            last = Classify(target.accept, self._top_k, target.aim)
            steps = (Generate(self._prompt(description)), *looked, *gates, last)
            self._steps[key] = steps
        return steps

    def _second(self, wrong: str) -> Check | None:
        target = self._spelled.get(wrong.lower())
        name = target.name if target else wrong
        return beside_check(name, target.others if target else ()) if name else None


def beside_check(name: str, others: tuple[str, ...]) -> Check:
    """Is an object of another class in the picture, too? It is only noted."""
    statement = f"{capitalised(with_article(name))} is visible in the image."
    return Check("entity", name, statement, others, note=True)


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
