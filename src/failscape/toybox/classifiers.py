"""The toy classifiers at work: three networks that name the one thing in a picture.

They are plain ONNX classifiers (input "image": n x 3 x 64 x 64 from 0 to 1, output "logits"; names in
labels.txt), so any ONNX runner can use them. Their training data had spurious ties: see `renderer`.
"""

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.toybox.sessions import MODELS, as_input, run_in_parts, session

NAMES: Final = ("cnn", "resnet", "vit")


class ToyClassifier:
    """One of the three networks. Safe to use from several threads."""

    def __init__(self, name: str = "cnn", threads: int = 1, folder: Path = MODELS) -> None:
        if name not in NAMES:
            raise ValueError(f"a toy classifier must be one of {list(NAMES)}, but got {name!r}")
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
