"""The gate without models: where it looks, what it decides, what it writes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from failscape.again.decide import PairCounts
from failscape.again.harm import (
    MOST_BYTES,
    GatePower,
    GateResult,
    GateRow,
    GateRules,
    GateVerdict,
    base_cases,
    judge_harm,
    markdown,
    next_cases,
    write_junit,
)


def judged(more: list[int], less: list[int], pairs: list[int], base: list[int]) -> GateVerdict:
    arrays = [np.array(one, np.float64) for one in (more, less, pairs)]
    things = [(f"thing {at % 40}", value) for at, value in enumerate(base)]
    return judge_harm(things, arrays[0], arrays[1], arrays[2], GateRules(0.05)).verdict


def test_harm_is_proven_open_or_ruled_out() -> None:
    none = [0, 0, 0]
    assert judged(none, none, [200] * 3, [0] * 600) is GateVerdict.PASSED
    assert judged(none, none, [5] * 3, [0] * 15) is GateVerdict.OPEN
    assert judged([60, 0, 0], none, [200] * 3, [0] * 600) is GateVerdict.FAILED, "one subject alone"
    assert judged([3, 3, 3], none, [10] * 3, [0, 0, 1] * 200) is GateVerdict.FAILED, "overall alone"
    assert judged(none, none, none, []) is GateVerdict.OPEN


def test_a_turn_goes_to_those_that_look_worst_and_never_over_the_budget() -> None:
    logs = np.array([0.0, 5.0, 1.0, -1.0])
    room = np.array([100, 100, 0, 100])
    given = next_cases(logs, room, 40, turn=0)
    assert given[1] > 0
    assert given[2] == 0, "nothing is left of it"
    assert given.sum() <= 40
    assert next_cases(logs, room, 3, turn=7).sum() == 3
    assert not next_cases(logs, np.zeros(4, dtype=np.int64), 40, 0).any()
    assert base_cases(1000, 100) == 4
    assert base_cases(1, 100) == 1


def result(subjects: int, name: str = "cat | *bold* <b>\x07", harmed: bool = True) -> GateResult:
    rows = tuple(
        GateRow(f"{name} {at}", "cat", PairCounts(0, 0, 20, 0), (0.5, 1.0), harmed, 9.0)
        for at in range(subjects)
    )
    verdict = GateVerdict.FAILED if harmed else GateVerdict.OPEN
    harm = judge_harm([], np.zeros(0), np.zeros(0), np.zeros(0), GateRules())
    harm = type(harm)(verdict, 0.1, (0.05, 0.2), 100, tuple(range(subjects)) if harmed else (), harm.log_e)
    notes = ("the judge is not calibrated: nobody has measured how it errs",)
    return GateResult("old", "new", GateRules(), harm, rows, GatePower(900, 100), False, 100, 0, notes)


def test_the_summary_is_bounded_and_is_no_markup(tmp_path: Path) -> None:
    text = markdown(result(5_000))
    assert len(text.encode()) <= MOST_BYTES
    assert "more" in text
    assert "not calibrated" in text
    assert "\\|" in text
    assert "\\<b\\>" in text


def test_the_junit_file_is_xml_whatever_subjects_are_called(tmp_path: Path) -> None:
    write_junit(result(3), tmp_path / "junit.xml")
    suite = ET.parse(tmp_path / "junit.xml").getroot()[0]
    assert suite.get("failures") == "4"
    assert len(suite.findall("testcase")) == 4
    assert "not calibrated" in (suite.findtext("system-out") or "")
    write_junit(result(3, harmed=False), tmp_path / "open.xml")
    assert ET.parse(tmp_path / "open.xml").getroot()[0].get("skipped") == "1"


@pytest.mark.parametrize("harmed", [True, False])
def test_the_json_names_verdict_harm_and_calibration(harmed: bool) -> None:
    data = result(2, harmed=harmed).as_data()
    assert data["verdict"] == ("failed" if harmed else "open")
    assert data["judge_calibrated"] is False
    assert len(data["harmed"]) == (2 if harmed else 0)
