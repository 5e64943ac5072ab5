"""Which engine a config asks for, and what is said when it cannot be had. Without Ray."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from failscape.atlas.hunts import diff_configs
from failscape.config import EngineConfig, ModelConfig
from failscape.config.files import load_config, parse_config
from failscape.engines import model_maker
from failscape.engines.ray_models import Failure, RoleActor, failure_of
from failscape.errors import BadReply, ConfigError, MissingExtra, Permanent, RateLimited
from failscape.models.registry import create_model

CONFIG = {
    "hunt": "t2i",
    "target": {"provider": "toybox", "replicas": 4, "gpus": 0.5, "per_replica": 3},
    "judge": {"provider": "toybox"},
    "engine": {"kind": "ray", "runtime_env": {"working_dir": "."}},
}


def test_local_is_the_default_and_makes_models_here() -> None:
    config = parse_config({**CONFIG, "engine": {}}, "test")
    assert model_maker(config) is create_model


def test_where_models_run_is_no_part_of_what_is_measured() -> None:
    ray = parse_config(CONFIG, "test")
    local = parse_config({**CONFIG, "target": {"provider": "toybox"}, "engine": {}}, "test")
    assert (ray.engine.kind, ray.target.gpus, ray.target.per_replica) == ("ray", 0.5, 3)
    assert diff_configs(ray.model_dump(mode="json"), local.model_dump(mode="json")) == []


@pytest.mark.skipif(find_spec("ray") is not None, reason="the extra is installed")
def test_without_the_extra_the_error_names_it() -> None:
    make = model_maker(parse_config(CONFIG, "test"))
    with pytest.raises(MissingExtra, match=r"failscape\[ray\]"):
        make("generator", ModelConfig(provider="toybox"))


def test_http_roles_and_those_with_no_replicas_stay_in_the_controller() -> None:
    make = model_maker(parse_config(CONFIG, "test"))
    http = make("judge", ModelConfig(provider="openai", model="m", endpoints=("http://h:1",)))
    kept = make("judge", ModelConfig(provider="toybox", replicas=0))
    assert type(http).__name__ == "OpenAIJudge"
    assert type(kept).__name__ == "EyesJudge"


def test_errors_keep_their_class_and_words_on_the_way() -> None:
    for error in (BadReply("bad", "fix it"), Permanent("never", "mend"), ConfigError("wrong", "right")):
        back = failure_of(error).error()
        assert (type(back), back.message, back.fix) == (type(error), error.message, error.fix)
    assert failure_of(RateLimited("slow down")).error().message == "slow down"
    assert "failscape[x]" in failure_of(MissingExtra("it", "x")).error().fix
    assert Failure("KeyError", "odd", "").error().exit_code == 3


async def test_an_actor_makes_its_model_when_it_is_asked() -> None:
    actor = RoleActor("judge", ModelConfig(provider="toybox").model_dump(mode="json"))
    assert actor._model is None, "a restart is cheap"
    described = await actor.ready()
    here = create_model("judge", ModelConfig(provider="toybox"))
    assert described.identity.digest == here.identity.digest  # type: ignore[union-attr]
    assert described.accuracy.judge == here.identity.digest  # type: ignore[union-attr]
    broken = RoleActor("judge", {"provider": "nobody"})
    assert isinstance(await broken.describe(), Failure)


def test_ray_client_is_refused_with_advice() -> None:
    pytest.importorskip("ray")
    from failscape.engines.ray_models import connect

    with pytest.raises(ConfigError, match="13 pictures a second") as told:
        connect(EngineConfig(kind="ray", address="ray://head:10001"))
    assert "ray job submit" in told.value.fix


def test_the_cluster_examples_are_in_form() -> None:
    folder = Path(__file__).parents[3] / "examples" / "cluster"
    config = load_config(folder / "hunt.yaml")
    assert (config.engine.kind, config.target.replicas, config.target.gpus) == ("ray", 8, 1)
    for script in folder.glob("*.sh"):
        assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0, script
    job, claim = yaml.safe_load_all((folder / "rayjob.yaml").read_text())
    assert job["spec"]["entrypoint"].startswith("failscape run /config/hunt.yaml")
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
