"""Provider `http`: classifiers behind `POST /v1/classify`, a contract small enough for any web framework.

Request `{"images": [base64, …], …params}`; reply `{"labels": [[["cat", 0.9], …], …]}`, one list of labels
with scores per image, in order. Other keys of the reply are ignored.
"""

import math
from collections.abc import Sequence
from typing import Any

from failscape.config import ModelConfig
from failscape.errors import BadReply
from failscape.models.providers.openai import openai_base
from failscape.models.roles import Identity, Model, Ranking, Reply, Usage
from failscape.models.transport.encoding import base64_of
from failscape.models.transport.endpoints import Backoff
from failscape.models.transport.http import HttpModel, decode, encode, preprocessing_of, with_params
from failscape.models.transport.workers import off_loop
from failscape.pictures import Picture

PATH = "/classify"
BATCH = 8


class HttpClassifier(HttpModel):
    """One request classifies `batch` images (8 unless set)."""

    def __init__(self, config: ModelConfig, backoff: Backoff | None = None) -> None:
        settings: dict[str, Any] = {"params": config.params}
        settings |= preprocessing_of(config)
        super().__init__(Identity("classifier", "http", config.model, settings), config, _base, backoff)
        self.batch = config.batch or BATCH

    async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]:
        replies: list[Reply[Ranking]] = []
        for start in range(0, len(images), self.batch):
            replies += await self.together(images[start : start + self.batch], self._classify)
        return replies

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
    return [_read_ranking(row) for row in rows]


def _read_ranking(row: Any) -> Ranking:
    if not isinstance(row, list) or not row:
        raise BadReply("each entry of `labels` should be a list of [label, score] with at least one label")
    return sorted((_read_label(entry) for entry in row), key=lambda label: -label[1])


def _read_label(entry: Any) -> tuple[str, float]:
    if isinstance(entry, list) and len(entry) == 2:
        label, score = entry
        is_number = isinstance(score, int | float) and not isinstance(score, bool)
        if isinstance(label, str) and is_number and math.isfinite(score):
            return label, float(score)
    raise BadReply(f"a label should be [text, finite number], but one is {str(entry)[:80]}")


def _base(address: str) -> str:
    """With and without `/v1`, and with the path that we add ourselves."""
    return openai_base(address.removesuffix(PATH))


def create(role: str, config: ModelConfig, backoff: Backoff | None = None) -> Model:
    """The factory that the registry calls."""
    return HttpClassifier(config, backoff)
