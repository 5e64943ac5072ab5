"""Provider `onnx`: a model file run in this process by onnxruntime, as classifier or embedder of images.

What the file does not say (mean, std, labels …) comes from `params`; see docs/providers.md. Files whose
metadata hold `mean`, `std`, `size`, `labels` … as JSON need no params at all, and the image fields of the
ONNX standard (`Image.BitmapPixelFormat`, `Image.NominalPixelRange`) are read too. `about_input` says what was
stated and what is assumed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import special

from failscape.config import ModelConfig
from failscape.errors import ConfigError, Permanent
from failscape.models.in_process import InProcess, charge, file_digest
from failscape.models.roles import Identity, Model, Ranking, Reply
from failscape.pictures import Picture

TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
KNOWN = {
    "input", "output", "size", "mean", "std", "scale", "layout", "channels", "fit", "softmax", "labels",
    "top_k", "threads",
}  # fmt: skip


def read_settings(params: Mapping[str, Any], metadata: Mapping[str, str]) -> dict[str, Any]:
    """Params over the model file's own metadata."""
    unknown = sorted(set(params) - KNOWN)
    if unknown:
        raise ConfigError(
            f"provider onnx does not know params {', '.join(unknown)}", f"known: {', '.join(sorted(KNOWN))}"
        )
    own: dict[str, Any] = {name: value for name, value in metadata.items() if name in KNOWN}
    for name, value in own.items():
        with suppress(ValueError):  # what is no JSON is a text
            own[name] = json.loads(value)
    return {**_standard_settings(metadata), **own, **params}


#: ONNX's own words for pixels → scale and mean, with pixels from 0 to 255.
PIXEL_RANGES = {
    "NominalRange_0_255": {"scale": 1.0, "mean": 0.0},
    "Normalized_0_1": {"scale": 1 / 255, "mean": 0.0},
    "Normalized_1_1": {"scale": 2 / 255, "mean": 1.0},
}
PIXEL_FORMATS = {"Gray8": "grey", "Rgb8": "RGB", "Bgr8": "BGR"}


def _standard_settings(metadata: Mapping[str, str]) -> dict[str, Any]:
    """What the image fields of the ONNX standard say, in our words."""
    found: dict[str, Any] = dict(PIXEL_RANGES.get(metadata.get("Image.NominalPixelRange", ""), {}))
    pixel_format = metadata.get("Image.BitmapPixelFormat", "")
    return {**found, "channels": PIXEL_FORMATS[pixel_format]} if pixel_format in PIXEL_FORMATS else found


