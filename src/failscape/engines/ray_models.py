"""Models as pools of Ray actors behind the `Model` protocol. The controller never loads their weights.

Models behind HTTP, and those that only call others or learn from the hunt, stay in the controller.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from failscape.config import EngineConfig, ModelConfig
from failscape.engines.pool import Lost, ReplicaPool
from failscape.engines.ray_actor import ActorDescription, Failure, RoleActor
from failscape.errors import ConfigError, MissingExtra, ModelError, Permanent
from failscape.models.providers.python_roles import METHODS
from failscape.models.registry import create_model
from failscape.models.roles import Model

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
    options: dict[str, Any] = {"runtime_env": config.runtime_env or None, "log_to_driver": False}
    options["logging_level"] = "warning"
    if address != "auto":
        options["address"] = address
    try:
        ray.init(**options)
    except Exception as error:
        raise ConfigError(
            f"there is no Ray cluster at {address!r}: {_first_line(error)}",
            "start one with `ray start --head`, or write `address: local`",
        ) from error


class RayModel:
    """`replicas` actors of one role. What it is, its first actor says; the others must be the same."""

    def __init__(self, role: str, settings: ModelConfig) -> None:
        self._role = role
        self._settings = settings
        self._actors: list[ActorReplica] = []
        self._make_actors()
        described = self._describe()
        self.identity = described.identity
        self.batch = described.batch
        if described.accuracy is not None:
            self.accuracy = described.accuracy
        count = settings.replicas or 1
        self.parallel = count * settings.per_replica
        self._described = described
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
            replica.expect(self._described)
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


class ActorReplica:
    """One actor as the pool sees it."""

    def __init__(self, name: str, actor: Any) -> None:
        self.name = name
        self.actor = actor
        self._expected: ActorDescription | None = None

    def expect(self, described: ActorDescription) -> None:
        self._expected = described

    async def ready(self) -> None:
        said = await self._await(self.actor.ready.remote())
        if isinstance(said, Failure):
            raise said.error()
        wanted = self._expected
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
        reply = await self._await(self.actor.call.remote(method, arguments))
        if isinstance(reply, Failure):
            raise reply.error()
        return reply

    async def kill(self) -> None:
        import ray

        await asyncio.to_thread(ray.kill, self.actor, no_restart=False)

    async def _await(self, ref: Any) -> Any:
        from ray.exceptions import RayError, RayTaskError, RuntimeEnvSetupError

        try:
            return await ref
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


def asked_and_had(settings: ModelConfig) -> str:
    """What a role asks of the cluster, and what there is."""
    import ray

    there = ray.cluster_resources()
    count = settings.replicas or 1
    return (
        f"{count} times {settings.cpus:g} CPUs and {settings.gpus:g} GPUs are asked for, "
        f"the cluster has {there.get('CPU', 0):g} and {there.get('GPU', 0):g}"
    )


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
