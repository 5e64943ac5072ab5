"""The text of a first config, with a comment for each thing that a user may want to change. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

IMAGES_PER_ENTITY = 100
#: A first budget: about a hundred images for each entity. `failscape plan` says what it can prove.
FEWEST_IMAGES = 2000

_PLAIN = re.compile(r"[A-Za-z_./][\w./:-]*\Z")
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "none"))


@dataclass(frozen=True, slots=True)
class RoleDraft:
    """How one role is reached, as it will stand in the file. `hints` are lines of comment below it."""

    provider: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    hints: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ConfigDraft:
    """A config before it is written. `roles` and `sections` keep their order; `notes` lead the file."""

    hunt: str
    roles: Mapping[str, tuple[RoleDraft, str]]
    sections: Mapping[str, tuple[Any, str]]
    notes: Sequence[str] = ()

    def text(self, name: str = "hunt.yaml", atlas: str = "runs/first") -> str:
        return "\n".join([*self._head(name, atlas), *self._body()]) + "\n"

    def _head(self, name: str, atlas: str) -> Iterator[str]:
        yield "# Next:"
        for command, why in (
            (f"doctor {name}", "do the models do what the numbers will rest on?"),
            (f"plan {name}", "what can this budget prove, how long does it take, what does it cost?"),
            (f"run {name} --atlas {atlas}", "start, or go on"),
            (f"view {atlas}", "look at what was found"),
        ):
            yield f"#   failscape {command:<34} # {why}"
        yield from (f"# {note}" for note in self.notes)
        yield ""

    def _body(self) -> Iterator[str]:
        yield f"hunt: {self.hunt}"
        for name, (role, about) in self.roles.items():
            yield f"{name}:  # {about}"
            yield f"  provider: {role.provider}"
            yield from (f"  {key}: {flow(value)}" for key, value in role.settings.items())
            yield from (f"  # {hint}" for hint in role.hints)
        for name, (value, about) in self.sections.items():
            line = f"{name}: {flow(value)}"
            yield f"{line:<48} # {about}" if about else line
        yield f"{'# warm_start: runs/old':<48} # try first what an earlier hunt found; none of it is evidence"


def flow(value: Any) -> str:
    """A value in YAML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(inner) for inner in value) + "]"
    if isinstance(value, str) and _PLAIN.match(value) and value.lower() not in _WORDS:
        return value if ": " not in value and not value.endswith(":") else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)


SHARED_HINTS = (
    "api_key_env: MY_KEY             # the name of a variable that holds the key, never the key",
    "price: 0.002                    # money per request, so that budgets in money and `plan` can reckon",
)
#: What else can be said about a role, by provider and what it does.
HINTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("openai", "generator"): (
        "params: {size: 1024x1024}        # passed through to the server",
        *SHARED_HINTS,
    ),
    ("openai", "chat"): (
        "image_max_side: 768             # shrink images before upload",
        "params: {temperature: 0}        # passed through",
        *SHARED_HINTS,
    ),
    ("openai", "judge"): (
        "contract: choice                # multiple choice: the judge is not told what was asked for",
        "image_max_side: 768             # shrink images before upload",
        "params: {temperature: 0, logprobs: true, top_logprobs: 5}   # keeps how sure it is of each check",
        *SHARED_HINTS,
    ),
    ("generate", "generator"): ("batch: 4                        # prompts in one request", *SHARED_HINTS),
    ("http", "classifier"): SHARED_HINTS,
    ("diffusers", "generator"): ("params: {num_inference_steps: 4, guidance_scale: 0}",),
    ("onnx", "classifier"): (
        "params: {size: 224, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}",
        "labels: labels.txt              # one label a line, in the order of the output",
    ),
}


