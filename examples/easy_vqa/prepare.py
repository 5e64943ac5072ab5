"""Makes a folder of pictures with annotated questions from the PyPI package `easy-vqa` (MIT), and trains an
answerer on its other half.

    pip install failscape easy-vqa
    python examples/easy_vqa/prepare.py
    failscape run examples/easy_vqa/hunt.yaml --atlas runs/easy-vqa

The pictures (64 × 64) show one shape in one colour. Questions are of the kind "is there not a red shape?" and
"what shape does the image contain?"; 1,000 pictures and their questions are the test half. The answerer is a
network of two layers over pixels and the words of the question, trained with NumPy in about a minute.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from answerer import Answerer, Vocabulary, features_of_picture, words_of

HERE = Path(__file__).parent / "made"
Floats = NDArray[np.float32]
Question = tuple[str, str, int]
HIDDEN, BATCH, STEP = 256, 64, 1e-3


def data_folder() -> Path:
    """Where the installed package keeps its pictures and questions."""
    found = find_spec("easy_vqa")
    if found is None or found.origin is None:
        raise SystemExit("the package is missing: pip install easy-vqa")
    return Path(found.origin).parent / "data"


def questions_of(data: Path, half: str) -> list[Question]:
    """Question, answer and number of the picture, for `train` or `test`."""
    return [tuple(row) for row in json.loads((data / half / "questions.json").read_text(encoding="utf-8"))]


def tag_of(question: str, answer: str) -> str:
    """What it takes to answer: the skill that a mode is named by."""
    if answer in ("yes", "no"):
        return "existence"
    return "colour" if "color" in question else "shape"


def write_photos(data: Path, out: Path) -> None:
    """The pictures of the test half and `questions.jsonl` beside them."""
    shutil.copytree(data / "test" / "images", out, dirs_exist_ok=True)
    rows: list[dict[str, Any]] = [
        {"file_name": f"{number}.png", "question": text, "answer": answer, "tags": [tag_of(text, answer)]}
        for text, answer, number in questions_of(data, "test")
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (out / "questions.jsonl").write_text(lines, encoding="utf-8")


def train(data: Path, out: Path, epochs: int, seed: int) -> None:
    """Two layers over the picture and the words, multiplied: Adam on the training half."""
    questions = questions_of(data, "train")
    words = sorted({word for text, _, _ in questions for word in words_of(text)})
    answers = sorted({answer for _, answer, _ in questions})
    known = Vocabulary(tuple(words), tuple(answers))
    numbers = sorted({number for _, _, number in questions})
    files = [data / "train" / "images" / f"{number}.png" for number in numbers]
    pictures = np.stack([features_of_picture(file) for file in files])
    at = np.searchsorted(numbers, [number for _, _, number in questions])
    asked = np.stack([known.features(text) for text, _, _ in questions])
    truth = np.array([answers.index(answer) for _, answer, _ in questions])
    luck = np.random.default_rng(seed)
    net = Answerer.untrained(known, pictures.shape[1], HIDDEN, luck)
    moments: list[tuple[Floats, Floats]] = [
        (np.zeros_like(part), np.zeros_like(part)) for part in net.weights
    ]
    step = 0
    for epoch in range(epochs):
        losses = []
        order = luck.permutation(len(questions))
        for start in range(0, len(order), BATCH):
            part = order[start : start + BATCH]
            loss, gradients = net.learn_from(pictures[at[part]], asked[part], truth[part])
            step += 1
            losses.append(loss)
            _adam(net.weights, gradients, moments, step)
        print(f"epoch {epoch + 1} of {epochs}: loss {np.mean(losses):.3f}")
    net.save(out)


def _adam(
    weights: list[Floats], gradients: list[Floats], moments: list[tuple[Floats, Floats]], step: int
) -> None:
    """One step of Adam, in place."""
    for weight, gradient, (mean, square) in zip(weights, gradients, moments, strict=True):
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient**2 - square)
        rate = STEP * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        weight -= rate * mean / (np.sqrt(square) + 1e-8)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE, help="the folder to make")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    wish = parser.parse_args()
    data = data_folder()
    write_photos(data, wish.out / "photos")
    train(data, wish.out / "net.npz", wish.epochs, wish.seed)
    print(f"{wish.out / 'photos'}\n{wish.out / 'net.npz'}")


if __name__ == "__main__":
    main()