@dataclass(frozen=True)
class ImageInput:
    """One image input of a model file. `fixed_batch` is 0 when any number of images may go at once.

    `layout` is NCHW, NHWC, NHW (grey, without an axis for channels) or flat (one row of numbers). `channels`
    is 1 for grey pictures, else 3. `assumed` are settings that neither the file nor `params` state.
    """

    name: str
    height: int
    width: int
    fixed_batch: int
    layout: str
    channels: int
    reverse_colours: bool
    crop: bool
    scale: float
    mean: NDArray[np.float32]
    std: NDArray[np.float32]
    kind: Any
    assumed: tuple[str, ...]

    @classmethod
    def of(cls, session: Any, settings: Mapping[str, Any], path: str) -> ImageInput:
        source = chosen("input", session.get_inputs(), settings, path)

        if len(source.shape) not in (2, 3, 4):
            raise ConfigError(
                f"{path}: input {source.name!r} has shape {source.shape}, not that of a batch of images",
                "name the image input: `params: {input: …}`",
            )
        if source.type not in TYPES:
            raise ConfigError(
                f"{path}: input {source.name!r} takes {source.type}",
                f"export it with one of: {', '.join(TYPES)}",
            )
        layout = _layout(source.shape, settings.get("layout"), path)
        height, width = _size(_sides(source.shape, layout), settings.get("size"), path)
        order, channels = _channels(settings.get("channels"), source.shape, layout, height * width, path)
        batch = source.shape[0]
        whole = TYPES[source.type] is np.uint8
        usual = {"scale", "mean", "std", "fit", *(["channels"] if channels == 3 else [])}
        return cls(
            name=source.name,
            height=height,
            width=width,
            fixed_batch=batch if isinstance(batch, int) and batch > 0 else 0,
            layout=layout,
            channels=channels,
            reverse_colours=order == "BGR",
            crop=settings.get("fit", "squash") == "crop",
            scale=float(settings.get("scale", 1.0 if whole else 1 / 255)),
            mean=_per_channel(settings.get("mean", 0.0), "mean", channels),
            std=_per_channel(settings.get("std", 1.0), "std", channels),
            kind=TYPES[source.type],
            assumed=tuple(sorted((usual - {"scale", "mean", "std"} if whole else usual) - settings.keys())),
        )

    def __str__(self) -> str:
        """`28 × 28 grey pixels (NCHW), × 0.00392, minus 0.5, by 0.5, squashed to size`."""
        colours = "grey" if self.channels == 1 else "BGR" if self.reverse_colours else "RGB"
        numbers = ""
        if self.kind is not np.uint8:
            mean, std = (", ".join(f"{one:.3g}" for one in row) for row in (self.mean, self.std))
            numbers = f", × {self.scale:.3g}, minus ({mean}), by ({std})"
        fit = "cropped" if self.crop else "squashed"
        return f"{self.height} × {self.width} {colours} pixels ({self.layout}){numbers}, {fit} to size"

    def pixels(self, pictures: Sequence[Picture], pad_to: int = 0) -> NDArray[Any]:
        """The tensor; with `pad_to` the last picture is repeated until the batch is full."""
        stack = np.stack([self._fit(picture) for picture in pictures])
        if self.kind is not np.uint8:
            scaled = (stack.astype(np.float32) * np.float32(self.scale) - self.mean) / self.std
            stack = scaled.astype(self.kind)
        if len(stack) < pad_to:
            stack = np.concatenate([stack, np.repeat(stack[-1:], pad_to - len(stack), axis=0)])
        return np.ascontiguousarray(self._laid_out(stack))

    def _laid_out(self, stack: NDArray[Any]) -> NDArray[Any]:
        if self.layout == "NHWC":
            return stack
        if self.layout == "NHW":
            return stack[:, :, :, 0]
        channels_first = stack.transpose(0, 3, 1, 2)
        return channels_first.reshape(len(stack), -1) if self.layout == FLAT else channels_first

    def _fit(self, picture: Picture) -> NDArray[np.uint8]:
        image = picture.image.convert("L" if self.channels == 1 else "RGB")
        if self.crop:
            image = _central(image, self.width / self.height)
        if image.size != (self.width, self.height):
            image = image.resize((self.width, self.height), Image.Resampling.BILINEAR)
        pixels = np.asarray(image).reshape(self.height, self.width, self.channels)
        return pixels[:, :, ::-1] if self.reverse_colours else pixels


def _central(image: Image.Image, aspect: float) -> Image.Image:
    """The largest middle part of the wanted shape."""
    width = min(image.width, round(image.height * aspect))
    height = min(image.height, round(image.width / aspect))
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))


def chosen(what: str, there: Sequence[Any], settings: Mapping[str, Any], path: str) -> Any:
    """The input or output of a model file that the settings name, else its first."""
    by_name = {one.name: one for one in there}
    name = settings.get(what) or there[0].name
    if name not in by_name:
        raise ConfigError(f"{path} has no {what} {name!r}", f"use one of: {', '.join(by_name)}")
    return by_name[name]


FLAT = "flat"
LAYOUTS = {4: ("NCHW", "NHWC"), 3: ("NHW",), 2: (FLAT,)}


def _layout(shape: Sequence[Any], layout: str | None, path: str) -> str:
    known = LAYOUTS[len(shape)]
    if layout:
        found = next((one for one in known if one.lower() == str(layout).lower()), None)
        if found is None:
            raise ConfigError(
                f"`layout` must be {' or '.join(known)} for an input of shape {shape}, but got {layout!r}",
                "check `params`",
            )
        return found
    if len(known) == 1:
        return known[0]
    for one, channels in zip(known, (shape[1], shape[3]), strict=True):
        if channels in (1, 3):
            return one
    raise ConfigError(f"{path} does not say where its channels are: {shape}", "set `params: {layout: NCHW}`")


