"""Looks at the Ray cluster of a config: is it there, has it room, how long does an actor take."""

import time
from typing import Any

from failscape.config import HuntConfig, ModelConfig
from failscape.doctor.observations import Observation, concluded
from failscape.engines.ray_models import IN_CONTROLLER, RoleActor, connect
from failscape.errors import FailscapeError

#: Longer than this, and the environment of the nodes is probably built anew for each actor.
SLOW_SECONDS = 30.0

MOST_SECONDS = 120.0


async def examine_cluster(config: HuntConfig) -> list[Observation]:
    """Nothing for a run without a cluster."""
    if config.engine.kind != "ray":
        return []
    try:
        connect(config.engine)
    except FailscapeError as error:
        return [Observation("cluster", "fail", error.message, "no model can run", error.fix)]
    roles = {
        role: settings
        for role, settings in config.models().items()
        if settings.provider not in IN_CONTROLLER and settings.replicas != 0
    }
    import ray

    seen = f"Ray {ray.__version__}, nodes: {sum(node['Alive'] for node in ray.nodes())}"
    found = [Observation("cluster", "ok", seen, "the controller is connected"), _resources(roles)]
    return [*found, _first_actor(roles)] if roles and found[1].status != "fail" else found


def _resources(roles: dict[str, ModelConfig]) -> Observation:
    import ray

    there = ray.cluster_resources()
    asked = {"CPU": 0.0, "GPU": 0.0}
    for settings in roles.values():
        asked["CPU"] += (settings.replicas or 1) * settings.cpus
        asked["GPU"] += (settings.replicas or 1) * settings.gpus
    seen = "; ".join(f"{asked[kind]:g} {kind}s asked, {there.get(kind, 0):g} there" for kind in asked)
    return concluded(
        "resources",
        "ok" if all(asked[kind] <= there.get(kind, 0) for kind in asked) else "fail",
        seen,
        0,
        "all replicas fit at the same time",
        "some replicas would wait for ever",
        "ask for less (`replicas`, `gpus`, `cpus` of a role), or add nodes",
    )


def _first_actor(roles: dict[str, ModelConfig]) -> Observation:
    """How long until an actor answers, and whether it runs what we run."""
    import ray

    from failscape import __version__

    began = time.monotonic()
    role, settings = next(iter(roles.items()))
    kind = ray.remote(num_cpus=settings.cpus, num_gpus=settings.gpus)(RoleActor)
    actor = kind.remote(role, settings.model_dump(mode="json"))
    try:
        said: Any = ray.get(actor.describe.remote(), timeout=MOST_SECONDS)
    except Exception as error:
        fix = "every node needs failscape and what the model needs: see `engine.runtime_env`"
        return Observation(
            "first actor", "fail", str(error).strip().splitlines()[-1], "no actor answers", fix
        )
    finally:
        ray.kill(actor)
    seconds = time.monotonic() - began
    version = getattr(said, "version", "")
    if version != __version__:
        told = getattr(said, "message", f"failscape {version} there, {__version__} here")
        return Observation(
            "first actor", "fail", told, "results would be mixed", "install one version everywhere"
        )
    seen, means = f"answered after {seconds:.1f} s", "loading the weights comes on top, once per actor"
    if seconds < SLOW_SECONDS:
        return Observation("first actor", "ok", seen, means)
    fix = "put what `engine.runtime_env` installs into the image of the nodes"
    return Observation("first actor", "warn", seen, means, fix)
