"""Provider `transformers`: models of the Transformers library, in this process: classifiers and embedders.

`model` is a name on the hub, `path` a folder with `config.json`. Needs the extra `transformers`; torch is
imported when the model starts, not before. Chat models are in `transformers_chat.py`. CLIP and SigLIP put
texts and pictures into one space; text encoders take texts only, vision encoders pictures only.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from failscape.config import ModelConfig
from failscape.errors import ConfigError, Permanent
from failscape.models.in_process import (
    WEIGHTS,
    TorchModel,
    charge,
    device_of,
    dtype_of,
    one_line,
    require_packages,
)
from failscape.models.providers.transformers_chat import CHAT_ROLES
from failscape.models.roles import Model, Ranking, Reply
from failscape.pictures import Picture

BATCH = 16
TOP = 10


class TransformersClassifier(TorchModel):
    """An image-classification pipeline.

    Params: `device` (`cuda:0`, `cpu`; the first GPU unless told), `dtype` (`float16` …), `revision`, and
    `top_k`, how many labels are kept of each ranking.
    """

    role = "classifier"
    params = ("device", "dtype", "revision", "top_k")
    _pipeline: Any = None

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, BATCH)

    async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]:
        return await self.run(self._classify, list(images)) if images else []

    def load(self) -> None:
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
        try:
            rows = self._pipeline(
                shown, top_k=int(self.config.params.get("top_k", TOP)), batch_size=len(shown)
            )
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


EMBED_BATCH = 32
FETCHING = ("revision", "trust_remote_code")


class TransformersEmbedder(TorchModel):
    """Vectors have length 1 unless `params: {normalize: false}`.

    A model without a projection of its own gives the mean of its last states over the text, or what it has
    pooled of the picture.
    """

    role = "embedder"
    files = (*WEIGHTS, "*.json", "*.model", "merges.txt", "vocab.txt")
    params = ("device", "dtype", *FETCHING, "normalize")

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, EMBED_BATCH)

    async def embed(self, items: Sequence[str | Picture]) -> list[Reply[list[float]]]:
        return await self.run(self._embed, list(items)) if items else []

    def load(self) -> None:
        import transformers

        params = self.config.params
        about: dict[str, Any] = {name: params[name] for name in FETCHING if name in params}
        dtype = dtype_of(params, "float32")
        try:
            model = transformers.AutoModel.from_pretrained(self.source, **about, **dtype)
            if model.config.is_encoder_decoder:
                model = model.get_encoder()
            self._model: Any = model.to(device_of(params)).eval()
            self._tokenizer = _perhaps(transformers.AutoTokenizer, self.source, about)
            self._eye = _perhaps(transformers.AutoImageProcessor, self.source, about)
        except ConfigError:
            raise
        except Exception as error:
            raise self._unusable(error) from error

    def _embed(self, items: list[str | Picture]) -> list[Reply[list[float]]]:
        """Texts and pictures apart, each in batches. Equal items are computed once: a batch of another size
        would change last bits."""
        names = [item if isinstance(item, str) else item.digest for item in items]
        different = dict(zip(names, items, strict=True))
        found: dict[str, list[float]] = {}
        for kind, vectors_of in ((str, self._texts), (Picture, self._pictures)):
            which = [name for name, item in different.items() if isinstance(item, kind)]
            for start in range(0, len(which), self.batch):
                some = which[start : start + self.batch]
                rows = self._vectors(vectors_of, [different[name] for name in some])
                found.update(zip(some, rows, strict=True))
        return [Reply(found[name]) for name in names]

    def _vectors(self, vectors_of: Callable[[list[Any]], Any], items: list[Any]) -> list[list[float]]:
        import torch

        try:
            with torch.no_grad():
                rows = vectors_of(items).float()
                if self.config.params.get("normalize", True):
                    rows = torch.nn.functional.normalize(rows, dim=-1)
                found: list[list[float]] = rows.cpu().tolist()
                return found
        except Permanent:
            raise
        except Exception as error:
            fix = "check `params`; if memory is short, set a smaller `batch`"
            raise Permanent(f"{self.source} failed: {one_line(error)}", fix) from error

    def _texts(self, texts: list[str]) -> Any:
        if self._tokenizer is None:
            raise Permanent(f"{self.source} embeds pictures only, but got a text", "name a CLIP-style model")
        # SigLIP was trained with texts of one length; others do not mind.
        padding = "max_length" if self._model.config.model_type.startswith("siglip") else True
        tokens = self._tokenizer(texts, padding=padding, truncation=True, return_tensors="pt")
        tokens = tokens.to(self._model.device)
        if hasattr(self._model, "get_text_features"):
            return _tensor(self._model.get_text_features(**tokens))
        states = self._model(**tokens).last_hidden_state
        weights = tokens["attention_mask"][:, :, None].to(states.dtype)
        return (states * weights).sum(1) / weights.sum(1).clamp(min=1)

    def _pictures(self, pictures: list[Picture]) -> Any:
        if self._eye is None:
            raise Permanent(
                f"{self.source} embeds texts only, but got a picture",
                "name a CLIP-style model or a vision model",
            )
        shown = [picture.image.convert("RGB") for picture in pictures]
        pixels = self._eye(images=shown, return_tensors="pt")["pixel_values"]
        pixels = pixels.to(self._model.device, self._model.dtype)
        if hasattr(self._model, "get_image_features"):
            return _tensor(self._model.get_image_features(pixel_values=pixels))
        out = self._model(pixel_values=pixels)
        pooled = getattr(out, "pooler_output", None)
        return (out.last_hidden_state.mean(1) if pooled is None else pooled).flatten(1)


def _perhaps(kind: Any, source: str, about: dict[str, Any]) -> Any:
    """What reads texts or pictures for the model; `None` where its folder has none."""
    try:
        return kind.from_pretrained(source, **about)
    except Exception:
        return None


def _tensor(features: Any) -> Any:
    """Newer releases give the features with what they were made from."""
    return getattr(features, "pooler_output", features)


KINDS: dict[str, Callable[[ModelConfig], Any]] = {
    "classifier": TransformersClassifier,
    "embedder": TransformersEmbedder,
    **{kind.role: kind for kind in CHAT_ROLES},
}


def create(role: str, config: ModelConfig) -> Model:
    """The factory that the registry calls."""
    require_packages("transformers", "torch", "transformers")
    model: Model = charge(KINDS[role](config), role, config.price)
    return model