def _sides(shape: Sequence[Any], layout: str) -> Sequence[Any]:
    """Height and width as the graph has them; it may say neither."""
    if layout == FLAT:
        return ("height", "width")
    return shape[2:] if layout == "NCHW" else shape[1:3]


def _channels(value: Any, shape: Sequence[Any], layout: str, pixels: int, path: str) -> tuple[str, int]:
    """The order of colours and their number: by `params`, else by the graph."""
    by_graph = {"NCHW": shape[1], "NHWC": shape[-1], "NHW": 1, FLAT: _channels_of_row(shape[1], pixels)}[
        layout
    ]
    known = {"RGB": 3, "BGR": 3, "GREY": 1, "GRAY": 1, "L": 1, "1": 1, "3": 3}
    order = str(value).upper() if value is not None else "GREY" if by_graph == 1 else "RGB"
    if order not in known:
        raise ConfigError(f"`channels` must be RGB, BGR or 1, but got {value!r}", "check `params`")
    if isinstance(by_graph, int) and by_graph != known[order]:
        raise ConfigError(
            f"{path} takes {by_graph} channels (shape {list(shape)}), but `channels` is {value or order!r}",
            f"set `params: {{channels: {'1' if by_graph == 1 else 'RGB'}}}`, or another `size` or `layout`",
        )
    return order, known[order]


def _channels_of_row(numbers: Any, pixels: int) -> Any:
    """How many numbers of a flat row belong to a pixel; a text where the graph leaves that open."""
    return numbers // pixels if isinstance(numbers, int) and numbers % pixels == 0 else numbers


def _size(shape: Sequence[Any], size: Any, path: str) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    if isinstance(size, Sequence) and not isinstance(size, str) and len(size) == 2:
        return int(size[0]), int(size[1])
    if size is None and all(isinstance(side, int) for side in shape):
        return int(shape[0]), int(shape[1])
    raise ConfigError(f"{path} does not fix its image size", "set `params: {size: [height, width]}`")


def _per_channel(value: Any, name: str, channels: int) -> NDArray[np.float32]:
    array = np.asarray(value, dtype=np.float32).reshape(-1)
    if array.size not in (1, channels) or (name == "std" and (array == 0).any()):
        wanted = "one number" if channels == 1 else "one number or three"
        raise ConfigError(f"`{name}` must be {wanted}, but got {value!r}", "check `params`")
    return np.broadcast_to(array, (channels,))


BATCH = 16
#: A ranking of all of 1,000 labels for every image would fill the atlas with numbers nobody reads.
TOP = 10

Floats = NDArray[np.floating[Any]]


class OnnxModel(InProcess):
    """The session, and the way from pictures to one named output. It runs in a thread of its own."""

    role = ""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self._file = Path(config.path).expanduser()
        if not self._file.is_file():
            raise ConfigError(f"there is no model file {config.path!r}", "set `path` to an .onnx file")
        settings = {
            "file": file_digest(self._file),
            "params": config.params,
            "labels": file_digest(Path(config.labels).expanduser()) if config.labels else "",
        }
        self.identity = Identity(self.role, "onnx", config.model or self._file.name, settings)
        self.batch = config.batch or BATCH

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config.path!r})"

    def load(self) -> None:
        import onnxruntime  # here: the import takes a while, and `failscape list` must not wait for it

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(self.config.params.get("threads") or os.cpu_count() or 1)
        try:
            session = onnxruntime.InferenceSession(
                str(self._file), options, providers=onnxruntime.get_available_providers()
            )
        except Exception as error:
            text = " ".join(str(error).split())[:200]
            raise ConfigError(
                f"{self.config.path} cannot be loaded: {text}", "check the .onnx file"
            ) from error
        settings = read_settings(self.config.params, session.get_modelmeta().custom_metadata_map)
        self._input = ImageInput.of(session, settings, self.config.path)
        if self._input.fixed_batch:
            self.batch = self._input.fixed_batch
        self._output = str(chosen("output", session.get_outputs(), settings, self.config.path).name)

        self._prepare(session, settings)
        self._session: Any = session

    @property
    def about_input(self) -> tuple[str, tuple[str, ...]]:
        """What pictures are made into, and which of its settings nobody stated. Known once it is started."""
        return str(self._input), self._input.assumed

    def _prepare(self, session: Any, settings: dict[str, Any]) -> None:
        """Room for roles to read what they need."""

    def _infer(self, images: Sequence[Picture]) -> Floats:
        """One row of the output per image."""
        fixed = self._input.fixed_batch
        rows: list[Floats] = []
        step = fixed or len(images)
        for start in range(0, len(images), step):
            part = images[start : start + step]
            pixels = self._input.pixels(part, pad_to=fixed)
            try:
                (output,) = self._session.run([self._output], {self._input.name: pixels})
            except Exception as error:
                text = " ".join(str(error).split())[:200]
                raise Permanent(
                    f"{self.config.path} failed: {text}", "check `size`, `layout` and `input` in `params`"
                ) from error
            rows.append(self._rows(np.asarray(output), len(pixels))[: len(part)])
        return np.concatenate(rows)

    def _rows(self, output: Floats, count: int) -> Floats:
        if output.ndim < 2 or output.shape[0] != count:
            raise Permanent(
                f"{self.config.path}: output {self._output!r} has shape {output.shape} for {count} images",
                "name an output with one row per image: `params: {output: …}`",
            )
        return output.reshape(count, -1).astype(np.float64)


