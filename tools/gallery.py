"""Makes docs/gallery.md and its pictures from atlases: `python -m tools.gallery T2I CLASSIFIER VLM [PHOTOS]`.

Each argument is the atlas of a demo (`failscape demo --atlas …` and so on), or of examples/photos. What is
shown is chosen by the rule of the report: certain findings about different things. Nothing is picked by hand.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from failscape.atlas import Atlas
from failscape.evidence import load_hunt
from failscape.evidence.findings import varied_order
from failscape.evidence.hunt import HuntEvidence
from failscape.evidence.shots import FindingEvidence, Shot, ShotRow
from failscape.trials import Verdict

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES = 6
FAILED, PASSED = 4, 2
SIDE, GAP, GROUP_GAP = 96, 4, 20
HEAD = """# Gallery

Real findings of the demos, on the models that come with the package. `python -m tools.gallery` made this page from their
atlases: it takes certain findings about different things, by the rule of the report; nothing is picked by hand. On the
left, where there is one, the simpler request that works, at the same seeds; on the right the one that fails.
"""  # noqa: E501
KINDS = {
    "t2i": (
        "Text to image: toy-painter",
        "`failscape demo` asks a small text-to-image network for things with attributes; toy-eyes judges.",
    ),
    "classifier": (
        "Image classifier: a small CNN",
        "`failscape demo classifier` looks for descriptions of pictures that the network gets wrong.",
    ),
    "vlm": (
        "Vision-language model: toy-vlm",
        "`failscape demo vlm` asks questions about pictures whose right answers are known.",
    ),
    "photos": (
        "Real photos: an ImageNet classifier",
        "`examples/photos` hunts a real network in 220 pictures of a Debian package, not shown here.",
    ),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("atlases", type=Path, nargs="+")
    chosen = options.parse_args()
    pictures = DOCS / "img" / "gallery"
    pictures.mkdir(parents=True, exist_ok=True)
    for old in pictures.glob("*.jpg"):
        old.unlink()
    text = [HEAD]
    for path in chosen.atlases:
        with Atlas.open(path, readonly=True) as atlas:
            text += section(load_hunt(atlas), pictures)
    (DOCS / "gallery.md").write_text("\n".join(text), encoding="utf-8")


def section(hunt: HuntEvidence, folder: Path) -> Iterator[str]:
    """`photos` show no pictures: those of others are not ours to ship."""
    shown = any(finding.keys for finding in hunt.findings)
    kind = "photos" if shown else hunt.row.kind
    title, about = KINDS[kind]
    found = ", ".join(f"{number} {status}" for status, number in hunt.statuses.items())
    yield f"## {title}\n\n{about} {hunt.trials:,} trials, {len(hunt.findings)} findings ({found}).\n"
    number = 0
    for at in varied_order(hunt.findings, hunt.place):
        evidence = hunt.evidence(hunt.findings[at], shots=40)
        strip = None if shown else draw(hunt, evidence)
        if strip is None and not shown:
            continue
        number += 1
        yield f"**{evidence.own.title.rstrip('.')}**: {words(evidence)}\n"
        if strip is not None:
            file = folder / f"{kind}-{number}.jpg"
            strip.save(file, quality=86, optimize=True)
            yield f"![{hunt.row.kind} {number}](img/gallery/{file.name})\n"
        if number == EXAMPLES:
            return


def words(evidence: FindingEvidence) -> str:
    rate, finding = evidence.own.rate, evidence.finding
    low, high = rate.interval
    said = f"failed {rate.failures} of {rate.of} ({low:.0%} to {high:.0%} of all), {finding.status}"
    named = (row for row in evidence.parents if row.rate.known and "#" not in row.title)
    parent = next(named, None)
    if parent is not None:
        said += f"; “{parent.title}” failed {parent.rate.failures} of {parent.rate.of}"
    quotes = next((shot.lines for shot in failing(evidence.own)), ())
    asked = [
        f"{one.label}: “{one.text}”" for one in quotes if one.label in ("asked", "answered", "right answer")
    ]
    missed = max(evidence.tallies, key=lambda one: one.missed, default=None)
    if asked:
        return f"{said}. One of them, {', '.join(asked)}."
    return said + (f". Most often: {reading(missed.text)}." if missed and missed.missed else ".")


def reading(mark: str) -> str:
    return mark if mark.startswith("called ") else f"no {mark}"


def failing(row: ShotRow) -> list[Shot]:
    shots = [shot for shot in row.shots if shot is not None and shot.images and row.counts(shot)]
    return [shot for shot in shots if shot.verdict is Verdict.FAIL]


def draw(hunt: HuntEvidence, evidence: FindingEvidence) -> Image.Image | None:
    """Passing pictures of the parent, a gap, failing ones; `None` where no failing picture was kept."""
    failed = failing(evidence.own)[:FAILED]
    rows = [[shot for shot in row.shots if shot and shot.images] for row in evidence.parents]
    passed = next(([one for one in row if one.verdict is Verdict.PASS][:PASSED] for row in rows if row), [])
    groups = [[shot.images[0] for shot in group] for group in (passed, failed) if group]
    if not failed:
        return None
    number = sum(map(len, groups))
    width = number * SIDE + (number - len(groups)) * GAP + (len(groups) - 1) * GROUP_GAP
    strip, left = Image.new("RGB", (width, SIDE), "white"), 0
    for group in groups:
        for digest in group:
            picture = hunt.atlas.images.get(digest).image.convert("RGB").resize((SIDE, SIDE))
            strip.paste(picture, (left, 0))
            left += SIDE + GAP
        left += GROUP_GAP - GAP
    return strip


if __name__ == "__main__":
    main()
