"""Draw the contact sheet of toy-painter: frequent, rare and never shown combinations.

Usage: python -m tools.toybox_training.painter_sheet docs/img/toybox-painter.png
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from failscape.toybox.painter import ToyPainter, training_counts
from tools.toybox_training import painter_tiers as tiers
from tools.toybox_training.long_tail import combination

_COLUMNS: Final = 10
_TILE: Final = 96
_LABEL: Final = 26
_TITLE: Final = 14
_ROWS: Final = {"frequent": 4, "rare": 3, "unseen": 3}


def sheet(painter: ToyPainter, counts: Mapping[str, int]) -> Image.Image:
    """Return the contact sheet: rows of frequent, rare and never shown combinations."""
    drawn = tiers.cases(counts, 2, 200, seed=3)
    picture = Image.new(
        "RGB", (_COLUMNS * (_TILE + 4), sum(_ROWS.values()) * (_TILE + _LABEL) + 3 * 14), "white"
    )
    pen, y = ImageDraw.Draw(picture), 0
    for tier, rows in _ROWS.items():
        pen.text((2, y), f"{tier} in training", fill=(180, 40, 40))
        y += _TITLE
        chosen = drawn[tier][: rows * _COLUMNS]
        _lay_rows(picture, pen, y, chosen, tiers.paint(painter, chosen), counts)
        y += rows * (_TILE + _LABEL)
    return picture


def _lay_rows(
    picture: Image.Image,
    pen: ImageDraw.ImageDraw,
    top: int,
    rows: Sequence[tiers.Case],
    paintings: NDArray[np.uint8],
    counts: Mapping[str, int],
) -> None:
    for i, (row, painting) in enumerate(zip(rows, paintings, strict=True)):
        x, y = i % _COLUMNS * (_TILE + 4), top + i // _COLUMNS * (_TILE + _LABEL)
        picture.paste(Image.fromarray(painting).resize((_TILE, _TILE), Image.Resampling.BICUBIC), (x, y))
        seen = counts.get(combination(row.entity, row.said), 0)
        pen.text((x + 2, y + _TILE), f"{row.entity} ({seen})", fill=(40, 40, 40), font_size=9)
        pen.text((x + 2, y + _TILE + 11), ", ".join(v for _, v in row.said), fill=(90, 90, 90), font_size=9)


def main() -> None:
    """Write the sheet as a PNG, with slightly fewer tones to keep it small."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    picture = sheet(ToyPainter(), training_counts())
    picture.point(lambda value: value // 8 * 8 + 4).save(args.out, optimize=True)


if __name__ == "__main__":
    main()
