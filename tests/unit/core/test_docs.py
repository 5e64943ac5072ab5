"""Documents stay true: the schema is current, examples load, pages name things that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from failscape.cli import COMMANDS
from failscape.cli.schema import config_schema
from failscape.config.files import load_config, parse_config

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_published_schema_is_current() -> None:
    published = json.loads((ROOT / "docs" / "config.schema.json").read_text())
    assert published == config_schema(), "run: failscape schema > docs/config.schema.json"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_examples_are_valid(path: Path) -> None:
    load_config(path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_commands_and_files_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```(?:bash|console|sh)\n(.*?)```", text, re.DOTALL))
    for command in re.findall(r"^\$? ?failscape ([a-z-]+)", blocks, re.MULTILINE):
        assert command in COMMANDS, f"{page.name}: failscape {command}"
    for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        assert link.startswith("http") or (page.parent / link).exists(), f"{page.name}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_configs_on_pages_are_valid(page: Path) -> None:
    for block in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        if re.search(r"^hunt:", block, re.MULTILINE):
            parse_config(yaml.safe_load(block), page.name)


def test_the_snippet_on_testing_runs() -> None:
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code is not None
    exec(code.group(1).replace("20_000", "500"), {})


def test_papers_name_modules_and_tests_that_exist() -> None:
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    for name in re.findall(r"`((?:spaces|hunts|models|atlas|runtime|stats|servers|tests)/[\w/.]*)`", text):
        base = ROOT if name.startswith("tests/") else ROOT / "src" / "failscape"
        assert (base / name).exists(), name


def test_every_command_has_a_file_and_help() -> None:
    from click.testing import CliRunner

    from failscape.cli import cli

    for name in COMMANDS:
        result = CliRunner().invoke(cli, [name, "--help"])
        assert result.exit_code == 0, (name, result.output)
        assert len(result.output) > 80
