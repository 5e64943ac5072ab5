"""A viewer over small hunts of all three kinds, and Debian's Chromium driven by Playwright.

Without the browser these tests are skipped with the reason; where `CI` is set they fail instead.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from failscape.views.viewer.library import Library
from failscape.views.viewer.server import TOKEN, Guard, build_app

try:
    from playwright.sync_api import expect, sync_playwright
except ImportError:
    expect = sync_playwright = None

FIXTURES = Path(__file__).parents[1] / "golden" / "fixtures"
KINDS = ("t2i", "classifier", "vlm")
SCREENS = ("overview", "map", "findings", "pictures", "compare", "review", "runs")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
SLOW = 120_000
"""Milliseconds to wait for what needs a hunt read, on a busy machine; only what never comes takes so long."""

ALL_FAILED = """() => {
  const told = [...document.querySelectorAll(".cell .verdict .unseen")].map((one) => one.textContent);
  return told.length > 0 && told.every((word) => word === "failed");
}"""
"""What a grid says once all its cells are failures."""


def missing(what: str) -> None:
    fix = "apt-get install chromium; pip install 'failscape[dev]'"
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing: {fix}")
    pytest.skip(f"{what} is missing: {fix}")


@pytest.fixture
def chromium():
    """For each test anew: an open Playwright keeps a loop running, where other tests want to start theirs."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        missing("Chromium")
    if sync_playwright is None:
        missing("playwright")
    expect.set_options(timeout=SLOW)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        yield browser
        browser.close()


class Viewer:
    """`address` is what the command prints; `base` the same without the token."""

    def __init__(self, base: str, token: str) -> None:
        self.base = base
        self.address = f"{base}/?{TOKEN}={token}"


@contextmanager
def viewer_of(folders: list[Path]) -> Iterator[Viewer]:
    """A real server on a free port, in a thread of its own."""
    guard, loop, ready = Guard(), asyncio.new_event_loop(), threading.Event()
    ports: list[int] = []
    with Library(folders) as library:

        async def start() -> web.AppRunner:
            runner = web.AppRunner(build_app(library, guard), shutdown_timeout=0.5)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            ports.append(runner.addresses[0][1])
            return runner

        runners: list[web.AppRunner] = []

        def serve() -> None:
            asyncio.set_event_loop(loop)
            runners.append(loop.run_until_complete(start()))
            ready.set()
            loop.run_forever()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        assert ready.wait(120)
        try:
            yield Viewer(f"http://127.0.0.1:{ports[0]}", guard.token)
        finally:
            asyncio.run_coroutine_threadsafe(runners[0].cleanup(), loop).result(120)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(120)


@pytest.fixture(scope="session")
def atlases(tmp_path_factory) -> list[Path]:
    """Copies of small hunts with the models of the demos."""
    home = tmp_path_factory.mktemp("atlases")
    return [Path(shutil.copytree(FIXTURES / kind, home / kind)) for kind in KINDS]


@pytest.fixture(scope="session")
def viewer(atlases) -> Iterator[Viewer]:
    with viewer_of(atlases) as running:
        yield running


@pytest.fixture
def open_page(chromium):
    """Opens pages that may not complain: an error in the console, or of a script, fails the test."""
    complaints: list[str] = []
    contexts = []

    def open_one(viewer: Viewer, path: str = "/", width: int = 1280, scheme: str = "light", **more):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce", **more
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(SLOW)
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(viewer.address)
        page.goto(viewer.base + path)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not complaints, complaints


def settled(page, screen: str = ""):
    """The page, once it has been read; `screen` is the one that a click led to."""
    if screen:
        page.locator(f"nav a[href$='/{screen}'][aria-current=page]").wait_for()
    page.locator("main h1").first.wait_for()
    page.locator(".waiting").first.wait_for(state="detached")
    return page
