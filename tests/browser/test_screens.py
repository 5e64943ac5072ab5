"""Every screen as a person meets it: opened, clicked, filtered, reloaded, small, dark, by keyboard."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

import pytest

from tests.browser.conftest import ALL_FAILED, KINDS, SCREENS, expect, settled

pytestmark = pytest.mark.xdist_group("browser")

EVERY_LINE_HAS = """(name) => {
  const rows = [...document.querySelectorAll(".line")];
  return rows.length > 0 && rows.every((row) => row.innerText.toLowerCase().includes(name));
}"""
LINES_ARE_SORTED = """() => {
  const names = [...document.querySelectorAll(".line .title b")].map((one) => one.innerText);
  return names.length > 3 && names.every((name, at) => !at || names[at - 1] <= name);
}"""
PICTURES_END_ABOVE_TITLES = """() => [...document.querySelectorAll(".card")].every((card) => {
  const title = card.querySelector("a > b").getBoundingClientRect().top;
  return [...card.querySelectorAll(".pair *")].every((one) => one.getBoundingClientRect().bottom <= title);
})"""
SIGNS_DIFFER = """() =>
  new Set([...document.querySelectorAll(".cell .verdict i")].map((one) => one.innerText)).size > 1"""

#: An answer that is broken off while its body is read, as when the page has asked anew.
BROKEN_OFF = """async () => {
  const { fetchJson } = await import("/static/js/base.js");
  const body = () => Promise.reject(new DOMException("broken off", "AbortError"));
  window.fetch = async () => ({ ok: true, status: 200, json: body });
  return fetchJson("/api/t2i/1/overview").then(() => "taken for data", (error) => error.name);
}"""


def test_an_answer_that_was_broken_off_is_no_data(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/t2i/1/overview"))
    assert page.evaluate(BROKEN_OFF) == "AbortError"


@pytest.mark.parametrize("kind", KINDS)
def test_every_screen_opens_at_both_widths_and_in_both_lights(open_page, viewer, kind) -> None:
    for width, scheme in ((1280, "light"), (400, "dark")):
        page = open_page(viewer, f"/{kind}/1/overview", width, scheme)
        for screen in SCREENS:
            page.locator(f"nav a[href$='/{screen}']").click()
            settled(page, screen)
            assert page.url.endswith(f"/{kind}/1/{screen}")
            assert page.locator("nav a[aria-current=page]").count() == 1
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (screen, width)


def test_the_first_screen_says_what_fails_and_shows_it(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/t2i/1/overview"))
    expect(page.locator("h1")).to_contain_text("toy-painter")
    page.locator(".card").first.wait_for()
    expect(page.locator(".lede").first).to_contain_text("How sure")
    page.locator(".card a").first.click()
    settled(page, "findings")
    assert "/finding?" in page.url
    page.locator(".strip .shot").first.wait_for()


def test_a_card_about_a_question_shows_question_answer_and_truth(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/vlm/1/overview"))
    card = page.locator(".card").first
    card.wait_for()
    assert card.locator("dt").all_inner_texts() == ["asked", "answered", "right answer"]
    assert "|" not in card.inner_text()


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("kind", KINDS)
def test_the_parts_of_a_card_do_not_overlap(open_page, viewer, kind, width) -> None:
    page = settled(open_page(viewer, f"/{kind}/1/overview", width))
    page.locator(".card").first.wait_for()
    page.wait_for_load_state("networkidle")
    assert page.evaluate(PICTURES_END_ABOVE_TITLES)


def test_findings_are_searched_filtered_sorted_and_linked(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/t2i/1/findings"))
    status = page.locator("p[role=status]")
    whole = status.inner_text()
    assert int(re.search(r"[\d,]+", whole)[0].replace(",", "")) > 3
    name = page.locator(".line .title b").first.inner_text().split(":")[0]
    page.get_by_label("Search findings").type(name)
    page.wait_for_url(re.compile(f"text={re.escape(quote_plus(name))}$"))
    page.wait_for_function(EVERY_LINE_HAS, arg=name.lower())
    link = page.url
    page.reload()
    settled(page)
    assert page.url == link
    expect(page.get_by_label("Search findings")).to_have_value(name)
    page.get_by_role("link", name="Clear").click()
    expect(status).to_have_text(whole)
    page.get_by_label("Sort").select_option("title")
    page.wait_for_function(LINES_ARE_SORTED)


def test_a_finding_opens_its_pictures_and_copies_itself(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/t2i/1/findings", permissions=["clipboard-read", "clipboard-write"]))
    page.locator(".line a").first.click()
    page.locator(".strip .shot").first.click()
    expect(page.locator(".opened .said dt").first).to_have_text("prompt")
    page.get_by_role("button", name="Copy prompt").click()
    page.wait_for_function("() => navigator.clipboard.readText().then((text) => /image/i.test(text))")
    page.get_by_role("link", name="In the grid").click()
    settled(page, "pictures")
    page.locator(".cell").first.wait_for()


def test_pictures_are_filtered_and_one_is_opened_and_closed_by_keyboard(open_page, viewer) -> None:
    page = settled(open_page(viewer, "/classifier/1/pictures"))
    page.locator("select[data-facet=verdict]").select_option("fail")
    page.wait_for_url("**verdict=fail**")
    page.wait_for_function(ALL_FAILED)
    page.locator(".cell a").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("What the models replied")
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
    mapped = page.url
    page.locator(".heat tbody td a").first.click()
    page.wait_for_url(lambda url: url != mapped)
    page.go_back()
    page.wait_for_url(mapped)
    settled(page, "map")
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
    page.wait_for_function(SIGNS_DIFFER)
    assert set(page.locator(".cell .verdict i").all_inner_texts()) <= {"✗", "✓", "?", "·"}


def test_a_stranger_without_the_token_sees_nothing(chromium, viewer) -> None:
    page = chromium.new_page()
    reply = page.goto(f"{viewer.base}/t2i/1/overview")
    assert reply.status == 403
    expect(page.locator("body")).to_contain_text("failscape view")
    page.close()
