"""The page that is shared, on a phone and on a screen: nothing runs off its side, and it has an end."""

from __future__ import annotations

import pytest

from tests.browser.conftest import KINDS

pytestmark = pytest.mark.xdist_group("browser")
LONGEST = 16_000
"""Pixels on a phone; the pages of whole demos are no longer than those of these small ones by much: lists
are cut and cards are folded, whatever was found."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_a_demo_fits_a_phone_and_ends(chromium, demo, kind) -> None:
    page = chromium.new_page(viewport={"width": 400, "height": 900})
    page.goto((demo(kind).folder / "report" / "index.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate("document.documentElement.scrollHeight") < LONGEST
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.close()
