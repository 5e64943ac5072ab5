"""The page of a t2i hunt with everything that a survey can say, and with nothing of it."""

import re

import pytest

from failscape.atlas import Atlas
from failscape.kinds.t2i.findings import CorrectedRate, NodeDetails
from failscape.kinds.t2i.survey.survey import (
    Audit,
    CalibrationBin,
    Mass,
    Replicated,
    Replication,
    Rule,
    Share,
    T2ISurvey,
    WordingEffect,
)
from failscape.stats.contrasts import Blame, Interaction
from failscape.trials import Check, Decide, Generate
from failscape.views.pages import write_report
from failscape.views.pages.sections import END, Section, Tile
from failscape.views.read import load_hunt, rebuild_hunt

from .conftest import HOSTILE, ListedHunt, finding, read, recorded

WIDE_OPEN = (0.1, 0.9)
PANELS = {"replication", "audit", "calibration", "wording", "states"}


class Surveyed:
    """A hunt with a survey put on top of it."""

    def __init__(self, hunt, survey):
        self._hunt, self._survey = hunt, survey

    def __getattr__(self, name):
        return getattr(self._hunt, name)

    def survey(self):
        return self._survey(self._hunt) if callable(self._survey) else self._survey


def full_survey(hunt, word="animals"):
    """Every part, about subjects that the hunt really tried."""
    tried = [one.subject for one in hunt.findings()]
    shares = (Share(30, 40, (0.6, 0.9)), Share(20, 40, (0.3, 0.7)))
    return T2ISurvey(
        rules=tuple(
            Rule(
                "class",
                word,
                (f"Base: Kind {number}={word}",),
                30,
                9,
                tuple(tried[:9]),
                tuple(tried[-2:]),
                shares[0],
            )
            for number in range(40)
        ),
        masses=(
            Mass("all", "", 900, 0.2, (0.1, 0.3), 300),
            Mass("class", word, 400, 0.3, (0.2, 0.4), 90),
            Mass("cell", f"{word} × Base: Colour", 90, 0.5, (0.3, 0.7), 30),
            Mass("layer", "0", 12, 0.1, (0.0, 0.3), 30),
            Mass("layer", "1", 88, 0.3, (0.2, 0.5), 60),
        ),
        audit=Audit(700, 40, 0.02, (0.0, 0.1)),
        replication=Replication((Replicated(word, 0.9, 8, 10),), shares[0], 0.9, 0.8),
        calibration=(CalibrationBin(0.5, 0.5, WIDE_OPEN, 40),),
        wording=WordingEffect(10, shares, 0.2, (word,)),
        notes=(f"A note about {word}.",),
        counts={"opened": 90, word: 10},
    )


def ids(page):
    return {given["id"] for _, given in page.tags if "id" in given}


@pytest.fixture(scope="module")
def full(planted_atlas, tmp_path_factory):
    out = tmp_path_factory.mktemp("full")
    with Atlas.open(planted_atlas, readonly=True) as atlas:
        return write_report(atlas, out, build=lambda row: Surveyed(rebuild_hunt(row), full_survey))


def test_everything_a_survey_says_is_on_the_page(full):
    page = read(full)
    assert {"map", "rules", "trust", *PANELS} <= ids(page)
    for words in (
        "Of random pictures fail 20% 10–30%",
        "Nodes in the space 900",
        "animals (class) with animals",
        "75% of held-out nodes fail",
        "40 findings, chosen at random",
        "A note about animals.",
        "The first 30 of 40 rules",
    ):
        assert words in page.text


def test_the_survey_is_loaded_as_plain_data(planted_atlas):
    with Atlas.open(planted_atlas, readonly=True) as atlas:
        loaded = load_hunt(atlas, build=lambda row: Surveyed(rebuild_hunt(row), full_survey))
    assert loaded.survey.as_data()["audit"]["sampled"] == 40


def test_the_full_page_needs_no_network_and_has_all_its_pictures(full):
    page = read(full)
    assert not re.search(r"(src|href|url)\s*[=(]\s*[\"']?(https?:)?//", full.path.read_text())
    assert full.missing == 0
    pictures = [one for one in page.sources("src") if not one.startswith("data:")]
    assert pictures
    for source in pictures:
        assert (full.path.parent / source).is_file()


def test_every_link_within_the_page_leads_somewhere(full):
    page = read(full)
    targets = {one[1:] for one in page.sources("href") if one.startswith("#")}
    assert {"map", "rules", "trust"} <= targets
    assert targets <= ids(page)


def test_every_panel_says_how_to_read_it(full):
    page = read(full)
    assert sum(given.get("class") == "reading" for _, given in page.tags) >= len(PANELS) + 3


def test_a_hunt_with_nothing_to_say_shows_what_was_tried(planted_atlas, tmp_path):
    with Atlas.open(planted_atlas, readonly=True) as atlas:
        build = lambda row: Surveyed(rebuild_hunt(row), T2ISurvey())  # noqa: E731
        page = read(write_report(atlas, tmp_path, build=build))
    assert "map" in ids(page)
    assert not ids(page) & {"rules", *PANELS}
    assert "not what a random prompt would meet" in page.text


