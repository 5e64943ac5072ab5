"""Models as Ray actors on a cluster on loopback: the promises of a model, and what survives kills."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failscape.atlas import Atlas
from failscape.config import EngineConfig, ModelConfig
from failscape.config.files import parse_config
from failscape.errors import ConfigError, ModelError
from failscape.models.roles import Model
from failscape.runtime.progress import choose_reporter
from failscape.runtime.session import run_session
from failscape.testing.model_suite import GeneratorSuite, JudgeSuite
from failscape.trials import Verdict

pytestmark = [pytest.mark.extra("ray"), pytest.mark.xdist_group("ray")]
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without room for actors, and one node with room; more are added by tests."""
    import ray
    from ray.cluster_utils import Cluster

    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    os.environ["PYTHONPATH"] = paths
    # On a busy machine a node may take long to say that it lives: only one that cannot be reached is dead.
    patient = {"health_check_timeout_ms": 300_000}
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": patient}
    made = Cluster(initialize_head=True, head_node_args=head)
    made.add_node(num_cpus=4)
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    yield made
    ray.shutdown()
    made.shutdown()


def as_actors(role: str, **settings: Any) -> Any:
    from failscape.engines.ray_models import RayEngine

    settings = {"provider": "toybox", "replicas": 2, "cpus": 0.5, "patience": 120.0, **settings}
    return RayEngine(EngineConfig(kind="ray")).create_model(role, ModelConfig(**settings))


@pytest.mark.usefixtures("cluster")
class TestGenerator(GeneratorSuite):
    def make_model(self) -> Model:
        model: Model = as_actors("generator")
        return model


@pytest.mark.usefixtures("cluster")
class TestJudge(JudgeSuite):
    def make_model(self) -> Model:
        model: Model = as_actors("judge")
        return model


BREAKS = """
def judge(image, checks):
    raise RuntimeError("CUDA error: device-side assert triggered")
"""


@pytest.mark.usefixtures("cluster")
def test_errors_of_models_and_of_settings(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BREAKS)
    with pytest.raises(ConfigError, match="has no 'nothing'"):
        as_actors("captioner", provider="python", path=f"{tmp_path / 'mine.py'}:nothing")
    with pytest.raises(ModelError, match=r"100 CPUs .* are asked for, the cluster has 4"):
        as_actors("captioner", cpus=100.0, patience=3.0)

    async def poisoned() -> None:
        """A process that cannot use its GPU any more ends, and so a call that ruins each is invalid."""
        sick = as_actors("judge", provider="python", path=f"{tmp_path / 'mine.py'}:judge", replicas=3)
        await sick.start()
        sick._pool.patience = 1.0  # it takes longer than this to come back
        try:
            with pytest.raises(ModelError, match=r"no replica|ended . replicas"):
                await sick.judge(TestJudge.images[:1], [TestJudge.checks])
        finally:
            await sick.close()

    asyncio.run(poisoned())


def settings(replicas: int, images: int, **more: Any) -> dict[str, Any]:
    role = {
        "provider": "toybox",
        "replicas": replicas,
        "cpus": 0.25,
        "batch": 4,
        "timeout": 60,
        "patience": 180,
    }
    return {
        "hunt": "t2i",
        "target": {**role},
        "judge": {**role},
        "space": {"corpus": "toybox", "entities": ["bicycle", "cow", "apple"], "depth": 1},
        "search": {"strategy": "failureatlas", "images_per_node": 5, "threshold": 0.3},
        "budget": {"images": images},
        "runtime": {"in_flight": 16},
        "seed": 4,
        **more,
    }


def hunt(folder: Path, config: dict[str, Any]) -> dict[str, tuple[Verdict, str]]:
    """Probe → verdict and picture of all trials in the atlas."""
    asyncio.run(run_session(parse_config(config, "test"), folder, choose_reporter(True)))
    return recorded(folder)


def recorded(folder: Path) -> dict[str, tuple[Verdict, str]]:
    with Atlas.open(folder, readonly=True) as atlas:
        trials = list(atlas.replay(1))
    keys = [trial.key for trial in trials]
    assert len(set(keys)) == len(keys), "every trial is recorded once"
    return {trial.key: (trial.verdict, str(trial.facts[0])) for trial in trials}


