"""Requests for pictures: the images API of OpenAI and `/generate` of FailureAtlas. Honoured in full or
refused.

Pictures that are asked for at the same time are gathered into batches. Only those with equal settings share
one; the oldest decides which settings are next. The queue is bounded: what does not fit is refused.
"""

import asyncio
import random
import re
import time
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aiohttp import web

from failscape.errors import ConfigError, suggest
from failscape.models.transport.encoding import base64_of
from failscape.pictures import Picture
from failscape.servers.backends import ImageBackend, RequestError, check_length, read_json, read_texts

#: How long the first picture of a batch waits for others: little beside drawing, enough for a burst.
LINGER_SECONDS = 0.01

#: Share of the past in the mean seconds per picture, from which `Retry-After` is reckoned.
MEMORY = 0.9


class Busy(Exception):
    """The queue is full; `retry_after` is when there should be room, in whole seconds."""

    def __init__(self, waiting: int, retry_after: int) -> None:
        super().__init__(f"{waiting} pictures are waiting already")
        self.retry_after = retry_after


@dataclass(slots=True)
class Job:
    prompt: str
    seed: int
    settings: tuple[tuple[str, Any], ...]
    future: asyncio.Future[Picture]


@dataclass(slots=True)
class BatchCounts:
    pictures: int = 0
    batches: int = 0
    failed: int = 0
    refused: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Batcher:
    """Owns the queue in front of one backend; `start` and `close` are the server's to call."""

    backend: ImageBackend
    queue: int
    linger: float = LINGER_SECONDS
    counts: BatchCounts = field(default_factory=BatchCounts)
    waiting: deque[Job] = field(default_factory=deque)
    _pace: float = 0.0
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _workers: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> None:
        self._workers = [asyncio.create_task(self._work()) for _ in range(self.backend.workers)]

    async def close(self) -> None:
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        for job in self.waiting:
            job.future.cancel()

    async def submit(
        self, prompts: Sequence[str], seeds: Sequence[int], settings: Mapping[str, Any]
    ) -> list[Picture]:
        """All pictures of one request, or the first error among them."""
        self._make_room(len(prompts))
        loop, key = asyncio.get_running_loop(), tuple(sorted(settings.items()))
        jobs = [Job(*row, key, loop.create_future()) for row in zip(prompts, seeds, strict=True)]
        self.waiting.extend(jobs)
        self._wake.set()
        try:
            return list(await asyncio.gather(*(job.future for job in jobs)))
        finally:
            for job in jobs:  # the client left, or one of them failed: the others are not drawn
                job.future.cancel()

    def _make_room(self, wanted: int) -> None:
        """A request that never fits is refused for good, another one until there is room."""
        if wanted > self.queue:
            self.counts.refused += 1
            raise RequestError(f"{wanted:,} pictures are asked for at once, at most {self.queue:,} are", 413)
        waiting = sum(not job.future.done() for job in self.waiting)  # those who left wait no more
        if waiting + wanted > self.queue:
            self.counts.refused += 1
            raise Busy(waiting, max(1, round(waiting * self._pace)))

    async def _work(self) -> None:
        while True:
            while not self.waiting:
                self._wake.clear()
                await self._wake.wait()
            if self.linger and len(self.waiting) < self.backend.batch > 1:
                await asyncio.sleep(self.linger)
            if jobs := self._take():
                await self._draw(jobs)

    def _take(self) -> list[Job]:
        """The oldest job and those behind it that may share its batch; given-up ones are dropped."""
        taken: list[Job] = []
        left: deque[Job] = deque()
        while self.waiting and len(taken) < self.backend.limit.most:
            job = self.waiting.popleft()
            if not job.future.done():
                (taken if not taken or job.settings == taken[0].settings else left).append(job)
        self.waiting.extendleft(reversed(left))
        return taken

    async def _draw(self, jobs: list[Job]) -> None:
        began = time.monotonic()
        prompts, seeds = [job.prompt for job in jobs], [job.seed for job in jobs]
        try:
            drawn = await self.backend.paint(prompts, seeds, dict(jobs[0].settings))
        except asyncio.CancelledError:
            for job in jobs:
                job.future.cancel()
            raise
        except Exception as error:
            # A mistake in the settings is the client's, everything else the server's.
            told = RequestError(str(error)) if isinstance(error, ConfigError) else error
            for job in jobs:
                self._settle(job, told)
            return
        seconds = time.monotonic() - began
        each = seconds / len(jobs)
        self._pace = MEMORY * self._pace + (1 - MEMORY) * each if self._pace else each
        self.counts.batches += 1
        self.counts.seconds += seconds
        for job, one in zip(jobs, drawn, strict=True):
            self._settle(job, one)

    def _settle(self, job: Job, drawn: Picture | Exception) -> None:
        failed = isinstance(drawn, Exception)
        self.counts.failed += failed
        self.counts.pictures += not failed
        if not job.future.done():
            if isinstance(drawn, Exception):
                job.future.set_exception(drawn)
            else:
                job.future.set_result(drawn)


MOST = 64
#: Pictures that `response_format: url` keeps for fetching: the latest ones.
KEPT = 256

LONGEST_SIDE = 4096
#: A field of a request → the setting of the backend.
SETTINGS = {
    "num_inference_steps": "steps",
    "steps": "steps",
    "guidance_scale": "guidance",
    "guidance": "guidance",
    "negative_prompt": "negative_prompt",
    "width": "width",
    "height": "height",
}

#: What a number must be, from where to where; all others are sides of a picture.
NUMBERS = {"guidance": ("", 0, 100), "steps": ("a whole number ", 1, 1000)}

