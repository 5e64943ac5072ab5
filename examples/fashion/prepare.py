"""Makes labelled photos of clothes and a small grey classifier from Debian's `dataset-fashion-mnist` (MIT).

    pip install "failscape[train]"
    python examples/fashion/prepare.py           # needs apt-get and dpkg-deb; nothing is installed
    failscape run examples/fashion/hunt.yaml --atlas runs/fashion

The pictures are the test half of Fashion-MNIST (28 × 28, grey), as a careless shop might deliver them: some
are turned, small, blurred or inverted. `metadata.jsonl` says which, and how bright each is. The network
learns from the other half, upright and plain, and is written as an ONNX file with one channel.

`--augment turn,size` shows the network such pictures too, which is a repair; with `--augment ""` and more
`--epochs` the training is merely longer, which is its placebo.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter, ImageOps

PACKAGE = "dataset-fashion-mnist"
SIDE = 28
LABELS = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")
TURNS = {"upright": 0, "sideways": 90, "upside down": 180}
SIZES = {"full": SIDE, "half": SIDE // 2}
STATES = ("plain", "blurred", "inverted")
CHANCES: dict[str, dict[str, int]] = {
    "turn": {"upright": 6, "sideways": 1, "upside down": 1},
    "size": {"full": 5, "half": 1},
    "state": {"plain": 6, "blurred": 1, "inverted": 1},
}

Facts = dict[str, str]
Pixels = NDArray[np.uint8]


def unpack(folder: Path) -> Path:
    """Fetch the package and take it apart; its files are not installed."""
    subprocess.run(["apt-get", "download", PACKAGE], cwd=folder, check=True, capture_output=True)
    (package,) = folder.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", str(package), "files"], cwd=folder, check=True)
    (images,) = (folder / "files").rglob("train-images-idx3-ubyte.gz")
    return images.parent


def read(folder: Path, part: str) -> tuple[Pixels, NDArray[np.int64]]:
    """Pictures and classes of `train` or `t10k`."""
    images = gzip.decompress((folder / f"{part}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder / f"{part}-labels-idx1-ubyte.gz").read_bytes())
    pixels = np.frombuffer(images, np.uint8, offset=16).reshape(-1, SIDE, SIDE)
    return pixels, np.frombuffer(labels, np.uint8, offset=8).astype(np.int64)


def facts_by_chance(luck: random.Random, columns: tuple[str, ...] = tuple(CHANCES)) -> Facts:
    """One value for each column; columns that are not asked for have their usual value."""
    found = {}
    for column, chances in CHANCES.items():
        values = list(chances)
        found[column] = luck.choices(values, list(chances.values()))[0] if column in columns else values[0]
    return found


def photographed(pixels: Pixels, facts: Facts) -> Image.Image:
    """One picture of clothes, as the facts say."""
    picture = Image.fromarray(pixels).rotate(TURNS[facts["turn"]])
    side = SIZES[facts["size"]]
    if side < SIDE:
        ground = Image.new("L", (SIDE, SIDE))
        ground.paste(picture.resize((side, side), Image.Resampling.BOX), ((SIDE - side) // 2,) * 2)
        picture = ground
    if facts["state"] == "blurred":
        return picture.filter(ImageFilter.GaussianBlur(1.5))
    return ImageOps.invert(picture) if facts["state"] == "inverted" else picture


def write_photos(folder: Path, out: Path, count: int, seed: int) -> None:
    images, labels = read(folder, "t10k")
    luck = random.Random(seed)
    rows = []
    for number in range(count):
        name = LABELS[labels[number]]
        facts = facts_by_chance(luck)
        (out / name).mkdir(parents=True, exist_ok=True)
        file = f"{name}/{number:05}.png"
        photographed(images[number], facts).save(out / file)
        rows.append({"file_name": file, **facts, "brightness": round(float(images[number].mean()), 1)})
    (out / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def train(folder: Path, out: Path, augment: tuple[str, ...], epochs: int, count: int, seed: int) -> None:
    """A small convolutional network of one channel, trained on the other half, as an ONNX file."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    images, labels = read(folder, "train")
    luck = random.Random(seed)
    net = torch.nn.Sequential(
        *(torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2)),
        *(torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2)),
        *(torch.nn.Flatten(), torch.nn.Linear(32 * 49, 96), torch.nn.ReLU(), torch.nn.Linear(96, 10)),
    )
    truth = torch.from_numpy(labels[:count])
    steps = torch.optim.Adam(net.parameters(), 1e-3)
    for epoch in range(epochs):
        shown = [photographed(one, facts_by_chance(luck, augment)) for one in images[:count]]
        pixels = torch.from_numpy(np.stack([np.asarray(one, np.float32) for one in shown]) / 255)[:, None]
        for part in torch.randperm(count).split(64):
            loss = torch.nn.functional.cross_entropy(net(pixels[part]), truth[part])
            steps.zero_grad()
            loss.backward()
            steps.step()
        print(f"epoch {epoch + 1} of {epochs}: loss {loss.item():.3f}")
    export(net.eval(), out)


def export(net: Any, out: Path) -> None:
    import torch

    out.parent.mkdir(parents=True, exist_ok=True)
    example = torch.zeros(2, 1, SIDE, SIDE)
    batch = {"photos": {0: torch.export.Dim("batch")}}
    names = {"input_names": ["photos"], "output_names": ["scores"]}
    torch.onnx.export(
        net, (example,), str(out), dynamic_shapes=(batch["photos"],), external_data=False, **names
    )
    out.with_suffix(".txt").write_text("\n".join(LABELS) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).parent / "made"
    parser.add_argument("--photos", type=Path, default=here / "photos", help="the folder to make")
    parser.add_argument("--net", type=Path, default=here / "net.onnx", help="the network to train")
    parser.add_argument("--count", type=int, default=3_000, help="photos to make")
    parser.add_argument(
        "--shown", type=int, default=20_000, help="pictures of the training half to learn from"
    )
    parser.add_argument("--augment", default="", help="columns that vary in training: turn,size,state")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    wish = parser.parse_args()
    augment = tuple(column for column in wish.augment.split(",") if column)
    with tempfile.TemporaryDirectory() as temporary:
        folder = unpack(Path(temporary))
        if not wish.photos.exists():
            write_photos(folder, wish.photos, wish.count, wish.seed)
        train(folder, wish.net, augment, wish.epochs, wish.shown, wish.seed)
    print(f"{wish.photos}\n{wish.net}")


if __name__ == "__main__":
    main()
