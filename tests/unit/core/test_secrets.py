"""A key in the wrong place is refused before it can be kept, and is not shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from failscape.config import ModelConfig
from failscape.config.files import load_config
from failscape.errors import ConfigError


@pytest.mark.parametrize(
    "name", ["api_key", "apikey", "token", "secret", "password", "authorization", "API-Key"]
)
def test_params_with_the_name_of_a_key(name: str) -> None:
    for params in ({name: "sk-1"}, {"extra_body": {name: "sk-1"}}, {"list": [{name: "sk-1"}]}):
        with pytest.raises(ConfigError, match="api_key_env") as caught:
            ModelConfig(provider="openai", params=params)
        assert name in caught.value.message
        assert "sk-1" not in f"{caught.value} {caught.value!r}"


@pytest.mark.parametrize(
    "params", [{"max_tokens": 200}, {"tokens": 3}, {"stop": "token"}, {"extra_body": {"stop_token_ids": [1]}}]
)
def test_params_that_only_sound_like_it(params: dict[str, Any]) -> None:
    assert ModelConfig(provider="openai", params=params).params == params


@pytest.mark.parametrize("end", ["?api_key=sk-1", "/?key=sk-1", "?sk-1"])
def test_queries_in_addresses(end: str) -> None:
    with pytest.raises(ValueError, match="api_key_env") as caught:
        ModelConfig(provider="openai", endpoints=(f"http://h/v1{end}",))
    assert "sk-1" not in f"{caught.value} {caught.value!r}"


@pytest.mark.parametrize("line", ["params: {api_key: sk-1}", "endpoints: ['http://h/v1?key=sk-1']"])
def test_config_files_that_hold_a_key(tmp_path: Path, line: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        f"hunt: t2i\ntarget: {{provider: toybox}}\njudge:\n  provider: openai\n  model: m\n  {line}\n"
    )
    with pytest.raises(ConfigError, match="api_key_env") as caught:
        load_config(file)
    assert "sk-1" not in str(caught.value)
