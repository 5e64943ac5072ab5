"""Imports point one way, and the core needs nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import failscape

ROOT = Path(failscape.__file__).parent
VOCABULARY = {
    "trials",
    "clips",
    "csv_tables",
    "pictures",
    "picture_limits",
    "errors",
    "jsonable",
    "shown_numbers",
    "notebooks",
    "config",
    "plugins",
    "secrets",
    "trust",
}
PURE = {"search", "spaces", "stats"}
BELOW = PURE | {"kinds", "atlas", "models"}
VIEWS = {"views.read", "views.figures", "views.rows", "views.thumbnails"}
#: Package → what it may import beside the vocabulary and itself. A dotted name is a package in `views`.
MAY_IMPORT = {
    "stats": set(),
    "spaces": {"stats"},
    "search": {"spaces", "stats"},
    "kinds": PURE,
    "models": {"spaces", "stats"},
    "atlas": {"models", "spaces", "stats"},
    "engines": {"models", "spaces", "stats"},
    "runtime": (BELOW - {"kinds"}) | {"engines"},
    "simulate": {"kinds", "models"} | PURE,
    "views": BELOW - {"kinds"} | {"views.read"},
    "views.read": (BELOW - {"kinds"}),
    "views.figures": {"stats", "views.read"},
    "views.pages": (BELOW - {"kinds"}) | VIEWS | {"again"},
    "views.notebook": (BELOW - {"kinds"}) | VIEWS | {"again"},
    "views.review": (BELOW - {"kinds"}) | VIEWS | {"views.pages"},
    "views.attribution": (BELOW - {"kinds"}) | VIEWS | {"views.pages"},
    "views.export": (BELOW - {"kinds"}) | VIEWS,
    "views.viewer": (BELOW - {"kinds"}) | VIEWS | {"views.pages", "views.review", "again"},
    "again": (BELOW - {"kinds"}) | {"views.read", "runtime", "engines"},
    "repair": (BELOW - {"kinds"}) | VIEWS | {"views.export", "views.pages", "again", "runtime", "engines"},
    "doctor": (BELOW - {"kinds"}) | {"runtime", "engines", "toybox"},
    "planning": (BELOW - {"kinds"}) | {"doctor", "runtime", "engines", "simulate"},
    "starting": {"models", "spaces", "stats", "doctor"},
    "servers": {"models", "spaces", "stats"},
    "toybox": {"models", "spaces", "stats"},
    "testing": BELOW | {"servers", "toybox", "simulate"},
}
#: The files of a kind's folder that face outwards. `HuntKind` reaches them by name, when they are needed,
#: so that the hunt itself stays pure.
EDGES = {
    "page": BELOW | VIEWS | {"views.pages"},
    "doctor": BELOW | {"doctor", "runtime", "engines", "toybox"},
    "plan": BELOW | {"planning", "doctor", "runtime", "engines", "simulate"},
    "rows": BELOW | {"views.export", "views.read", "views.rows"},
    "repair": BELOW | VIEWS | {"views.export", "again", "repair", "runtime", "engines", "toybox"},
    "draft": {"starting", "models", "spaces", "doctor"},
    "demo": set(),
}
PLUGINS = "plugins.py"
"""Names what every layer offers, but only for the type checker."""
HEAVY = ("torch", "transformers", "diffusers", "trl", "peft", "ray", "pyarrow", "pandas", "matplotlib", "av")


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
        found.update(package_of(name) for name in names if name.startswith("failscape."))
    return found


def package_of(module: str) -> str:
    """The layer that a module belongs to: its package, and inside `views` the package there."""
    parts = module.split(".")[1:]
    return ".".join(parts[:2]) if parts[0] == "views" else parts[0]


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
    packages |= {f"views.{path.parent.name}" for path in ROOT.glob("views/*/__init__.py")}
    assert packages == {*MAY_IMPORT, "config", "trials", "clips", "cli"}, (
        "say in MAY_IMPORT what a new package may import"
    )


def allowed_for(path: Path) -> set[str]:
    parts = path.relative_to(ROOT).parts
    if parts[0] == "kinds" and len(parts) > 2:
        edge = parts[2].removesuffix(".py").partition("_")[0]
        return EDGES.get(edge, MAY_IMPORT["kinds"]) | {"kinds"}
    package = package_of(".".join(("failscape", *parts)).removesuffix(".py"))
    package = package if package in MAY_IMPORT else parts[0]
    return MAY_IMPORT[package] | {package}


def test_imports_point_one_way() -> None:
    for package in MAY_IMPORT:
        for path in (ROOT / package.replace(".", "/")).rglob("*.py"):
            wrong = imports_of(path) - allowed_for(path) - VOCABULARY
            assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


def test_commands_know_no_kind() -> None:
    """The command line may import everything but kinds: what a command needs of one is in `HuntKind`."""
    for path in (ROOT / "cli").rglob("*.py"):
        assert "kinds" not in imports_of(path), f"{path.relative_to(ROOT)} imports a kind"


def test_a_kind_does_not_know_another() -> None:
    for path in (ROOT / "kinds").rglob("*.py"):
        own = path.relative_to(ROOT).parts[1]
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("failscape.kinds."):
                assert (node.module or "").split(".")[2] == own, f"{path.relative_to(ROOT)}: {node.module}"


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


#: Text that has a separator in it and is no subject, key or label of a trial: options and names of others.
OWN_TEXT = {"config/files.py", "cli/serve.py", "spaces/corpus/corpus.py", "simulate/questions.py"}
SEPARATORS = {"; ", "=", "#", " | "}
SPLITTERS = {"split", "rsplit", "partition", "rpartition"}
#: What names a subject or a key in code. An f-string that joins one of them to a separator builds a key.
IDENTITIES = {"subject", "key", "thing_text", "question_text"}
#: What may stand behind a subject or key: the mark of a key, a value, the marks of question keys.
MARKS = ("#", "; ", "=", "~", ">", "!", "?", ".")


def _outside_vocabulary() -> Iterator[tuple[str, Path]]:
    for path in ROOT.rglob("*.py"):
        name = str(path.relative_to(ROOT))
        if not name.startswith(("trials/", "toybox/")):
            yield name, path


def test_only_the_vocabulary_takes_subjects_and_keys_apart() -> None:
    for name, path in _outside_vocabulary():
        for node in () if name in OWN_TEXT else ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                given = [one.value for one in node.args if isinstance(one, ast.Constant)]
                splits = node.func.attr in SPLITTERS and SEPARATORS.intersection(map(str, given))
                assert not splits, f"{name}, line {node.lineno}: ask Subject or ProbeKey"


#: Queries name a purpose by its letter, since the database holds nothing else.
QUERIES_LETTERS = {"views/read/hunt.py"}
#: The hunt of prompt lists keeps its counts by letter.
COUNTS_LETTERS = {"kinds/t2i/prompts/hunt.py"}
LETTER_READERS = {"letter_of_key", "of_letter", "LETTER_IN_SQL"}


def test_only_the_vocabulary_reads_purpose_letters() -> None:
    for name, path in _outside_vocabulary():
        for node in () if name in QUERIES_LETTERS | COUNTS_LETTERS else ast.walk(parsed(path)):
            attribute = getattr(node, "attr", None)
            reads = attribute == "letter" or {attribute, getattr(node, "id", None)} & LETTER_READERS
            assert not reads, f"{name}: ask Purpose.is_of or Purposes.of_key"


def test_scripts_of_the_viewer_do_not_take_subjects_apart() -> None:
    for path in (ROOT / "views").rglob("*.js"):
        text = path.read_text()
        for separator in sorted(SEPARATORS):
            wrong = f'split("{separator}")' in text
            assert not wrong, f"{path.relative_to(ROOT)}: send `Subject.words` instead"


def builds_identity(node: ast.AST) -> bool:
    """Whether an f-string or a sum makes the text of a subject or key."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts: list[ast.AST] = [node.left, node.right]
    elif isinstance(node, ast.JoinedStr):
        parts = [one.value if isinstance(one, ast.FormattedValue) else one for one in node.values]
    else:
        return False
    for before, after in pairwise(parts):
        text = after.value if isinstance(after, ast.Constant) else None
        if not isinstance(text, str):
            continue
        # A key has no words: what goes on with some is a sentence for people.
        if (text.startswith("#") and not _goes_on(text)) or (_names_identity(before) and text in MARKS):
            return True
    return False


