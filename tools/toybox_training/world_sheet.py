"""Draw the contact sheet of the world: every thing, colour, place, time, style, count and some layouts.

Usage: python -m tools.toybox_training.world_sheet docs/img/toybox-world.png
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from failscape.toybox import world

_TILE = 96
_LABEL = 14
_COLUMNS = 10


def cells() -> list[tuple[str, world.Scene]]:
    """Return label and scene of every tile."""
    rng = np.random.default_rng(4)

    def one(label: str, **values: str) -> tuple[str, world.Scene]:
        return label, world.build_scene(world.Attributes(**values), world.sample_nuisance(rng) * 0.5)

    rows = [one(entity, entity=entity) for entity in world.ENTITIES]
    rows += [one(f"{c} car", entity="car", colour=c) for c in world.COLOURS]
    rows += [one(place, entity="camel", place=place) for place in world.PLACES]
    rows += [one(f"{time}", entity="penguin", place="meadow", time=time) for time in world.TIMES]
    rows += [one(p, entity="fish", place="ocean", position=p) for p in world.POSITIONS]
    rows += [one(style, entity="cow", place="beach", style=style) for style in world.STYLES]
    rows += [one(count, entity="apple", place="snow", count=count) for count in world.COUNTS]
    rows += [(f"layout {i + 1}", world.sample_layout(rng, 3 + i % 3, style="plain")) for i in range(10)]
    return rows


def sheet() -> Image.Image:
    """Return the whole sheet."""
    tiles = cells()
    height = -(-len(tiles) // _COLUMNS) * (_TILE + _LABEL)
    picture = Image.new("RGB", (_COLUMNS * (_TILE + 4), height), "white")
    pen = ImageDraw.Draw(picture)
    for i, (label, scene) in enumerate(tiles):
        x, y = i % _COLUMNS * (_TILE + 4), i // _COLUMNS * (_TILE + _LABEL)
        tile = Image.fromarray(world.render(scene)).resize((_TILE, _TILE), Image.Resampling.BICUBIC)
        picture.paste(tile, (x, y))
        pen.text((x + 2, y + _TILE), label, fill=(40, 40, 40))
    return picture


def main() -> None:
    """Write the sheet as a PNG, with slightly fewer tones to keep it small."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    sheet().point(lambda value: value // 4 * 4 + 2).save(args.out, optimize=True)


if __name__ == "__main__":
    main()
