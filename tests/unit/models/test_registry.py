from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.models import registry
from failscape.models.registry import ALL_ROLES, OUR_PROVIDERS, create_model, list_providers


def plugin(role: str, config: ModelConfig) -> Any:
    """A plugin of the tests.

    Second line."""
    return (role, config.model)


plugin.roles = ("judge",)  # type: ignore[attr-defined]


@pytest.fixture
def with_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("mine", f"{__name__}:plugin", "failscape.providers"),
        EntryPoint("broken", "no_such_module_at_all:x", "failscape.providers"),
    ]
    monkeypatch.setattr(registry, "plugins_of", lambda group: points)


def test_unknown_provider_gets_the_nearest_suggested() -> None:
    with pytest.raises(ConfigError, match="opnai") as caught:
        create_model("judge", ModelConfig(provider="opnai"))
    assert "did you mean 'openai'?" in caught.value.fix


def test_unknown_role_gets_the_nearest_suggested() -> None:
    with pytest.raises(ConfigError) as caught:
        create_model("juge", ModelConfig(provider="openai"))
    assert "'judge'" in caught.value.fix


def test_a_role_that_the_provider_cannot_play() -> None:
    with pytest.raises(ConfigError, match="generate cannot play the role judge") as caught:
        create_model("judge", ModelConfig(provider="generate", endpoints=("http://h",)))
    assert "openai" in caught.value.fix


def test_every_built_in_provider_makes_the_roles_it_lists() -> None:
    for role in OUR_PROVIDERS["openai"].roles:
        config = ModelConfig(provider="openai", model="m", endpoints=("http://h",))
        assert create_model(role, config).identity.role == role


@pytest.mark.usefixtures("with_plugins")
def test_plugins_are_found_by_entry_point() -> None:
    assert create_model("judge", ModelConfig(provider="mine", model="m")) == ("judge", "m")
    with pytest.raises(ConfigError, match="mine cannot play the role captioner"):
        create_model("captioner", ModelConfig(provider="mine"))
    with pytest.raises(ConfigError, match="no_such_module_at_all"):
        create_model("judge", ModelConfig(provider="broken"))


@pytest.mark.usefixtures("with_plugins")
def test_list_has_every_provider_and_survives_broken_plugins() -> None:
    found = {info.name: info for info in list_providers()}
    assert set(found) == {*OUR_PROVIDERS, "mine", "broken"}
    assert found["mine"].about == "A plugin of the tests."
    assert found["mine"].roles == ("judge",)
    assert "cannot be loaded" in found["broken"].about
    assert all(set(info.roles) <= set(ALL_ROLES) for info in found.values())


def test_the_registry_imports_no_provider() -> None:
    code = (
        "import sys, failscape.models.registry as r; r.provider_names();"
        "names = ('aiohttp', 'onnxruntime', 'failscape.models.providers.openai');"
        "bad = [m for m in names if m in sys.modules];"
        "sys.exit(str(bad) if bad else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
