"""Opens the shipped ONNX networks. One place for file names, threads and picture layout."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

MODELS: Final = Path(__file__).parent / "models"
SIDE: Final = 64


@cache
def session(path: Path, threads: int = 1) -> Any:
    """Return an onnxruntime session for a file; the same file is opened only once."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])


def as_input(images: ArrayLike) -> NDArray[np.float32]:
    """Turn pictures (n, 64, 64, 3) of bytes into what the networks read: (n, 3, 64, 64) from 0 to 1."""
    pictures = np.asarray(images)
    if pictures.ndim != 4 or pictures.shape[1:] != (SIDE, SIDE, 3) or pictures.dtype != np.uint8:
        raise ValueError(
            f"pictures must be uint8 of shape (n, {SIDE}, {SIDE}, 3), "
            f"but got {pictures.dtype} {pictures.shape}"
        )
    return np.ascontiguousarray(pictures.transpose(0, 3, 1, 2), dtype=np.float32) / np.float32(255)


def run_in_parts(network: Any, feed: dict[str, NDArray[Any]], most: int = 128) -> NDArray[np.float32]:
    """Return the network's first output for all rows of its inputs, at most so many rows at a time."""
    rows = len(next(iter(feed.values())))
    parts = []
    for at in range(0, rows, most):
        part = {name: values[at : at + most] for name, values in feed.items()}
        parts.append(np.asarray(network.run(None, part)[0], dtype=np.float32))
    return np.concatenate(parts)
