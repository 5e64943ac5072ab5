"""Models as pools of Ray actors behind the `Model` protocol. The controller never loads their weights.

An actor holds one model of one role, made and loaded when it is first asked: a restart runs only
`__init__`, so that is cheap. Errors travel as plain values, to keep their words. Models behind HTTP, and
those that only call others or learn from the hunt, stay in the controller.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from failscape import errors
from failscape.config import EngineConfig, ModelConfig
from failscape.engines.pool import Lost, ReplicaPool
from failscape.engines.ray_watcher import start_watcher
from failscape.errors import ConfigError, FailscapeError, MissingExtra, ModelError, Permanent
from failscape.models.registry import create_model
from failscape.models.roles import METHODS, Identity, Model

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


#: Providers that need no weights here, or whose state belongs beside the hunt.
IN_CONTROLLER = frozenset({"openai", "generate", "http", "exact", "panel", "grpo"})

CLIENT = (
    "`ray://` (Ray Client) would carry every picture through one proxy: 13 pictures a second were measured"
)
CLIENT_FIX = "run on the cluster with `ray job submit` (examples/cluster), and leave `address: auto`"


class RayEngine:
    """Connects once; `create_model` gives models whose work is done by actors."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config

    def create_model(self, role: str, settings: ModelConfig) -> Model:
        if settings.provider in IN_CONTROLLER or settings.replicas == 0:
            return create_model(role, settings)
        connect(self.config)
        return RayModel(role, settings)


def connect(config: EngineConfig) -> None:
    """Join the cluster that is there, or start one on this machine."""
    if find_spec("ray") is None:
        raise MissingExtra("`engine: {kind: ray}`", "ray")
    import ray

    if ray.is_initialized():
        return
    address = config.address if config.address != "auto" else os.environ.get("RAY_ADDRESS", "auto")
    if address.startswith("ray://"):
        raise ConfigError(CLIENT, CLIENT_FIX)
    where = {} if address == "auto" else {"address": address}
    environment = config.runtime_env or None
    try:
        ray.init(**where, runtime_env=environment, log_to_driver=False, logging_level="warning")
    except Exception as error:
        raise ConfigError(
            f"there is no Ray cluster at {address!r}: {_first_line(error)}",
            "start one with `ray start --head`, or write `address: local`",
        ) from error
    if _is_our_cluster():
        _watchers.append(start_watcher())


#: Kept as long as this process lives: the end of their pipe tells them that it is gone.
_watchers: list[object] = []


def _is_our_cluster() -> bool:
    """Whether the cluster was started by this process, and so has to end with it."""
    import ray

    node = getattr(ray._private.worker, "_global_node", None)
    return node is not None and node.is_head()


