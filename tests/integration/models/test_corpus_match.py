"""`failscape corpus match` against a real server: votes, thresholds, faults, kills."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from failscape.cli import cli
from failscape.errors import ConfigError, ModelError
from failscape.models.contracts.language import PlausibilityContract
from failscape.spaces import Corpus, load_corpus
from failscape.testing.faulty import FaultyServer, chat_reply
from tests.unit.spaces.tiny import write_corpus

PHRASE = re.compile(r"^\d+\. (.+)$", re.MULTILINE)


def opinion(path: str, payload: Mapping[str, Any]) -> Any:
    """Red things are ordinary, blue ones unusual, several cats are nonsense."""
    slots = PlausibilityContract.instruction.match(payload["messages"][0]["content"])
    assert slots is not None
    phrases = PHRASE.findall(slots["phrases"])
    scores = [10 if "red" in phrase else 4 if "blue" in phrase else 0 for phrase in phrases]
    return chat_reply(json.dumps({"scores": scores}))


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    folder = tmp_path / "corpus"
    folder.mkdir()
    return write_corpus(folder, match={"Food": {"Fruit": {"*": {"Place": ["beach"]}}}})


def match(corpus: str, out: Path, server: FaultyServer, *options: str) -> Result:
    where = ["--endpoint", server.url, "--model", "llm", "--out", str(out)]
    return CliRunner().invoke(cli, ["corpus", "match", corpus, *where, *options])


def names(corpus: Corpus, entity: str) -> list[str]:
    row = corpus.allowed[corpus.find_entity(entity)]
    return [value.name for value, plausible in zip(corpus.values, row, strict=True) if plausible]


def test_values_are_scored_and_thresholded_without_asking_twice(corpus: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with FaultyServer(answer=opinion) as server:
        result = match(corpus, out, server, "--votes", "2")
        assert result.exit_code == 0, result.output
        assert server.requests == 4 * 2 * 2, "entities × sub-categories × votes"
        built = load_corpus(str(out))
        assert names(built, "cat") == ["red", "beach", "forest"]
        assert names(built, "apple") == ["red", "beach"], "what is said of other families stays"
        assert match(corpus, out, server, "--votes", "2", "--threshold", "0.3").exit_code == 0
        assert server.requests == 16, "another threshold asks nothing"
        assert names(load_corpus(str(out)), "dog") == ["red", "blue", "beach", "forest"]
        match(corpus, out, server, "--votes", "3")
        assert server.requests == 24, "one more vote asks one more"


def test_many_values_are_one_question_and_only_new_ones_are_asked(corpus: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with FaultyServer(answer=opinion) as server:
        match(corpus, out, server, "--votes", "1", "--values-per-question", "1")
        assert server.requests == 4 * 4
        base = Path(corpus) / "attributes_base.json"
        base.write_text(json.dumps({"Colour": ["red", "blue", "dark red"], "Count": ["two", "three"]}))
        match(corpus, out, server, "--votes", "1")
        assert server.requests == 4 * 4 + 4
    assert "dark red" in names(load_corpus(str(out)), "owl")


def test_the_folder_of_the_corpus_itself_gets_a_whitelist_only(corpus: str) -> None:
    before = (Path(corpus) / "entities.json").read_text()
    with FaultyServer(answer=opinion) as server:
        assert match(corpus, Path(corpus), server, "--votes", "1").exit_code == 0
    assert (Path(corpus) / "entities.json").read_text() == before
    assert names(load_corpus(corpus), "cat") == ["red", "beach", "forest"]


def test_unusable_replies_are_left_out_counted_and_asked_anew(corpus: str, tmp_path: Path) -> None:
    def mute_on_count(path: str, payload: Mapping[str, Any]) -> Any:
        text = payload["messages"][0]["content"]
        return chat_reply("I would rather not.") if "two cats" in text.lower() else opinion(path, payload)

    out = tmp_path / "out"
    with FaultyServer(answer=mute_on_count) as server:
        result = match(corpus, out, server, "--votes", "1")
    assert result.exit_code == 0
    assert "1 questions had no usable reply" in result.output
    assert "2 pairs without any vote are left out" in result.output
    assert server.requests == 7 + 3, "three tries for the one"
    assert "two" not in names(load_corpus(str(out)), "cat")
    with FaultyServer(answer=lambda path, payload: chat_reply('{"scores": [9, 9]}')) as server:
        match(corpus, out, server, "--votes", "1")
        assert server.requests == 1
    assert "two" in names(load_corpus(str(out)), "cat")


def test_passing_faults_are_waited_out(corpus: str, tmp_path: Path) -> None:
    faults = ["error", "reset", "unavailable", "truncated", "non-json"]
    with FaultyServer(schedule=faults, answer=opinion) as server:
        assert match(corpus, tmp_path / "out", server, "--votes", "1").exit_code == 0
    assert names(load_corpus(str(tmp_path / "out")), "cat") == ["red", "beach", "forest"]


def test_a_wrong_key_stops_at_once(corpus: str, tmp_path: Path) -> None:
    with FaultyServer(rates={"unauthorised": 1.0}) as server:
        result = match(corpus, tmp_path / "out", server)
    assert isinstance(result.exception, ModelError)
    assert not (tmp_path / "out" / "match.json").exists()


def test_votes_of_another_model_are_not_mixed_in(corpus: str, tmp_path: Path) -> None:
    with FaultyServer(answer=opinion) as server:
        match(corpus, tmp_path / "out", server, "--votes", "1")
        result = match(corpus, tmp_path / "out", server, "--model", "other")
    assert isinstance(result.exception, ConfigError)
    assert "holds votes of 'llm'" in str(result.exception)


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with FaultyServer(answer=opinion, latency=0.02) as server:
        command = [sys.executable, "-m", "failscape", "corpus", "match", "starter", "--out", str(out)]
        command += ["--endpoint", server.url, "--model", "llm", "--votes", "1", "--concurrency", "2"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while server.requests < 30 and process.poll() is None:
            time.sleep(0.02)
        process.kill()
        process.wait()
        file = out / "match_votes.jsonl"
        kept = file.read_bytes().count(b"\n") - 1
        assert 20 <= kept <= server.requests
        file.write_bytes(file.read_bytes() + b'{"entity": "cat", "vo')
        before = server.requests
        result = match("starter", out, server, "--votes", "1")
        assert result.exit_code == 0, result.output
        corpus = load_corpus("starter")
        base = [value for value in corpus.values if value.family == "Base"]
        total = len(corpus.entities) * len({value.kind for value in base})
        assert server.requests - before == total - kept, "only what has no vote"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    pairs = [(row["entity"], label) for row in rows[1:] for label in row["scores"]]
    assert len(pairs) == len(set(pairs)) == len(corpus.entities) * len(base)


def test_a_match_in_the_layout_of_failureatlas_reads_back_and_spells_out_each_entity(
    corpus: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with FaultyServer(answer=opinion) as server:
        result = match(corpus, out, server, "--votes", "1", "--layout", "failureatlas")
    assert result.exit_code == 0, result.output
    written = {path.name for path in out.glob("*.json")}
    attributes = {f"attribute_en_{family}.json" for family in ("base", "background")}
    assert written == {"entity_en.json", "entity_en_sample.json", "match.json"} | attributes
    whitelist = json.loads((out / "match.json").read_text())
    assert whitelist["Food"]["Fruit"]["apple"] == {"Colour": ["red"]}
    built = load_corpus(str(out))
    assert names(built, "cat") == ["red", "beach", "forest"]
    assert json.loads((out / "entity_en.json").read_text())["Food"]["Fruit"] == ["apple"]
