"""The viewer as a web application: addresses, the files of the page, and answers as JSON.

Everything that reads an atlas runs in a thread, so that one slow question does not keep others waiting.
"""

from __future__ import annotations

import asyncio
import json
import mimetypes
import sqlite3
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from aiohttp import web

from failscape.errors import AtlasError, FailscapeError
from failscape.jsonable import finite
from failscape.web.guard import Guard, Handler, add_headers
from failscape.web.library import Library, OpenHunt
from failscape.web.live import Watcher
from failscape.web.screens import compare, failure_map, findings, overview, pictures, review, runs, similar
from failscape.web.thumbnails import SIDES, Thumbnails, whole_picture

LARGEST_REQUEST = 64 * 2**10
FOR_EVER = {"Cache-Control": "private, max-age=31536000, immutable"}
INDEX = "index.html"

Question = Callable[[OpenHunt, Any], Any]

QUESTIONS: dict[str, Question] = {
    "overview": lambda hunt, _: overview.overview(hunt),
    "findings": findings.findings,
    "finding": lambda hunt, query: findings.finding(hunt, query.get("subject", "")),
    "map": failure_map.failure_map,
    "pictures": pictures.pictures,
    "similar": lambda hunt, query: similar.similar(hunt, query.get("image", "")),
    "trial": lambda hunt, query: pictures.trial(hunt, _number(query.get("id", ""))),
    "review": review.review,
    "runs": lambda hunt, _: runs.runs(hunt),
    "costs": lambda hunt, _: runs.costs(hunt),
}
"""What a page may ask about a hunt. `None` as an answer means: not read yet, ask again."""

COMPARE = "compare"
"""The one question that looks at other hunts too."""


def build_app(library: Library, guard: Guard) -> web.Application:
    app = web.Application(middlewares=[guard.check, _explain_errors], client_max_size=LARGEST_REQUEST)
    app.on_response_prepare.append(add_headers)
    handlers, watcher = _Handlers(library), Watcher(library)
    app.router.add_get("/api/library", handlers.library)
    app.router.add_get("/api/news", watcher.follow)
    app.router.add_get("/api/{atlas}/{hunt:\\d+}/{question}", handlers.ask)
    app.router.add_post("/api/{atlas}/{hunt:\\d+}/review/{deed}", handlers.act)
    app.router.add_get("/pictures/{atlas}/{digest}", handlers.picture)
    app.router.add_get("/static/{name:.+}", handlers.static)
    app.router.add_get("/favicon.ico", handlers.icon)
    app.router.add_get("/{screen:.*}", handlers.page)
    app.on_startup.append(watcher.start)
    app.on_shutdown.append(watcher.stop)
    return app


@web.middleware
async def _explain_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except FailscapeError as error:
        return web.json_response({"error": error.message, "fix": error.fix}, status=404)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, sqlite3.Error) as error:
        # A foreign atlas may hold anything; what cannot be read is said and stops nothing else.
        why = f"the atlas holds something that is not understood ({type(error).__name__}: {error})"
        return web.json_response({"error": why[:400], "fix": "failscape doctor ATLAS"}, status=500)


class _Handlers:
    def __init__(self, library: Library) -> None:
        self._library = library
        self._thumbnails = Thumbnails()
        self._files = dict(_page_files(files("failscape.web") / "static"))

    async def library(self, _: web.Request) -> web.Response:
        return _answer(await asyncio.to_thread(overview.library_data, self._library))

    async def ask(self, request: web.Request) -> web.Response:
        name = request.match_info["question"]
        question: Question | None = QUESTIONS.get(name)
        if name == COMPARE:
            question = partial(compare.compare, self._library)
        if question is None:
            raise web.HTTPNotFound(text="no such question")
        hunt = self._library.hunt(request.match_info["atlas"], int(request.match_info["hunt"]))
        found = await asyncio.to_thread(question, hunt, request.query)
        if found is None and hunt.problem is not None:
            raise hunt.problem
        return _answer({"reading": hunt.telling}, 202) if found is None else _answer(found)

    async def act(self, request: web.Request) -> web.Response:
        """The one way to write: what a reviewer says."""
        deed = request.match_info["deed"]
        try:
            told = await request.json()
        except ValueError:
            raise web.HTTPBadRequest(text="not JSON") from None
        if deed not in review.DEEDS or not isinstance(told, dict):
            raise web.HTTPNotFound(text="no such deed")
        hunt = self._library.hunt(request.match_info["atlas"], int(request.match_info["hunt"]))
        return _answer(await asyncio.to_thread(review.act, hunt, deed, told))

    async def picture(self, request: web.Request) -> web.Response:
        slug, digest = request.match_info["atlas"], request.match_info["digest"]
        atlas, side = self._library.atlas(slug), request.query.get("side", "")
        try:
            if side:
                wanted = next((one for one in SIDES if str(one) == side), SIDES[0])
                data = await asyncio.to_thread(self._thumbnails.get, slug, atlas, digest, wanted)
                kind = "image/webp"
            else:
                data, kind = await asyncio.to_thread(whole_picture, atlas, digest)
        except AtlasError:
            return web.Response(status=204)  # not kept, which is no fault: the page shows an empty frame
        return web.Response(body=data, content_type=kind, headers=FOR_EVER)

    async def static(self, request: web.Request) -> web.Response:
        found = self._files.get(request.match_info["name"])
        if found is None:
            raise web.HTTPNotFound(text="no such file")
        return web.Response(body=found[0], content_type=found[1], charset="utf-8")

    async def icon(self, _: web.Request) -> web.Response:
        data, kind = self._files["icon.svg"]
        return web.Response(body=data, content_type=kind)

    async def page(self, _: web.Request) -> web.Response:
        """The same page for all screens: it reads from its address what to show."""
        data, kind = self._files[INDEX]
        return web.Response(body=data, content_type=kind, charset="utf-8")


def _page_files(folder: Traversable, path: str = "") -> list[tuple[str, tuple[bytes, str]]]:
    """All files of the page, in memory: no request ever names a file on the disk."""
    found = []
    for entry in folder.iterdir():
        name = f"{path}{entry.name}"
        if entry.is_dir():
            found += _page_files(entry, f"{name}/")
        else:
            kind = "text/javascript" if name.endswith(".js") else mimetypes.guess_type(name)[0]
            found.append((name, (entry.read_bytes(), kind or "text/plain")))
    return found


def _answer(data: Any, status: int = 200) -> web.Response:
    text = json.dumps(finite(data), ensure_ascii=False, separators=(",", ":"))
    return web.Response(text=text, status=status, content_type="application/json")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
