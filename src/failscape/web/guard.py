"""Who may ask the viewer, and what a page from it may do.

The address that is printed carries a token; the browser keeps it as a cookie of this site alone. Names are
checked too: a page that makes its own name point at this machine (DNS rebinding) names itself as `Host`.
"""

import hmac
import ipaddress
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from aiohttp import web

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
        name = urlsplit(f"//{host}").hostname or ""
        if name == "localhost":
            return True
        try:
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
        if origin is not None and urlsplit(origin).netloc != request.host:
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
            return self._let_in(request)
        refusal = self.refusal(request)
        return web.Response(status=403, text=refusal) if refusal else await handler(request)

    def _let_in(self, request: web.Request) -> web.Response:
        left = {name: value for name, value in request.query.items() if name != TOKEN}
        answer = web.Response(status=303, headers={"Location": str(request.rel_url.with_query(left))})
        answer.set_cookie(cookie_name(request), self.token, httponly=True, samesite="Strict", path="/")
        return answer


def cookie_name(request: web.Request) -> str:
    """Browsers keep one set of cookies per host, whatever the port: two viewers must not share a name."""
    return f"failscape-{urlsplit(f'//{request.host}').port or 80}"


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
    response.headers.setdefault("Cache-Control", "no-store")
