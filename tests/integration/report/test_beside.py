"""Several models of one atlas are in its report: statuses, the trend, and a page of their own beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import failscape
from failscape.atlas import Atlas
from failscape.views.pages import write_report
from tests.integration.runs.test_compare import settings


def run(folder: Path, **changed: Any) -> None:
    config = {**settings("strong"), "budget": {"images": 60}, **changed}
    failscape.run(config, folder, fork=True, on_note=lambda kind, text: None)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three checkpoints of a model, each worse than the last, hunted in one atlas."""
    folder = tmp_path_factory.mktemp("beside") / "atlas"
    for regime in ("strong", "medium", "weak"):
        target = {**settings(regime)["target"], "model": regime}
        run(folder, target=target)
    return folder


def test_the_report_shows_the_trend_and_leads_to_the_comparison(three: Path, tmp_path: Path) -> None:
    with Atlas.open(three, readonly=True) as atlas:
        page = write_report(atlas, tmp_path).path.read_text()
    assert '<section id="beside">' in page
    assert '<a href="#beside">Compare</a>' in page
    section = page[page.index('id="beside"') :]
    section = section[: section.index("</section>")]
    models = re.findall(r'<td class="text">([^<]*)</td>', section)
    assert models == ["strong", "medium", "weak"]
    assert "weak against strong" in section
    beside = (tmp_path / "comparison" / "index.html").read_text()
    assert 'href="comparison/index.html"' in section
    assert '<section id="trend">' in beside
    assert "strong → medium → weak" in beside
    assert re.search(r'data-name="trend">\d+/\d+ → \d+/\d+ → \d+/\d+<', beside)


def test_one_file_has_the_section_and_no_link(three: Path, tmp_path: Path) -> None:
    with Atlas.open(three, readonly=True) as atlas:
        page = write_report(atlas, tmp_path, single_file=True).path.read_text()
    assert '<section id="beside">' in page
    assert "comparison/index.html" not in page
    assert not (tmp_path / "comparison").exists()


def test_a_single_model_and_models_that_do_not_compare_have_no_section(tmp_path: Path) -> None:
    for more in ({}, {"search": {"threshold": 0.6}}):
        run(tmp_path / "atlas", **more)
        with Atlas.open(tmp_path / "atlas", readonly=True) as atlas:
            page = write_report(atlas, tmp_path / "page").path.read_text()
        assert 'id="beside"' not in page
