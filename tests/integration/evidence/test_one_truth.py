"""Every figure is the same wherever it appears: commands, report, attribution, viewer of the three demos."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from failscape.atlas import Atlas
from failscape.trials import Verdict
from failscape.views.read import HuntEvidence, load_hunt
from failscape.views.read.numbers import percent, spread
from failscape.views.viewer.library import Library, OpenHunt
from failscape.views.viewer.screens.findings import failure_map
from failscape.views.viewer.screens.overview import overview
from failscape.views.viewer.screens.pictures import pictures
from failscape.views.viewer.server import TOKEN, Guard, build_app
from tests.demos import DemoRun
from tests.golden.tools import KINDS, run_command

FOLLOWED = 8
"""Findings whose own screen is asked for."""

every_kind = pytest.mark.parametrize("kind", KINDS)


class Figures(HTMLParser):
    """All texts of elements with `data-figure`, by that name."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = defaultdict(list)
        self._name: str | None = None
        self._text = ""
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = dict(attrs).get("data-figure")
        if name is not None:
            self._name, self._text = name, ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if self._name is not None:
            self.found[self._name].append(self._text.strip())
            self._name = None


@pytest.fixture
def folder(kind: str, demo: Callable[[str], DemoRun]) -> Path:
    """The atlas of a demo; nothing here writes into it."""
    return demo(kind).folder


@pytest.fixture
def figures(folder: Path) -> dict[str, list[str]]:
    """All figures of the page that the demo wrote."""
    return Figures(folder / "report" / "index.html").found


