"""Turns words into vectors with a text encoder of Hugging Face transformers: T5 or any other.

It is used once per corpus (`failscape corpus embed`), not during runs. Needs the extra `transformers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from failscape.errors import ConfigError, MissingExtra


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
