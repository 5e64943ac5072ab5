"""Runs commands and brings what they give into a form that can be compared.

Uses the command line and SQLite only, so that modules may move.
"""

from __future__ import annotations

import difflib
import hashlib
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest.mock import patch

import failscape
from failscape.cli import main

HERE = Path(__file__).parent
FIXTURES = HERE / "fixtures"
GOLDEN = HERE / "golden"

KINDS = ("t2i", "classifier", "vlm")
IMAGES = {"t2i": 600, "classifier": 520, "vlm": 280}
"""The budget in each file of `configs`."""

MORE_IMAGES = 60
"""How far an atlas is resumed."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

DIFF_LINES = 80


def run_command(*arguments: object) -> str:
    """What a command prints on standard output. A command that fails is an error."""
    words = [str(one) for one in arguments]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
            code: object = 0
        except SystemExit as end:
            code = end.code or 0
    assert code == 0, f"failscape {' '.join(words)}: exit code {code}\n{out.getvalue()}{err.getvalue()}"
    return out.getvalue()


def hunt(kind: str, atlas: Path, images: int | None = None, config: Path | None = None) -> None:
    """Start the small hunt of a kind, or go on with it. `images` replaces the budget.

    In a process of its own with one thread for matrix products: with more, sums are rounded otherwise, and
    a few pixels of a few pictures depend on how many cores there are.
    """
    words = ["run", str(config or HERE / "configs" / f"{kind}.yaml"), "--atlas", str(atlas)]
    if images is not None:
        words += ["--set", f"budget.images={images}"]
    path = os.pathsep.join([str(Path(failscape.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "failscape", *words],
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": path.rstrip(os.pathsep)},
        capture_output=True,
        text=True,
        check=False,
    )
    shown = f"failscape {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.returncode == 0, shown


# What is compared.


def findings_of(atlas: Path) -> list[Any]:
    """What `failscape findings --json` prints, without the place of the atlas."""
    lines = run_command("findings", atlas, "--json").splitlines()
    return [_rounded(_placeless(json.loads(line), atlas)) for line in lines if line.startswith("{")]


WIDTHS = (80, 120)


def findings_text(atlas: Path) -> dict[str, list[str]]:
    """What `failscape findings` prints for people, by columns of the terminal, without the atlas's place."""
    printed = {}
    for width in WIDTHS:
        with patch.dict(os.environ, {"COLUMNS": str(width)}):
            text = run_command("findings", atlas).replace(str(atlas), "ATLAS")
        printed[str(width)] = [line.rstrip() for line in text.splitlines()]
    return printed


def without_pictures(findings: list[Any]) -> list[Any]:
    """Findings without the names of picture files, which are hashes of their pixels."""
    return [
        {
            **{name: value for name, value in finding.items() if name != "image_files"},
            "evidence": [
                {name: value for name, value in one.items() if name != "images"}
                for one in finding["evidence"]
            ],
        }
        for finding in findings
    ]


def page_of(atlas: Path, out: Path) -> list[str]:
    """The visible text of the report, one piece a line, without what depends on time and place."""
    run_command("report", atlas, "-o", out)
    reader = _VisibleText()
    reader.feed((out / "index.html").read_text(encoding="utf-8"))
    reader.close()
    lines = [_timeless(line.replace(str(atlas), "ATLAS")) for line in reader.lines]
    return [NEWER_SETTINGS.sub("", line) for line in _without_model_seconds(lines)]


def _without_model_seconds(lines: list[str]) -> list[str]:
    """The table of costs has the seconds of each role as bare numbers, one decimal each."""
    if "Model seconds" not in lines:
        return lines
    start = lines.index("Model seconds")
    end = lines.index("Settings", start) if "Settings" in lines[start:] else len(lines)
    return [
        "TIME" if start < at < end and re.fullmatch(r"\d[\d,]*\.\d", line) else line
        for at, line in enumerate(lines)
    ]


NEWER_SETTINGS = re.compile(
    r"image_(?:max_bytes|max_pixels|min_side): \d+ |image_hosts: \[\] |image_format: null |prompts: '' "
    r"|thresholds: \{\} |warm_start: '' "
)
"""Settings that the atlases in `fixtures` were made without, at their defaults: new hunts show them."""


def numbers_in(lines: list[str]) -> list[str]:
    """All numbers of a page in their order, each line's on one line."""
    found = (re.findall(r"[-−]?\d[\d.,]*(?:·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?%?", line) for line in lines)
    return [" ".join(numbers) for numbers in found if numbers]


def trials_of(atlas: Path, first: int = 0) -> list[str]:
    """The trials from number `first` on, in recorded order: probe key, seed, verdict, digest of the plan."""
    rows = _rows(
        atlas,
        "SELECT key, seed, verdict, hex(digest) FROM trials JOIN plans ON plans.id = plan "
        "ORDER BY trials.id LIMIT -1 OFFSET ?",
        (first,),
    )
    return [f"{key} | {seed} | {verdict} | {digest[:16].lower()}" for key, seed, verdict, digest in rows]


