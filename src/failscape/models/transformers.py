"""Provider `transformers`: image classifiers of the Transformers library, run in this process.

`model` is a name on the hub, `path` a folder with `config.json`. Needs the extra `transformers`; torch is
imported when the model starts, not before.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from failscape.config import ModelConfig
from failscape.errors import ConfigError, MissingExtra, ModelError, Permanent
from failscape.models.onnx_input import file_digest
from failscape.models.prices import charge
from failscape.models.roles import ROLES as ROLE_METHODS
from failscape.models.roles import Identity, Model, Ranking, Reply
from failscape.pictures import Picture

BATCH = 16
TOP = 10
PARAMS = ("device", "dtype", "revision", "top_k")
WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "config.json", "preprocessor_config.json")


class TransformersClassifier:
    """An image-classification pipeline in a worker thread of its own.

    Params: `device` (`cuda:0`, `cpu`; the first GPU unless told), `dtype` (`float16` …), `revision`, and
    `top_k`, how many labels are kept of each ranking.
    """

    def __init__(self, config: ModelConfig) -> None:
        unknown = sorted(set(config.params) - set(PARAMS))
        if unknown:
            raise ConfigError(
                f"transformers classifiers take no param {', '.join(unknown)}",
                f"known are: {', '.join(PARAMS)}",
            )
        self.source = str(Path(config.path).expanduser()) if config.path else config.model
        if not self.source:
            raise ConfigError("`transformers` needs a `model` or a `path`", "name a hub model or a folder")
        if config.path and not (Path(self.source) / "config.json").is_file():
            raise ConfigError(
                f"{config.path} holds no config.json", "give a folder that Transformers has saved"
            )
        settings = {"params": config.params, "files": _digests(Path(self.source)) if config.path else {}}
        name = config.model or Path(self.source).name
        self.identity = Identity("classifier", "transformers", name, settings)
        self.config = config
        self.batch = config.batch or BATCH
        self.parallel = 1
        self._pipeline: Any = None
        self._worker: ThreadPoolExecutor | None = None

    async def start(self) -> None:
        if self._pipeline is None:
            self._worker = ThreadPoolExecutor(1, "failscape-transformers")
            await self._run(self._load)

    async def close(self) -> None:
        worker, self._worker, self._pipeline = self._worker, None, None
        if worker is not None:
            worker.shutdown(wait=False, cancel_futures=True)

    async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]:
        if self._pipeline is None:
            raise ModelError(f"{self.source} is not started", "call `await model.start()` first")
        return await self._run(self._classify, list(images)) if images else []

    async def _run(self, function: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)

    def _load(self) -> None:
        import torch
        from transformers import __version__, pipeline

        params = self.config.params
        device = params.get("device") or ("cuda:0" if torch.cuda.is_available() else "cpu")
        dtype = getattr(torch, str(params.get("dtype", "float32")), None)
        if dtype is None:
            raise ConfigError(
                f"`params.dtype` {params['dtype']!r} is no torch type", "use for example float16"
            )
        try:
            self._pipeline = pipeline(
                "image-classification",
                model=self.source,
                revision=params.get("revision"),
                device=device,
                **{_dtype_name(__version__): dtype},
            )
        except Exception as error:
            text = " ".join(str(error).split())[:300]
            raise ConfigError(
                f"{self.source} cannot be loaded: {text}", "check `model`, `path`, `params`"
            ) from error

    def _classify(self, images: list[Picture]) -> list[Reply[Ranking]]:
        shown = [image.image.convert("RGB") for image in images]
        count = int(self.config.params.get("top_k", TOP))
        try:
            rows = self._pipeline(shown, top_k=count, batch_size=len(shown))
        except Exception as error:
            text = " ".join(str(error).split())[:300]
            raise Permanent(
                f"{self.source} failed: {text}", "check that it is an image classifier"
            ) from error
        if len(rows) != len(images):
            raise Permanent(
                f"{self.source} gave {len(rows)} rows for {len(images)} images", "check the model"
            )
        return [_ranking(row) for row in rows]


def _dtype_name(version: str) -> str:
    """The argument was renamed in 4.56."""
    return "torch_dtype" if tuple(map(int, version.split(".")[:2])) < (4, 56) else "dtype"


def _ranking(row: Sequence[dict[str, Any]]) -> Reply[Ranking]:
    ranking = [(str(entry["label"]), float(entry["score"])) for entry in row]
    if not all(math.isfinite(score) for _, score in ranking):
        return Reply(None, "the classifier gave scores that are no numbers")
    return Reply(sorted(ranking, key=lambda pair: -pair[1]))


def _digests(folder: Path) -> dict[str, str]:
    """What the model is, by content: the same folder elsewhere is the same model."""
    files = sorted({path for pattern in WEIGHTS for path in folder.glob(pattern)})
    return {path.name: file_digest(path) for path in files}


def create(role: str, config: ModelConfig) -> Model:
    """The factory that the registry calls."""
    if role != "classifier":
        raise ConfigError(f"provider transformers cannot play the role {role}", "it can play: classifier")
    if any(find_spec(name) is None for name in ("torch", "transformers")):
        raise MissingExtra("provider transformers", "transformers")
    model: Model = charge(TransformersClassifier(config), ROLE_METHODS[role][1], config.price)
    return model
