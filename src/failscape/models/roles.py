"""What models do for us: one small protocol per role, called by the runtime only.

Every call takes a list and gives one reply per item, in order, so that in-process models can be
micro-batched. A model that cannot give a usable reply raises one of the `ModelError`s, or marks that
one reply as invalid; it never guesses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from failscape.pictures import Picture
from failscape.trials import Check

T = TypeVar("T")

#: Labels with scores, best first.
Ranking = list[tuple[str, float]]

#: A question and the answer it got.
Turn = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Usage:
    """What one reply cost. `requests` counts every attempt; `cost` is money, where a price is set.

    `endpoint` is the address that gave the reply, where the model has several or lives behind one.
    """

    requests: int = 1
    seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    endpoint: str = ""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.seconds + other.seconds,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cost + other.cost,
            other.endpoint or self.endpoint,
        )


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """A model's reply: a value, or the reason why there is none. `raw` is its own words, for the record.

    `confidence` is a judge's chance for each check that it holds, where it says so.
    """

    value: T | None
    invalid: str = ""
    raw: str = ""
    usage: Usage = field(default_factory=Usage)
    confidence: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A question about images, after the turns so far."""

    images: tuple[Picture, ...]
    question: str
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerToVerify:
    """An answer to be verified; `truth` is the right answer where it is known by construction."""

    images: tuple[Picture, ...]
    question: str
    answer: str
    history: tuple[Turn, ...] = ()
    truth: str = ""


@dataclass(frozen=True, slots=True)
class Verification:
    """`None` means that the verifier did not commit. `agreement` is the share of a panel that agrees.

    `answer` is what the verifier takes for the right answer, where it was not told and says so;
    `answer_share` is the share of a panel that names it.
    """

    valid: bool | None
    right: bool | None
    reason: str = ""
    agreement: float = 1.0
    answer: str = ""
    answer_share: float = 1.0


@dataclass(frozen=True, slots=True)
class Identity:
    """All that makes two calls comparable: provider, model, params, contract version, preprocessing.

    It holds no secret and no address: the same model behind another endpoint is the same model.
    """

    role: str
    provider: str
    model: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> dict[str, Any]:
        return {"role": self.role, "provider": self.provider, "model": self.model, "settings": self.settings}

    @property
    def digest(self) -> str:
        text = json.dumps(self.data, sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@runtime_checkable
class Model(Protocol):
    """What all roles share.

    `batch` is how many items the model wants in one call; with 1, calls are made item by item, side by
    side. `parallel` is how many larger batches may be under way at once.
    """

    identity: Identity
    batch: int
    parallel: int

    async def start(self) -> None:
        """Make ready: load weights, open connections. Called once, before the first call."""
        ...

    async def close(self) -> None: ...


class ImageGenerator(Model, Protocol):
    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]: ...


class ImageEditor(Model, Protocol):
    async def edit(
        self, images: Sequence[Picture], instructions: Sequence[str], seeds: Sequence[int]
    ) -> list[Reply[Picture]]: ...


class Judge(Model, Protocol):
    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[list[bool | None]]]: ...


class Classifier(Model, Protocol):
    async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]: ...


class Captioner(Model, Protocol):
    async def caption(self, images: Sequence[Picture]) -> list[Reply[list[str]]]: ...


class Answerer(Model, Protocol):
    async def answer(self, conversations: Sequence[Conversation]) -> list[Reply[str]]: ...


class Verifier(Model, Protocol):
    async def verify(self, answers: Sequence[AnswerToVerify]) -> list[Reply[Verification]]: ...


class Questioner(Model, Protocol):
    async def propose(
        self, images: Sequence[tuple[Picture, ...]], guidance: Sequence[str], counts: Sequence[int]
    ) -> list[Reply[list[str]]]: ...


class Embedder(Model, Protocol):
    async def embed(self, items: Sequence[str | Picture]) -> list[Reply[list[float]]]: ...


#: Role name → its protocol and the method that the runtime calls.
ROLES: dict[str, tuple[type[Any], str]] = {
    "generator": (ImageGenerator, "generate"),
    "editor": (ImageEditor, "edit"),
    "judge": (Judge, "judge"),
    "classifier": (Classifier, "classify"),
    "captioner": (Captioner, "caption"),
    "answerer": (Answerer, "answer"),
    "verifier": (Verifier, "verify"),
    "questioner": (Questioner, "propose"),
    "embedder": (Embedder, "embed"),
}

#: Roles that are another one with a purpose of its own: any model that plays the second plays the first.
PLAYED_AS = {"auditor": "verifier"}

#: Role → the method that the runtime calls; `llm` is a helper, plain chat.
METHODS = {**{role: method for role, (_, method) in ROLES.items()}, "llm": "chat"}
