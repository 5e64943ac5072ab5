"""The words all layers share: a probe is a short list of steps, a trial is what came of it.

Everything here is pure data, plus the one rule that turns the replies of a probe's steps into a
verdict. A hunt asks for probes; the runtime walks their steps; the atlas keeps the trials.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

#: What one step taught us, as plain JSON: see each step's docstring.
Facts = Any


class Verdict(StrEnum):
    """`NONE` is for probes that test nothing (a caption, a list of proposed questions)."""

    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Check:
    """One yes/no fact about an image.

    `kind` groups checks whose judge errors are alike ("entity", "Base: Colour"). `value` is what should
    be there, `statement` says it as a sentence. `choices` are distractors of the same kind for the
    `choice` contract. A `gate` check guards the trial: when it does not hold the trial is invalid. A `note`
    is only noted: whatever is decided, or left open, the verdict stays as it is.
    """

    kind: str
    value: str
    statement: str
    choices: tuple[str, ...] = ()
    gate: bool = False
    note: bool = False


@dataclass(frozen=True, slots=True)
class Generate:
    """Draw an image from `prompt` with the probe's seed. Facts: the image's digest."""

    role: ClassVar[str] = "generator"
    prompt: str


@dataclass(frozen=True, slots=True)
class Reword:
    """Let a language model mend the English of `text`; the next image is drawn from what it says.

    Facts: `[prompt, reason]`. Where its reply cannot be trusted, the prompt is `text`, the reason says why.
    """

    role: ClassVar[str] = "llm"
    text: str


@dataclass(frozen=True, slots=True)
class NameSkills:
    """Let a language model name the skills that a question takes, of those `known` where they fit.

    Facts: the names; none where its reply is out of form, which costs the trial nothing else.
    """

    role: ClassVar[str] = "llm"
    question: str
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DefineSkill:
    """Let a language model define a skill, and say which of the questions take it by that.

    Facts: `[definition, [true or false for each]]`; an empty definition where its reply is out of form.
    """

    role: ClassVar[str] = "llm"
    name: str
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """Change the latest image as `instruction` says. Facts: the digest of the new image."""

    role: ClassVar[str] = "editor"
    instruction: str


@dataclass(frozen=True, slots=True)
class Show:
    """Bring stored images into the trial. Facts: their digests."""

    role: ClassVar[str] = ""
    images: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recall:
    """Bring earlier turns into the trial: (question, answer) pairs. Facts: the turns.

    So a follow-up can depend on what the target said before, and the first question is not asked twice.
    """

    role: ClassVar[str] = ""
    turns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Decide:
    """Let the judge decide checks about the latest image. Facts: one of true, false, null per check."""

    role: ClassVar[str] = "judge"
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Classify:
    """Rank labels for the latest image. Facts: `[[label, score], …]`, best first.

    Passes when one of `accept` is among the first `top_k`, whatever its case. With `aim`, fails only when the
    best label is one of it (spellings of one class): the targeted mode.
    """

    role: ClassVar[str] = "classifier"
    accept: tuple[str, ...]
    top_k: int = 1
    aim: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Caption:
    """Describe the latest image. Facts: a list of short sentences."""

    role: ClassVar[str] = "captioner"


@dataclass(frozen=True, slots=True)
class Answer:
    """Ask the target about the trial's images, with the turns so far as history. Facts: its text."""

    role: ClassVar[str] = "answerer"
    question: str


@dataclass(frozen=True, slots=True)
class Verify:
    """Is the latest question valid and the answer right? Facts: `[valid, right, reason]`.

    `truth` is the right answer where it is known by construction. A fourth fact is the share of verifiers
    that agree, where several were asked and did not all say the same. A fifth is what they take for the right
    answer, where they say so, and a sixth the share of them that names it.
    """

    role: ClassVar[str] = "verifier"
    truth: str = ""


@dataclass(frozen=True, slots=True)
class VerifyAgain:
    """Let the auditor say the same of the latest answer, blind to what the verifier said. Facts as there.

    It tests nothing: the verdict of the trial is not its own, and the hunt sets what it says beside the
    verifier's.
    """

    role: ClassVar[str] = "auditor"
    truth: str = ""


@dataclass(frozen=True, slots=True)
class ExpectChange:
    """The latest answer must differ from `before`: one fact was changed, and the right answer with it.

    No model is asked. Facts: `[valid, right, reason]`, as for `Verify`; `change` tells what was changed.
    """

    role: ClassVar[str] = ""
    before: str
    change: str


