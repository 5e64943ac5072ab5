"""Servers that echo the key in good replies: it is nowhere in the atlas, the logs, the report or exports."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from failscape.testing.faulty import FaultyServer, scripted_answer

KEY = "sk-Zq81pLw0Tt93mVvXk27"
FORMS = (KEY, KEY[3:12], base64.b64encode(f"Bearer {KEY}".encode()).decode(), KEY[-8:])
PARTS = tuple(KEY[at : at + 8].encode() for at in range(len(KEY) - 7))
ENCODED = tuple(
    base64.b64encode(b"\0" * offset + KEY.encode()).decode()[at : at + 12].encode()
    for offset in range(3)
    for at in (4, 8, 12)
)


def echoing(path: str, payload: Mapping[str, Any]) -> Any:
    """A good reply with the key in the thoughts before it, in one of its forms."""
    answer = scripted_answer(path, payload)
    if path.endswith("/chat/completions"):
        message = answer["choices"][0]["message"]
        form = FORMS[len(str(payload)) % len(FORMS)]
        message["content"] = f"<think>Authorised by {form}.</think>\n{message['content']}"
    return answer


def run(*words: object) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "failscape", *map(str, words)],
        env={**os.environ, "JUDGE_KEY": KEY},
        capture_output=True,
        timeout=1200,
    )
    assert done.returncode in (0, 3), done.stderr
    return done.stdout + done.stderr


def test_an_echoed_key_is_nowhere(tmp_path: Path) -> None:
    atlas, config = tmp_path / "atlas", tmp_path / "hunt.yaml"
    rates = {"ok": 0.9, "unauthorised": 0.0, "refuse": 0.05, "non-json": 0.05}
    with FaultyServer(answer=echoing, rates=rates) as server:
        model = {"provider": "openai", "model": "m", "endpoints": [server.url], "api_key_env": "JUDGE_KEY"}
        space = {"corpus": "starter", "depth": 1, "entities": ["cat"]}
        search = {"strategy": "failureatlas", "images_per_node": 4}
        settings = {"hunt": "t2i", "target": model, "judge": model, "space": space, "search": search}
        config.write_text(yaml.safe_dump({**settings, "budget": {"images": 40}, "seed": 1}))
        said = run("run", config, "--atlas", atlas, "--json")
    with FaultyServer(rates={"unauthorised": 1.0}) as server:
        said += run("run", config, "--atlas", atlas, "--set", f"judge.endpoints=['{server.url}']")
    said += run("findings", atlas, "--json")
    said += run("report", atlas, "-o", tmp_path / "report")
    for form in ("jsonl", "csv"):
        said += run("export", atlas, "--format", form, "-o", tmp_path / form)
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".pack"]
    assert b"Authorised by ***" in (tmp_path / "jsonl").read_bytes()
    for place, data in [("the screen", said), *((str(path), path.read_bytes()) for path in written)]:
        for part in (*PARTS, *ENCODED):
            assert part not in data, f"{part!r} in {place}"
