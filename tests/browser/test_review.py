"""Ten checks labelled by keyboard alone; the atlas has them, and the numbers move."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.browser.conftest import KINDS

pytestmark = pytest.mark.xdist_group("browser")


@pytest.mark.parametrize("kind", KINDS)
def test_ten_labels_by_keyboard(open_page, viewer, atlases, kind) -> None:
    page = open_page(viewer, f"/{kind}/1/review")
    page.locator(".name input").wait_for()
    page.keyboard.type("Ada")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Begin the review").wait_for()
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")
    page.locator(".statement").wait_for()
    body = page.locator("main").inner_text()
    assert "judge said" not in body
    for key in "yynyuyynyn":
        page.keyboard.press(key)
        page.wait_for_timeout(150)
    page.get_by_text("Ada: 10 of").wait_for()
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
    page.locator(".statement").wait_for()
    assert page.locator(".statement").inner_text() == statement, "it goes on where it was"


def labels(folder) -> int:
    with closing(sqlite3.connect(f"file:{folder / 'atlas.db'}?mode=ro", uri=True)) as db:
        return db.execute("SELECT count(*) FROM review_labels").fetchone()[0]
