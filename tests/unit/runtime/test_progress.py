"""Reporters: whatever a server writes is text, never markup."""

from __future__ import annotations

import io
import json

from failscape.runtime.progress import JsonReporter, PlainReporter, RichReporter, RunSnapshot

SNAPSHOT = RunSnapshot("layer 1 of 2", 120, 4.5, 0.1, 3, 12, 99, 120, 1.5, 0.25, 8, 75.0)
HOSTILE = "the judge said [/INST] [red]"


def test_a_terminal_survives_what_servers_write() -> None:
    reporter = RichReporter()
    reporter.update(SNAPSHOT)
    reporter.note("warning", HOSTILE)
    reporter.close()


def test_plain_lines_say_how_it_goes() -> None:
    stream = io.StringIO()
    reporter = PlainReporter(stream, every=0.0)
    reporter.update(SNAPSHOT)
    reporter.note("warning", HOSTILE)
    said = stream.getvalue()
    for part in ("12 of 99", "4.5/s", "8 in flight", "findings 3", "10.0%", "25%", "1m15s", HOSTILE):
        assert part in said


def test_machines_get_one_object_a_line() -> None:
    stream = io.StringIO()
    reporter = JsonReporter(stream, every=0.0)
    reporter.update(SNAPSHOT)
    reporter.note("warning", HOSTILE)
    progress, warning = map(json.loads, stream.getvalue().splitlines())
    assert progress["event"] == "progress"
    assert progress["findings"] == 3
    assert warning == {"event": "warning", "text": HOSTILE}