def _goes_on(text: str) -> bool:
    return " " in text


def _names_identity(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return _names_identity(node.func)
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in IDENTITIES


def test_only_the_vocabulary_builds_subjects_and_keys() -> None:
    for name, path in _outside_vocabulary():
        for node in () if name == "kinds/t2i/search/probing.py" else ast.walk(parsed(path)):
            assert not builds_identity(node), f"{name}, line {node.lineno}: ask key_of_try or thing_text"


@pytest.mark.parametrize(
    ("code", "builds"),
    [
        ('f"{subject}#{number}"', True),
        ('f"{target.name}#p{number}"', True),
        ('f"{self.key}.{number}"', True),
        ('f"{trial.key}~"', True),
        ('trial.key + "!"', True),
        ('f"{row.subject}; {value}"', True),
        ('f"{subject}: failed"', False),
        ('f"{subject}; it fails"', False),
        ('f"# {title}"', False),
        ('f"{name}.{ending}"', False),
    ],
)
def test_text_that_builds_a_key_is_known(code: str, builds: bool) -> None:
    assert any(map(builds_identity, ast.walk(ast.parse(code)))) == builds


def test_there_is_one_reader_of_csv() -> None:
    """What a spreadsheet may write, limits and errors are then the same for every table."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(parsed(path)):
            reads = isinstance(node, ast.Attribute) and node.attr in ("reader", "DictReader", "Sniffer")
            if reads and isinstance(node.value, ast.Name) and node.value.id == "csv":
                assert path.name == "csv_tables.py", f"{path.relative_to(ROOT)}, line {node.lineno}"
