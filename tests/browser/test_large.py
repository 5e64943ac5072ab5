"""100,000 trials scroll and filter at once; a run grows while somebody looks; foreign text is inert."""

from __future__ import annotations

import re

import pytest
from benchmarks.made_atlas import grow_atlas, make_atlas

from failscape.atlas import Atlas
from tests.browser.conftest import ALL_FAILED, expect, settled, viewer_of
from tests.unit.atlas.suite import CONFIG, JUDGE, PAINTER, make_recorded

pytestmark = pytest.mark.xdist_group("browser")
TRIALS = 100_000


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large") / "large"
    make_atlas(folder, TRIALS // 20)
    grow_atlas(folder, 20)
    with viewer_of([folder]) as running:
        yield running


def test_a_hundred_thousand_pictures_stay_light(open_page, large) -> None:
    page = settled(open_page(large, "/large/1/pictures"))
    expect(page.locator("p[role=status]")).to_contain_text("100,000 of 100,000")
    for part in (0.25, 0.6, 0.99):
        page.evaluate(f"scrollTo(0, document.body.scrollHeight * {part})")
        page.wait_for_function("() => scrollY > 1000 && !document.querySelector('.cell.loading')")
        assert 0 < page.locator(".cell").count() < 200, "only what is in view is on the page"
    page.evaluate("scrollTo(0, 0)")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.locator("select[data-facet=verdict]").select_option("fail")
    page.wait_for_url("**verdict=fail**")
    page.wait_for_function(ALL_FAILED)
    pages = [url for url in asked if "/pictures?" in url and "many=" in url]
    assert 1 <= len(pages) <= 4, "a filter asks for the pages in view, not for all"


def test_a_run_grows_before_ones_eyes(open_page, tmp_path) -> None:
    folder = tmp_path / "growing"
    with Atlas.open(folder, create=True) as atlas:
        hunt = atlas.start_hunt("t2i", CONFIG, {"target": PAINTER, "judge": JUDGE})
        atlas.begin_run(hunt)
        atlas.record(hunt, [make_recorded(number) for number in range(5)])
        with viewer_of([folder]) as running:
            page = open_page(running, f"/growing/{hunt}/pictures")
            page.get_by_text("5 of 5 trials").wait_for()
            page.get_by_text("live").first.wait_for()
            atlas.record(hunt, [make_recorded(number) for number in range(5, 9)])
            page.get_by_text("9 of 9 trials").wait_for()
            page.locator("nav a[href$='/overview']").click()
            page.get_by_text("Running").first.wait_for()


HOSTILE = '<img src=x onerror="document.title=1"><script>alert(1)</script>"\'; Base: Colour=</title><b>red'


def test_what_an_atlas_says_is_shown_and_never_run(open_page, tmp_path) -> None:
    folder = tmp_path / "hostile"
    with Atlas.open(folder, create=True) as atlas:
        hunt = atlas.start_hunt("t2i", CONFIG, {"target": PAINTER, "judge": JUDGE})
        atlas.record(hunt, [make_recorded(number, HOSTILE, (True, False)) for number in range(4)])
        atlas.log("warning", {"text": HOSTILE, "fix": HOSTILE}, hunt)
    with viewer_of([folder]) as running:
        page = open_page(running, f"/hostile/{hunt}/pictures")
        page.locator(".cell a").first.click()
        expect(page.get_by_role("dialog")).to_contain_text("onerror")
        assert page.locator("main script, main [onerror]").count() == 0
        page.goto(f"{running.base}/hostile/{hunt}/runs")
        page.get_by_text("onerror").first.wait_for()
        expect(page).to_have_title(re.compile("Failscape$"))
