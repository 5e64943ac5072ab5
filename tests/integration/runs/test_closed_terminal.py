"""A terminal that is closed stops a hunt as Ctrl-C does; one that cannot be written to does not stop it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from failscape.runtime.progress import JsonReporter, UnfailingReporter

from .conftest import Bench

IMAGES = 120


def command(bench: Bench, *options: str) -> list[str]:
    given = ["run", str(bench.config), "--atlas", str(bench.atlas), "--json", *options]
    return [sys.executable, "-m", "failscape", *given]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_signals_let_what_is_in_flight_finish(bench: Bench, number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_DFL)  # tests may be run with nohup themselves
    bench.write(budget={"images": 100_000})
    process = bench.start("--json")
    bench.wait_for_trials(20)
    process.send_signal(number)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 130
    assert '"kind": "interrupted"' in out
    keys = bench.keys()
    assert len(set(keys)) == len(keys) >= 20


def test_under_nohup_a_hang_up_is_not_heard(bench: Bench) -> None:
    bench.write(budget={"images": IMAGES})
    code = (
        "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); from failscape.cli import main; "
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code + "main(sys.argv[1:])", *command(bench)[3:]], stdout=subprocess.PIPE
    )
    bench.wait_for_trials(20)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=600)
    assert process.returncode == 0
    assert len(bench.keys()) == IMAGES


def test_a_reader_that_goes_away_stops_no_hunt(bench: Bench) -> None:
    bench.write(budget={"images": IMAGES})
    process = subprocess.Popen(command(bench), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    process.wait(600)
    assert len(bench.keys()) == IMAGES


def test_without_any_output_a_hunt_runs(bench: Bench) -> None:
    bench.write(budget={"images": IMAGES})
    words = " ".join(f"'{word}'" for word in command(bench))
    assert subprocess.run(f"{words} 1>&- 2>&-", shell=True, timeout=600, check=False).returncode == 0
    assert len(bench.keys()) == IMAGES


def test_lines_that_cannot_be_written_are_given_up() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as stream:
        reporter = UnfailingReporter(JsonReporter(stream, every=0.0))
        for _ in range(3):
            reporter.note("note", "x" * 100_000)
        reporter.close()
        os.dup2(os.open(os.devnull, os.O_WRONLY), writing)  # so that closing the stream can empty it
