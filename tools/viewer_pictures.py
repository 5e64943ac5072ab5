"""Takes the pictures of docs/viewer.md from two demos: `python -m tools.viewer_pictures T2I CLASSIFIER`.

Starts a viewer of its own, drives Chromium through the screens, and writes docs/img/viewer-*.png.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

GOAL = Path(__file__).parents[1] / "docs" / "img"
WIDTH, HEIGHT = 1280, 860
#: Milliseconds: the first screen waits for the hunt to be read.
PATIENCE = 180_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("t2i", type=Path)
    options.add_argument("classifier", type=Path)
    chosen = options.parse_args()
    command = [sys.executable, "-m", "failscape", "view", str(chosen.t2i), str(chosen.classifier)]
    viewer = subprocess.Popen([*command, "--port", "0", "--no-browser"], stdout=subprocess.PIPE, text=True)
    try:
        assert viewer.stdout is not None
        take_all(
            viewer.stdout.readline().strip(), chosen.t2i.resolve().name, chosen.classifier.resolve().name
        )
    finally:
        viewer.terminate()
        viewer.wait(20)


def take_all(address: str, t2i: str, classifier: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        base = address.partition("/?")[0]
        for name, path in (
            ("overview", f"/{t2i}/1/overview"),
            ("findings", f"/{t2i}/1/findings?text=penguin"),
            ("pictures", f"/{t2i}/1/pictures?verdict=fail"),
            ("map", f"/{classifier}/1/map"),
            ("runs", f"/{t2i}/1/runs"),
        ):
            page.goto(base + path)
            take(page, name)
        page.goto(f"{base}/{classifier}/1/findings")
        settle(page)
        page.locator(".line a").first.click()
        take(page, "finding")
        page.goto(f"{base}/{t2i}/1/review?reviewer=Ada")
        settle(page)
        if page.get_by_role("button", name="Begin the review").count():
            page.get_by_role("button", name="Begin the review").click()
        page.locator(".statement").wait_for()
        take(page, "review")
        page.set_viewport_size({"width": 400, "height": HEIGHT})
        page.emulate_media(color_scheme="dark")
        page.goto(f"{base}/{t2i}/1/overview")
        take(page, "phone")
        browser.close()


def settle(page: Page) -> None:
    page.locator("main h1").first.wait_for()
    page.locator(".waiting").first.wait_for(state="detached")


def take(page: Page, name: str) -> None:
    settle(page)
    page.wait_for_timeout(1500)
    page.screenshot(path=GOAL / f"viewer-{name}.png")


if __name__ == "__main__":
    main()
