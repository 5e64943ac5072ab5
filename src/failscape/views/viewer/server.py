"""The viewer as a web application: who may ask it, addresses, the files of the page, JSON answers, and news.

The address that is printed carries a token; the browser keeps it as a cookie of this site alone. Names are
checked too: a page that makes its own name point at this machine (DNS rebinding) names itself as `Host`.

Everything that reads an atlas runs in a thread, so that one slow question does not keep others waiting. One
watcher tells all open pages that an atlas has grown (server-sent events): it asks for totals, which cost no
scan; pages ask for what they show by themselves.
"""

import asyncio
import contextlib
import hmac
import ipaddress
import json
import mimetypes
import secrets
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from failscape.atlas.judging import REVIEWS_SINCE
from failscape.errors import AtlasError, FailscapeError
from failscape.jsonable import finite
from failscape.views.pages.sections import PALETTE
from failscape.views.thumbnails import VIEWER_SIDES
from failscape.views.viewer.library import Library, OpenHunt
from failscape.views.viewer.screens import compare, findings, overview, pictures, review
from failscape.views.viewer.screens.pictures import Thumbnails, whole_picture

#: Name of the query parameter that brings the token once; it is taken out of the address at once.
TOKEN = "token"

#: Nothing inline runs and nothing foreign loads, whatever an atlas holds.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

CLOSED = "Open the address that `failscape view` printed in the terminal: it carries a token.\n"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Guard:
    """`any_address`: the server listens beyond this machine, so addresses by number are allowed too.

    Names other than `localhost` never are: a foreign page can own a name, but not a number.
    """

    any_address: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    def knows_host(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
            if name == "localhost":
                return True
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return self.any_address or address.is_loopback

    def opens(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.token.encode())

    def refusal(self, request: web.Request) -> str:
        """Why a request is not answered; "" when it is."""
        if not self.knows_host(request.host):
            return f"This viewer does not answer to the name {request.host!r}.\n"
        origin = request.headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != request.host:
            return "This viewer does not answer other sites.\n"
        if request.method not in ("GET", "HEAD", "POST"):
            return "Only GET and POST are understood.\n"
        if request.method == "POST" and (origin is None or request.content_type != "application/json"):
            return "Labels come from the viewer's own page only.\n"
        return "" if self.opens(request.cookies.get(cookie_name(request), "")) else CLOSED

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        token = request.query.get(TOKEN, "")
        if token and request.method == "GET" and self.knows_host(request.host) and self.opens(token):
            left = {name: value for name, value in request.query.items() if name != TOKEN}
            answer = web.Response(status=303, headers={"Location": str(request.rel_url.with_query(left))})
            answer.set_cookie(cookie_name(request), self.token, httponly=True, samesite="Strict", path="/")
            return answer
        refusal = self.refusal(request)
        return web.Response(status=403, text=refusal) if refusal else await handler(request)


def cookie_name(request: web.Request) -> str:
    """Browsers keep one set of cookies per host, whatever the port: two viewers must not share a name."""
    return f"failscape-{urlsplit(f'//{request.host}').port or 80}"


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
    response.headers.setdefault("Cache-Control", "no-store")


EVERY = 1.0
#: Pages that are told of news at the same time; each holds a connection open.
MOST_PAGES = 64

#: After so many seconds without news a comment is sent, so that a page that has gone is noticed.
QUIET = 20.0


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
            ask = self._library.atlas(slug).query
            state = [
                *ask("SELECT hunt, last_trial, images, requests FROM totals"),
                *ask("SELECT max(id) FROM events"),
                *ask("SELECT count(*), max(at) FROM review_labels", since=REVIEWS_SINCE),
            ]
        except FailscapeError:
            return self._seen.get(slug)
        return state, [hunt.readings for hunt in self._library.open_hunts(slug)]

    def _tell(self, news: dict[str, Any]) -> None:
        for page in self._pages:
            page.put_nowait(f"data: {json.dumps(news)}\n\n")


async def _next(page: asyncio.Queue[str]) -> str:
    try:
        return await asyncio.wait_for(page.get(), QUIET)
    except TimeoutError:
        return ": still here\n\n"


LARGEST_REQUEST = 64 * 2**10
FOR_EVER = {"Cache-Control": "private, max-age=31536000, immutable"}
INDEX = "index.html"

Question = Callable[[OpenHunt, Any], Any]

#: What a page may ask about a hunt. `None` as an answer means: not read yet, ask again.
QUESTIONS: dict[str, Question] = {
    "overview": lambda hunt, _: overview.overview(hunt),
    "findings": findings.findings,
    "finding": lambda hunt, query: findings.finding(hunt, query.get("subject", "")),
    "map": findings.failure_map,
    "pictures": pictures.pictures,
    "similar": lambda hunt, query: pictures.similar(hunt, query.get("image", "")),
    "trial": lambda hunt, query: pictures.trial(hunt, _number(query.get("id", ""))),
    "review": review.review,
    "runs": lambda hunt, _: overview.runs(hunt),
    "costs": lambda hunt, _: overview.costs(hunt),
}

#: The one question that looks at other hunts too.
COMPARE = "compare"


def build_app(library: Library, guard: Guard) -> web.Application:
    app = web.Application(middlewares=[guard.check, _explain_errors], client_max_size=LARGEST_REQUEST)
    app.on_response_prepare.append(add_headers)
    handlers, watcher = _Handlers(library), Watcher(library)
    app.add_routes(
        [
            web.get("/api/library", handlers.library),
            web.get("/api/news", watcher.follow),
            web.get("/api/{atlas}/{hunt:\\d+}/{question}", handlers.ask),
            web.post("/api/{atlas}/{hunt:\\d+}/review/{deed}", handlers.act),
            web.get("/pictures/{atlas}/{digest}", handlers.picture),
            web.get("/static/{name:.+}", handlers.static),
            web.get("/favicon.ico", handlers.icon),
            web.get("/{screen:.*}", handlers.page),
        ]
    )
    app.on_startup.append(watcher.start)
    app.on_shutdown.append(watcher.stop)
    return app


#: What reading may end in, when rows or queries are of another form than ours.
_NOT_UNDERSTOOD = (
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    sqlite3.Error,
)


@web.middleware
async def _explain_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except FailscapeError as error:
        return web.json_response({"error": error.message, "fix": error.fix}, status=404)
    except _NOT_UNDERSTOOD as error:
        # A foreign atlas may hold anything; what cannot be read is said and stops nothing else.
        why = f"the atlas holds something that is not understood ({type(error).__name__}: {error})"
        return web.json_response({"error": why[:400], "fix": "failscape doctor ATLAS"}, status=500)


class _Handlers:
    def __init__(self, library: Library) -> None:
        self._library = library
        self._thumbnails = Thumbnails()
        self._files = dict(_page_files(files("failscape.views.viewer") / "static"))
        palette = files("failscape.views") / PALETTE
        self._files[PALETTE] = palette.read_bytes(), "text/css"

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
                wanted = next((one for one in VIEWER_SIDES if str(one) == side), VIEWER_SIDES[0])
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
