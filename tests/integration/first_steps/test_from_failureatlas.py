"""docs/from-failureatlas.md: each of its commands is run, on its files and servers of its kinds."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from failscape.cli import cli
from failscape.testing.faulty import FaultyServer, chat_reply
from failscape.testing.servers import planted_server
from tests.unit.starting.test_init import write_failureatlas

PAGE = Path(__file__).parents[3] / "docs" / "from-failureatlas.md"
ELSEWHERE = {
    "demo": "tests/integration/toybox/test_demo.py",
    "serve": "tests/integration/toybox/test_serve.py and extras/test_serve_t2i.py; they run until stopped",
    "run examples/planted.yaml": "needs port 8000; the same hunt is run in tests/integration/runs",
    "corpus embed": "needs transformers and t5-base; tests/unit/spaces has the small one",
    "run hunt.yaml --atlas runs/sdxl --set search.predictor": "needs torch; `make campaign` plays it",
}
"""Commands that other tests run, and where."""


def commands() -> list[str]:
    """Those of shell blocks, in order, then those in tables and sentences."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", text, re.DOTALL))
    lines = [line.partition(" #")[0].strip() for line in blocks.splitlines()]
    inline = re.findall(r"`failscape ([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    shown = [line.removeprefix("failscape ") for line in lines if line.startswith("failscape ")] + inline
    return [
        " ".join(one.split())
        for one in dict.fromkeys(shown)
        if not any(one.startswith(name) for name in ELSEWHERE)
    ]


def scores(_: str, payload: Mapping[str, Any]) -> Any:
    wanted = len(re.findall(r"^\d+\. ", payload["messages"][0]["content"], re.MULTILINE))
    return chat_reply(json.dumps({"scores": [10] * wanted}))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """A folder as the page takes it for granted; gives what its placeholders stand for."""
    monkeypatch.chdir(tmp_path)
    theirs = tmp_path / "path" / "to" / "failure_atlas"
    theirs.mkdir(parents=True)
    write_failureatlas(theirs)
    corpus = str(theirs / "corpus")
    caption = json.dumps({"caption": "a red cat"}) + "\n"
    (tmp_path / "captions.jsonl.gz").write_bytes(gzip.compress(caption.encode()))
    (tmp_path / "captions.txt").write_text("a red cat\n")
    with planted_server(corpus=corpus, regime="weak", seed=1) as server, FaultyServer(answer=scores) as llm:
        judge = {"provider": "openai", "model": "planted", "endpoints": [server.url]}
        (tmp_path / "other.yaml").write_text(yaml.safe_dump({"judge": {**judge, "image_max_side": 512}}))
        yield {
            "http://gpu2:8080/v1": llm.url,
            "runs/NAME": "runs/sdxl",
            "-o NAME.jsonl": "-o again.jsonl",
            "import NAME.jsonl": "import rows.jsonl",
            "FOLDER": "built",
            "CORPUS": corpus,
            "--captions FILE": "--captions captions.txt",
            "Animals …": "Animals",
            "server": server.url,
        }


def use_the_servers(place: Mapping[str, str]) -> None:
    """`init` wrote the addresses of FailureAtlas's files; here these servers are elsewhere."""
    settings = yaml.safe_load(Path("hunt.yaml").read_text())
    for role in ("target", "judge"):
        settings[role] |= {"model": "planted", "endpoints": [place["server"]], "params": {}}
    settings["search"] |= {"images_per_node": 5, "predictor": {"kind": "none"}}
    settings |= {"budget": {"images": 45}}
    Path("hunt.yaml").write_text(yaml.safe_dump(settings))


def test_every_command_of_the_page_works(place: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failscape.kinds.t2i.plan.SIMULATED_IMAGES", 100)
    shown = commands()
    assert len(shown) > 15
    for line in shown:
        for name, value in place.items():
            line = line.replace(name, value)
        if line.startswith("findings"):
            line += " runs/sdxl"
        if line.startswith("merge"):  # the two shards are the same hunt twice here: merging is safe to repeat
            shutil.copytree("runs/sdxl", "runs/part1")
            shutil.copytree("runs/sdxl", "runs/part2")
            line = line.replace("runs/part*", "runs/part1 runs/part2")
        done = CliRunner().invoke(cli, shlex.split(line))
        # The doctor of so small a corpus of bare words may find fault; it has to say so, and not to break.
        allowed = (0, 1) if line.startswith("doctor") else (0,)
        assert done.exit_code in allowed, f"failscape {line}\n{done.output}\n{done.exception!r}"
        if line.startswith("init"):
            use_the_servers(place)
    theirs = [json.loads(line) for line in Path("rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert theirs
    assert {"entity_en.json", "match.json"} <= {path.name for path in Path("matched").iterdir()}
