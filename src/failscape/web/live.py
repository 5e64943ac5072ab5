"""Tells open pages that an atlas has grown: a stream of server-sent events, one watcher for all pages.

The watcher asks each atlas for its totals, which cost no scan; pages ask for what they show by themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from aiohttp import web

from failscape.errors import FailscapeError
from failscape.web.library import Library

EVERY = 1.0
MOST_PAGES = 64
"""Pages that are told of news at the same time; each holds a connection open."""

QUIET = 20.0
"""After so many seconds without news a comment is sent, so that a page that has gone is noticed."""


class Watcher:
    """`follow` is the handler of one page."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._pages: set[asyncio.Queue[str]] = set()
        self._seen: dict[str, Any] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self, _: web.Application) -> None:
        self._task = asyncio.create_task(self._watch())

    async def stop(self, _: web.Application) -> None:
        for page in self._pages:
            page.put_nowait("")
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def follow(self, request: web.Request) -> web.StreamResponse:
        if len(self._pages) >= MOST_PAGES:
            raise web.HTTPServiceUnavailable(text="too many pages are open")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        page: asyncio.Queue[str] = asyncio.Queue()
        self._pages.add(page)
        try:
            await response.prepare(request)
            await response.write(b"retry: 2000\n\n")
            while message := await _next(page):
                await response.write(message.encode())
        except ConnectionError:
            pass  # the page was closed
        finally:
            self._pages.discard(page)
        return response

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            for slug in self._library.atlases if self._pages else ():
                now = await asyncio.to_thread(self._state, slug)
                if now != self._seen.get(slug):  # the first look too: it may have grown since a page asked
                    self._seen[slug] = now
                    self._tell({"atlas": slug})

    def _state(self, slug: str) -> Any:
        """What changes when trials are recorded, sessions start or end, or labels are given."""
        try:
            with self._library.atlas(slug).reading() as db:
                totals = db.execute("SELECT hunt, last_trial, images, requests FROM totals").fetchall()
                events = db.execute("SELECT max(id) FROM events").fetchone()
                reviews = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'review_labels'").fetchone()
                said = reviews and db.execute("SELECT count(*), max(at) FROM review_labels").fetchone()
        except FailscapeError:
            return self._seen.get(slug)
        reads = tuple(hunt.readings for hunt in self._library.open_hunts(slug))
        return totals, events, said, reads

    def _tell(self, news: dict[str, Any]) -> None:
        for page in self._pages:
            page.put_nowait(f"data: {json.dumps(news)}\n\n")


async def _next(page: asyncio.Queue[str]) -> str:
    try:
        return await asyncio.wait_for(page.get(), QUIET)
    except TimeoutError:
        return ": still here\n\n"