def hints_for(provider: str, what: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Without what is said already."""
    known = HINTS.get((provider, what)) or HINTS.get((provider, "chat"), ())
    return tuple(hint for hint in known if hint.partition(":")[0] not in given)


def first_budget(entities: int) -> int:
    """Images for a first run, rounded to hundreds."""
    return max(FEWEST_IMAGES, round(entities * IMAGES_PER_ENTITY, -2))


def t2i_draft(
    target: RoleDraft, judge: RoleDraft, corpus: str, entities: Any, count: int, images: int | None
) -> ConfigDraft:
    space = {"corpus": corpus, "entities": entities, "depth": 2}
    return ConfigDraft(
        "t2i",
        {
            "target": (target, "the text-to-image model under test"),
            "judge": (judge, "a vision-language model that says what is in a picture"),
        },
        {
            "space": (space, "general, starter, toybox or a folder; all, sample or a list; most values"),
            "search": ({"threshold": 0.8, "fdr": 0.05}, "fails: below 80 %; at most 5 % of findings false"),
            "budget": ({"images": images or first_budget(count)}, "also: requests, seconds, money"),
            "seed": (7, ""),
        },
    )


def classifier_draft(
    target: RoleDraft,
    source: RoleDraft | str,
    helper: RoleDraft | None,
    classes: Any,
    corpus: str,
    images: int | None,
) -> ConfigDraft:
    """`source` draws the pictures, or is a folder of photos; `helper` judges presence and writes captions."""
    roles = {"target": (target, "the image classifier under test")}
    sections: dict[str, tuple[Any, str]] = {}
    if isinstance(source, RoleDraft):
        roles["generator"] = (source, "draws the pictures")
    else:
        sections["photos"] = (source, "a folder of photos, one sub-folder a class, or with metadata.jsonl")
    if helper is not None:
        roles["judge"] = (helper, "is the class visible at all?")
        roles["captioner"] = (helper, "describes failures")
    number = 20 if classes == "all" else len(classes)
    sections["classes"] = (classes, "all, or names of classes")
    sections["space"] = ({"corpus": corpus}, "where descriptions to try come from")
    sections["budget"] = ({"images": images or max(FEWEST_IMAGES, 1000 * number)}, "")
    sections["seed"] = (7, "")
    return ConfigDraft("classifier", roles, sections)


def vlm_draft(
    target: RoleDraft,
    verifier: RoleDraft | None,
    images: Mapping[str, Any],
    writer: RoleDraft | None,
    questions: int | None,
) -> ConfigDraft:
    """Without a verifier: pictures of the toybox world, whose truth is known."""
    roles = {"target": (target, "the vision-language model under test")}
    sections: dict[str, tuple[Any, str]] = {}
    if verifier is not None:
        roles["verifier"] = (verifier, "is the question valid, is the answer right?")
    sections["images"] = (dict(images), "a folder of photos, or source: toybox (truth is known)")
    if writer is not None:
        asked = {"writer": {"provider": writer.provider, **writer.settings}}
        sections["questioner"] = (asked, "who writes the questions")
    sections["questions"] = (questions or 2000, "put to the target in all")
    sections["seed"] = (7, "")
    return ConfigDraft("vlm", roles, sections)


MODEL_FILE = '''"""Models of your own: fill in what is marked, then `failscape doctor {config}`."""

from collections.abc import Sequence

from PIL import Image
{code}'''

_CODE = {
    "generator": '''

def draw(prompt: str, seeds: Sequence[int]) -> list[Image.Image]:
    """One picture for each seed. The same seed must give the same picture."""
    raise NotImplementedError("call your text-to-image model here")
''',
    "judge": '''

def judge(image: Image.Image, checks: Sequence) -> list[bool | None]:
    """Is each `check.statement` true of the image? `None`: cannot tell."""
    raise NotImplementedError("call your judge here")
''',
    "classifier": '''

def classify(images: Sequence[Image.Image]) -> list[list[tuple[str, float]]]:
    """For each image its labels with scores, best first."""
    raise NotImplementedError("call your classifier here")
''',
    "answerer": '''

def answer(images: Sequence[Image.Image], question: str) -> str:
    """What the model says about the images."""
    raise NotImplementedError("call your vision-language model here")
''',
    "verifier": '''

def verify(images: Sequence[Image.Image], question: str, answer: str) -> tuple[bool, bool]:
    """Is the question valid, and is the answer right?"""
    raise NotImplementedError("call your verifier here")
''',
}
FUNCTIONS = {
    "generator": "draw",
    "judge": "judge",
    "classifier": "classify",
    "answerer": "answer",
    "verifier": "verify",
}


def model_file(roles: Sequence[str], config: str) -> str:
    """A Python file with one function for each role that is to be filled in."""
    return MODEL_FILE.format(config=config, code="".join(_CODE[role] for role in dict.fromkeys(roles)))
