"""What runs inside a Ray worker: one model of one role, made and loaded when it is first asked.

A restart runs only `__init__`, so that is cheap. Errors travel as plain values, to keep their
words.
"""

import asyncio
import os
from dataclasses import dataclass
from typing import Any

from failscape import errors
from failscape.config import ModelConfig
from failscape.errors import FailscapeError, ModelError
from failscape.models.registry import create_model
from failscape.models.roles import Identity

#: After these a process can no longer use its GPU: it has to end.
STICKY = ("cuda error", "device-side assert", "illegal memory access", "cudnn_status", "cublas_status")


@dataclass(frozen=True, slots=True)
class ActorDescription:
    """What the controller has to know of a model that it does not load."""

    identity: Identity
    batch: int
    accuracy: Any
    version: str


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of ours, by the name of its class."""

    kind: str
    message: str
    fix: str

    def error(self) -> FailscapeError:
        found = getattr(errors, self.kind, ModelError)
        plain = isinstance(found, type) and issubclass(found, FailscapeError)
        # Two classes take other arguments; they mean a model that cannot be used, or one that may recover.
        odd = {errors.MissingExtra: errors.ConfigError, errors.RateLimited: errors.Transient}
        return odd.get(found, found)(self.message, self.fix) if plain else ModelError(self.message, self.fix)


def failure_of(error: FailscapeError) -> Failure:
    return Failure(type(error).__name__, error.message, error.fix)


class RoleActor:
    """A plain async actor. `settings` are those of the config, as they are."""

    def __init__(self, role: str, settings: dict[str, Any]) -> None:
        self._role = role
        self._settings = settings
        self._model: Any = None
        self._starting: asyncio.Task[None] | None = None

    async def describe(self) -> ActorDescription | Failure:
        from failscape import __version__

        try:
            model = self._made()
        except FailscapeError as error:
            return failure_of(error)
        accuracy = getattr(model, "accuracy", None)
        return ActorDescription(model.identity, model.batch, accuracy, __version__)

    async def ready(self) -> ActorDescription | Failure:
        """Load the weights, once."""
        described = await self.describe()
        if isinstance(described, Failure):
            return described
        if self._starting is None:
            self._starting = asyncio.create_task(self._made().start())
        try:
            await asyncio.shield(self._starting)
        except FailscapeError as error:
            return failure_of(error)
        return described

    async def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """A call may be the first thing that reaches a process which Ray has started anew."""
        loaded = await self.ready()
        if isinstance(loaded, Failure):
            return loaded
        try:
            return await getattr(self._made(), method)(*arguments)
        except Exception as error:
            if any(word in str(error).lower() for word in STICKY):
                os._exit(1)  # Ray starts a new process; the call is made elsewhere
            if isinstance(error, FailscapeError):
                return failure_of(error)
            raise

    def _made(self) -> Any:
        if self._model is None:
            self._model = create_model(self._role, ModelConfig.model_validate(self._settings))
        return self._model