_SIZE = re.compile(r"(\d{1,5})x(\d{1,5})")


class Order(NamedTuple):
    """What every request for pictures says: the text, one seed per picture, how they are shown."""

    prompt: str
    seeds: range
    form: str


def take_order(body: dict[str, Any]) -> Order:
    """Takes these fields out of the body of a request; what is left are settings."""
    prompt = body.pop("prompt", None)
    if not isinstance(prompt, str) or not prompt:
        raise RequestError("`prompt` must be a non-empty text")
    check_length(prompt, "prompt")
    count = body.pop("n", 1)
    if not isinstance(count, int) or not 1 <= count <= MOST:
        raise RequestError(f"`n` must be a number from 1 to {MOST}")
    form = body.pop("response_format", "b64_json")
    if form not in ("b64_json", "url"):
        raise RequestError(f"`response_format` must be b64_json or url, but got {form!r}")
    first = _seed(body.pop("seed", None))
    body.pop("user", None)  # who asks changes nothing
    return Order(prompt, range(first, first + count), form)


class KeptPictures:
    """Shows pictures in replies; those that are shown by address are kept for a while."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Picture] = OrderedDict()

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/files/{name}", self.file)]

    async def file(self, request: web.Request) -> web.Response:
        picture = self._kept.get(request.match_info["name"])
        if picture is None:
            raise RequestError(f"that picture is gone: only the last {KEPT} are kept", status=404)
        return web.Response(body=picture.data, content_type=picture.media_type)

    def reply(self, pictures: Sequence[Picture], form: str, request: web.Request) -> web.Response:
        data = [self._shown(picture, form, request) for picture in pictures]
        return web.json_response({"created": int(time.time()), "data": data})

    def _shown(self, picture: Picture, form: str, request: web.Request) -> dict[str, str]:
        if form == "b64_json":
            return {"b64_json": base64_of(picture.data)}
        name = f"{picture.digest}{picture.suffix}"
        self._kept[name] = picture
        self._kept.move_to_end(name)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return {"url": f"{request.scheme}://{request.host}/files/{name}"}


class ImageHandlers:
    """Two doors to one batcher."""

    def __init__(self, batcher: Batcher, kept: KeptPictures) -> None:
        self._batcher = batcher
        self._kept = kept

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/v1/images/generations", self.generations),
            web.post("/generate", self.generate),
        ]

    async def generations(self, request: web.Request) -> web.Response:
        body = _given(await read_json(request))
        order = take_order(body)
        prompts = [order.prompt] * len(order.seeds)
        pictures = await self._batcher.submit(prompts, order.seeds, self._settings(body))
        return self._kept.reply(pictures, order.form, request)

    async def generate(self, request: web.Request) -> web.Response:
        body = _given(await read_json(request))
        prompts, seeds = read_texts(body.pop("prompts", None), "prompts"), body.pop("seeds", None)
        if seeds is None:
            seeds = [None] * len(prompts)
        if not isinstance(seeds, list) or len(seeds) != len(prompts):
            raise RequestError("`seeds` must be a list with one number per prompt")
        pictures = await self._batcher.submit(prompts, list(map(_seed, seeds)), self._settings(body))
        return web.json_response({"images": [base64_of(picture.data) for picture in pictures]})

    def _settings(self, body: dict[str, Any]) -> dict[str, Any]:
        """What the rest of a request asks for; all of it is honoured, or the request is refused."""
        backend = self._batcher.backend
        check_model(body.pop("model", None), backend.name)
        settings = read_size(body.pop("size", None))
        for name, value in body.items():
            if SETTINGS.get(name) is None:
                known = ("prompt", "n", "seed", "size", "model", "response_format", "user", *SETTINGS)
                raise RequestError(f"`{name}` is not supported here. {suggest(name, known)}".strip())
            settings[SETTINGS[name]] = _checked(name, SETTINGS[name], value)
        for name in sorted(set(settings) - backend.fields):
            shown = "size" if name in ("width", "height") else name
            raise RequestError(f"{backend.name} cannot change its {shown}: leave `{shown}` out")
        if ("width" in settings) != ("height" in settings):
            raise RequestError("`width` and `height` belong together")
        backend.check(settings)
        return settings


def check_model(asked: object, *offered: str) -> None:
    """Another model's pictures under this name would be recorded as that model's."""
    if asked is not None and (not isinstance(asked, str) or asked not in offered):
        raise RequestError(f"there is no model {asked!r} here, only: {', '.join(offered)}", status=404)


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _seed(seed: object) -> int:
    if seed is None:
        return random.getrandbits(31)
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise RequestError(f"a seed must be a whole number from 0 to 2**63 - 1, but got {seed!r}")
    return seed


def read_size(size: object) -> dict[str, Any]:
    if size in (None, "auto"):
        return {}
    match = _SIZE.fullmatch(str(size))
    if match is None:
        raise RequestError(f'`size` must look like "512x512", but got {size!r}')
    width, height = (_checked("size", "width", int(side)) for side in match.groups())
    return {"width": width, "height": height}


def _checked(name: str, setting: str, value: Any) -> Any:
    """The value in the form that its setting has."""
    if setting == "negative_prompt":
        if not isinstance(value, str):
            raise RequestError(f"`{name}` must be a text")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RequestError(f"`{name}` must be a number, but got {value!r}")
    kind, least, most = NUMBERS.get(setting, ("a whole number ", 1, LONGEST_SIDE))
    if (kind and value != int(value)) or not least <= value <= most:
        raise RequestError(f"`{name}` must be {kind}from {least} to {most}, but got {value!r}")
    return int(value) if kind else float(value)
