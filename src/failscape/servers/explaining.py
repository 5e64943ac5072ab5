"""Errors as replies: JSON in the form of OpenAI on every route, whoever found the error."""

from collections.abc import Mapping

from aiohttp import web
from aiohttp.typedefs import Handler

from failscape.errors import BadReply, FailscapeError
from failscape.servers.backends import RequestError
from failscape.servers.images import Busy


@web.middleware
async def explain_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except RequestError as error:
        return json_error(error.status, str(error), "invalid_request_error")
    except BadReply as error:  # an image in the request that cannot be decoded
        return json_error(400, error.message, "invalid_request_error")
    except Busy as error:
        return json_error(429, str(error), "rate_limit_error", {"Retry-After": str(error.retry_after)})
    except FailscapeError as error:
        return json_error(500, error.message, "server_error")
    except web.HTTPException as error:
        return _error_of_route(request, error)
    except Exception as error:
        return json_error(500, f"{type(error).__name__}: {error}", "server_error")


def _error_of_route(request: web.Request, error: web.HTTPException) -> web.Response:
    """What aiohttp itself has to say of a request, in the form of all other errors."""
    told = {
        404: f"there is nothing at {request.path[:200]!r}",
        405: f"{request.path[:200]!r} does not take {request.method}",
    }
    allowed = error.headers.get("Allow")
    kind = "invalid_request_error" if error.status < 500 else "server_error"
    message = told.get(error.status, error.text or error.reason)
    return json_error(error.status, message, kind, {"Allow": allowed} if allowed else None)


def json_error(
    status: int, message: str, kind: str, headers: Mapping[str, str] | None = None
) -> web.Response:
    body = {"error": {"message": message, "type": kind, "code": None}}
    return web.json_response(body, status=status, headers=headers)
