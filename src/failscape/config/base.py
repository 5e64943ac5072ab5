"""What the settings of all hunts share: how a model is reached, budgets, the runtime.

Unknown keys are errors. Secrets are never values: a model names the environment variable instead.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from failscape.errors import ConfigError
from failscape.picture_limits import DEFAULT_LIMITS, PictureLimits
from failscape.secrets import remember
from failscape.trust import Outside, Trusted, Vouched

#: Params with these names would carry a key into the atlas, where the config is kept.
SECRETS = frozenset({"api_key", "apikey", "key", "token", "secret", "password", "authorization"})

#: Names that end so are those of keys too: `x-api-key`, `access_token`, `client_secret`.
_SECRET_ENDINGS = ("_key", "_token", "_secret", "_password")

#: Such names that are none: they number tokens, or name parts of a model.
_NO_SECRETS = frozenset({"eos_token", "bos_token", "pad_token", "stop_token", "max_token", "unk_token"})


def is_secret_name(name: str) -> bool:
    """Whether a setting of this name would hold a key."""
    plain = name.rpartition(".")[2].lower().replace("-", "_")
    return plain in SECRETS or (plain.endswith(_SECRET_ENDINGS) and plain not in _NO_SECRETS)


#: A part of an address that is this long without a break, with letters and digits, is taken for a key.
_KEY = re.compile(r"(?:sk-|hf_)?[A-Za-z0-9]{24,}")
_LEAST_DIGITS = 3


def keys_in_paths(endpoints: tuple[str, ...]) -> Iterator[str]:
    """Parts of the paths of addresses that look like keys."""
    for endpoint in endpoints:
        for part in endpoint.partition("://")[2].split("/")[1:]:
            digits = sum(sign.isdigit() for sign in part)
            if _KEY.fullmatch(part) and _LEAST_DIGITS <= digits < len(part):
                yield part


#: What the path of a model begins with that was given as a Python object, not named.
HELD = "object:"


class Settings(BaseModel):
    # Values are not repeated in errors: one of them may be a key in the wrong place.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class VideoConfig(Settings):
    """How a model is shown a clip. All of it is part of the model's identity."""

    form: Literal["images", "video_url", "file"] = Field(
        "images",
        description="images: sampled frames, one picture each; video_url: sampled frames in one `video_url`, "
        "as vLLM takes them; file: the MP4 or WebM file itself, so that the server samples",
    )
    frames: int = Field(8, ge=1, le=256, description="most frames of a clip that are shown")
    fps: float | None = Field(None, gt=0, description="frames per second of the clip, up to `frames`")
    sampling: Literal["ends", "middles"] = Field(
        "ends",
        description="ends: the first and the last frame, the others evenly between; middles: the middle of "
        "each of as many equal parts",
    )
    timestamps: bool = Field(True, description="tell the model when each frame is")


