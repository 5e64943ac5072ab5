"""What there is to learn stays small: commands, config keys, dependencies, statements to read."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

from failscape.cli import COMMANDS
from failscape.cli.schema import config_schema

ROOT = Path(__file__).parents[3]
MOST_COMMANDS, MOST_KEYS, MOST_DEPENDENCIES = 24, 170, 14
#: What there is now, rounded up: new work replaces before it adds. Lower it whenever the package shrinks.
MOST_STATEMENTS = 41_500


def test_there_are_few_commands() -> None:
    assert len(COMMANDS) <= MOST_COMMANDS, sorted(COMMANDS)


def test_there_are_few_config_keys() -> None:
    """Each key of each section once; what all hunts have (`target`, `budget`, …) is counted once."""
    sections = {name: set(one.get("properties", ())) for name, one in config_schema()["$defs"].items()}
    hunts = [name for name in sections if "hunt" in sections[name]]
    shared = set.intersection(*(sections[name] for name in hunts))
    sizes = {name: len(keys - shared if name in hunts else keys) for name, keys in sections.items()}
    assert sum(sizes.values()) + len(shared) <= MOST_KEYS, sizes


def test_the_core_has_few_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert len(project["dependencies"]) <= MOST_DEPENDENCIES


def test_the_package_does_not_grow() -> None:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "src").rglob("*.py"))
    assert sum(isinstance(node, ast.stmt) for tree in trees for node in ast.walk(tree)) <= MOST_STATEMENTS
