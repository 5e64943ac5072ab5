"""What went wrong with a request, and so what to do next: replies and exceptions become `ModelError`s.

Pure: no network, no clock. Messages never hold a key: `Redactor` blots it out wherever a server echoes it.
"""

import json
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from failscape.errors import BadReply, ModelError, Permanent, RateLimited, Refused, Transient
from failscape.secrets import Blotter

NETWORK_FAULTS = (aiohttp.ClientError, TimeoutError, OSError)

FIXES = {
    403: "use a key that may use this model (`api_key_env`), or ask for access",
    404: "check `model` and `endpoints`: the base URL usually ends in /v1",
    405: "check `endpoints` and `provider`: this URL does not take such requests",
    400: "check `model` and `params`: the endpoint does not take this request",
    422: "check `model` and `params`: the endpoint does not take this request",
}
_RATE_LIMITS = {429, 529}
_PASSING = {408, 409, 425}
_REFUSAL_WORDS = ("content_policy", "content_filter", "moderation", "safety_", "responsibleai")
_ONE_REQUEST_ONLY = {400, 413, 414, 422, 431}


class Redactor(Blotter):
    """Shows text from outside without the key in it. `variable` is the one that holds the key, if any."""

    __slots__ = ("variable",)

    def __init__(self, secret: str = "", variable: str = "") -> None:
        super().__init__(secret)
        self.variable = variable

    def fix_of(self, status: int) -> str:
        """What to do about a status. A missing or wrong key is set in the environment, by its name."""
        if status != 401:
            return FIXES.get(status, FIXES[400])
        if self.variable:
            return f"set the environment variable {self.variable} (`api_key_env`) to a valid key"
        return "export the key, for example as API_KEY=…, and write `api_key_env: API_KEY` beside `endpoints`"

    def excerpt(self, body: bytes, most: int = 300) -> str:
        """The error message inside a JSON body, or the start of the body, on one line."""
        text = _message_in(body) or body[: 4 * most].decode("utf-8", "replace")
        return self.clean(" ".join(text.split()))[:most]


_UNKNOWN_FIELD = re.compile(r"unknown (?:parameter|argument|field)s?:? [`'\"]?(\w+)", re.IGNORECASE)


def shown_url(url: str) -> str:
    """An address as it may be shown: without user, password and query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds to wait, from seconds or an HTTP date; `None` when there is none or it cannot be read."""
    if not value:
        return None
    with suppress(ValueError):
        seconds = float(value)
        return seconds if 0 <= seconds < float("inf") else None

    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())


def classify_status(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    endpoint: str,
    ever_succeeded: bool,
    now: datetime,
    redactor: Redactor,
) -> ModelError:
    """The error for a reply that is not a 2xx.

    400 and 422 from a pool that never succeeded mean wrong settings; once it has succeeded they mean that
    the server does not like this one request.
    """
    said = redactor.excerpt(body)
    message = f"{endpoint} answered {status}: {said}" if said else f"{endpoint} answered {status}"
    wait = parse_retry_after(headers.get("Retry-After"), now)
    if status in _RATE_LIMITS or (status == 503 and wait is not None):
        return RateLimited(message, endpoint, wait)
    if status >= 500 or status in _PASSING:
        return Transient(message, "", endpoint)
    if status in _ONE_REQUEST_ONLY and (ever_succeeded or is_refusal(body)):
        return Refused(message, "", endpoint)
    if 300 <= status < 400:
        return Permanent(message, "put the address it redirects to in `endpoints`", endpoint)
    # Servers that refuse a field name it: "Unknown parameter: 'response_format'.".
    if field := _UNKNOWN_FIELD.search(said):
        return Permanent(message, f"leave the field out with `params: {{{field[1]}: null}}`", endpoint)
    return Permanent(message, redactor.fix_of(status), endpoint)


def classify_exception(
    error: BaseException, endpoint: str, ever_succeeded: bool, redactor: Redactor
) -> ModelError:
    """The error for a request that got no whole reply."""
    what = redactor.clean(" ".join(str(error).split()))[:300] or type(error).__name__
    unknown = isinstance(error, aiohttp.ClientConnectorDNSError) and error.os_error.errno == socket.EAI_NONAME
    if unknown and not ever_succeeded:
        return Permanent(f"{endpoint}: there is no such host", "check the host name in `endpoints`", endpoint)
    _, fault, told, fix = next(row for row in _NETWORK if isinstance(error, row[0]))
    return fault(f"{endpoint} {told.format(what)}", fix, endpoint)


#: The first that fits says what a fault of the network means.
_NETWORK: tuple[tuple[Any, type[ModelError], str, str], ...] = (
    (TimeoutError, Transient, "did not answer in time", "raise `timeout` if it is just slow"),
    (aiohttp.ClientPayloadError, BadReply, "broke off in the middle of its reply", ""),
    (aiohttp.ClientSSLError, Permanent, "cannot be trusted: {}", "mend its certificate"),
    (aiohttp.ClientConnectorError, Transient, "cannot be reached: {}", "start the server there"),
    ((aiohttp.ClientResponseError, aiohttp.InvalidURL), BadReply, "did not answer in HTTP: {}", ""),
    (BaseException, Transient, "dropped the connection: {}", ""),
)


def is_congestion(error: ModelError) -> bool:
    """Whether the endpoint has more on its hands than it can do."""
    return isinstance(error, RateLimited) or isinstance(error.__cause__, TimeoutError)


def is_refusal(body: bytes) -> bool:
    """OpenAI, Azure and others name the policy in `code` or `type`, not in a fixed place: look at all."""
    return any(word.encode() in body[:4000].lower() for word in _REFUSAL_WORDS)


def _message_in(body: bytes) -> str:
    try:
        data = json.loads(body[:100_000])
    except (ValueError, RecursionError):
        return ""
    for key in ("error", "detail", "message"):
        inner = data.get(key) if isinstance(data, dict) else None
        if isinstance(inner, dict):
            inner = inner.get("message")
        if isinstance(inner, str) and inner:
            return inner
    return ""
