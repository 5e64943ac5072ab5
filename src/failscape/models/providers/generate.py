"""Provider `generate`: image servers that speak FailureAtlas's `POST /generate`.

Request `{"prompts": [str, …], "seeds": [int, …], …params}`; reply `{"images": [base64, …]}`, one encoded
image (PNG, JPEG, WEBP) per prompt, in order. Other keys of the reply are ignored.
"""

from collections.abc import Sequence

from failscape.config import ModelConfig
from failscape.errors import BadReply
from failscape.models.roles import Identity, Model, Reply, Usage
from failscape.models.transport.encoding import picture_from_base64
from failscape.models.transport.endpoints import Backoff
from failscape.models.transport.http import HttpModel, decode, with_params
from failscape.pictures import Picture


class GenerateModel(HttpModel):
    """One request draws `batch` images (1 unless set)."""

    def __init__(self, config: ModelConfig, backoff: Backoff | None = None) -> None:
        settings = {"params": config.params}
        super().__init__(Identity("generator", "generate", config.model, settings), config, _base, backoff)
        self.batch = config.batch or 1

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        wanted = list(zip(prompts, seeds, strict=True))
        replies: list[Reply[Picture]] = []
        for start in range(0, len(wanted), self.batch):
            replies += await self.together(wanted[start : start + self.batch], self._draw)
        return replies

    async def _draw(self, wanted: Sequence[tuple[str, int]]) -> tuple[list[Picture], Usage]:
        fields = {
            "prompts": [prompt for prompt, _ in wanted],
            "seeds": [int(seed) for _, seed in wanted],
            "model": self.config.model,
        }
        payload = with_params(fields, self.config.params)
        answer = await self.ask("/generate", payload, lambda body: self._read_images(body, len(wanted)))
        return answer.value, self.bill(answer)

    def _read_images(self, body: bytes, count: int) -> list[Picture]:
        images = decode(body)["images"]
        if not isinstance(images, list) or len(images) != count:
            raise BadReply(f"the reply should hold {count} `images`")
        return [picture_from_base64(image, self.limits) for image in images]


def _base(address: str) -> str:
    """The address may be given with the path that we add ourselves."""
    return address.removesuffix("/generate")


def create(role: str, config: ModelConfig, backoff: Backoff | None = None) -> Model:
    """The factory that the registry calls."""
    return GenerateModel(config, backoff)