class OnnxClassifier(OnnxModel):
    role = "classifier"

    @property
    def labels(self) -> list[str]:
        """The names of its outputs, in order; empty where nobody gave any. Known once it is started."""
        return list(self._labels)

    def _prepare(self, session: Any, settings: dict[str, Any]) -> None:
        self._labels = _read_labels(self.config, settings)
        self._softmax = settings.get("softmax")
        self._top = int(settings.get("top_k") or TOP)
        width = next(out.shape[-1] for out in session.get_outputs() if out.name == self._output)
        if isinstance(width, int):
            self._check_width(width)

    def _check_width(self, width: int) -> None:
        if self._labels and len(self._labels) != width:
            raise ConfigError(
                f"{self.config.path} has {width} classes, but there are {len(self._labels)} labels",
                "give a `labels` file with one label per line, in the order of the model's output",
            )

    async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]:
        if not images:
            return []
        scores = await self.run(self._infer, images)
        self._check_width(scores.shape[1])
        return [self._rank(row) for row in scores]

    def _rank(self, scores: Floats) -> Reply[Ranking]:
        if not np.isfinite(scores).all():
            return Reply(None, "the classifier gave scores that are no numbers")
        raw = scores.min() < 0 or abs(scores.sum() - 1) > 1e-2
        shares = special.softmax(scores) if (self._softmax or (self._softmax is None and raw)) else scores
        best = [int(index) for index in np.argsort(-shares, kind="stable")[: self._top]]
        return Reply([(self._labels[at] if self._labels else str(at), float(shares[at])) for at in best])


class OnnxEmbedder(OnnxModel):
    """The vector is the output named by `params: {output: …}`, its first one by default."""

    role = "embedder"

    async def embed(self, items: Sequence[str | Picture]) -> list[Reply[list[float]]]:
        if not items:
            return []
        images = [item for item in items if isinstance(item, Picture)]
        if len(images) != len(items):
            raise Permanent(
                "an onnx embedder takes images only, but got a text",
                "use `provider: openai` or `provider: python` for text embeddings",
            )
        vectors = await self.run(self._infer, images)
        return [
            Reply([float(number) for number in row])
            if np.isfinite(row).all()
            else Reply(None, "the embedder gave a vector that is no numbers")
            for row in vectors
        ]


def _read_labels(config: ModelConfig, settings: dict[str, Any]) -> list[str]:
    if not config.labels:
        labels = settings.get("labels") or []
        return [str(label) for label in (labels.splitlines() if isinstance(labels, str) else labels)]
    try:
        text = Path(config.labels).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"`labels` file {config.labels!r} cannot be read: {error}", "check `labels`"
        ) from error
    return [line.strip() for line in text.splitlines() if line.strip()]


def create(role: str, config: ModelConfig) -> Model:
    """The factory that the registry calls."""
    kind = OnnxClassifier if role == "classifier" else OnnxEmbedder
    return charge(kind(config), role, config.price)