def calls_of(atlas: Path) -> str:
    """A hash over the keys of all calls and over what was answered, with the hashes of pictures."""
    total = hashlib.sha256()
    for (calls,) in _rows(atlas, "SELECT calls FROM trials ORDER BY id"):
        total.update(calls)
    for key, role, facts, image in _rows(atlas, "SELECT key, role, facts, image FROM calls ORDER BY key"):
        total.update(key + f"|{role}|{facts}|{image}".encode())
    return total.hexdigest()


def requests_of(atlas: Path) -> dict[str, Any]:
    """How often each role was called, and a hash over the requests for pictures.

    Another processor may round a pixel otherwise. Requests that hold a picture are therefore only counted.
    """
    counts = dict(_rows(atlas, "SELECT role, count(*) FROM calls GROUP BY role ORDER BY role"))
    drawn = hashlib.sha256()
    for (key,) in _rows(atlas, "SELECT key FROM calls WHERE role = 'generator' ORDER BY key"):
        drawn.update(key)
    return {"counts": counts, "drawn": drawn.hexdigest()}


def rows_of_trials(atlas: Path) -> list[tuple[Any, ...]]:
    """The trials with all that is recorded of them."""
    return _rows(atlas, "SELECT * FROM trials ORDER BY id")


def counts_of(atlas: Path) -> dict[str, int]:
    """How many hunts, sessions and images an atlas knows of."""
    query = (
        "SELECT (SELECT count(*) FROM hunts), (SELECT count(*) FROM runs), (SELECT sum(images) FROM totals)"
    )
    return dict(zip(("hunts", "runs", "images"), _rows(atlas, query)[0], strict=True))


def schema_of(atlas: Path) -> str:
    """The tables and indices of an atlas as SQL, and the numbers in the file's header."""
    statements = _rows(atlas, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")
    header = [
        f"PRAGMA {name} = {_rows(atlas, f'PRAGMA {name}')[0][0]};"
        for name in ("application_id", "user_version", "journal_mode", "page_size")
    ]
    return "\n".join([*header, *(f"{sql};" for (sql,) in statements)]) + "\n"


def config_schema() -> Any:
    return json.loads(run_command("schema"))


def settle(atlas: Path) -> None:
    """Leave the database and the pictures alone in the folder: no log, no lock, nothing made from them."""
    with closing(sqlite3.connect(atlas / "atlas.db")) as db:
        busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        assert not busy, "somebody is using the atlas"
    for name in ("atlas.db-wal", "atlas.db-shm", "atlas.lock"):
        (atlas / name).unlink(missing_ok=True)


# Files, and how they are compared.


def read_golden(name: str) -> Any:
    text = (GOLDEN / name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else text


def write_golden(name: str, content: Any) -> None:
    GOLDEN.mkdir(exist_ok=True)
    text = content if isinstance(content, str) else _pretty(content) + "\n"
    (GOLDEN / name).write_text(text, encoding="utf-8")


def assert_same(found: Any, golden: Any, name: str) -> None:
    """Fail with the lines that differ: `-` is the golden file, `+` is what the code gives now."""
    if found == golden:
        return
    lines = list(
        difflib.unified_diff(
            _pretty(golden).splitlines(), _pretty(found).splitlines(), f"golden: {name}", "now", "", "", 2, ""
        )
    )
    left = len(lines) - DIFF_LINES
    more = [f"... and {left} more lines"] if left > 0 else []
    raise AssertionError(
        "\n".join(
            [
                f"{name} has changed. If this is intended: python -m tests.golden.remake",
                *lines[:DIFF_LINES],
                *more,
            ]
        )
    )


def _pretty(content: Any) -> str:
    if isinstance(content, str):
        return content
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=False)


def _rows(atlas: Path, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(atlas / "atlas.db")) as db:
        return db.execute(query, values).fetchall()


def _placeless(value: Any, atlas: Path) -> Any:
    if isinstance(value, dict):
        return {name: _placeless(one, atlas) for name, one in value.items()}
    if isinstance(value, list):
        return [_placeless(one, atlas) for one in value]
    return value.replace(str(atlas), "ATLAS") if isinstance(value, str) else value


def _rounded(value: Any) -> Any:
    """Ten digits of every number: the last ones may differ between versions of numerical libraries."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def _timeless(line: str) -> str:
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "DATE", line)
    line = re.sub(r"Failscape \d[\w.+-]*", "Failscape VERSION", line)
    line = re.sub(r"'version': '[^']*'", "'version': VERSION", line)
    line = re.sub(r"'seconds': [\d.e-]+", "'seconds': TIME", line)
    return re.sub(r"\b\d+ h \d+ min\b|\b(?:\d+ min )?\d+(?:\.\d+)? s\b", "TIME", line)


class _VisibleText(HTMLParser):
    """Collects text as a reader sees it; a picture counts by its description."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self._hidden += 1
        elif tag == "img":
            self.lines.append(f"[picture: {dict(attrs).get('alt') or ''}]")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._hidden -= 1

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.lines.extend(_words(data))


def _words(data: str) -> Iterator[str]:
    text = " ".join(data.split())
    if text:
        yield text
