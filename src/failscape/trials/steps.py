"""What a probe is made of: checks, steps, and their one JSON text form.

A step names the role that it needs and what that role is asked. `Facts` are what one step taught us.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, cast

#: What one step taught us, as plain JSON: see each step's docstring.
Facts = Any


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

    def __str__(self) -> str:
        """The statement: `repr` lists the choices, which misleads a judge that puts a check into words."""
        return self.statement


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
class Consult:
    """Ask a language model a plain question. Facts: its text, empty where its reply cannot be used."""

    role: ClassVar[str] = "llm"
    question: str


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
    | Consult
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


def steps_to_json(steps: Sequence[Step]) -> str:
    """One compact JSON text for a probe's steps; equal steps give equal text."""
    return json.dumps([_step_to_data(step) for step in steps], separators=(",", ":"), ensure_ascii=False)


def steps_from_json(text: str) -> tuple[Step, ...]:
    return tuple(_step_from_data(data) for data in json.loads(text))


#: Stands for a step that tests nothing.
_NO_TEST = Show(())


def verdict_steps_from_json(text: str) -> tuple[Step, ...]:
    """The steps as far as a verdict needs them, each in its place: several times as fast as all of them.

    Checks come without their choices, and a step that tests nothing is an empty `Show`.
    """
    return tuple(_test_from_data(data) for data in json.loads(text))


def _test_from_data(data: dict[str, Any]) -> Step:
    if data["do"] == "decide":
        checks = [
            Check(one["kind"], one["value"], "", (), one.get("gate", False), one.get("note", False))
            for one in data["checks"]
        ]
        return Decide(tuple(checks))
    if data["do"] in ("classify", "answer", "verify", "expectchange"):
        return _step_from_data(data)
    return _NO_TEST


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