class Texts(HTMLParser):
    """Every piece of text of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())


@pytest.fixture
def viewed(folder: Path) -> Iterator[OpenHunt]:
    """The hunt as the viewer has it, read to the end."""
    with Library([folder]) as library:
        hunt = library.hunt(folder.name, 1)
        assert hunt.loaded(wait=600) is not None
        yield hunt


def loaded(folder: Path) -> HuntEvidence:
    return load_hunt(Atlas.open(folder, readonly=True))


@every_kind
def test_figures_that_appear_twice_are_equal(
    kind: str, folder: Path, figures: dict[str, list[str]], tmp_path: Path
) -> None:
    if kind == "t2i":
        run_command("attribute", folder, "--counts", "toybox", "-o", tmp_path / "attribution.html")
        for name, texts in Figures(tmp_path / "attribution.html").found.items():
            figures[name] += texts
    assert len(figures) > 5
    assert any(len(texts) > 1 for texts in figures.values())
    contradictory = {name: sorted(set(texts)) for name, texts in figures.items() if len(set(texts)) > 1}
    assert not contradictory


@every_kind
def test_the_page_says_what_the_commands_say(kind: str, folder: Path, figures: dict[str, list[str]]) -> None:
    rows = list(csv.DictReader(io.StringIO(run_command("findings", folder, "--csv", "--status", "all"))))
    records = [json.loads(line) for line in run_command("findings", folder, "--json").splitlines()]
    assert rows
    for row in rows:
        subject = row["subject"]
        assert {percent(float(row["rate"]))} == set(figures[f"rate {subject}"])
        assert {spread((float(row["low"]), float(row["high"])))} == set(figures[f"interval {subject}"])
        assert {f"{int(row['failures']):,} of {int(row['trials']):,}"} == set(figures[f"failed {subject}"])
    by_subject = {row["subject"]: row for row in rows}
    for record in records:
        row = by_subject[record["subject"]]
        assert (record["failures"], record["trials"]) == (int(row["failures"]), int(row["trials"]))
        printed = [float(row[name]) for name in ("rate", "low", "high", "e_value")]
        assert printed == pytest.approx([record["rate"], *record["interval"], record["e_value"]], rel=1e-5)


@every_kind
def test_the_trials_that_count_add_up_to_the_rate(kind: str, folder: Path) -> None:
    """What is shown as counted is what the finding rests on, no picture more and none less."""
    for record in map(json.loads, run_command("findings", folder, "--json").splitlines()):
        counted = [one["verdict"] for one in record["evidence"] if one["counted"]]
        assert (counted.count("fail"), len(counted)) == (record["failures"], record["trials"])


@every_kind
def test_chips_add_up_to_the_rate(kind: str, folder: Path) -> None:
    hunt = loaded(folder)
    for finding in hunt.findings:
        evidence = hunt.evidence(finding, shots=400)
        assert all(one.decided <= finding.trials for one in evidence.tallies)
        assert all(one.missed <= finding.failures for one in evidence.tallies)
        shown = [shot for shot in evidence.own.shots if shot is not None and evidence.own.counts(shot)]
        assert len(shown) == finding.trials


@every_kind
def test_purposes_add_up_to_all_trials(kind: str, folder: Path) -> None:
    hunt = loaded(folder)
    purposes = hunt.purposes()
    counts = hunt.counts
    assert sum(one.fails for one in purposes) == counts[Verdict.FAIL]
    assert sum(one.valid for one in purposes) == counts[Verdict.FAIL] + counts[Verdict.PASS]
    apart = sum(one.valid for one in purposes if one.apart)
    assert sum(one.valid for one in hunt.subjects()) + apart == sum(one.valid for one in purposes)
    assert (apart > 0) == (kind == "t2i")


SCREENS = ("overview", "map", "findings", "pictures", "review", "runs", "compare")


def rated(told: Any) -> Iterator[dict[str, Any]]:
    """Every rate of a subject in what a screen shows, however deep."""
    if isinstance(told, dict):
        whole = not told.get("only")  # beside a finding a simpler kind may be told without the finding's own
        if told.get("subject") and told.get("rate_text") and "spread_text" in told and whole:
            yield told
        told = list(told.values())
    if isinstance(told, list):
        for one in told:
            yield from rated(one)


async def test_every_screen_of_the_viewer_says_what_the_page_says(
    demo: Callable[[str], DemoRun],
) -> None:
    """Over its own door: a server with the three demos, asked for each screen and each finding."""
    folders = {kind: demo(kind).folder for kind in KINDS}
    guard = Guard()
    with Library(list(folders.values())) as library:
        async with TestClient(TestServer(build_app(library, guard))) as browser:
            await browser.get("/", params={TOKEN: guard.token})

            async def ask(atlas: str, question: str, **query: str) -> Any:
                async with asyncio.timeout(600):
                    while True:
                        reply = await browser.get(f"/api/{atlas}/1/{question}", params=query)
                        if reply.status != 202:
                            assert reply.status == 200, await reply.text()
                            return await reply.json()
                        await asyncio.sleep(0.1)

            for kind, folder in folders.items():
                figures = Figures(folder / "report" / "index.html").found
                listed = await ask(folder.name, "findings", many="400")
                told = [listed, *[await ask(folder.name, screen) for screen in SCREENS]]
                for row in listed["rows"][:FOLLOWED]:
                    told.append(await ask(folder.name, "finding", subject=row["subject"]))
                seen = [one for one in rated(told) if f"rate {one['subject']}" in figures]
                assert len({one["subject"] for one in seen}) >= min(2, listed["total"]), kind
                for one in seen:
                    assert {one["rate_text"]} == set(figures[f"rate {one['subject']}"])
                    assert {one["spread_text"]} == set(figures[f"interval {one['subject']}"])
                    failed = f"{one['failures']:,} of {one['trials']:,}"
                    assert {failed} == set(figures[f"failed {one['subject']}"])


@every_kind
def test_the_screens_of_the_viewer_add_up(kind: str, folder: Path, viewed: OpenHunt) -> None:
    hunt, seen = loaded(folder), overview(viewed)
    page = pictures(viewed, {})
    assert page["all"] == sum(seen["counts"].values()) == hunt.trials
    verdicts = {name: number for name, number in seen["counts"].items() if number}
    assert dict(page["facets"]["verdict"]) == verdicts
    drawn_for = dict(page["facets"]["stream"])
    if kind == "vlm":  # there keys do not tell, and the hunt does
        assert drawn_for == Counter(hunt.found.purposes.values())
    else:
        purposes = [one for one in hunt.purposes() if one.purpose and one.valid + one.invalid]
        assert all(drawn_for[one.purpose] == one.valid + one.invalid for one in purposes)
    assert seen["found"]["findings"] == len(hunt.findings)
    assert seen["found"]["suspects"] == len(hunt.suspects)
    heat = failure_map(viewed, {})["heat"]
    if heat is not None:
        tried = heat["cells"][0][0]
        of_search = hunt.seen_rate()
        assert (tried["failures"], tried["trials"]) == (of_search.failures, of_search.of)


def test_what_holds_for_the_whole_space_is_one_number(demo: Callable[[str], DemoRun]) -> None:
    folder = demo("t2i").folder
    texts = Texts(folder / "report" / "index.html").texts
    with Library([folder]) as library:
        hunt = library.hunt(folder.name, 1)
        hunt.loaded(wait=600)
        whole = failure_map(hunt, {})["whole"]
        assert overview(hunt)["found"]["whole"] == whole
    assert whole["rate_text"] in texts
    assert whole["spread_text"] in texts
