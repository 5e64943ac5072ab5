"""The page that is shared, on a phone and on a screen: short until something is opened, never too wide."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from failscape.atlas import Atlas
from failscape.views.pages.page import write_report
from tests.browser.conftest import FIXTURES, KINDS

pytestmark = pytest.mark.xdist_group("browser")

#: Pixels before anything is opened: on a screen, and on a phone, where columns stand below each other.
LONGEST = {1440: 4_000, 390: 6_000}
MOST_IN_MENU = 6

WIDTH = "document.documentElement.scrollWidth"
HEIGHT = "document.documentElement.scrollHeight"
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


@pytest.fixture(scope="module", params=KINDS)
def report(request, tmp_path_factory) -> Path:
    """The page of a small hunt of each kind."""
    home = tmp_path_factory.mktemp("report")
    folder = Path(shutil.copytree(FIXTURES / request.param, home / request.param))
    with Atlas.open(folder, readonly=True) as atlas:
        return write_report(atlas, home / "page").path


@pytest.mark.parametrize("width", LONGEST)
def test_the_page_is_short_and_fits_its_screen_also_when_opened(chromium, report, width) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.goto(report.as_uri())
    assert page.evaluate(HEIGHT) <= LONGEST[width]
    assert page.evaluate(WIDTH) <= width
    folded = page.evaluate(HEIGHT)
    page.evaluate(OPEN_ALL)
    assert page.evaluate(HEIGHT) > folded
    assert page.evaluate(WIDTH) <= width
    page.close()


def test_each_word_of_the_menu_opens_its_part(chromium, report) -> None:
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    page.goto(report.as_uri())
    words = page.locator("nav.top a")
    assert 2 <= words.count() <= MOST_IN_MENU
    for word in words.all():
        word.click()
        part = page.locator(word.get_attribute("href"))
        part.locator(":scope > details[open], :scope > table, :scope > .scroll").first.wait_for()
    page.close()


def test_a_link_to_a_finding_opens_its_card_in_the_folded_pictures(chromium, report) -> None:
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    page.goto(report.as_uri())
    assert not page.locator("#finding-1").is_visible()
    page.locator("table a[href='#finding-1']").click()
    page.locator("#finding-1[open] .matrix").wait_for()
    page.close()


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_a_demo_fits_a_phone(chromium, demo, kind) -> None:
    page = chromium.new_page(viewport={"width": 390, "height": 900})
    page.goto((demo(kind).folder / "report" / "index.html").as_uri())
    assert page.evaluate(WIDTH) <= 390
    assert page.evaluate(HEIGHT) <= LONGEST[390]
    page.set_viewport_size({"width": 1440, "height": 900})
    assert page.evaluate(WIDTH) <= 1440
    assert page.evaluate(HEIGHT) <= LONGEST[1440]
    page.close()
