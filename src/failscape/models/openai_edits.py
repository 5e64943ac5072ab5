"""The image editor of provider `openai`: `POST {base}/images/edits`, a form with image and instruction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from failscape.config import ModelConfig
from failscape.errors import BadReply, Refused
from failscape.models.http import NOTHING, HttpModel
from failscape.models.images import picture_from_bytes
from failscape.models.limits import Backoff
from failscape.models.openai_chat import openai_base
from failscape.models.roles import Identity, Reply
from failscape.pictures import Picture

BOUNDARY = "failscape-5c1f0b7e9a3d4286"
"""Fixed, so that equal requests are equal bytes; long enough not to occur in an image by chance."""


class OpenAIEditor(HttpModel):
    """One image a request; params are fields of the form. The seed is sent unless `params` has one."""

    def __init__(
        self,
        config: ModelConfig,
        backoff: Backoff | None = None,
        *,
        read: Callable[[bytes], Picture | str],
    ) -> None:
        identity = Identity("editor", "openai", config.model, {"params": config.params})
        super().__init__(identity, config, openai_base, backoff)
        self.batch = 1
        self._headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", **self._access}
        self._read = read

    async def edit(
        self, images: Sequence[Picture], instructions: Sequence[str], seeds: Sequence[int]
    ) -> list[Reply[Picture]]:
        rows = zip(images, instructions, seeds, strict=True)
        return [await self._edit(image, instruction, seed) for image, instruction, seed in rows]

    async def _edit(self, image: Picture, instruction: str, seed: int) -> Reply[Picture]:
        fields = {"model": self.config.model, "prompt": instruction, "n": 1, "response_format": "b64_json"}
        fields |= {"seed": seed, **self.config.params}
        spent = NOTHING
        try:
            body = form_of(fields, image)
            answer = await self.pool.post("/images/edits", body, self._read)
            picture, spent = answer.value, self.bill(answer)
            if isinstance(picture, str):
                picture = picture_from_bytes(await self.download(picture, answer.base))
        except (BadReply, Refused) as error:
            return self.invalid(error, spent)
        return Reply(picture, usage=spent)


def form_of(fields: Mapping[str, Any], image: Picture) -> bytes:
    """A `multipart/form-data` body."""
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    kind = image.format.lower()
    head = f'name="image"; filename="image.{kind}"\r\nContent-Type: image/{kind}'
    parts.append(f"--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode())
    return b"".join([*parts, image.data, f"\r\n--{BOUNDARY}--\r\n".encode()])
