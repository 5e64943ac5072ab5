"""The page on providers says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from failscape.config import ModelConfig
from failscape.models.providers.onnx import KNOWN
from failscape.models.providers.python_roles import SIGNATURES
from failscape.models.registry import OUR_PROVIDERS

PAGE = (Path(__file__).parents[3] / "docs" / "providers.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("role", SIGNATURES)
def test_every_signature_is_on_the_page(role: str) -> None:
    assert f"| {role} | `{SIGNATURES[role].single}` |" in PAGE


@pytest.mark.parametrize("name", OUR_PROVIDERS)
def test_every_provider_has_a_chapter_and_an_example(name: str) -> None:
    assert f"\n## {name}\n" in PAGE
    configs = [next(iter(yaml.safe_load(example).values())) for example in EXAMPLES]
    assert name in {config["provider"] for config in configs}


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_a_valid_config(example: str) -> None:
    for settings in yaml.safe_load(example).values():
        ModelConfig(**settings)


def test_every_onnx_param_is_on_the_page() -> None:
    onnx = PAGE[PAGE.index("## onnx") : PAGE.index("## python")]
    assert [name for name in KNOWN - {"labels"} if f"`{name}`" not in onnx] == []
