"""Provider `generate`: image servers that speak FailureAtlas's `POST /generate`.

Request `{"prompts": [str, …], "seeds": [int, …], …params}`; reply `{"images": [base64, …]}`, one encoded
image (PNG, JPEG, WEBP) per prompt, in order. Other keys of the reply are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from failscape.config import ModelConfig
from failscape.errors import BadReply, ConfigError, Refused
from failscape.models.http import HttpModel, decode, with_params
from failscape.models.images import picture_from_base64
from failscape.models.limits import Backoff
from failscape.models.pool import Answer
from failscape.models.roles import Identity, Model, Reply, Usage
from failscape.pictures import Picture

ROLES = ("generator",)


class GenerateModel(HttpModel):
    """One request draws `batch` images (1 unless set)."""

    def __init__(self, config: ModelConfig, backoff: Backoff | None = None) -> None:
        settings = {"params": config.params}
        super().__init__(Identity("generator", "generate", config.model, settings), config, _base, backoff)
        self.batch = config.batch or 1

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        replies: list[Reply[Picture]] = []
        for start in range(0, len(prompts), self.batch):
            stop = start + self.batch
            replies += await self._draw(prompts[start:stop], seeds[start:stop])
        return replies

    async def _draw(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        try:
            return self._share(await self._request(prompts, seeds))
        except (BadReply, Refused) as error:
            if len(prompts) == 1:
                return [self.invalid(error)]
        # One prompt that the server does not like must not spoil the others.
        return [reply for pair in zip(prompts, seeds, strict=True) for reply in await self._draw(*_one(pair))]

    async def _request(self, prompts: Sequence[str], seeds: Sequence[int]) -> Answer[list[Picture]]:
        defaults = {
            "prompts": list(prompts),
            "seeds": [int(seed) for seed in seeds],
            "model": self.config.model or None,
        }
        count = len(prompts)
        return await self.ask(
            "/generate", with_params(defaults, self.config.params), lambda body: _read_images(body, count)
        )

    def _share(self, answer: Answer[list[Picture]]) -> list[Reply[Picture]]:
        """The first reply carries the attempts, all share time and cost."""
        whole, count = self.bill(answer), len(answer.value)
        share = Usage(requests=0, seconds=whole.seconds / count, cost=whole.cost / count)
        first = replace(share, requests=whole.requests)
        return [Reply(picture, usage=share if row else first) for row, picture in enumerate(answer.value)]


def _one(pair: tuple[str, int]) -> tuple[list[str], list[int]]:
    return [pair[0]], [pair[1]]


def _read_images(body: bytes, count: int) -> list[Picture]:
    images = decode(body)["images"]
    if not isinstance(images, list) or len(images) != count:
        raise BadReply(f"the reply should hold {count} `images`")
    return [picture_from_base64(image) for image in images]


def _base(address: str) -> str:
    """The address may be given with the path that we add ourselves."""
    return address.removesuffix("/generate")


def create(role: str, config: ModelConfig, backoff: Backoff | None = None) -> Model:
    """The factory that the registry calls."""
    if role not in ROLES:
        raise ConfigError(f"provider generate cannot play the role {role}", "it can play: generator")
    return GenerateModel(config, backoff)
