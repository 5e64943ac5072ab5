"""No text that a person sees says two values for one name: terminal, viewer, report, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from failscape.shown_numbers import percent, spread
from failscape.views.viewer.library import Library, OpenHunt
from failscape.views.viewer.screens.findings import failure_map, finding, findings
from failscape.views.viewer.screens.overview import overview
from tests.demos import DemoRun
from tests.golden.tools import KINDS, run_command
from tests.integration.evidence.spoken_numbers import (
    SpokenNumber,
    spoken_totals,
    title_rate,
    two_values,
    wrong_shares,
)
from tests.integration.evidence.test_one_truth import Texts

every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def viewed(kind: str, demo: Callable[[str], DemoRun]) -> Iterator[OpenHunt]:
    folder = demo(kind).folder
    with Library([folder]) as library:
        hunt = library.hunt(folder.name, 1)
        assert hunt.loaded(wait=600) is not None
        yield hunt


def texts_in(told: Any) -> Iterator[str]:
    """Every text in what a screen of the viewer gets, however deep."""
    if isinstance(told, str):
        yield told
    elif isinstance(told, dict):
        for one in told.values():
            yield from texts_in(one)
    elif isinstance(told, list | tuple):
        for one in told:
            yield from texts_in(one)


@pytest.fixture
def screens(kind: str, demo: Callable[[str], DemoRun], viewed: OpenHunt) -> dict[str, str]:
    """Screen → all of its text."""
    run = demo(kind)
    page = Texts(run.folder / "report" / "index.html").texts
    first = findings(viewed, {})["rows"][0]["subject"]
    return {
        "demo": run.said,
        "findings": run_command("findings", run.folder),
        "themes": run_command("findings", run.folder, "--themes"),
        "rules": run_command("findings", run.folder, "--rules"),
        "report": " ".join(page),
        "viewer overview": "\n".join(texts_in(overview(viewed))),
        "viewer findings": "\n".join(texts_in(findings(viewed, {"many": "400"}))),
        "viewer finding": "\n".join(texts_in(finding(viewed, first))),
        "viewer map": "\n".join(texts_in(failure_map(viewed, {}))),
    }


@every_kind
def test_no_name_has_two_values(kind: str, screens: dict[str, str], viewed: OpenHunt) -> None:
    numbers = [one for screen, text in screens.items() for one in spoken_totals(screen, text)]
    told = overview(viewed)
    numbers += [
        SpokenNumber("viewer overview", "images drawn", str(told["spent"]["images"])),
        SpokenNumber("viewer overview", "trials", str(sum(told["counts"].values()))),
        SpokenNumber("viewer overview", "findings", str(told["found"]["findings"])),
    ]
    named = {one.name for one in numbers}
    assert {"images drawn", "trials", "findings", "share that fails"} <= named
    assert "trials called pictures" not in named
    assert not two_values(numbers)


@every_kind
def test_shares_are_those_of_their_counts(kind: str, screens: dict[str, str]) -> None:
    assert not {screen: wrong for screen, text in screens.items() if (wrong := wrong_shares(text))}


@every_kind
def test_a_title_says_the_rate_of_its_finding(kind: str, demo: Callable[[str], DemoRun]) -> None:
    rows = csv.DictReader(io.StringIO(run_command("findings", demo(kind).folder, "--csv")))
    for row in rows:
        said = title_rate(row["title"])
        if said is not None:
            shown = percent(float(row["rate"])), spread((float(row["low"]), float(row["high"])))
            assert said == shown, row["title"]


@every_kind
def test_excess_and_blame_count_what_the_finding_counts(kind: str, demo: Callable[[str], DemoRun]) -> None:
    """A finding cannot fail by more points than it fails, nor miss a check in more pictures than failed."""
    for line in run_command("findings", demo(kind).folder, "--json").splitlines():
        record = json.loads(line)
        for text in texts_in(record["details"]):
            excess = re.search(r"Fails (\d+) points more often", text)
            if excess is not None:
                assert int(excess[1]) <= round(100 * record["rate"]), (text, record["rate"])
            blamed = re.search(r"is missing in .* of failures \((\d+) of (\d+)\)", text)
            if blamed is not None:
                assert int(blamed[2]) == record["failures"], (text, record["failures"])


def test_the_listed_contradictions_would_be_noticed() -> None:
    """Each of these stood on a screen once."""
    pictures_and_images = [
        *spoken_totals("findings", "47 findings in 12,757 pictures of hunt 1."),
        *spoken_totals("demo", "In all: 9,000 images, 31,772 requests."),
    ]
    assert {one.name for one in pictures_and_images} == {"trials called pictures", "images drawn"}
    two_rates = [
        *spoken_totals("demo", "toy-vlm fails at 25% (24–27%) of the 3,000 valid questions"),
        *spoken_totals("report", "toy-vlm fails at 5.6% (4.8–6.5%) of the 3,000 valid questions"),
    ]
    assert list(two_values(two_rates)) == ["share that fails"]
    assert wrong_shares("Colour is missing in 85% of failures (6 of 7)")
    assert not wrong_shares("Colour is missing in 86% of failures (6 of 7)")
    assert wrong_shares("60% (59–70%) of 324 pictures fail")
    assert title_rate("Crabs are misclassified 14% of the time (5.8% – 27%)") != (
        "14%",
        spread((0.058, 0.27)),
    )
