"""Panels appear when there is something to say, and say it with their intervals."""

import math
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.kinds.t2i.page_trust import trust_boxes
from failscape.kinds.t2i.survey.survey import (
    Audit,
    CalibrationBin,
    ListAudit,
    ListAuditPart,
    Replicated,
    Replication,
    Share,
    T2ISurvey,
    WordingEffect,
)
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.views.figures.basic import AGAINST, Spot, against

AUDIT = Audit(1000, 50, 0.02, (0.0, 0.08))
ROWS = (Replicated("cat", 0.9, 8, 10), Replicated("dog", 0.9, 8, 10), Replicated("cup", 0.7, 1, 10))
AGAIN = Replication(ROWS, Share(2, 3, (0.09, 0.99)), 0.83, 0.57)
BINS = (
    CalibrationBin(0.9, 0.88, (0.8, 0.95), 100),
    CalibrationBin(0.5, 0.8, (0.7, 0.9), 80),
    CalibrationBin(0.1, 0.0, (0.0, 1.0), 0),
)
WORDS = WordingEffect(12, (Share(50, 60, (0.7, 0.9)), Share(20, 60, (0.2, 0.5))), 0.001, ("cat", "dog"))


def shown(survey, judge=None, allowed_for=True):
    return {panel.id: panel for panel in trust_boxes(survey, judge, 0.2, allowed_for)}


def test_a_hunt_with_nothing_to_say_has_no_panels():
    assert shown(T2ISurvey()) == {}
    assert trust_boxes(T2ISurvey(), None, None, False) == []


def test_parts_without_a_single_picture_are_left_out():
    empty = T2ISurvey(
        audit=Audit(1000, 0, 0.0, (0.0, 1.0)),
        replication=Replication((), Share(0, 0, (0.0, 1.0)), 0.0, 0.0),
        calibration=(CalibrationBin(0.5, 0.0, (0.0, 1.0), 0),),
        wording=WordingEffect(0, (), 1.0),
        counts={"opened": 0},
    )
    assert shown(empty) == {}


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ({"audit": AUDIT}, "audit"),
        ({"replication": AGAIN}, "replication"),
        ({"calibration": BINS}, "calibration"),
        ({"wording": WORDS}, "wording"),
        ({"counts": {"opened": 3}}, "states"),
    ],
)
def test_each_part_has_a_panel_of_its_own(part, name):
    (panel,) = shown(T2ISurvey(**part)).values()
    assert panel.id == name
    assert panel.how


def test_replication_gives_the_share_with_its_interval_and_joins_equal_dots():
    panel = shown(T2ISurvey(replication=AGAIN))["replication"]
    assert panel.big == "67%"
    assert "9–99%" in panel.beside
    assert "83%" in panel.says
    assert "57%" in panel.says
    dots = [part for part in ET.fromstring(panel.figure) if part.get("class") == "dot"]
    assert len(dots) == 2


def test_replication_says_what_fresh_pictures_show_by_themselves():
    rows = [Replicated("cat", 0.9, 9, 10, "confirmed"), Replicated("dog", math.nan, 3, 10, "unclear")]
    panel = shown(
        T2ISurvey(replication=Replication(tuple(rows), Share(1.6, 2, (0.2, 1)), 0.9, 0.6, (0.4, 0.8)))
    )
    assert "1 confirmed, 1 unclear." in panel["replication"].says
    assert "60% (40–80%)" in panel["replication"].says
    assert panel["replication"].big == "80%"
    assert panel["replication"].figure.count("<circle") == 1


def test_the_audit_of_a_list_tells_its_parts_and_of_prompts_nothing_inside():
    parts = tuple(ListAuditPart(part, round(80 * part), 40, 38, part, 20, 19, 0.8) for part in (0.5, 1.0))
    box = shown(T2ISurvey(list_audit=ListAudit(80, 900, 200, parts, refuted=("cat",))))["list-audit"]
    assert [len(lines) for _, lines in box.groups] == [2, 2]
    assert "contradict 1 of the audited: cat" in box.says
    assert "simpler inside" in box.how
    prompts = ListAudit(80, 900, 200, (ListAuditPart(1.0, 80, 40, 38, 0.9),))
    box = shown(T2ISurvey(list_audit=prompts))["list-audit"]
    assert [name for name, _ in box.groups] == ["At least so many fail"]
    assert "simpler" not in box.says + box.how


def test_the_audit_says_how_many_minimal_failures_there_are():
    found = Audit(1000, 50, 0.02, (0.0, 0.08), 300, 141.4, (120.2, 170.0))
    panel = shown(T2ISurvey(audit=found))["audit"]
    assert panel.big == "2.0%"
    assert "about 141 in all (120 to 170)" in panel.beside


def test_an_audit_that_says_nothing_gives_no_number():
    panel = shown(T2ISurvey(audit=Audit(1000, 5, 0.02, (0.0, 1.0))))["audit"]
    assert panel.big == "Too few to tell:"
    assert "in all" not in panel.beside


def test_calibration_counts_groups_that_agree():
    panel = shown(T2ISurvey(calibration=BINS))["calibration"]
    assert "1 of 2 groups" in panel.says


def test_wording_says_whether_words_matter():
    assert "The words make a difference" in shown(T2ISurvey(wording=WORDS))["wording"].says
    same = WordingEffect(12, WORDS.variants, 0.4)
    assert "No difference" in shown(T2ISurvey(wording=same))["wording"].says


def test_the_judge_is_shown_with_the_doubt_about_it():
    judge = JudgeAccuracy.from_counts({"entity": (90, 100, 45, 50), "*": (99, 100, 99, 100)})
    panel = shown(T2ISurvey(), judge)["judge"]
    (_, there), (_, missing) = panel.groups
    assert [line.name for line in there] == ["entity", "all other checks"]
    assert there[0].rate == pytest.approx(0.9)
    assert there[0].interval[0] < 0.9 < there[0].interval[1]
    assert "50 labelled" in missing[0].words
    assert "allow for the errors" in panel.says
    assert "as the judge saw them" in shown(T2ISurvey(), judge, allowed_for=False)["judge"].says


def test_a_judge_known_exactly_has_no_interval():
    panel = shown(T2ISurvey(), JudgeAccuracy.perfect())["judge"]
    assert panel.groups[0][1][0].interval == (1.0, 1.0)


@given(st.lists(st.tuples(st.floats(), st.floats(), st.floats(0, 1e9)), max_size=20))
def test_dots_stay_on_their_plot(places):
    svg = ET.fromstring(against([Spot(x, y, (0, 1), weight) for x, y, weight in places], "<x>", "y", 0.2))
    for dot in (part for part in svg if part.get("class") == "dot"):
        assert 0 <= float(dot.get("cx")) <= AGAINST.width
        assert 0 <= float(dot.get("cy")) <= AGAINST.height
        assert math.isfinite(float(dot.get("r")))
