"""A first config: what a user says about each role, what is asked where that is missing, and its text."""

import asyncio
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from failscape.config import ModelConfig
from failscape.doctor.samples import known_pictures
from failscape.errors import ConfigError, FailscapeError
from failscape.models.registry import OUR_PROVIDERS, create_model, find_provider
from failscape.models.transport.faults import shown_url
from failscape.models.transport.http import decode, openai_base

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


SECONDS = 8.0
#: A server that was started a moment ago loads its models, and says so with `Retry-After`.
PATIENCE = 15.0
LARGEST = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Offered:
    """What an endpoint says it has. `trouble` says why that is nothing."""

    models: tuple[str, ...] = ()
    trouble: str = ""


async def offered_models(endpoint: str, key_env: str = "") -> Offered:
    """`GET …/v1/models`, as all servers with the OpenAI API have it."""
    url = f"{openai_base(endpoint.strip().rstrip('/'))}/models"
    key = os.environ.get(key_env, "").strip() if key_env else ""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, headers=headers) as reply,
        ):
            if reply.status in (401, 403):
                return Offered(
                    trouble=f"{shown_url(url)} wants a key ({reply.status}): name its variable with --key-env"
                )
            if reply.status != 200:
                return Offered(trouble=f"{shown_url(url)} answers {reply.status}")
            names = _names(decode(await reply.content.read(LARGEST)))
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        return Offered(trouble=f"{shown_url(url)} cannot be asked: {type(error).__name__}")
    return Offered(names) if names else Offered(trouble=f"{shown_url(url)} lists no models")


def _names(data: Any) -> tuple[str, ...]:
    rows = data.get("data") if isinstance(data, dict) else data
    found = [row.get("id") if isinstance(row, dict) else row for row in rows or []]
    return tuple(name for name in found if isinstance(name, str) and name)


async def trouble_with_eyes(config: ModelConfig) -> str:
    """Why a judge cannot be used, found by one known picture; empty when it tells what it shows."""
    shown, other = known_pictures()[:2]
    asked = (shown.checks[0], other.checks[0])
    try:
        judge: Any = create_model("judge", config.model_copy(update={"patience": PATIENCE, "timeout": 30.0}))
        await judge.start()
        try:
            (reply,) = await judge.judge([shown.picture], [asked])
        finally:
            await judge.close()
    except FailscapeError as error:
        return error.message
    if reply.value is None:
        return reply.invalid or "its reply cannot be read"
    if reply.value[0] == reply.value[1]:
        thing = f"a picture of a {shown.thing}"
        return f"of {thing} it says the same about {asked[0].statement!r} and {asked[1].statement!r}"
    return ""


OVER_HTTP = ("openai", "generate", "http")
FILE = "my_models.py"

TOYS = {"generator": "toy-painter", "judge": "toy-eyes", "classifier": "cnn", "answerer": "toy-vlm"}
EXAMPLES = {"diffusers": "stabilityai/sdxl-turbo", "transformers": "google/vit-base-patch16-224"}

#: Asks a person: question, default, choices.
Prompt = Callable[[str, str, Sequence[str]], str]


@dataclass(slots=True)
class Asker:
    """Asks people where there are some, else takes what is likely, else says which flag is missing.

    `told` gathers lines that a user should see at the end; `to_fill` the roles of a model file.
    """

    prompt: Prompt | None = None
    told: list[str] = field(default_factory=list)
    to_fill: list[str] = field(default_factory=list)
    _offered: dict[str, Offered] = field(default_factory=dict)

    def ask(
        self, question: str, flag: str, given: str = "", default: str = "", choices: Sequence[str] = ()
    ) -> str:
        if given:
            if choices and given not in choices:
                raise ConfigError(
                    f"{flag} must be one of {', '.join(choices)}, but got {given!r}", "name one"
                )
            return given
        if self.prompt is not None:
            return self.prompt(question, default, choices)
        if default:
            return default
        raise ConfigError(f"{flag} is needed: {question}", f"add `{flag} …`, or answer at a terminal")

    def offered(self, endpoint: str, key_env: str) -> Offered:
        if endpoint not in self._offered:
            self._offered[endpoint] = asyncio.run(offered_models(endpoint, key_env))
        return self._offered[endpoint]


