"""Requests to change a picture: `POST /v1/images/edits` of OpenAI, a form with the picture as a file.

As with new pictures, a request is honoured in full or refused.
"""

from typing import Any

from aiohttp import web

from failscape.models.roles import ImageEditor
from failscape.pictures import Picture
from failscape.servers.backends import RequestError, checked_picture
from failscape.servers.images import KeptPictures, check_model, read_size, take_order

EDITS = "/v1/images/edits"

#: The official client calls a list of pictures `image[]`, also when it has one member.
IMAGE_FIELDS = ("image", "image[]")
WHOLE_NUMBERS = ("n", "seed")
#: Digits of the largest seed, 2**63 - 1.
MOST_DIGITS = 19


class EditHandlers:
    """One request is one call of the editor."""

    def __init__(
        self, editor: ImageEditor, name: str, size: tuple[int, int] | None, kept: KeptPictures
    ) -> None:
        self._editor = editor
        self._name = name
        self._size = size
        self._kept = kept

    def routes(self) -> list[web.RouteDef]:
        return [web.post(EDITS, self.edits)]

    async def edits(self, request: web.Request) -> web.Response:
        fields, image = await _read_form(request)
        order = take_order(fields)
        check_model(fields.pop("model", None), self._name)
        self._check_size(fields.pop("size", None))
        for name in fields:
            raise RequestError(f"`{name}` is not supported here")
        count = len(order.seeds)
        replies = await self._editor.edit([image] * count, [order.prompt] * count, list(order.seeds))
        pictures: list[Picture] = []
        for reply in replies:
            if reply.value is None:
                raise RequestError(reply.invalid or "the model gave no picture")
            pictures.append(reply.value)
        return self._kept.reply(pictures, order.form, request)

    def _check_size(self, asked: object) -> None:
        size = read_size(asked)
        if not size:
            return
        if self._size is None:
            raise RequestError(f"{self._name} cannot change its size: leave `size` out")
        width, height = self._size
        if size != {"width": width, "height": height}:
            raise RequestError(f"{self._name} draws pictures of {width}x{height} only")


async def _read_form(request: web.Request) -> tuple[dict[str, Any], Picture]:
    """The fields as JSON would have them, and the one picture."""
    fields: dict[str, Any] = {}
    images: list[Picture] = []
    for name, value in (await request.post()).items():
        if name in IMAGE_FIELDS:
            images.append(_read_image(value))
        elif name in fields or not isinstance(value, str):
            raise RequestError(f"`{name}` must be one text")
        else:
            fields[name] = _whole_number(name, value) if name in WHOLE_NUMBERS else value
    if len(images) != 1:
        raise RequestError(f"one `image` is needed, but there are {len(images)}")
    return fields, images[0]


def _read_image(value: object) -> Picture:
    if not isinstance(value, web.FileField):
        raise RequestError("`image` must be a file of the form")
    return checked_picture(value.file.read())


def _whole_number(name: str, text: str) -> int:
    is_number = text.isascii() and text.isdigit()
    if not is_number or len(text) > MOST_DIGITS:
        raise RequestError(f"`{name}` must be a whole number, but got {text[:40]!r}")
    return int(text)