class RayModel:
    """`replicas` actors of one role. What it is, its first actor says; the others must be the same."""

    def __init__(self, role: str, settings: ModelConfig) -> None:
        self._role = role
        self._settings = settings
        self._actors: list[ActorReplica] = []
        self._make_actors()
        self._described = self._describe()
        self.identity = self._described.identity
        self.batch = self._described.batch
        if self._described.accuracy is not None:
            self.accuracy = self._described.accuracy
        self.parallel = (settings.replicas or 1) * settings.per_replica
        self._pool: ReplicaPool | None = None
        setattr(self, METHODS[role], self._method(METHODS[role]))

    def _method(self, name: str) -> Callable[..., Any]:
        async def call(*arguments: Any, **named: Any) -> Any:
            if self._pool is None:
                raise ModelError(f"the {self._role} is not started", "call `await model.start()` first")
            given = (*arguments, *named.values())
            if name != "chat" and not len(given[0]):
                return []
            return await self._pool.call(name, *given)

        return call

    def _make_actors(self) -> None:
        """Placed wherever there is room, spread over the nodes."""
        import ray

        settings = self._settings
        kind = ray.remote(
            num_cpus=settings.cpus,
            num_gpus=settings.gpus,
            max_restarts=-1,
            max_task_retries=0,  # we try again elsewhere: the same actor may be broken
            max_concurrency=settings.per_replica + 4,
            scheduling_strategy="SPREAD",
        )(RoleActor)
        data = settings.model_dump(mode="json")
        self._actors = [
            ActorReplica(f"{self._role} {number}", kind.remote(self._role, data))
            for number in range(settings.replicas or 1)
        ]

    def _describe(self) -> ActorDescription:
        """What the first actor that is up says of the model; it is made there, not here."""
        import ray

        refs = [replica.actor.describe.remote() for replica in self._actors]
        done, _ = ray.wait(refs, num_returns=1, timeout=self._settings.patience)
        if not done:
            self._kill_all()
            raise ModelError(
                f"no actor of the {self._role} started within {self._settings.patience:g} s: "
                f"{asked_and_had(self._settings)}",
                "ask for less (`replicas`, `gpus`, `cpus`), or make the cluster larger",
            )
        try:
            said = ray.get(done[0])
        except Exception as error:
            self._kill_all()
            raise Permanent(
                f"an actor of the {self._role} cannot be made: {_first_line(error)}",
                "every node needs this version of failscape and what the model needs (`engine.runtime_env`)",
            ) from error
        if isinstance(said, Failure):
            self._kill_all()
            raise said.error()
        assert isinstance(said, ActorDescription)
        return said

    async def start(self) -> None:
        if self._pool is not None:
            return
        if not self._actors:
            self._make_actors()
        for replica in self._actors:
            replica.expected = self._described

        settings = self._settings
        self._pool = ReplicaPool(
            self._role,
            self._actors,
            settings.per_replica,
            settings.timeout,
            settings.patience,
            explain=lambda: asked_and_had(settings),
        )
        await self._pool.start()

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()
        self._kill_all()

    def _kill_all(self) -> None:
        import ray

        for replica in self._actors:
            ray.kill(replica.actor, no_restart=True)
        self._actors = []

    async def learn(self, rewards: Sequence[tuple[str, float]]) -> None:
        """Questioners that learn stay in the controller."""


@dataclass(slots=True, eq=False)
class ActorReplica:
    """One actor as the pool sees it; all of a role must be what is `expected`."""

    name: str
    actor: Any
    expected: ActorDescription | None = None

    async def ready(self) -> None:
        said = await self._await(self.actor.ready.remote())
        wanted = self.expected
        if wanted is not None and said.identity.digest != wanted.identity.digest:
            raise Permanent(
                f"{self.name} is another model than the first: {said.identity.data} against "
                f"{wanted.identity.data}",
                "give all nodes the same files and the same version",
            )
        if wanted is not None and said.version != wanted.version:
            raise Permanent(
                f"{self.name} runs failscape {said.version}, the first one {wanted.version}",
                "install one version on all nodes",
            )

    async def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        return await self._await(self.actor.call.remote(method, arguments))

    async def kill(self) -> None:
        import ray

        await asyncio.to_thread(ray.kill, self.actor, no_restart=False)

    async def _await(self, ref: Any) -> Any:
        from ray.exceptions import RayError, RayTaskError, RuntimeEnvSetupError

        try:
            said = await ref
        except RayTaskError as error:
            raise ModelError(
                f"{self.name} broke: {_first_line(error.cause or error)}",
                "mend it and run again: what was recorded is kept",
            ) from error
        except RuntimeEnvSetupError as error:
            raise ConfigError(
                f"`engine.runtime_env` cannot be set up: {_first_line(error)}", "mend it"
            ) from error
        except RayError as error:
            raise Lost(f"{type(error).__name__}: {_first_line(error)}") from error
        if isinstance(said, Failure):
            raise said.error()
        return said


def asked_and_had(settings: ModelConfig) -> str:
    """What a role asks of the cluster, and what there is."""
    import ray

    there = ray.cluster_resources()
    return (
        f"{settings.replicas or 1} times {settings.cpus:g} CPUs and {settings.gpus:g} GPUs are asked for, "
        f"the cluster has {there.get('CPU', 0):g} and {there.get('GPU', 0):g}"
    )


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
