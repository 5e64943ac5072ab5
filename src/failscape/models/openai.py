"""Provider `openai`: any server that speaks the OpenAI API (vLLM, SGLang, llama.cpp, OpenAI itself …).

This file holds the factory, the image generator and the embedder; the chat roles are in `openai_chat.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from failscape.config import ModelConfig
from failscape.errors import BadReply, ConfigError, Permanent, Refused
from failscape.models.http import NOTHING, HttpModel, decode, with_params
from failscape.models.images import bytes_of_data_uri, picture_from_base64, picture_from_bytes
from failscape.models.limits import Backoff
from failscape.models.openai_chat import CHAT_ROLES, openai_base
from failscape.models.openai_edits import OpenAIEditor
from failscape.models.roles import Identity, Model, Reply, Usage
from failscape.pictures import Picture

EMBED_BATCH = 32
ROLES = ("generator", "editor", *CHAT_ROLES, "embedder")


class OpenAIGenerator(HttpModel):
    """`POST {base}/images/generations`, one image a request."""

    def __init__(self, config: ModelConfig, backoff: Backoff | None = None) -> None:
        identity = Identity("generator", "openai", config.model, {"params": config.params})
        super().__init__(identity, config, openai_base, backoff)
        constant = {"model": config.model, "n": 1, "response_format": "b64_json"}
        self._constant = with_params(constant, config.params)
        self._sends_seed = "seed" not in config.params

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        if len(prompts) == 1:
            return [await self._draw(prompts[0], seeds[0])]
        return [await self._draw(prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)]

    async def _draw(self, prompt: str, seed: int) -> Reply[Picture]:
        payload = {"prompt": prompt, **self._constant}
        if self._sends_seed:
            payload["seed"] = seed
        spent = NOTHING
        try:
            answer = await self.ask("/images/generations", payload, _read_image)
            picture, spent = answer.value, self.bill(answer)
            if isinstance(picture, str):
                picture = picture_from_bytes(await self.download(picture, answer.base))
        except (BadReply, Refused) as error:
            return self.invalid(error, spent)
        return Reply(picture, usage=spent)


def _read_image(body: bytes) -> Picture | str:
    """The picture, or the address where it lies."""
    item = decode(body)["data"][0]
    if item.get("b64_json"):
        return picture_from_base64(item["b64_json"])
    url = item["url"]
    if not isinstance(url, str):
        raise BadReply("the reply holds neither `b64_json` nor `url`")
    return picture_from_bytes(bytes_of_data_uri(url)) if url.startswith("data:") else url


class OpenAIEmbedder(HttpModel):
    """`POST {base}/embeddings`, texts only: the API has no images here."""

    def __init__(self, config: ModelConfig, backoff: Backoff | None = None) -> None:
        identity = Identity("embedder", "openai", config.model, {"params": config.params})
        super().__init__(identity, config, openai_base, backoff)
        self.batch = config.batch or EMBED_BATCH

    async def embed(self, items: Sequence[str | Picture]) -> list[Reply[list[float]]]:
        if not items:
            return []
        if not all(isinstance(item, str) for item in items):
            raise Permanent(
                "an openai embedder takes texts only, but got an image",
                "use `provider: onnx` or `provider: python` for image embeddings",
            )
        return await self.together([str(item) for item in items], self._embed)

    async def _embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Usage]:
        fields = {"model": self.config.model, "input": list(texts)}
        payload = with_params(fields, self.config.params)
        answer = await self.ask("/embeddings", payload, lambda body: _read_vectors(body, len(texts)))
        vectors, tokens = answer.value
        return vectors, self.bill(answer, (tokens, 0))


def _read_vectors(body: bytes, count: int) -> tuple[list[list[float]], int]:
    data = decode(body)
    rows = sorted(data["data"], key=lambda row: int(row["index"]))
    vectors = [[float(number) for number in row["embedding"]] for row in rows]
    if len(vectors) != count:
        raise BadReply(f"the reply holds {len(vectors)} embeddings for {count} texts")
    return vectors, int((data.get("usage") or {}).get("prompt_tokens") or 0)


def create(role: str, config: ModelConfig, backoff: Backoff | None = None) -> Model:
    """The factory that the registry calls."""
    roles: dict[str, Any] = {
        "generator": OpenAIGenerator,
        "editor": partial(OpenAIEditor, read=_read_image),
        "embedder": OpenAIEmbedder,
        **CHAT_ROLES,
    }
    if role not in roles:
        raise ConfigError(f"provider openai cannot play the role {role}", f"it can play: {', '.join(roles)}")
    model: Model = roles[role](config, backoff)
    return model
