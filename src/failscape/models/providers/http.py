"""Providers `http` and `generate`: contracts small enough for any web framework.

`http`: classifiers behind `POST /v1/classify`. Request `{"images": [base64, …], …params}`; reply
`{"labels": [[["cat", 0.9], …], …]}`, one list of labels with scores per image, in order.

`generate`: image servers that speak FailureAtlas's `POST /generate`. Request `{"prompts": [str, …], "seeds":
[int, …], …params}`; reply `{"images": [base64, …]}`, one encoded image (PNG, JPEG, WEBP) per prompt.
Other keys of a reply are ignored.
"""

import math
from collections.abc import Sequence
from typing import Any

from failscape.config import ModelConfig
from failscape.errors import BadReply
from failscape.models.roles import Model, Ranking, Reply, Usage
from failscape.models.transport.encoding import PROVE_PICTURES, base64_of, off_loop, picture_from_base64
from failscape.models.transport.endpoints import Backoff
from failscape.models.transport.http import HttpModel, decode, encode, preprocessing_of, with_params
from failscape.pictures import Picture

PATH = "/classify"
#: Bytes of the labels and scores of one image: 20,000 labels with room to spare.
LONGEST_RANKING = 2**20


class HttpClassifier(HttpModel):
    """One request classifies `batch` images (8 unless set)."""

    role = "classifier"
    provider = "http"
    items = 8

    def more_settings(self, config: ModelConfig) -> dict[str, Any]:
        return preprocessing_of(config)

    def longest_item(self) -> int:
        return LONGEST_RANKING

    def base_of(self, address: str) -> str:
        """With and without `/v1`, and with the path that we add ourselves."""
        return super().base_of(address.removesuffix(PATH))

    async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]:
        return await self.together(images, self._classify)

    async def _classify(self, images: Sequence[Picture]) -> tuple[list[Ranking], Usage]:
        side, count = self.config.image_max_side, len(images)

        def compose() -> bytes:
            shown = [image.for_upload(side, self.config.image_format) for image in images]
            fields = {"images": [base64_of(image.data) for image in shown], "model": self.config.model}
            return encode(with_params(fields, self.config.params))

        body = await off_loop(self.is_work(images), compose)
        answer = await self.pool.post(PATH, body, lambda body: read_labels(body, count))
        return answer.value, self.bill(answer)


def read_labels(body: bytes, count: int) -> list[Ranking]:
    """The rankings of a reply, best label first whatever order they came in."""
    rows = decode(body)["labels"]
    if not isinstance(rows, list) or len(rows) != count:
        raise BadReply(f"the reply should hold `labels` for {count} images")
    if not all(isinstance(row, list) and row for row in rows):
        raise BadReply("each entry of `labels` should be a list of [label, score] with at least one label")
    return [sorted(map(_read_label, row), key=lambda label: -label[1]) for row in rows]


def _read_label(entry: Any) -> tuple[str, float]:
    if isinstance(entry, list) and len(entry) == 2:
        label, score = entry
        is_number = isinstance(score, int | float) and not isinstance(score, bool)
        if isinstance(label, str) and is_number and math.isfinite(score):
            return label, float(score)
    raise BadReply(f"a label should be [text, finite number], but one is {str(entry)[:80]}")


class GenerateModel(HttpModel):
    """One request draws `batch` images (1 unless set)."""

    role = "generator"
    provider = "generate"
    items = 1

    def longest_item(self) -> int:
        return self.longest_picture()

    def base_of(self, address: str) -> str:
        """The address may be given with the path that we add ourselves."""
        return address.removesuffix("/generate")

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        return await self.together(list(zip(prompts, seeds, strict=True)), self._draw)

    async def _draw(self, wanted: Sequence[tuple[str, int]]) -> tuple[list[Picture], Usage]:
        fields = {
            "prompts": [prompt for prompt, _ in wanted],
            "seeds": [int(seed) for _, seed in wanted],
            "model": self.config.model,
        }

        def read(body: bytes) -> list[Picture]:
            images = decode(body)["images"]
            if not isinstance(images, list) or len(images) != len(wanted):
                raise BadReply(f"the reply should hold {len(wanted)} `images`")
            return [picture_from_base64(image, self.limits, proven=False) for image in images]

        answer = await self.ask("/generate", with_params(fields, self.config.params), read, PROVE_PICTURES)
        return answer.value, self.bill(answer)


def create(role: str, config: ModelConfig, backoff: Backoff | None = None) -> Model:
    """The factory that the registry calls."""
    kind = HttpClassifier if role == "classifier" else GenerateModel
    return kind(config, backoff)
