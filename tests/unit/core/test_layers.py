"""Imports point one way, and the core needs nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import failscape

ROOT = Path(failscape.__file__).parent
VOCABULARY = {
    "trials",
    "pictures",
    "picture_limits",
    "errors",
    "jsonable",
    "config",
    "plugins",
    "secrets",
}
BELOW = {"hunts", "atlas", "models", "spaces", "stats"}
MAY_IMPORT = {
    "stats": set(),
    "spaces": {"stats"},
    "hunts": {"spaces", "stats"},
    "models": {"spaces", "stats"},
    "atlas": {"models", "spaces", "stats"},
    "engines": {"models", "spaces", "stats"},
    "runtime": BELOW | {"engines"},
    "evidence": BELOW,
    "report": BELOW | {"evidence", "comparison"},
    "review": BELOW | {"report", "evidence"},
    "attribution": BELOW | {"report", "evidence"},
    "export": BELOW | {"evidence"},
    "repair": BELOW | {"evidence", "export", "comparison", "report", "runtime", "engines"},
    "comparison": BELOW | {"evidence", "runtime", "engines"},
    "doctor": BELOW | {"runtime", "engines", "toybox"},
    "planning": BELOW | {"doctor", "runtime", "engines", "testing"},
    "starting": {"models", "spaces", "stats", "doctor"},
    "servers": {"models", "spaces", "stats"},
    "toybox": {"models", "spaces", "stats"},
    "testing": BELOW | {"servers", "toybox"},
    "web": BELOW | {"evidence", "report", "review", "comparison"},
}
PLUGINS = "plugins.py"
"""Names what every layer offers, but only for the type checker."""
HEAVY = ("torch", "transformers", "diffusers", "trl", "peft", "ray", "pyarrow", "pandas", "matplotlib")


@cache
def parsed(path: Path) -> ast.Module:
    """Read it only: the tests share it."""
    return ast.parse(path.read_text())


def imports_of(path: Path, typing: bool = True) -> set[str]:
    """The failscape packages that a file imports, at the top or inside a function.

    Without `typing`, what stands under `if TYPE_CHECKING:` is left out.
    """
    found: set[str] = set()
    body = parsed(path).body
    if not typing:
        body = [node for node in body if not (isinstance(node, ast.If) and _for_types(node))]
    for node in ast.walk(ast.Module(body, [])):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            names = [absolute(path, node)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found.update(name.split(".")[1] for name in names if name.startswith("failscape."))
    return found


def _for_types(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def absolute(path: Path, node: ast.ImportFrom) -> str:
    """The module that a `from` names, also where it is relative (`from ..models import roles`)."""
    if not node.level:
        return node.module or ""
    package = ("failscape", *path.relative_to(ROOT).parent.parts)
    base = package[: len(package) - node.level + 1]
    return ".".join((*base, *([node.module] if node.module else [node.names[0].name])))


def test_a_relative_import_counts_like_any_other(tmp_path: Path) -> None:
    for text, module in (
        ("from ..models import roles", "failscape.models"),
        ("from .. import models", "failscape.models"),
        ("from .intervals import wilson", "failscape.stats.intervals"),
    ):
        node = ast.parse(text).body[0]
        assert isinstance(node, ast.ImportFrom)
        assert absolute(ROOT / "stats" / "fdr.py", node) == module


def test_every_package_has_its_layer() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == {*MAY_IMPORT, "config", "cli"}, "say in MAY_IMPORT what a new package may import"


def test_imports_point_one_way() -> None:
    for package, allowed in MAY_IMPORT.items():
        for path in (ROOT / package).rglob("*.py"):
            wrong = imports_of(path) - allowed - VOCABULARY - {package}
            assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


def test_the_vocabulary_imports_nothing_above_it() -> None:
    for name in VOCABULARY:
        found = list((ROOT / name).rglob("*.py")) or [ROOT / f"{name}.py"]
        for path in found:
            wrong = imports_of(path, typing=path.name != PLUGINS) - VOCABULARY
            assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


def test_nothing_heavy_is_imported_at_the_top_of_a_module() -> None:
    for path in ROOT.rglob("*.py"):
        if "training" in path.parts:
            continue
        for node in parsed(path).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                assert not (module or "").startswith(HEAVY), f"{path.relative_to(ROOT)}: {module}"


def test_help_loads_nothing_large() -> None:
    code = "import sys; from failscape.cli import cli; cli.main(['--help'], standalone_mode=False); "
    code += "print([m for m in ('numpy', 'aiohttp', 'pydantic', 'PIL') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip().endswith("[]")


def test_every_module_says_what_it_is_for() -> None:
    for path in ROOT.rglob("*.py"):
        text = ast.get_docstring(parsed(path)) or ""
        assert len(text) > 10, f"{path.relative_to(ROOT)} does not say what it is for"


def test_a_class_name_has_one_meaning() -> None:
    homes: dict[str, list[str]] = {}
    for path in ROOT.rglob("*.py"):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    shared = {name: places for name, places in homes.items() if len(places) > 1}
    assert not shared, shared