@dataclass(frozen=True, slots=True)
class Propose:
    """Let the questioner propose `count` questions about the images. Facts: the questions."""

    role: ClassVar[str] = "questioner"
    guidance: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class Embed:
    """Embed `texts`, or the trial's images when there are none. Facts: one list of floats for each."""

    role: ClassVar[str] = "embedder"
    texts: tuple[str, ...] = ()


Step = (
    Generate
    | Edit
    | Reword
    | NameSkills
    | DefineSkill
    | Show
    | Recall
    | Decide
    | Classify
    | Caption
    | Answer
    | Verify
    | VerifyAgain
    | ExpectChange
    | Propose
    | Embed
)
STEP_KINDS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in Step.__args__}


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing to try now.

    `key` is unique in its hunt and the same each time the hunt asks for this very try, so that nothing is
    recorded twice. `subject` names what the trial is about (a node, an arm, a failure mode).
    """

    key: str
    subject: str
    steps: tuple[Step, ...]
    seed: int = 0

    @property
    def images(self) -> int:
        """How many images it will have drawn."""
        return sum([type(step) in (Generate, Edit) for step in self.steps])


class Trial:
    """What came of a probe: all that a hunt is ever told.

    `facts` has one entry per step that ran. Replayed trials keep them as JSON text until a hunt looks.
    """

    __slots__ = ("_facts", "_text", "key", "reason", "seed", "subject", "verdict")

    def __init__(
        self,
        key: str,
        subject: str,
        verdict: Verdict,
        reason: str = "",
        facts: Sequence[Facts] | None = None,
        seed: int = 0,
        text: str = "",
    ) -> None:
        self.key = key
        self.subject = subject
        self.verdict = verdict
        self.reason = reason
        self.seed = seed
        self._facts = facts
        self._text = text

    @property
    def facts(self) -> Sequence[Facts]:
        if self._facts is None:
            self._facts = json.loads(self._text) if self._text else []
        return self._facts

    @property
    def text(self) -> str:
        """`facts` as compact JSON."""
        return self._text or json.dumps(self._facts or [], separators=(",", ":"))

    def __repr__(self) -> str:
        return f"Trial({self.key!r}, {self.subject!r}, {self.verdict.value}, {self.reason!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trial) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash((self.key, self.subject))

    def _state(self) -> tuple[Any, ...]:
        return self.key, self.subject, self.verdict, self.reason, self.seed, self.text


@runtime_checkable
class AsData(Protocol):
    """What a hunt tells people: typed for those who know the hunt, plain JSON data for all others."""

    def as_data(self) -> dict[str, Any]: ...


#: How far a finding can be trusted, and what each word says.
STATUSES = {
    "certified": "its own images prove it: at most the run's level of such claims is expected to be false",
    "listed": "likely by what all images say: at most the run's level of such claims is expected to be false",
    "suspect": "looks failing, but is not claimed: its details say what is missing",
    "conditional": "certified if an unaudited verifier is right",
    "threshold": "a bare comparison with the threshold, without error control",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A failure with its evidence. `rate` is the share of valid trials that failed.

    `status` is one of `STATUSES` and says how far to trust it. Those of status `suspect` are no findings:
    a hunt tells them apart, by `suspects()`. `details` is the hunt's own: a frozen
    dataclass with `as_data()` (`AsData`), or a plain dictionary. `counted` names what the trials were drawn
    for (`HuntKind.purposes`) that make up `trials` and `failures`; empty: all that the search drew of it.
    `keys` are those very trials where they are recorded under another subject, as photos of a class are.
    """

    subject: str
    title: str
    caption: str
    status: str
    rate: float
    interval: tuple[float, float]
    e_value: float
    trials: int
    failures: int
    invalid: int = 0
    parents: tuple[dict[str, Any], ...] = ()
    details: Any = field(default_factory=dict)
    counted: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    @property
    def details_data(self) -> dict[str, Any]:
        """`details` as plain JSON data."""
        found: dict[str, Any] = self.details.as_data() if isinstance(self.details, AsData) else self.details
        return found


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a hunt is. `total` is `None` when nobody can know; `phase` is a short word or two."""

    phase: str
    finished: int
    total: int | None
    findings: int


def derive_seed(run_seed: int, index: int) -> int:
    """The seed of the `index`-th image of any prompt. Sibling nodes share it, so they share noise."""
    digest = hashlib.blake2b(f"{run_seed}/{index}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") & 0x7FFFFFFF


def reach_verdict(steps: Sequence[Step], facts: Sequence[Facts]) -> tuple[Verdict, str]:
    """The verdict of a probe, and why, from the facts of the steps that ran (perhaps not yet all).

    Invalid wins over fail, fail over pass. A step that tests nothing leaves the verdict as it was.
    """
    verdict, reason = Verdict.NONE, ""
    for step, fact in zip(steps, facts, strict=False):
        now, why = _verdict_of(step, fact)
        if now is Verdict.INVALID:
            return now, why
        if now is Verdict.FAIL and verdict is Verdict.FAIL:
            reason = f"{reason}; {why}"
        elif now is Verdict.FAIL or (now is Verdict.PASS and verdict is Verdict.NONE):
            verdict, reason = now, why
    return verdict, reason


def _verdict_of(step: Step, fact: Facts) -> tuple[Verdict, str]:
    if isinstance(step, Decide):
        return _verdict_of_checks(step.checks, fact)
    if isinstance(step, Classify):
        return _verdict_of_labels(step, fact)
    if isinstance(step, Verify | ExpectChange):
        valid, right, why = fact[:3]
        if valid is None or right is None:
            return Verdict.INVALID, why or "the verifier did not commit"
        if not valid:
            return Verdict.INVALID, f"not a valid question: {why}"
        return (Verdict.PASS, "") if right else (Verdict.FAIL, why)
    return Verdict.NONE, ""


#: How the reason of a trial begins that is invalid because what a gate asks for is not in the image.
NOT_SHOWN = "not shown"


def _verdict_of_checks(checks: Sequence[Check], fact: Sequence[bool | None]) -> tuple[Verdict, str]:
    missing: list[str] = []
    for check, holds in zip(checks, fact, strict=True):
        if check.note:
            continue
        if holds is None:
            return Verdict.INVALID, f"undecided: {check.value}"
        if not holds and check.gate:
            return Verdict.INVALID, f"{NOT_SHOWN}: {check.value}"
        if not holds:
            missing.append(check.value)
    if missing:
        return Verdict.FAIL, "not " + ", not ".join(missing)
    return (Verdict.NONE, "") if all(check.gate or check.note for check in checks) else (Verdict.PASS, "")


def _verdict_of_labels(step: Classify, fact: Sequence[Sequence[Any]]) -> tuple[Verdict, str]:
    best = [label for label, _ in fact[: step.top_k]]
    if not best:
        return Verdict.INVALID, "the classifier gave no label"
    named = {label.lower() for label in step.aim or step.accept}
    wrong = best[0].lower() in named if step.aim else not any(label.lower() in named for label in best)
    return (Verdict.FAIL, f"called {best[0]}") if wrong else (Verdict.PASS, "")


def steps_to_json(steps: Sequence[Step]) -> str:
    """One compact JSON text for a probe's steps; equal steps give equal text."""
    return json.dumps([_step_to_data(step) for step in steps], separators=(",", ":"), ensure_ascii=False)