@pytest.mark.parametrize(
    ("part", "section"),
    [
        ({"rules": (Rule("", "", ("Base: Colour=red",), 3, 1),)}, "rules"),
        ({"audit": Audit(7, 4, 0.0, WIDE_OPEN)}, "audit"),
        ({"notes": ("only this",)}, "trust"),
    ],
)
def test_sections_appear_only_with_their_data(planted_atlas, tmp_path, part, section):
    with Atlas.open(planted_atlas, readonly=True) as atlas:
        page = read(
            write_report(atlas, tmp_path, build=lambda row: Surveyed(rebuild_hunt(row), T2ISurvey(**part)))
        )
    assert section in ids(page)
    assert not ids(page) & ({"rules", *PANELS} - {section})


def test_hostile_words_in_a_survey_stay_words(planted_atlas, tmp_path):
    with Atlas.open(planted_atlas, readonly=True) as atlas:
        build = lambda row: Surveyed(rebuild_hunt(row), lambda hunt: full_survey(hunt, HOSTILE))  # noqa: E731
        page = read(write_report(atlas, tmp_path, build=build))
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert not page.sources("onerror")


def test_sentences_about_a_finding_are_on_its_card(empty_atlas, tmp_path):
    hunt = empty_atlas.start_hunt("t2i", {"hunt": "t2i"}, {})
    steps = (Generate("a cat"), Decide((Check("entity", "cat", "a cat"),)))
    empty_atlas.record(hunt, [recorded("cat", 1, steps, ["", [False]])])
    details = NodeDetails(
        "cat",
        (),
        "animals",
        "pets",
        interaction=Interaction(1.0, 0.5, 0.5, (0.2, 0.8), "More than its parts."),
        blamed=Blame("The cat", 1.0, (0.5, 1.0), "No cat."),
        corrected=CorrectedRate(0.9, (0.6, 1.0)),
    )
    page = read(
        write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([finding("cat", details=details)]))
    )
    assert "More than its parts. No cat. Allowing for the judge’s errors, 90% fail (60–100%)." in page.text


def test_a_kind_of_hunt_brings_its_own_sections_and_numbers(planted_atlas, tmp_path, monkeypatch):
    def sections(context):
        assert context.loaded.findings
        yield Section(
            "own",
            "A section",
            "failscape.kinds.t2i:page.html",
            None,
            END,
            "Own",
            "Said first.",
            "Said below.",
        )

    monkeypatch.setattr("failscape.kinds.t2i.page.sections", sections)
    monkeypatch.setattr("failscape.kinds.t2i.page.tiles", lambda context: [Tile("Own number", "42", "of 43")])
    with Atlas.open(planted_atlas, readonly=True) as atlas:
        page = read(write_report(atlas, tmp_path))
    assert "own" in ids(page)
    for words in ("Own number 42 of 43", "Said first.", "How to read this Said below."):
        assert words in page.text


def test_ten_thousand_findings_give_a_small_page_soon(empty_atlas, tmp_path):
    hunt = empty_atlas.start_hunt("t2i", {"hunt": "t2i", "space": {"corpus": "toybox"}}, {})
    steps = (Generate("a red penguin"), Decide((Check("entity", "penguin", "a penguin"),)))
    subjects = [f"penguin; Base: colour=red; Image: style={n}" for n in range(10_000)]
    empty_atlas.record(
        hunt, [recorded(subject, at, steps, ["", [False]]) for at, subject in enumerate(subjects[:60])]
    )
    listed = ListedHunt([finding(subject, title=f"penguin: red, {subject}") for subject in subjects])
    survey = T2ISurvey(
        rules=tuple(
            Rule(
                "class",
                "animals",
                (f"Base: colour={n}",),
                900,
                300,
                tuple(subjects[:300]),
                tuple(subjects[:99]),
            )
            for n in range(1_000)
        ),
        masses=tuple(
            Mass(group, f"{n % 90} × {n // 90}", 9, 0.1, WIDE_OPEN, 9)
            for group in ("cell", "entity", "kind", "class", "sub-class")
            for n in range(8_100)
        ),
        replication=Replication(
            tuple(Replicated(subject, n / 10_000, n % 97, 97) for n, subject in enumerate(subjects)),
            Share(9_000, 10_000, (0.89, 0.91)),
            0.9,
            0.9,
        ),
        calibration=tuple(CalibrationBin(n / 100, n / 100, WIDE_OPEN, 9) for n in range(100)),
    )
    written = write_report(empty_atlas, tmp_path, build=lambda row: Surveyed(listed, survey))
    assert written.findings == 10_000
    assert written.path.stat().st_size < 3_000_000
    assert {"map", "rules", "replication", "calibration"} <= ids(read(written))
