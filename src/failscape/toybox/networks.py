"""Opens the shipped ONNX networks: one place for file names, threads and picture layout; and the toy
classifiers.

Those are three networks that name the one thing in a picture: plain ONNX classifiers (input "image": n x 3
x 64 x 64 from 0 to 1, output "logits"; names in labels.txt), so any ONNX runner can use them. Their
training data had spurious ties: see `renderer`.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

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


CLASSIFIERS: Final = ("cnn", "resnet", "vit")


class ToyClassifier:
    """One of the three networks. Safe to use from several threads."""

    def __init__(self, name: str = "cnn", threads: int = 1, folder: Path = MODELS) -> None:
        if name not in CLASSIFIERS:
            raise ValueError(f"a toy classifier must be one of {list(CLASSIFIERS)}, but got {name!r}")
        self.name = name
        self.labels = labels(folder)
        self._session = session(folder / f"classifier-{name}.onnx", threads)

    def probabilities(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return one row of probabilities per picture, in the order of `labels`."""
        if not len(images):
            return np.zeros((0, len(self.labels)), dtype=np.float32)
        return special.softmax(run_in_parts(self._session, {"image": as_input(images)}), axis=-1)

    def classify(self, images: NDArray[np.uint8], top: int | None = None) -> list[list[tuple[str, float]]]:
        """Return labels with probabilities for each picture, best first."""
        rows = self.probabilities(images)
        order = np.argsort(-rows, axis=1, kind="stable")[:, :top]
        return [
            [(self.labels[j], float(row[j])) for j in best] for row, best in zip(rows, order, strict=True)
        ]


def labels(folder: Path = MODELS) -> tuple[str, ...]:
    """Return the names of the classes, in the order of the networks' outputs."""
    return tuple((folder / "labels.txt").read_text(encoding="utf-8").split("\n")[:-1])
