"""Rebuild the sprite sheet from an unpacked `@lobehub/fluent-emoji-3d` npm package.

Usage: python -m tools.toybox_training.build_sprites PACKAGE_FOLDER
"""

import argparse
from pathlib import Path

from PIL import Image

from failscape.toybox.world.render import COLUMNS, SHEET, SPRITE
from failscape.toybox.world.vocab import KINDS


def square(picture: Image.Image) -> Image.Image:
    """Crop a picture to what is visible, centre it on a square and scale it to the sprite size."""
    box = picture.getchannel("A").point(lambda a: 255 if a > 24 else 0).getbbox()
    cropped = picture.crop(box)
    side = max(cropped.size)
    canvas = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    canvas.paste(cropped, ((side - cropped.width) // 2, (side - cropped.height) // 2))
    return canvas.resize((SPRITE, SPRITE), Image.Resampling.LANCZOS)


def build(package: Path) -> Image.Image:
    """Return the sheet: one square per kind, in the order of the world's vocabulary."""
    rows = -(-len(KINDS) // COLUMNS)
    sheet = Image.new("RGBA", (COLUMNS * SPRITE, rows * SPRITE), (0, 0, 0, 0))
    for index, kind in enumerate(KINDS):
        with Image.open(package / "assets" / f"{kind.code}.webp") as picture:
            sprite = square(picture.convert("RGBA"))
        sheet.paste(sprite, (index % COLUMNS * SPRITE, index // COLUMNS * SPRITE))
    return sheet


def main() -> None:
    """Write the sheet into the package, or to the path given with --out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", type=Path, help="folder that holds assets/*.webp")
    parser.add_argument("--out", type=Path, default=SHEET)
    args = parser.parse_args()
    build(args.package).save(args.out, optimize=True)
    print(f"{args.out}: {len(KINDS)} sprites, {args.out.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
