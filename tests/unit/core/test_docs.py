"""Documents stay true: the schema is current, examples load, pages name things that exist."""

from __future__ import annotations

import ast
import itertools
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from failscape.cli import COMMANDS, cli
from failscape.cli.schema import config_schema
from failscape.config.files import load_config, parse_config

ROOT = Path(__file__).parents[3]
WRITTEN = [page for page in sorted((ROOT / "docs").glob("*.md")) if not page.name.startswith("reference-")]
CHINESE = ROOT / "README.zh.md"
PAGES = [ROOT / "README.md", CHINESE, *WRITTEN]


def test_the_published_schema_is_current() -> None:
    published = json.loads((ROOT / "docs" / "config.schema.json").read_text())
    assert published == config_schema(), "run: failscape schema > docs/config.schema.json"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_examples_are_valid(path: Path) -> None:
    load_config(path)


MODEL_EXAMPLES = sorted((ROOT / "examples" / "models").glob("*.yaml"))


@pytest.mark.parametrize("path", MODEL_EXAMPLES, ids=lambda path: path.name)
def test_examples_of_real_models_name_files_that_exist(path: Path) -> None:
    """A config that is copied must load, and the code and prompts that it names must be there."""
    load_config(path)
    for named in re.findall(r"examples/models/[\w.]+", path.read_text(encoding="utf-8")):
        assert (ROOT / named).is_file(), named


def test_every_example_of_a_real_model_is_in_their_table() -> None:
    table = (ROOT / "examples" / "models" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(([^)]+\.yaml)\)", table)) == {path.name for path in MODEL_EXAMPLES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_commands_and_files_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```(?:bash|console|sh)\n(.*?)```", text, re.DOTALL))
    for command in re.findall(r"^\$? ?failscape ([a-z-]+)", blocks, re.MULTILINE):
        assert command in COMMANDS, f"{page.name}: failscape {command}"
    for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        assert link.startswith("http") or (page.parent / link).exists(), f"{page.name}: {link}"


def test_every_page_is_on_the_site() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = {line.strip() for line in re.sub(r"```bash.*?```", "", index, flags=re.DOTALL).splitlines()}
    assert {page.stem for page in WRITTEN} - {"index"} <= listed


def test_the_page_for_language_models_links_to_pages_of_the_site() -> None:
    text = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")
    made = {"reference-commands.md", "reference-config.md", "reference-python.md"}  # by tools/reference.py
    links = set(re.findall(r"\]\(([^)#]+)\)", text))
    assert links <= made | {page.name for page in WRITTEN}
    assert {"first-steps.md", "statistics.md"} <= links
    for command in re.findall(r"`failscape ([a-z]+)", text):
        assert command in COMMANDS, command


def test_both_readmes_say_the_same() -> None:
    """The same commands, configs, pictures and links in the same order; only words and comments differ."""

    def bones(page: Path) -> list[list[str]]:
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"```(?:bash|yaml)\n(.*?)```", text, re.DOTALL)
        lines = [re.split(r"\s+# ", line)[0].strip() for block in blocks for line in block.splitlines()]
        return [
            lines,
            re.findall(r"^#+", text, re.MULTILINE),
            sorted(set(re.findall(r"\]\(([^)]+)\)", text))),
        ]

    assert bones(CHINESE) == bones(ROOT / "README.md")


def shown_in_the_gallery() -> dict[str, set[str]]:
    """Picture → the numbers that the gallery, which is made from atlases, tells of it."""
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    paragraphs = re.findall(r"^(\*\*.*)\n\n!\[[^]]*\]\(img/gallery/([\w-]+\.jpg)\)", text, re.MULTILINE)
    return {picture: set(re.findall(r"\d+", about)) for about, picture in paragraphs}