async def kill_soon(folder: Path, cluster: Any, node: Any) -> None:
    """An actor after some trials, then a node after some more."""
    import psutil

    await until(folder, 10)
    workers = [process for process in psutil.process_iter() if "RoleActor" in " ".join(_words(process))]
    workers[0].send_signal(signal.SIGKILL)
    await until(folder, 30)
    await asyncio.to_thread(cluster.remove_node, node, allow_graceful=False)


def _words(process: Any) -> list[str]:
    import psutil

    try:
        found: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return found


async def until(folder: Path, count: int) -> None:
    for _ in range(6_000):
        if (folder / "atlas.db").exists() and len(recorded(folder)) >= count:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"there were never {count} trials")


async def until_nodes_are(count: int) -> None:
    """Until the cluster knows of a killed node: before that it may still place an actor on it."""
    import ray

    for _ in range(6_000):
        if sum(node["Alive"] for node in ray.nodes()) == count:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"there were never {count} nodes")


def test_a_run_survives_the_death_of_an_actor_and_of_a_node(cluster: Any, tmp_path: Path) -> None:
    import ray

    nodes_before = sum(node["Alive"] for node in ray.nodes())
    node = cluster.add_node(num_cpus=2)
    config = settings(3, 80, engine={"kind": "ray"})

    async def run() -> None:
        killing = asyncio.create_task(kill_soon(tmp_path / "ray", cluster, node))
        await run_session(parse_config(config, "test"), tmp_path / "ray", choose_reporter(True))
        await killing
        await until_nodes_are(nodes_before)

    asyncio.run(run())
    with_ray = recorded(tmp_path / "ray")
    assert len(with_ray) == 80
    inside = hunt(tmp_path / "inside", settings(0, 80))
    both = set(with_ray) & set(inside)
    assert len(both) >= 50
    assert {key: with_ray[key] for key in both} == {key: inside[key] for key in both}, "the same pictures"
    resumed = hunt(tmp_path / "ray", settings(0, 100))
    assert with_ray.items() <= resumed.items()
    assert len(resumed) == 100


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(("slow", "status"), [(float("inf"), "ok"), (0.0, "warn")])
def test_the_doctor_examines_the_cluster(slow: float, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from failscape.doctor import cluster as examined
    from failscape.doctor.cluster import examine_cluster

    monkeypatch.setattr(examined, "SLOW_SECONDS", slow)  # how fast this machine is decides nothing
    monkeypatch.setattr(examined, "MOST_SECONDS", 600.0)
    config = parse_config(settings(2, 10, engine={"kind": "ray"}), "test")
    seen = {one.name: one for one in asyncio.run(examine_cluster(config))}
    assert seen["cluster"].status == "ok"
    assert seen["resources"].status == "ok"
    assert seen["first actor"].status == status
    assert bool(seen["first actor"].fix) == (status == "warn")
    assert "answered after" in seen["first actor"].seen
    wanting = settings(2, 10, engine={"kind": "ray"})
    wanting["target"] |= {"gpus": 1}
    seen = {one.name: one for one in asyncio.run(examine_cluster(parse_config(wanting, "test")))}
    assert seen["resources"].status == "fail"
    assert "2 GPUs" in seen["resources"].seen


def test_the_demo_runs_on_ray(tmp_path: Path) -> None:
    """On a machine of its own, as a user would: a cluster is started and stopped by the command."""
    import subprocess

    place = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # a short path: sockets lie below it
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "RAY_TMPDIR": place}
    environment.pop("RAY_ADDRESS", None)
    command = [sys.executable, "-m", "failscape", "demo", "--engine", "ray", "--images", "40"]
    run = subprocess.run(
        [*command, "--atlas", str(tmp_path / "demo")],
        capture_output=True,
        text=True,
        env=environment,
        timeout=1200,
    )
    assert run.returncode == 0, run.stderr
    assert "The report" in run.stdout
    assert len(recorded(tmp_path / "demo")) >= 30
