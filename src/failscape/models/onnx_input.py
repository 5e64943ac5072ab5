"""Pictures as the tensor that a model file wants: size, layout, colour order, mean, std and number type."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from failscape.errors import ConfigError
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
    own = {name: _plain(value) for name, value in metadata.items() if name in KNOWN}
    return {**own, **params}


def _plain(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def file_digest(file: Path) -> str:
    """A name for a file's content: another file under the same name is another model."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}", "check the path") from error


@dataclass(frozen=True)
class ImageInput:
    """One image input of a model file. `fixed_batch` is 0 when any number of images may go at once."""

    name: str
    height: int
    width: int
    fixed_batch: int
    channels_first: bool
    reverse_colours: bool
    crop: bool
    scale: float
    mean: NDArray[np.float32]
    std: NDArray[np.float32]
    kind: Any

    @classmethod
    def of(cls, session: Any, settings: Mapping[str, Any], path: str) -> ImageInput:
        source = _choose_input(session, settings.get("input"), path)
        if len(source.shape) != 4:
            raise ConfigError(
                f"{path}: input {source.name!r} has shape {source.shape}, not that of a batch of images",
                "name the image input: `params: {input: …}`",
            )
        if source.type not in TYPES:
            raise ConfigError(
                f"{path}: input {source.name!r} takes {source.type}",
                f"export it with one of: {', '.join(TYPES)}",
            )
        first = _channels_first(source.shape, settings.get("layout"), path)
        height, width = _size(source.shape[2:] if first else source.shape[1:3], settings.get("size"), path)
        batch = source.shape[0]
        whole = TYPES[source.type] is np.uint8
        return cls(
            name=source.name,
            height=height,
            width=width,
            fixed_batch=batch if isinstance(batch, int) and batch > 0 else 0,
            channels_first=first,
            reverse_colours=str(settings.get("channels", "RGB")).upper() == "BGR",
            crop=settings.get("fit", "squash") == "crop",
            scale=float(settings.get("scale", 1.0 if whole else 1 / 255)),
            mean=_three(settings.get("mean", 0.0), "mean"),
            std=_three(settings.get("std", 1.0), "std"),
            kind=TYPES[source.type],
        )

    def pixels(self, pictures: Sequence[Picture], pad_to: int = 0) -> NDArray[Any]:
        """The tensor; with `pad_to` the last picture is repeated until the batch is full."""
        stack = np.stack([self._fit(picture) for picture in pictures])
        if self.kind is not np.uint8:
            scaled = (stack.astype(np.float32) * np.float32(self.scale) - self.mean) / self.std
            stack = scaled.astype(self.kind)
        if len(stack) < pad_to:
            stack = np.concatenate([stack, np.repeat(stack[-1:], pad_to - len(stack), axis=0)])
        return np.ascontiguousarray(stack.transpose(0, 3, 1, 2) if self.channels_first else stack)

    def _fit(self, picture: Picture) -> NDArray[np.uint8]:
        image = picture.image.convert("RGB")
        if self.crop:
            image = _central(image, self.width / self.height)
        if image.size != (self.width, self.height):
            image = image.resize((self.width, self.height), Image.Resampling.BILINEAR)
        pixels = np.asarray(image)
        return pixels[:, :, ::-1] if self.reverse_colours else pixels


def _central(image: Image.Image, aspect: float) -> Image.Image:
    """The largest middle part of the wanted shape."""
    width = min(image.width, round(image.height * aspect))
    height = min(image.height, round(image.width / aspect))
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))


def _choose_input(session: Any, name: str | None, path: str) -> Any:
    inputs = {source.name: source for source in session.get_inputs()}
    if name is not None and name not in inputs:
        raise ConfigError(f"{path} has no input {name!r}", f"use one of: {', '.join(inputs)}")
    return inputs[name] if name else next(iter(inputs.values()))


def _channels_first(shape: Sequence[Any], layout: str | None, path: str) -> bool:
    if layout:
        if layout.upper() not in ("NCHW", "NHWC"):
            raise ConfigError(f"`layout` must be NCHW or NHWC, but got {layout!r}", "check `params`")
        return layout.upper() == "NCHW"
    if shape[1] == 3 or shape[3] == 3:
        return bool(shape[1] == 3)
    raise ConfigError(f"{path} does not say where its channels are: {shape}", "set `params: {layout: NCHW}`")


def _size(shape: Sequence[Any], size: Any, path: str) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    if isinstance(size, Sequence) and not isinstance(size, str) and len(size) == 2:
        return int(size[0]), int(size[1])
    if size is None and all(isinstance(side, int) for side in shape):
        return int(shape[0]), int(shape[1])
    raise ConfigError(f"{path} does not fix its image size", "set `params: {size: [height, width]}`")


def _three(value: Any, name: str) -> NDArray[np.float32]:
    array = np.asarray(value, dtype=np.float32).reshape(-1)
    if array.size not in (1, 3) or (name == "std" and (array == 0).any()):
        raise ConfigError(f"`{name}` must be one number or three, but got {value!r}", "check `params`")
    return np.broadcast_to(array, (3,))
