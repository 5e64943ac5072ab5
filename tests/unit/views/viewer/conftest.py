"""A made atlas and a viewer over it, asked without a browser."""

from __future__ import annotations

import pytest
from aiohttp.test_utils import TestClient, TestServer
from benchmarks.made_atlas import make_atlas

from failscape.views.viewer.library import Library
from failscape.views.viewer.server import TOKEN, Guard, build_app

TRIALS = 1200


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    """Read it only."""
    folder = tmp_path_factory.mktemp("viewer") / "atlas"
    make_atlas(folder, TRIALS)
    return folder


@pytest.fixture
def library(folder):
    with Library([folder]) as opened:
        yield opened


@pytest.fixture
async def client(library):
    """A browser that was let in."""
    guard = Guard()
    async with TestClient(TestServer(build_app(library, guard))) as browser:
        reply = await browser.get("/", params={TOKEN: guard.token})
        assert reply.status == 200
        yield browser
