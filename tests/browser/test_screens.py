"""Every screen as a person meets it: opened, clicked, filtered, reloaded, small, dark, by keyboard."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import KINDS, SCREENS, settled

pytestmark = pytest.mark.xdist_group("browser")


@pytest.mark.parametrize("kind", KINDS)
def test_every_screen_opens_at_both_widths_and_in_both_lights(open_page, viewer, kind) -> None:
    for width, scheme in ((1280, "light"), (400, "dark")):
        page = open_page(viewer, f"/{kind}/1/overview", width, scheme)
        for screen in SCREENS:
            page.locator(f"nav a[href$='/{screen}']").click()
            settled(page)
            assert page.url.endswith(f"/{kind}/1/{screen}")
            assert page.locator("nav a[aria-current=page]").count() == 1
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (screen, width)


def test_the_first_screen_says_what_fails_and_shows_it(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/t2i/1/overview"))
    assert "toy-painter" in page.locator("h1").inner_text()
    page.locator(".card").first.wait_for()
    assert "How sure" in page.locator(".lede").first.inner_text()
    page.locator(".card a").first.click()
    settled(page)
    assert "/finding?" in page.url
    assert page.locator(".strip .shot").count() > 0


def test_findings_are_searched_filtered_sorted_and_linked(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/t2i/1/findings"))
    status = page.locator("p[role=status]")
    total = int(re.search(r"[\d,]+", status.inner_text())[0].replace(",", ""))
    assert total > 3
    name = page.locator(".line .title b").first.inner_text().split(":")[0]
    page.get_by_label("Search findings").type(name)
    page.wait_for_url("**text=**")
    page.wait_for_timeout(600)
    assert all(name.lower() in row.lower() for row in page.locator(".line").all_inner_texts())
    link = page.url
    page.reload()
    settled(page)
    assert page.url == link
    assert page.get_by_label("Search findings").input_value() == name
    page.get_by_role("link", name="Clear").click()
    page.wait_for_timeout(600)
    assert str(total) in status.inner_text()
    page.get_by_label("Sort").select_option("title")
    page.wait_for_timeout(600)
    names = page.locator(".line .title b").all_inner_texts()
    assert names == sorted(names)


def test_a_finding_opens_its_pictures_and_copies_itself(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/t2i/1/findings", permissions=["clipboard-read", "clipboard-write"]))
    page.locator(".line a").first.click()
    settled(page)
    page.locator(".strip .shot").first.click()
    assert page.locator(".opened .said dt").first.inner_text() == "prompt"
    page.get_by_role("button", name="Copy prompt").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert "image" in page.evaluate("navigator.clipboard.readText()").lower()
    page.get_by_role("link", name="In the grid").click()
    settled(page)
    page.locator(".cell").first.wait_for()


def test_pictures_are_filtered_and_one_is_opened_and_closed_by_keyboard(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/classifier/1/pictures"))
    page.locator("select[data-facet=verdict]").select_option("fail")
    page.wait_for_url("**verdict=fail**")
    page.wait_for_timeout(600)
    assert set(page.locator(".cell .verdict .unseen").all_inner_texts()) == {"failed"}
    page.locator(".cell a").first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    assert "What the models replied" in page.get_by_role("dialog").inner_text()
    link = page.url
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.goto(link)
    page.get_by_role("dialog").wait_for()


def test_the_map_opens_and_narrows(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/t2i/1/map"))
    page.locator(".heat thead th a").first.click()
    page.wait_for_url("**class=**")
    settled(page)
    page.locator(".heat tbody th a").first.click()
    page.wait_for_url("**kind=**")
    settled(page)
    page.locator(".heat tbody td a").first.click()
    page.wait_for_timeout(500)
    page.go_back()
    settled(page)
    assert "kind=" in page.url
    for kind, what in (("classifier", ".confusions td"), ("vlm", ".rings .sector")):
        settled(open_page(viewer, f"/{kind}/1/map")).locator(what).first.wait_for()


def test_the_keyboard_reaches_everything_and_shows_where_it_is(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/t2i/1/overview"))
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        outline = page.evaluate(
            "(() => { const one = document.activeElement, style = getComputedStyle(one);"
            " return [one.tagName, one.innerText, style.outlineStyle, parseFloat(style.outlineWidth)]; })()"
        )
        seen.append(outline)
    assert all(style != "none" and width >= 2 for _, _, style, width in seen), seen
    assert [name for _, name, _, _ in seen if name == "Findings"]


def test_verdicts_are_told_apart_without_colour(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/t2i/1/pictures"))
    signs = set(page.locator(".cell .verdict i").all_inner_texts())
    assert signs <= {"✗", "✓", "?", "·"}
    assert len(signs) > 1


def test_a_stranger_without_the_token_sees_nothing(chromium, viewer) -> None:
    page = chromium.new_page()
    reply = page.goto(f"{viewer.base}/t2i/1/overview")
    assert reply.status == 403
    assert "failscape view" in page.locator("body").inner_text()
    page.close()
