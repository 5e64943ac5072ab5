"""Ten checks labelled by keyboard alone; the atlas has them, and the numbers move."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.browser.conftest import KINDS, expect

pytestmark = pytest.mark.xdist_group("browser")


@pytest.mark.parametrize("kind", KINDS)
def test_ten_labels_by_keyboard(open_page, viewer, atlases, kind) -> None:
    page = open_page(viewer, f"/{kind}/1/review")
    expect(page.locator(".name input")).to_be_focused()
    page.keyboard.type("Ada")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Begin the review")).to_be_focused()
    page.keyboard.press("Enter")
    page.locator(".statement").wait_for()
    expect(page.locator("main")).not_to_contain_text("judge said")
    for number, key in enumerate("yynyuyynyn", 1):
        page.locator(".statement").wait_for()
        page.keyboard.press(key)
        page.get_by_text(f"Ada: {number} of").wait_for()
    page.get_by_text("keeping …").wait_for(state="detached")
    assert labels(atlases[KINDS.index(kind)]) == 10
    page.get_by_text("was right in").wait_for()
    page.keyboard.press("z")
    page.get_by_text("Ada: 9 of").wait_for()
    page.get_by_text("keeping …").wait_for(state="detached")
    assert labels(atlases[KINDS.index(kind)]) == 9
    page.keyboard.press("?")
    page.locator(".help").wait_for()
    statement = page.locator(".statement").inner_text()
    page.reload()
    expect(page.locator(".statement")).to_have_text(statement)  # it goes on where it was


def labels(folder) -> int:
    with closing(sqlite3.connect(f"file:{folder / 'atlas.db'}?mode=ro", uri=True)) as db:
        return db.execute("SELECT count(*) FROM review_labels").fetchone()[0]
