"""Requests for pictures: OpenAI's images API and FailureAtlas's `/generate`. Honoured in full or refused."""

import base64
import random
import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from failscape.names import suggest
from failscape.pictures import Picture
from failscape.servers.batching import Batcher
from failscape.servers.requests import RequestError, check_length, read_json, read_texts

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

_SIZE = re.compile(r"(\d{1,5})x(\d{1,5})")


class ImageHandlers:
    """Two doors to one batcher."""

    def __init__(self, batcher: Batcher) -> None:
        self._batcher = batcher
        self._kept: OrderedDict[str, Picture] = OrderedDict()

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/v1/images/generations", self.generations),
            web.post("/generate", self.generate),
            web.get("/files/{name}", self.file),
        ]

    async def generations(self, request: web.Request) -> web.Response:
        body = _given(await read_json(request))
        prompt, count = body.pop("prompt", None), body.pop("n", 1)
        if not isinstance(prompt, str) or not prompt:
            raise RequestError("`prompt` must be a non-empty text")
        check_length(prompt, "prompt")
        if not isinstance(count, int) or not 1 <= count <= MOST:
            raise RequestError(f"`n` must be a number from 1 to {MOST}")
        form = body.pop("response_format", "b64_json")
        if form not in ("b64_json", "url"):
            raise RequestError(f"`response_format` must be b64_json or url, but got {form!r}")
        first = _seed(body.pop("seed", None))
        body.pop("user", None)  # who asks changes nothing
        settings = self._settings(body)
        seeds = [first + number for number in range(count)]
        pictures = await self._batcher.submit([prompt] * count, seeds, settings)
        data = [self._shown(picture, form, request) for picture in pictures]
        return web.json_response({"created": int(time.time()), "data": data})

    async def generate(self, request: web.Request) -> web.Response:
        body = _given(await read_json(request))
        prompts, seeds = read_texts(body.pop("prompts", None), "prompts"), body.pop("seeds", None)
        if seeds is None:
            seeds = [_seed(None) for _ in prompts]
        if not isinstance(seeds, list) or len(seeds) != len(prompts):
            raise RequestError("`seeds` must be a list with one number per prompt")
        seeds = [_seed(seed) for seed in seeds]
        pictures = await self._batcher.submit(prompts, seeds, self._settings(body))
        return web.json_response({"images": [_base64(picture) for picture in pictures]})

    async def file(self, request: web.Request) -> web.Response:
        picture = self._kept.get(request.match_info["name"])
        if picture is None:
            raise RequestError(f"that picture is gone: only the last {KEPT} are kept", status=404)
        return web.Response(body=picture.data, content_type=picture.media_type)

    def _shown(self, picture: Picture, form: str, request: web.Request) -> dict[str, str]:
        if form == "b64_json":
            return {"b64_json": _base64(picture)}
        name = f"{picture.digest}{picture.suffix}"
        self._kept[name] = picture
        self._kept.move_to_end(name)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return {"url": f"{request.scheme}://{request.host}/files/{name}"}

    def _settings(self, body: dict[str, Any]) -> dict[str, Any]:
        """What the rest of a request asks for; all of it is honoured, or the request is refused."""
        backend = self._batcher.backend
        check_model(body.pop("model", None), backend.name)
        settings = _sizes(body.pop("size", None))
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


def _sizes(size: object) -> dict[str, Any]:
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
    if setting == "guidance":
        if not 0 <= value <= 100:
            raise RequestError(f"`{name}` must be from 0 to 100, but got {value!r}")
        return float(value)
    most = 1000 if setting == "steps" else LONGEST_SIDE
    if value != int(value) or not 1 <= value <= most:
        raise RequestError(f"`{name}` must be a whole number from 1 to {most}, but got {value!r}")
    return int(value)


def _base64(picture: Picture) -> str:
    return base64.b64encode(picture.data).decode()