def steps_from_json(text: str) -> tuple[Step, ...]:
    return tuple(_step_from_data(data) for data in json.loads(text))


def _step_to_data(step: Step) -> dict[str, Any]:
    data: dict[str, Any] = {"do": type(step).__name__.lower()}
    for part in fields(step):
        value = getattr(step, part.name)
        data[part.name] = [_check_to_data(check) for check in value] if part.name == "checks" else value
    return data


def _check_to_data(check: Check) -> dict[str, Any]:
    """What a check does not use is left out."""
    more = {"choices": check.choices, "gate": check.gate, "note": check.note}
    used = {name: value for name, value in more.items() if value}
    return {"kind": check.kind, "value": check.value, "statement": check.statement, **used}


def _step_from_data(data: dict[str, Any]) -> Step:
    values = {name: _frozen(name, value) for name, value in data.items() if name != "do"}
    return cast(Step, STEP_KINDS[data["do"]](**values))


def _frozen(name: str, value: Any) -> Any:
    if name == "checks":
        return tuple(Check(**{**check, "choices": tuple(check.get("choices", ()))}) for check in value)
    if name == "turns":
        return tuple((question, answer) for question, answer in value)
    if name == "aim" and isinstance(value, str):  # as it was recorded before a class had several spellings
        return (value,) if value else ()
    return tuple(value) if isinstance(value, list) else value