class ModelConfig(Settings):
    """How one role is reached."""

    provider: str = Field(description="openai, generate, onnx, python, toybox … or a plugin's name")
    model: str = Field("", description="the model's name as the endpoint knows it; results are kept under it")
    endpoints: tuple[str, ...] = Field((), description="base URLs; several make a pool")
    path: str = Field("", description="a model file or folder, `module:attr` or `file.py:attr`")
    params: dict[str, Any] = Field(default_factory=dict, description="passed through to the model")
    contract: Literal["boolean", "choice"] = Field("boolean", description="how a judge is asked")
    thresholds: dict[str, float] = Field(
        default_factory=dict,
        description="judges with log-probabilities: how sure one must be, by kind of check; * for all others",
    )
    image_max_side: int | None = Field(None, ge=16, description="shrink images to this before upload")
    image_format: Literal["jpeg", "webp", "png"] | None = Field(
        None,
        description="upload images in this format; unless set, as they are, "
        "and as JPEG (quality 92, 4:4:4) where they are shrunk",
    )
    image_max_bytes: int = Field(
        DEFAULT_LIMITS.bytes, ge=1024, description="largest picture that is taken from it, in bytes"
    )
    image_max_pixels: int = Field(
        DEFAULT_LIMITS.pixels, ge=256, description="largest picture that is taken from it, in pixels"
    )
    image_min_side: int = Field(
        DEFAULT_LIMITS.least_side,
        ge=1,
        description="smallest picture that is taken from it, in pixels a side",
    )
    image_hosts: tuple[str, ...] = Field(
        (), description="hosts besides the endpoint's own that pictures may be fetched from"
    )
    video: VideoConfig | None = Field(
        None, description="how it is shown clips; unless set, it sees their first frame"
    )
    api_key_env: str = Field("", description="name of the environment variable that holds the key")
    timeout: float = Field(120.0, gt=0, description="seconds for one request")
    patience: float = Field(300.0, ge=0, description="seconds to wait for endpoints that are down")
    concurrency: int = Field(32, ge=1, description="most requests in flight per endpoint")
    batch: int | None = Field(None, ge=1, description="most items per call of an in-process model")
    price: float = Field(0.0, ge=0, description="money per answered request")
    labels: str = Field("", description="file with one label per line, for classifiers")
    # Where a model runs is no part of what is measured, so these are not kept in the atlas.
    replicas: int | None = Field(
        None, ge=0, exclude=True, description="engine ray: actors; 0 keeps the role in the controller"
    )
    gpus: float = Field(0.0, ge=0, exclude=True, description="engine ray: GPUs of one actor")
    cpus: float = Field(1.0, ge=0, exclude=True, description="engine ray: CPUs of one actor")
    per_replica: int = Field(2, ge=1, exclude=True, description="engine ray: calls on the way to one actor")

    _held: Any = PrivateAttr(None)

    @property
    def held(self) -> Any:
        """The Python callable or object that was given in place of a path; nothing for configs from files."""
        return self._held

    @model_validator(mode="wrap")
    @classmethod
    def _take_callables(cls, data: Any, check: ModelWrapValidatorHandler[ModelConfig]) -> ModelConfig:
        """`target: draw` and `target: {path: draw, batch: 8}`, where `draw` is a callable or an object."""
        given = data
        if callable(data) and not isinstance(data, BaseModel):
            given = {"path": data}
        held = given.get("path") if isinstance(given, Mapping) else None
        if held is None or isinstance(held, str):
            return check(given)
        inner = getattr(held, "func", held)
        name = getattr(inner, "__qualname__", None) or type(inner).__qualname__
        config = check({"provider": "python", **given, "path": f"{HELD}{name}"})

        config._held = held
        return config

    @field_validator("endpoints")
    @classmethod
    def _no_secrets_in_addresses(cls, endpoints: tuple[str, ...]) -> tuple[str, ...]:
        if any("@" in endpoint.partition("://")[2].partition("/")[0] for endpoint in endpoints):
            raise ValueError("an endpoint must not hold a name or password; name a variable in `api_key_env`")
        if any("?" in endpoint for endpoint in endpoints):
            raise ValueError(
                "an endpoint must not hold a query (`?…`); name a key's variable in `api_key_env`"
            )
        for key in keys_in_paths(endpoints):
            remember(key)  # so that it is blotted out of all that is written
        return endpoints

    @field_validator("endpoints", "image_hosts", mode="before")
    @classmethod
    def _a_list(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str):
            # The value is not shown: an address may hold a secret by mistake.
            raise ValueError(f'must be a list, not one text: write `{info.field_name}: ["…"]`')
        return value

    @field_validator("image_hosts")
    @classmethod
    def _hosts_only(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if "/" in host or "@" in host or not host.strip():
                raise ValueError("a host is a bare name, such as `cdn.lab.org`, `10.0.0.7:8080`, `*.lab.org`")
        return hosts

    @property
    def picture_limits(self) -> PictureLimits:
        return PictureLimits(self.image_max_bytes, self.image_max_pixels, self.image_min_side)

    @field_validator("thresholds")
    @classmethod
    def _between_0_and_1(cls, thresholds: dict[str, float]) -> dict[str, float]:
        if any(not 0 < threshold < 1 for threshold in thresholds.values()):
            raise ValueError("a threshold lies between 0 and 1, such as 0.5")
        return thresholds

    @field_validator("params")
    @classmethod
    def _no_secrets_in_params(cls, params: dict[str, Any]) -> dict[str, Any]:
        for name in _names_in(params):
            if is_secret_name(name):
                # Not a ValueError: reports on those show what was given.
                raise ConfigError(
                    f"`params.{name}` looks like a key, but all values of a config are kept in the atlas",
                    "take it out, and name the environment variable that holds the key in `api_key_env`",
                )
        return params

    @model_serializer(mode="wrap")
    def _without_video(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A model that is shown no clips is recorded as it was before there were clips: it is the same."""
        recorded: dict[str, Any] = dump(self)
        if self.video is None:
            recorded.pop("video", None)
        return recorded


def _names_in(value: Any) -> Iterator[str]:
    """The names of a param's parts, as `outer.inner`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from (f"{name}.{below}" for below in _names_in(inner))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _names_in(inner)


class BudgetConfig(Settings):
    """Reaching any of these is a clean stop. They count over all sessions of a run."""

    images: int | None = Field(None, ge=1)
    requests: int | None = Field(None, ge=1)
    seconds: float | None = Field(None, gt=0)
    money: float | None = Field(None, gt=0)


class RuntimeConfig(Settings):
    in_flight: int = Field(64, ge=1, le=4096, description="probes under way at once")
    cache: bool = Field(True, description="reuse replies to identical calls found in the atlas")
    keep_images: Literal["all", "failures", "none"] = "all"


class EngineConfig(Settings):
    """Where models that are not behind HTTP run. The hunt and the atlas stay in this process."""

    kind: Literal["local", "ray"] = Field("local", description="local: in this process; ray: as Ray actors")
    address: str = Field("auto", description="auto: the cluster that is there, else one on this machine")
    runtime_env: dict[str, Any] = Field(default_factory=dict, description="passed on to ray.init")


class EarlierWord(NamedTuple):
    """`now` is the word of today; in a file the earlier one is refused from version `until` on."""

    now: str
    until: tuple[int, int]


class HuntConfig(Settings):
    """What every hunt has. Each kind adds its own roles and settings."""

    hunt: str
    target: ModelConfig
    budget: BudgetConfig = BudgetConfig()
    runtime: RuntimeConfig = RuntimeConfig()
    engine: EngineConfig = Field(EngineConfig(), exclude=True)
    seed: int = Field(0, ge=0)
    warm_start: Annotated[str, Outside("an earlier atlas")] = Field(
        "",
        description="an earlier atlas (`runs/old`, or `runs/old@2` for its second hunt): its findings are "
        "tried first and its rates guide the search; nothing of it is evidence",
    )

    earlier_words: ClassVar[Mapping[tuple[str, str], EarlierWord]] = {}
    """(key, earlier value) → what it is called now. Atlases keep theirs for good: see docs/upgrade.md."""

    _vouched: Vouched | None = PrivateAttr(None)

    @property
    def trusted(self) -> Trusted:
        """Where the settings come from: the user's own `config`, or an `atlas`, which may be a stranger's."""
        return "config" if self._vouched is None else "atlas"

    @property
    def vouched(self) -> Vouched:
        """Which models may be made of these settings: all of them, where they are the user's own."""
        return self._vouched or Vouched(everything=self._vouched is None)

    def from_atlas(self, vouched: Vouched) -> Self:
        """The same settings, marked as coming from an atlas.

        No run keeps its engine there. One that is there all the same was put there to lead to a cluster of
        somebody else's.
        """
        config = self.model_copy(update={"engine": EngineConfig()})
        config._vouched = vouched
        return config

    def with_target(self, target: ModelConfig) -> Self:
        """The same settings with another target, which is the user's own."""
        config = self.model_copy(update={"target": target})
        if self._vouched is None:
            return config
        return config.from_atlas(self._vouched.plus(target.model_dump(mode="json")))

    @abstractmethod
    def models(self) -> dict[str, ModelConfig]:
        """Role → how it is reached."""
