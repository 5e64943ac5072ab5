"""Settings of HTTP models that cannot work are errors before the first call."""

from __future__ import annotations

import pytest

from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.models.providers import openai
from failscape.models.registry import create_model


def test_a_missing_key_is_an_error_before_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    config = ModelConfig(provider="openai", model="m", endpoints=("http://h/v1",), api_key_env="NO_SUCH_KEY")
    with pytest.raises(ConfigError, match="NO_SUCH_KEY"):
        openai.create("judge", config)


def test_a_key_in_place_of_its_name_is_refused_unseen() -> None:
    config = ModelConfig(provider="openai", model="m", endpoints=("http://h/v1",), api_key_env="sk-oops-123")
    with pytest.raises(ConfigError) as caught:
        openai.create("judge", config)
    assert "sk-oops-123" not in str(caught.value)


@pytest.mark.parametrize("endpoints", [(), ("ftp://h",), ("localhost:8000",)])
def test_wrong_addresses_are_config_errors(endpoints: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="endpoints"):
        openai.create("judge", ModelConfig(provider="openai", model="m", endpoints=endpoints))


@pytest.mark.parametrize(
    ("provider", "role"),
    [("openai", "judge"), ("openai", "generator"), ("generate", "generator"), ("http", "classifier")],
)
def test_a_model_behind_http_needs_a_name(provider: str, role: str) -> None:
    for name in ("", "  "):
        with pytest.raises(ConfigError, match=r"`model`.*results are kept"):
            create_model(role, ModelConfig(provider=provider, model=name, endpoints=("http://h",)))


def test_how_pictures_are_uploaded_is_part_of_the_identity() -> None:
    config = ModelConfig(provider="openai", model="m", endpoints=("http://127.0.0.1:1",))

    def settings(**more: object) -> dict[str, object]:
        found = openai.create("judge", config.model_copy(update=more)).identity.settings
        return {name: value for name, value in found.items() if name.startswith("image_")}

    jpeg = "jpeg, quality 92, 4:4:4"
    rules = {"image_rules": 2}
    shrunk = {**rules, "image_max_side": 64, "image_shrunk_by": "hamming"}
    assert settings() == rules
    assert settings(image_max_side=64) == {**shrunk, "image_encoded": jpeg}
    assert settings(image_max_side=64, image_format="png") == {**shrunk, "image_format": "png"}
    assert settings(image_max_side=64, image_format="webp") == {**shrunk, "image_format": "webp"}
    assert settings(image_format="jpeg") == {**rules, "image_format": "jpeg", "image_encoded": jpeg}
    llm = openai.create("llm", config).identity.settings
    assert llm == {"params": {}}
