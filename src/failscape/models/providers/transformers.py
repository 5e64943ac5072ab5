"""Provider `transformers`: models of the Transformers library, run in this process. Here: image classifiers.

`model` is a name on the hub, `path` a folder with `config.json`. Needs the extra `transformers`; torch is
imported when the model starts, not before. Vision-language models are in `transformers_chat.py`. The text
encoder is no role: `failscape corpus embed` uses it once per corpus.
"""

from __future__ import annotations

import asyncio
import importlib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from failscape.config import ModelConfig
from failscape.errors import ConfigError, MissingExtra, ModelError, Permanent
from failscape.models.providers.onnx import file_digest
from failscape.models.roles import ROLES as ROLE_METHODS
from failscape.models.roles import Identity, Model, Ranking, Reply
from failscape.models.transport.prices import charge
from failscape.pictures import Picture

BATCH = 16
TOP = 10
PARAMS = ("device", "dtype", "revision", "top_k")
WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "config.json", "preprocessor_config.json")


class TransformersModel:
    """A model in a worker thread of its own: what both roles share. Sub-classes load it."""

    role = ""
    files: tuple[str, ...] = WEIGHTS
    """Which files of a folder make the model what it is."""

    def __init__(self, config: ModelConfig, batch: int) -> None:
        self.source = str(Path(config.path).expanduser()) if config.path else config.model
        if not self.source:
            raise ConfigError("`transformers` needs a `model` or a `path`", "name a hub model or a folder")
        if config.path and not (Path(self.source) / "config.json").is_file():
            raise ConfigError(
                f"{config.path} holds no config.json", "give a folder that Transformers has saved"
            )
        self.config = config
        files = digests(Path(self.source), self.files) if config.path else {}
        settings = {"params": config.params, "files": files}
        name = config.model or Path(self.source).name
        self.identity = Identity(self.role, "transformers", name, settings)
        self.batch = config.batch or batch
        self.parallel = 1
        self._worker: ThreadPoolExecutor | None = None

    async def start(self) -> None:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, "failscape-transformers")
            await self._run(self._load)

    async def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown(wait=False, cancel_futures=True)

    def _load(self) -> None:
        raise NotImplementedError

    async def _run(self, function: Any, *arguments: Any) -> Any:
        if self._worker is None:
            raise ModelError(f"{self.source} is not started", "call `await model.start()` first")
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)

    def _unusable(self, error: Exception) -> ConfigError:
        fix = "check `model`, `path`, `params`"
        return ConfigError(f"{self.source} cannot be loaded: {one_line(error)}", fix)


class TransformersClassifier(TransformersModel):
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


def device_of(params: dict[str, Any]) -> str:
    import torch

    return str(params.get("device") or ("cuda:0" if torch.cuda.is_available() else "cpu"))


def dtype_of(params: dict[str, Any], default: str) -> dict[str, Any]:
    """The type of the weights, as the argument is called: it was renamed in 4.56."""
    import torch
    from transformers import __version__

    name = str(params.get("dtype", default))
    dtype = name if name == "auto" else getattr(torch, name, None)
    if dtype is None:
        raise ConfigError(f"`params.dtype` {name!r} is no torch type", "use for example float16")
    old = tuple(map(int, __version__.split(".")[:2])) < (4, 56)
    return {"torch_dtype" if old else "dtype": dtype}


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def _ranking(row: Sequence[dict[str, Any]]) -> Reply[Ranking]:
    ranking = [(str(entry["label"]), float(entry["score"])) for entry in row]
    if not all(math.isfinite(score) for _, score in ranking):
        return Reply(None, "the classifier gave scores that are no numbers")
    return Reply(sorted(ranking, key=lambda pair: -pair[1]))


def digests(folder: Path, patterns: Sequence[str]) -> dict[str, str]:
    """What the model is, by content: the same folder elsewhere is the same model."""
    files = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    return {path.name: file_digest(path) for path in files}


def create(role: str, config: ModelConfig) -> Model:
    """The factory that the registry calls."""
    if role not in ("classifier", "answerer"):
        raise ConfigError(
            f"provider transformers cannot play the role {role}", "it can play: classifier, answerer"
        )
    if any(find_spec(name) is None for name in ("torch", "transformers")):
        raise MissingExtra("provider transformers", "transformers")
    kind: Any = TransformersClassifier
    if role == "answerer":
        kind = importlib.import_module("failscape.models.providers.transformers_chat").TransformersAnswerer
    model: Model = charge(kind(config), ROLE_METHODS[role][1], config.price)
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
