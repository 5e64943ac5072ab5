"""Makes a folder of labelled real pictures from the Debian package `tuxpaint-stamps-default`.

    python examples/photos/prepare.py            # needs apt-get and dpkg-deb; nothing is installed
    failscape run examples/photos/hunt.yaml --atlas runs/photos

Its stamps are photographs whose background was taken away (GPL-2+, so they are fetched, not shipped). Each is
put on one of three plain grounds, by its name, and labelled by its folder: a bird, a mammal, a fruit. A label
counts as right when the classifier names any ImageNet class of that group; `labels.json` says which classes.
`metadata.jsonl` has the ground and the folder of each stamp, by which the hunt can slice.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, ImageOps

from failscape.spaces.albums import load_labels

PACKAGE = "tuxpaint-stamps-default"
GROUNDS = {"white": (255, 255, 255), "green": (70, 130, 60), "dark": (25, 25, 30)}
SIZE = 256

MAMMALS = (*range(101, 107), *range(147, 300), *range(330, 389))
BIRDS = (*range(7, 25), *range(80, 101), *range(127, 147))
FISH, INSECTS = (*range(7), *range(389, 398)), tuple(range(300, 327))
"""ImageNet's animals stand together, so their numbers say what they are."""

INSTRUMENTS = ("wind instrument", "stringed instrument", "percussion instrument", "musical instrument")
VEHICLES = ("wheeled vehicle", "car", "truck", "bus", "motor vehicle", "vehicle", "boat", "ship", "aircraft")
PAINTBRUSH = 696
"""ImageNet has it among devices."""

CLOTHING = ("garment", "clothing", "headdress", "footwear", "covering")
GROUPS: dict[str, tuple[tuple[str, ...], tuple[int | str, ...]]] = {
    "bird": (("animals/birds",), BIRDS),
    "fish": (("animals/fish",), FISH),
    "mammal": (("animals/mammals", "animals/marsupials"), MAMMALS),
    "insect": (("animals/insects",), INSECTS),
    "fruit or vegetable": (("food/fruit", "food/vegetables"), ("fruit", "vegetable", "fungus")),
    "clothing": (("clothes",), CLOTHING),
    "tool": (("household/tools",), ("hand tool", "edge tool", "implement", "tool", PAINTBRUSH)),
    "musical instrument": (("hobbies/music",), INSTRUMENTS),
    "vehicle": (("vehicles",), VEHICLES),
    "ball": (("sports",), ("ball",)),
}
"""Group → folders of stamps, and numbers or superclasses of ImageNet's labels."""

OTHERS = {
    *(
        "lobster",
        "shrimp",
        "Brown_slug",
        "Woodlouse",
        "edward_bear",
        "button",
        "clothespin_new",
        "clothespin_old",
    ),
    *("7spoke256", "trophy_cup", "rugby_goal_posts", "tennis_racket", "cementmixer", "toolbox"),
}
"""Stamps in those folders that are something else."""


def unpack(folder: Path) -> Path:
    """Fetch the package and take it apart; its files are not installed."""
    subprocess.run(["apt-get", "download", PACKAGE], cwd=folder, check=True, capture_output=True)
    (package,) = folder.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", str(package), "files"], cwd=folder, check=True)
    return folder / "files" / "usr/share/tuxpaint/stamps"


def stamps(root: Path) -> Iterator[tuple[str, Path]]:
    for group, (folders, _) in GROUPS.items():
        for folder in folders:
            for path in sorted((root / folder).rglob("*.png")):
                drawn = {"cartoon", "toys"} & set(path.relative_to(root).parts)
                if not drawn and path.stem not in OTHERS and not path.stem.endswith("_mirror"):
                    yield group, path


def on_ground(path: Path, ground: tuple[int, int, int]) -> Image.Image:
    stamp = ImageOps.contain(Image.open(path).convert("RGBA"), (SIZE - 32, SIZE - 32))
    picture = Image.new("RGBA", (SIZE, SIZE), (*ground, 255))
    picture.alpha_composite(stamp, ((SIZE - stamp.width) // 2, (SIZE - stamp.height) // 2))
    return picture.convert("RGB")


def labels() -> list[dict[str, object]]:
    known = load_labels("imagenet").labels
    return [
        {
            "name": group,
            "synonyms": [one.name for at, one in enumerate(known) if {at, one.superclass} & {*wanted}],
        }
        for group, (_, wanted) in GROUPS.items()
    ]


def make(root: Path, out: Path) -> int:
    rows = []
    for group, path in stamps(root):
        (out / group).mkdir(parents=True, exist_ok=True)
        # One picture of each stamp: several would not be independent of each other.
        ground = list(GROUNDS)[zlib.crc32(path.stem.encode()) % len(GROUNDS)]
        name = f"{group}/{path.parent.name}-{path.stem}.png"
        on_ground(path, GROUNDS[ground]).save(out / name)
        rows.append({"file_name": name, "ground": ground, "folder": path.parent.name})
    (out / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (out.parent / "labels.json").write_text(json.dumps(labels(), indent=1), encoding="utf-8")
    return len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).parent
    parser.add_argument("--out", type=Path, default=here / "stamps" / "photos", help="the folder to make")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        print(f"{make(unpack(Path(folder)), out)} pictures in {out}")


if __name__ == "__main__":
    main()
