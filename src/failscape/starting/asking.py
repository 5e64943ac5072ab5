"""What a user says about each role of a first config, and what is asked where that is missing."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failscape.errors import ConfigError
from failscape.models.registry import OUR_PROVIDERS, find_provider
from failscape.spaces.corpus.corpus import corpus_names
from failscape.starting.drafts import RoleDraft
from failscape.starting.endpoints import Offered, offered_models
from failscape.starting.model_file import FILE, FUNCTIONS

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

OVER_HTTP = ("openai", "generate", "http")

TOYS = {"generator": "toy-painter", "judge": "toy-eyes", "classifier": "cnn", "answerer": "toy-vlm"}
EXAMPLES = {"diffusers": "stabilityai/sdxl-turbo", "transformers": "google/vit-base-patch16-224"}

#: What a target of one's own is called, unless it has a name.
NAMES = {"generator": "my-painter", "classifier": "my-classifier", "answerer": "my-vlm"}

#: Asks a person: question, default, choices.
Prompt = Callable[[str, str, Sequence[str]], str]


@dataclass(slots=True)
class ConfigAsker:
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
    asker: ConfigAsker, role: str, what: str, said: RoleFlags, like: RoleDraft | None = None
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
        return _of_python(asker, role, said, known)
    if provider == "onnx":
        path = asker.ask(f"Where is the ONNX file of {what}?", said.flag("path"), said.path, "model.onnx")
        return _hinted(RoleDraft(provider, {"model": said.model or Path(path).stem, "path": path}), role)
    if provider not in OVER_HTTP:
        default = EXAMPLES.get(provider, "")
        name = asker.ask(f"Which model is {what}?", said.flag("model"), said.model, default)
        return _hinted(RoleDraft(provider, {"model": name}), role)
    return _hinted(_over_http(asker, provider, what, said, known), role)


def _of_python(asker: ConfigAsker, role: str, said: RoleFlags, known: Mapping[str, Any]) -> RoleDraft:
    """A function of a file: the one that was named, that of the role before, or one that is written."""
    file, colon, function = said.path.rpartition(":") if ":" in said.path else (said.path, "", "")
    if not file:
        file = str(known.get("path", "")).rpartition(":")[0] or FILE
    if file == FILE and not colon:
        asker.to_fill.append(role)
    # A name of its own, so that reports do not call the model by its function.
    named = {} if said.prefix else {"model": said.model or NAMES.get(role, "my-model")}
    return RoleDraft("python", {**named, "path": f"{file}:{function or FUNCTIONS.get(role, role)}"})


def _hinted(role: RoleDraft, what: str) -> RoleDraft:
    # Without what is said already.
    known = HINTS.get((role.provider, what)) or HINTS.get((role.provider, "chat"), ())
    return RoleDraft(
        role.provider,
        role.settings,
        tuple(hint for hint in known if hint.partition(":")[0] not in role.settings),
    )


def _over_http(asker: ConfigAsker, provider: str, what: str, said: RoleFlags, known: Any) -> RoleDraft:
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


def _model(asker: ConfigAsker, provider: str, what: str, said: RoleFlags, endpoint: str, likely: str) -> str:
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


def settle_target(asker: ConfigAsker, role: str, what: str, flags: Mapping[str, Any]) -> RoleDraft:
    """The role that is under test, from `--target`, `--endpoint`, `--model`, `--path` and `--key-env`."""
    said = RoleFlags(flags["target"], flags["endpoint"], flags["model"], flags["path"], flags["key_env"])
    return settle_role(asker, role, what, said)


def settle_helper(
    asker: ConfigAsker,
    role: str,
    what: str,
    flags: Mapping[str, Any],
    prefix: str,
    like: RoleDraft | None = None,
) -> RoleDraft:
    """Another role, from the flags that begin with `prefix`, such as `--judge` and `--judge-endpoint`."""
    said = RoleFlags(flags[prefix], flags[f"{prefix}_endpoint"], flags[f"{prefix}_model"], prefix=prefix)
    return settle_role(asker, role, what, said, like)


def settle_corpus(asker: ConfigAsker, flags: Mapping[str, Any], target: RoleDraft) -> str:
    """A target that has a corpus of its own name knows its words; all others begin small."""
    model = str(target.settings.get("model", ""))
    shipped = corpus_names()
    likely = "toybox" if target.provider == "toybox" else model if model in shipped else "starter"
    return asker.ask(
        f"Which corpus ({', '.join(shipped)}, or a folder)?", "--corpus", flags["corpus"], likely
    )


def with_eyes(role: RoleDraft) -> RoleDraft | None:
    """What a judge may share with another role: a server that only draws, or a pipeline, sees nothing."""
    return role if role.provider in ("openai", "toybox", "python") else None
