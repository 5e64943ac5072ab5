"""What a server counts, as Prometheus reads it. No library: it is a page of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from failscape.servers.batching import Batcher

Row = tuple[str, str, str, float]
"""Name, kind, what it is, value."""


@dataclass
class Metrics:
    """Requests by path and status; the batcher counts its own."""

    batcher: Batcher | None = None
    requests: Counter[tuple[str, int]] = field(default_factory=Counter)

    def counting(self) -> Middleware:
        @web.middleware
        async def count(request: web.Request, handler: Handler) -> web.StreamResponse:
            response = await handler(request)
            route = request.match_info.route.resource
            if route is not None:
                self.requests[route.canonical, response.status] += 1
            return response

        return count

    async def page(self, _: web.Request) -> web.Response:
        return web.Response(text="\n".join(self._lines()) + "\n", content_type="text/plain")

    def _lines(self) -> Iterator[str]:
        yield "# HELP failscape_requests_total Requests answered, by path and status."
        yield "# TYPE failscape_requests_total counter"
        for (path, status), count in sorted(self.requests.items()):
            yield f'failscape_requests_total{{path="{path}",status="{status}"}} {count}'
        for name, kind, about, value in self._of_batcher():
            yield f"# HELP failscape_{name} {about}"
            yield f"# TYPE failscape_{name} {kind}"
            yield f"failscape_{name} {value:g}"

    def _of_batcher(self) -> list[Row]:
        if self.batcher is None:
            return []
        counts, limit = self.batcher.counts, self.batcher.backend.limit
        return [
            ("pictures_total", "counter", "Pictures drawn.", counts.pictures),
            ("batches_total", "counter", "Calls of the model.", counts.batches),
            ("pictures_failed_total", "counter", "Pictures that could not be drawn.", counts.failed),
            ("refused_total", "counter", "Requests refused because the queue was full.", counts.refused),
            ("draw_seconds_total", "counter", "Seconds spent drawing.", counts.seconds),
            ("waiting", "gauge", "Pictures in the queue.", len(self.batcher.waiting)),
            ("batch_limit", "gauge", "Most pictures of one call.", limit.most),
            ("out_of_memory_total", "counter", "Times that the batch was halved.", limit.halved),
        ]
