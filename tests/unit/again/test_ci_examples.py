"""The pipelines in `examples/ci` are YAML, and call the gate with options that it has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from failscape.cli.gate import check

FOLDER = Path(__file__).parents[3] / "examples" / "ci"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yml")), ids=lambda path: path.stem)
def test_the_pipeline_calls_the_gate_as_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert isinstance(yaml.safe_load(text), dict)
    joined = re.sub(r"\\\n\s*", " ", text)
    lines = re.findall(r"failscape gate hunt.*", joined)
    assert lines, f"{path.name} calls no gate"
    known = {name for option in check.params for name in option.opts}
    required = {
        option.opts[0] for option in check.params if option.required and option.opts[0].startswith("--")
    }
    for line in lines:
        given = {word for word in shlex.split(line) if word.startswith("--")}
        assert given <= known
        assert required <= given