@pytest.mark.parametrize("page", [ROOT / "README.md", CHINESE], ids=lambda page: page.name)
def test_readmes_tell_what_the_gallery_shows(page: Path) -> None:
    gallery = shown_in_the_gallery()
    rows = re.findall(r"^\|(.*)<br>.*gallery/([\w-]+\.jpg)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 3
    for about, picture in rows:
        numbers = set(re.findall(r"\d+", about))
        assert len(numbers) >= 2
        assert numbers <= gallery[picture], f"{page.name}: {picture}"


def test_the_tutorial_has_the_runs_of_the_gallery() -> None:
    of = r"(\d+) findings"
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    finished = re.findall(rf"^Finished: .* {of}\.$", tutorial, re.MULTILINE)
    assert len(finished) == 3
    assert finished == re.findall(rf"^`failscape demo.* trials, {of}", gallery, re.MULTILINE)


def shown_commands(page: Path) -> list[str]:
    """Every line of a shell block that calls failscape, joined where it is continued, without comments."""
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```(?:bash|console|sh)\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    lines = (line.removeprefix("$ ").partition(" #")[0].strip() for line in blocks.splitlines())
    return [line for line in lines if line.startswith("failscape ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_pages_have_the_options_they_show(page: Path) -> None:
    for line in shown_commands(page):
        words = shlex.split(re.split(r" (?:[|>&]|&&) ?", line)[0])[1:]
        command: click.Command = cli
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words[0]) if words else None
            assert found is not None, f"{page.name}: {line}"
            command, words = found, words[1:]
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        for word in itertools.takewhile(lambda word: word != "--", words):
            name = word.partition("=")[0]
            if re.fullmatch(r"--?[a-z][\w-]*", name):
                assert name in known | {"--help"}, f"{page.name}: {line}: no {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_configs_on_pages_are_valid(page: Path) -> None:
    for block in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        if re.search(r"^hunt:", block, re.MULTILINE):
            parse_config(yaml.safe_load(block), page.name)


def snippets(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as pages assume it: with an atlas at `runs/sdxl` and a table of counts."""
    shutil.copytree(ROOT / "tests" / "golden" / "fixtures" / "t2i", tmp_path / "runs" / "sdxl")
    counts = {"turtle": 40, "bicycle": 900, "turtle; Base: colour=red": 3, "bicycle; Base: colour=red": 70}
    (tmp_path / "counts.json").write_text(json.dumps(counts))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.name)
def test_python_on_pages_runs(page: Path) -> None:
    """All snippets of a page, in order, as one script; large numbers are cut so that it takes seconds."""
    code = "\n".join(snippets(page)).replace("20_000", "500").replace("10_000", "500")
    exec(compile(code, page.name, "exec"), {"__name__": "page"})


PUBLIC = re.compile(r"failscape(\.(simulate|testing|toybox)(\.\w+)*)?")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_import_only_what_is_public(page: Path) -> None:
    for code in snippets(page):
        for node in ast.walk(ast.parse(code)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                inside = str(name).startswith("failscape")
                assert not inside or PUBLIC.fullmatch(str(name)), f"{page.name} imports {name}"


def test_the_worked_script_runs(tmp_path: Path) -> None:
    script = ROOT / "examples" / "notebook.py"
    run = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "atlas")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "pink" in run.stdout, "the painter cannot do pink, and the hunt must say so"
    assert (tmp_path / "atlas" / "page" / "index.html").is_file()


def test_papers_name_modules_and_tests_that_exist() -> None:
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    packages = "spaces|kinds|search|views|models|atlas|runtime|stats|servers|tests|benchmarks"
    for name in re.findall(rf"`((?:{packages})/[\w/.]*)`", text):
        base = ROOT if name.startswith(("tests/", "benchmarks/")) else ROOT / "src" / "failscape"
        assert (base / name).exists(), name


def test_every_command_has_a_file_and_help() -> None:
    from click.testing import CliRunner

    for name in COMMANDS:
        result = CliRunner().invoke(cli, [name, "--help"])
        assert result.exit_code == 0, (name, result.output)
        assert len(result.output) > 80


SOUGHT = (
    *("a new provider", "retry on 529", "a different wording for one entity", "a new status"),
    *("a column of `findings --json`", "a new viewer screen", "the e-BH level", "the map's colours"),
    *("a new export format", "a toybox question", "a budget in hours", "the thumbnail size"),
)


def test_the_architecture_says_where_things_are() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text.partition("### Where is …")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| (.+?) \| (.+) \|$", table, re.MULTILINE))
    assert set(SOUGHT) <= set(rows)
    for what in rows.keys() - {"you want to change"}:
        paths = re.findall(r"`([\w/]+(?:/|\.\w+))`", rows[what])
        assert paths, f"{what}: no path is named"
        missing = [path for path in paths if not (ROOT / "src" / "failscape" / path).exists()]
        assert not missing, f"{what}: {missing}"
