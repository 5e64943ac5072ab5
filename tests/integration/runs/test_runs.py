"""Whole runs against two real servers: start, resume, refuse, stop, survive."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import failscape
from failscape.atlas import Atlas

from .conftest import Bench


def test_a_run_finds_failures_and_running_again_changes_nothing(bench: Bench) -> None:
    first = bench.run()
    assert first.returncode == 0, first.stderr
    assert "budget of 300 images" in first.stdout
    keys, findings = bench.keys(), bench.findings()
    assert len(keys) == 300
    assert findings
    again = bench.run()
    assert again.returncode == 0
    assert "300 trials told again" in again.stderr
    assert bench.keys() == keys
    assert bench.findings() == findings


def test_findings_carry_their_evidence(bench: Bench) -> None:
    bench.run()
    for finding in bench.findings():
        low, high = finding["interval"]
        assert 0 <= low <= finding["rate"] <= high <= 1
        assert finding["rate"] >= 0.2
        assert finding["e_value"] > 0
        assert finding["caption"]
        assert len(finding["seeds"]) == finding["trials"] + finding["invalid"]
        assert len(finding["image_files"]) == finding["trials"]
        assert all(Path(image).suffix == ".png" for image in finding["image_files"])


def test_both_servers_may_die_and_come_back(bench: Bench) -> None:
    space = {"corpus": "starter", "depth": 1}
    bench.write(space=space, budget={"images": 2000})  # enough to be still under way
    process = bench.start()
    bench.wait_for_trials(40)
    bench.generator.restart(pause=1.5)
    bench.wait_for_trials(bench.recorded() + 200)
    bench.judge.restart(pause=1.5)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    keys = bench.keys()
    assert len(keys) == len(set(keys)) == 2000
    with sqlite3.connect(bench.atlas / "atlas.db") as db:
        assert db.execute("select count(*) from trials where verdict = 'invalid'").fetchone() == (0,)
    with Atlas.open(bench.atlas, readonly=True) as atlas:
        events = [event for event in atlas.events() if event.kind == "endpoint"]
        warned = [event.detail["text"] for event in atlas.events() if event.kind == "warning"]
    assert {event.detail["role"] for event in events} == {"generator", "judge"}
    for server in (bench.generator, bench.judge):
        assert any(server.url in text and "was taken out" in text for text in warned)


def test_ctrl_c_finishes_cleanly_and_the_run_goes_on_later(bench: Bench) -> None:
    process = bench.start("--set", "budget.images=100000")
    bench.wait_for_trials(30)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    assert "Stopped: interrupted" in out
    before = bench.keys()
    assert len(before) >= 30
    assert bench.run("--set", f"budget.images={len(before) + 50}").returncode == 0
    assert bench.keys()[: len(before)] == before
    assert len(set(bench.keys())) == len(before) + 50


def test_a_changed_config_is_refused_with_the_difference_unless_forked(bench: Bench) -> None:
    bench.run("--set", "budget.images=50")
    bench.write(search={"strategy": "failureatlas", "images_per_node": 5, "threshold": 0.5})
    refused = bench.run()
    assert refused.returncode == 2
    assert "search.threshold: 0.8 -> 0.5" in refused.stderr
    assert "--fork" in refused.stderr
    forked = bench.run("--fork", "--set", "budget.images=50")
    assert forked.returncode == 0, forked.stderr
    assert len(bench.keys()) > 50


def test_a_corpus_that_changed_behind_its_name_is_noticed(bench: Bench, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    shutil.copytree(Path(failscape.__file__).parent / "spaces" / "corpora" / "starter", corpus)
    bench.write(space={"corpus": str(corpus), "depth": 0})
    assert bench.run("--set", "budget.images=20").returncode == 0
    entities = corpus / "entities.json"
    entities.write_text(entities.read_text().replace('"cat"', '"kitten"', 1))
    refused = bench.run("--set", "budget.images=20")
    assert refused.returncode == 2
    assert "space.settings.digest" in refused.stderr


def test_a_fork_takes_replies_from_the_cache(bench: Bench) -> None:
    bench.run("--set", "budget.images=50")
    bench.write(search={"strategy": "failureatlas", "images_per_node": 5, "threshold": 0.5})
    forked = bench.run("--fork", "--set", "budget.images=10", "--json")
    summary = json.loads(forked.stdout.splitlines()[-1])
    assert summary["spent"]["images"] == 10
    assert summary["trials"] >= 55, "fifty came from the cache and cost nothing"


def test_shards_merge_into_one_hunt(bench: Bench, tmp_path: Path) -> None:
    bench.write(space={"corpus": "starter", "depth": 1, "entities": ["cat", "apple"]})
    whole = bench.atlas
    parts = [tmp_path / f"shard{number}" for number in (1, 2)]
    for number, part in enumerate(parts, 1):
        bench.atlas = part
        settings = bench.run("--shard", f"{number}/2", "--set", "budget.images=100000")
        assert settings.returncode == 0, settings.stderr
    bench.atlas = whole
    bench.run("--set", "budget.images=100000")
    merged = tmp_path / "merged"
    command = [sys.executable, "-m", "failscape", "merge", *map(str, parts), "-o", str(merged)]
    subprocess.run(command, check=True)
    expected = {finding["subject"]: finding["rate"] for finding in bench.findings()}
    bench.atlas = merged
    assert {finding["subject"]: finding["rate"] for finding in bench.findings()} == expected
    assert expected


def test_a_budget_that_can_find_nothing_is_said_before_it_is_spent(bench: Bench) -> None:
    assert "cannot finish even one node" in bench.run("--set", "budget.images=4").stderr


def test_machines_read_json_lines(bench: Bench) -> None:
    done = bench.run("--json", "--set", "budget.images=40")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["event"] == "summary"
    assert events[-1]["stop"]["kind"] == "budget"
    assert events[-1]["spent"]["images"] == 40
    assert {"progress"} <= {event["event"] for event in events}
