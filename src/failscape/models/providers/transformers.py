"""Provider `transformers`: models of the Transformers library, run in this process. Here: image classifiers.

`model` is a name on the hub, `path` a folder with `config.json`. Needs the extra `transformers`; torch is
imported when the model starts, not before. Vision-language models are in `transformers_chat.py`. The text
encoder is no role: `failscape corpus embed` uses it once per corpus.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from failscape.config import ModelConfig
from failscape.errors import ConfigError, MissingExtra, Permanent
from failscape.models.providers.torch_models import (
    TorchModel,
    device_of,
    dtype_of,
    one_line,
    require_packages,
)
from failscape.models.roles import ROLES as ROLE_METHODS
from failscape.models.roles import Model, Ranking, Reply
from failscape.models.transport.prices import charge
from failscape.pictures import Picture

BATCH = 16
TOP = 10
PARAMS = ("device", "dtype", "revision", "top_k")
HERE = "failscape.models.providers"
KINDS = {
    "classifier": f"{HERE}.transformers:TransformersClassifier",
    "embedder": f"{HERE}.transformers_embedder:TransformersEmbedder",
    "answerer": f"{HERE}.transformers_chat:TransformersAnswerer",
    "judge": f"{HERE}.transformers_roles:TransformersJudge",
    "captioner": f"{HERE}.transformers_roles:TransformersCaptioner",
    "verifier": f"{HERE}.transformers_roles:TransformersVerifier",
    "questioner": f"{HERE}.transformers_roles:TransformersQuestioner",
    "llm": f"{HERE}.transformers_roles:TransformersLlm",
}
"""Role → where its class is."""


class TransformersClassifier(TorchModel):
    """An image-classification pipeline.

    Params: `device` (`cuda:0`, `cpu`; the first GPU unless told), `dtype` (`float16` …), `revision`, and
    `top_k`, how many labels are kept of each ranking.
    """

    role = "classifier"

    def __init__(self, config: ModelConfig) -> None:
        unknown = sorted(set(config.params) - set(PARAMS))
        if unknown:
            raise ConfigError(
                f"transformers classifiers take no param {', '.join(unknown)}",
                f"known are: {', '.join(PARAMS)}",
            )
        super().__init__(config, BATCH)
        self._pipeline: Any = None

    async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]:
        return await self._run(self._classify, list(images)) if images else []

    def _load(self) -> None:
        from transformers import pipeline

        params = self.config.params
        device, dtype = device_of(params), dtype_of(params, "float32")
        try:
            self._pipeline = pipeline(
                "image-classification",
                model=self.source,
                revision=params.get("revision"),
                device=device,
                **dtype,
            )
        except Exception as error:
            raise self._unusable(error) from error

    def _classify(self, images: list[Picture]) -> list[Reply[Ranking]]:
        shown = [image.image.convert("RGB") for image in images]
        count = int(self.config.params.get("top_k", TOP))
        try:
            rows = self._pipeline(shown, top_k=count, batch_size=len(shown))
        except Exception as error:
            raise Permanent(
                f"{self.source} failed: {one_line(error)}", "check that it is an image classifier"
            ) from error
        if len(rows) != len(images):
            raise Permanent(
                f"{self.source} gave {len(rows)} rows for {len(images)} images", "check the model"
            )
        return [_ranking(row) for row in rows]


def _ranking(row: Sequence[dict[str, Any]]) -> Reply[Ranking]:
    ranking = [(str(entry["label"]), float(entry["score"])) for entry in row]
    if not all(math.isfinite(score) for _, score in ranking):
        return Reply(None, "the classifier gave scores that are no numbers")
    return Reply(sorted(ranking, key=lambda pair: -pair[1]))


def create(role: str, config: ModelConfig) -> Model:
    """The factory that the registry calls."""
    if role not in KINDS:
        raise ConfigError(
            f"provider transformers cannot play the role {role}", f"it can play: {', '.join(KINDS)}"
        )
    require_packages("transformers", "torch", "transformers")
    module, _, name = KINDS[role].partition(":")
    kind = getattr(importlib.import_module(module), name)
    method = "chat" if role == "llm" else ROLE_METHODS[role][1]
    model: Model = charge(kind(config), method, config.price)
    return model


class TextEncoder:
    """`model` is a folder or a name on the hub. A vector is the mean of the encoder's last states."""

    def __init__(self, model: str, device: str = "cpu") -> None:
        try:
            import torch
            from transformers import AutoModel, AutoTokenizer
        except ImportError:
            raise MissingExtra("embedding words", "transformers") from None
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(model)
            network: Any = AutoModel.from_pretrained(model, dtype=torch.float32)
        except (OSError, ValueError) as error:
            first = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise ConfigError(
                f"the model {model!r} cannot be loaded: {first}",
                "give a folder with a saved model and tokenizer, or a name on the hub such as t5-base",
            ) from None
        encoder = network.get_encoder() if network.config.is_encoder_decoder else network
        self._encoder = _moved(encoder.eval(), device)
        self._device = device

    def encode(
        self, texts: Sequence[str], batch: int = 64, on_progress: Callable[[int], None] = lambda done: None
    ) -> NDArray[np.float32]:
        """One row per text. `on_progress` is told how many are done."""
        import torch

        rows: list[NDArray[np.float32]] = []
        for start in range(0, len(texts), batch):
            some = list(texts[start : start + batch])
            tokens = self._tokenizer(some, padding=True, truncation=True, return_tensors="pt")
            ids, mask = (tokens[name].to(self._device) for name in ("input_ids", "attention_mask"))
            with torch.no_grad():
                states = self._encoder(input_ids=ids, attention_mask=mask).last_hidden_state
            weights = mask[:, :, None].to(states.dtype)
            means = (states * weights).sum(1) / weights.sum(1).clamp(min=1)
            rows.append(means.cpu().numpy().astype(np.float32))
            on_progress(start + len(some))
        return np.concatenate(rows) if rows else np.zeros((0, 1), dtype=np.float32)


def _moved(encoder: Any, device: str) -> Any:
    try:
        return encoder.to(device)
    except (RuntimeError, AssertionError) as error:
        first = str(error).splitlines()[0]
        raise ConfigError(f"the device {device!r} cannot be used: {first}", "use --device cpu") from None