@dataclass(frozen=True, slots=True)
class RoleFlags:
    """What the flags say about a role; `prefix` is that of its flags (`--judge-endpoint`)."""

    provider: str = ""
    endpoints: tuple[str, ...] = ()
    model: str = ""
    path: str = ""
    key_env: str = ""
    prefix: str = ""

    def flag(self, name: str) -> str:
        return f"--{self.prefix}-{name}" if self.prefix else f"--{name}"


def settle_role(
    asker: Asker, role: str, what: str, said: RoleFlags, like: RoleDraft | None = None
) -> RoleDraft:
    """`like`: the role before, whose provider, endpoint and model are likely for this one too."""
    known = like.settings if like else {}
    likely = like.provider if like and role in OUR_PROVIDERS[like.provider].roles else "openai"
    named = f"--{said.prefix or 'target'}"
    # Those that a user may name for a role.
    hidden = ("exact", "panel", "grpo")
    provider = asker.ask(
        f"How is {what} reached?",
        named,
        said.provider,
        likely,
        [name for name, one in OUR_PROVIDERS.items() if role in one.roles and name not in hidden],
    )
    find_provider(provider)
    if provider == "toybox":
        return RoleDraft(provider, {"model": said.model or TOYS.get(role, "toy-eyes")})
    if provider == "python":
        asker.to_fill += [] if said.path else [role]
        return RoleDraft(provider, {"path": said.path or f"{FILE}:{FUNCTIONS.get(role, role)}"})
    if provider == "onnx":
        path = asker.ask(f"Where is the ONNX file of {what}?", said.flag("path"), said.path, "model.onnx")
        return _hinted(RoleDraft(provider, {"path": path}), role)
    if provider not in OVER_HTTP:
        default = EXAMPLES.get(provider, "")
        name = asker.ask(f"Which model is {what}?", said.flag("model"), said.model, default)
        return _hinted(RoleDraft(provider, {"model": name}), role)
    return _hinted(_over_http(asker, provider, what, said, known), role)


def _hinted(role: RoleDraft, what: str) -> RoleDraft:
    # Without what is said already.
    known = HINTS.get((role.provider, what)) or HINTS.get((role.provider, "chat"), ())
    return RoleDraft(
        role.provider,
        role.settings,
        tuple(hint for hint in known if hint.partition(":")[0] not in role.settings),
    )


def _over_http(asker: Asker, provider: str, what: str, said: RoleFlags, known: Any) -> RoleDraft:
    likely = (known.get("endpoints") or [""])[0]
    endpoints = list(said.endpoints)
    if not endpoints:
        endpoints = [asker.ask(f"At which address is {what}?", said.flag("endpoint"), "", likely)]
    settings: dict[str, Any] = {}
    same = list(known.get("endpoints") or ()) == endpoints
    settings["model"] = _model(
        asker, provider, what, said, endpoints[0], known.get("model", "") if same else ""
    )
    settings["endpoints"] = endpoints
    key = said.key_env or (known.get("api_key_env", "") if same else "")
    return RoleDraft(provider, {**settings, "api_key_env": key} if key else settings)


def _model(asker: Asker, provider: str, what: str, said: RoleFlags, endpoint: str, likely: str) -> str:
    if provider == "generate":  # such servers have one model and no list of them
        return asker.ask(f"What is the name of {what}?", said.flag("model"), said.model, likely)
    offered = asker.offered(endpoint, said.key_env)
    if said.model:
        if offered.trouble:
            asker.told.append(f"{offered.trouble}: `model: {said.model}` is taken as given")
        elif said.model not in offered.models:
            asker.told.append(
                f"{endpoint} does not list {said.model!r}, only: {', '.join(offered.models[:8])}"
            )
        return said.model
    if offered.trouble and asker.prompt is None and not likely:
        raise ConfigError(offered.trouble, f"start the server, or name the model with {said.flag('model')}")
    if offered.trouble:
        asker.told.append(offered.trouble)
        return asker.ask(f"Which model there is {what}?", said.flag("model"), "", likely)
    if likely in offered.models or len(offered.models) == 1:
        default = likely or offered.models[0]
        return asker.ask(f"Which model there is {what}?", said.flag("model"), "", default, offered.models)
    if asker.prompt is None:
        names = ", ".join(offered.models[:12])
        raise ConfigError(
            f"{endpoint} has {len(offered.models)} models: {names}", f"name one with {said.flag('model')}"
        )
    first = offered.models[0]
    return asker.ask(f"Which model there is {what}?", said.flag("model"), "", first, offered.models)
