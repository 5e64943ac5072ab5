"""How well the ocr judge reads: text rendered clean, rotated, curved, noisy and small, right and misspelt.

    python -m benchmarks.ocr_judge             # prints the table
    python -m benchmarks.ocr_judge --write     # and writes the accuracy on clean text into the package

Needs the extra `ocr` and the fonts DejaVu and Liberation (Debian: fonts-dejavu-core, fonts-liberation).
*Recall* is how often text that is there is accepted, *false acceptance* how often a misspelt one is: two
letters swapped, one doubled, dropped or replaced.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from failscape.config import ModelConfig
from failscape.models.providers.ocr import OcrJudge
from failscape.pictures import Picture
from failscape.spaces.corpus import load_corpus
from failscape.spaces.written_text import TEXT_FAMILY, says
from failscape.stats.intervals import exact_interval
from failscape.stats.judging.accuracy import JudgeAccuracy

FONTS = (
    "dejavu/DejaVuSans-Bold.ttf",
    "dejavu/DejaVuSerif.ttf",
    "liberation/LiberationSans-Regular.ttf",
    "liberation/LiberationSerif-Italic.ttf",
    "liberation/LiberationMono-Bold.ttf",
)
FOLDER = Path("/usr/share/fonts/truetype")
SIDE = 384


def rendered(text: str, font: str, ink: tuple[int, int, int], paper: tuple[int, int, int]) -> Image.Image:
    """The text in the middle, as large as fits."""
    image = Image.new("RGB", (SIDE, SIDE), paper)
    draw = ImageDraw.Draw(image)
    size = 96
    while size > 16 and draw.textlength(text, ImageFont.truetype(str(FOLDER / font), size)) > 0.85 * SIDE:
        size -= 4
    letters = ImageFont.truetype(str(FOLDER / font), size)
    draw.text((SIDE / 2, SIDE / 2), text, ink, letters, anchor="mm")
    return image


def clean(image: Image.Image, luck: Random) -> Image.Image:
    return image


def rotated(image: Image.Image, luck: Random) -> Image.Image:
    corner = image.getpixel((0, 0))
    return image.rotate(luck.uniform(-20, 20), Image.Resampling.BICUBIC, fillcolor=corner)


def curved(image: Image.Image, luck: Random) -> Image.Image:
    """Columns moved along an arc."""
    pixels = np.asarray(image)
    height = luck.choice((-1, 1)) * 40
    columns = [
        np.roll(pixels[:, x], round(height * math.sin(math.pi * x / SIDE)), axis=0) for x in range(SIDE)
    ]
    return Image.fromarray(np.stack(columns, axis=1))


def noisy(image: Image.Image, luck: Random) -> Image.Image:
    noise = np.random.default_rng(luck.randrange(2**32)).normal(0, 40, (SIDE, SIDE, 3))
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


def blurred(image: Image.Image, luck: Random) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(3))


def small(image: Image.Image, luck: Random) -> Image.Image:
    """The whole picture at a quarter of its size, on an empty one."""
    page = Image.new("RGB", (SIDE, SIDE), image.getpixel((0, 0)))
    page.paste(
        image.resize((SIDE // 4, SIDE // 4)), (luck.randrange(SIDE * 3 // 4), luck.randrange(SIDE * 3 // 4))
    )
    return page


LOOKS: dict[str, Callable[[Image.Image, Random], Image.Image]] = {
    "clean": clean,
    "rotated by up to 20°": rotated,
    "curved": curved,
    "noisy": noisy,
    "blurred": blurred,
    "a quarter of the size": small,
}


def misspelt(text: str, luck: Random) -> str:
    """One slip that changes the text whatever the rules are."""
    letters = list(text)
    places = [place for place, sign in enumerate(letters) if sign.isalnum()]
    while "".join(letters).casefold() == text.casefold():
        letters = list(text)
        place = luck.choice(places)
        slip = luck.choice(("swap", "double", "drop", "replace"))
        if slip == "swap" and place + 1 < len(letters):
            letters[place], letters[place + 1] = letters[place + 1], letters[place]
        elif slip == "double":
            letters.insert(place, letters[place])
        elif slip == "drop" and len(places) > 1:
            del letters[place]
        elif slip == "replace":
            letters[place] = luck.choice("AEKMSTX" if letters[place].isupper() else "aekmstx")
    return "".join(letters)


def latin_texts() -> list[str]:
    """The texts of the corpus that the fonts have letters for."""
    names = [value.name for value in load_corpus("signs").values if value.family == TEXT_FAMILY]
    return [name for name in names if all(ord(sign) < 0x250 for sign in name)]


def measure(judge: OcrJudge, look: str, each: int, seed: int) -> tuple[int, int, int, int]:
    """Right ones accepted and shown, wrong ones rejected and shown."""
    luck = Random(f"{look} {seed}")
    accepted = rejected = shown = 0
    for text in latin_texts():
        for _ in range(each):
            shown += 1
            for written in (text, misspelt(text, luck)):
                ink, paper = (
                    ((20, 20, 20), (245, 245, 245))
                    if luck.random() < 0.5
                    else ((250, 240, 60), (30, 60, 120))
                )
                image = LOOKS[look](rendered(written, luck.choice(FONTS), ink, paper), luck)
                found = says(text, judge.read(Picture.from_image(image)), judge.rules)
                accepted += found and written == text
                rejected += not found and written != text
    return accepted, shown, rejected, shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--each", type=int, default=3, help="pictures of each text and look")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--write", action="store_true", help="write the accuracy on clean text into the package"
    )
    given = parser.parse_args()
    judge = OcrJudge(ModelConfig(provider="ocr"))
    judge.load()
    print("| text is | recall | false acceptance | pictures |\n|---|---|---|---|")
    for look in LOOKS:
        accepted, shown, rejected, wrong = measure(judge, look, given.each, given.seed)
        print(
            f"| {look} | {_share(accepted, shown)} | {_share(wrong - rejected, wrong)} | {shown + wrong} |",
            flush=True,
        )
        if look == "clean" and given.write:
            counts = {f"{TEXT_FAMILY}: says": (accepted, shown, rejected, wrong)}
            known = JudgeAccuracy.from_counts(counts)
            file = Path("src/failscape/models/providers/ocr_accuracy.json")
            file.write_text(f"{known.to_json()}\n", encoding="utf-8")


def _share(hits: int, of: int) -> str:
    low, high = exact_interval(hits, of)
    return f"{hits / of:.1%} ({low:.0%}–{high:.0%})"


if __name__ == "__main__":
    main()
