"""Makes docs/gallery.md and its pictures from atlases: `python -m tools.gallery T2I CLASSIFIER VLM PHOTOS`.

Each argument is the atlas of a demo (`failscape demo --atlas …` and so on), of examples/photos or of
examples/fashion; sections of which none is given stay. What is shown is chosen by the rule of the report:
certain findings about different things. Nothing is picked by hand, but for the one photo that may be shown.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from failscape.atlas import Atlas
from failscape.trials import Finding, Verdict
from failscape.views.read import load_hunt
from failscape.views.read.findings import varied_order
from failscape.views.read.hunt import HuntEvidence
from failscape.views.read.shots import FindingEvidence, Shot, ShotRow

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
}
FASHION_TITLE = "Photos with metadata: a small grey classifier"
FASHION_ABOUT = (
    "`examples/fashion` trains a small network of one channel on Fashion-MNIST (Debian's "
    "`dataset-fashion-mnist`, MIT) and hunts it in photos that are turned, small, blurred or inverted by "
    "chance. `metadata.jsonl` says which; the hunt says what matters, and for which classes."
)
PHOTOS_TITLE = "Real photos: an ImageNet classifier"
PHOTOS_ABOUT = """`examples/photos` hunts EfficientNet-Lite0, a real network, in {trials} photographs of a Debian package, cut out and put
on plain grounds. A photo is wrong when the network names no class of its group. {wrong} are; {found}"""  # noqa: E501
#: A seahorse of the NOAA photo library. It alone is documented to be in the public domain: of the others many
#: are under licences that a page of ours could not keep.
SHOWN_PHOTO = "65121f309ed5ad730e0b04c08cf3b8e0"
SHOWN_PHOTO_ABOUT = (
    "A seahorse (photo: NOAA, public domain) is called “{said}”, with {chance:.0%}. The other photos are "
    "not ours to show; the example fetches them, and its report does."
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("atlases", type=Path, nargs="+")
    chosen = options.parse_args()
    pictures = DOCS / "img" / "gallery"
    pictures.mkdir(parents=True, exist_ok=True)
    page = DOCS / "gallery.md"
    sections = earlier_sections(page.read_text(encoding="utf-8") if page.exists() else "")
    for path in chosen.atlases:
        with Atlas.open(path, readonly=True) as atlas:
            hunt = load_hunt(atlas)
            title, body = told(hunt, pictures)
            sections[title] = "\n".join(body)
    text = [HEAD, *(f"## {title}\n\n{body}" for title, body in sections.items())]
    page.write_text("\n".join(text), encoding="utf-8")


def earlier_sections(text: str) -> dict[str, str]:
    """Title → body, in the order of the page."""
    parts = re.split(r"^## (.*)\n\n", text, flags=re.MULTILINE)
    return {title: body.rstrip("\n") + "\n" for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def told(hunt: HuntEvidence, pictures: Path) -> tuple[str, Iterator[str]]:
    """Title and lines of a hunt's section."""
    target = str(hunt.row.config["target"].get("path") or "")
    if hunt.row.kind != "classifier" or hunt.row.config.get("generator"):
        title, about = KINDS[hunt.row.kind]
        return title, section(hunt, pictures, hunt.row.kind, about)
    if "fashion" in Path(target).parts:
        return FASHION_TITLE, section(hunt, pictures, "fashion", FASHION_ABOUT)
    return PHOTOS_TITLE, photo_section(hunt, pictures)


def section(hunt: HuntEvidence, folder: Path, kind: str, about: str) -> Iterator[str]:
    for old in folder.glob(f"{kind}-*.jpg"):
        old.unlink()
    found = ", ".join(f"{number} {status}" for status, number in hunt.statuses.items())
    yield f"{about} {hunt.trials:,} trials, {len(hunt.findings)} findings ({found}).\n"
    number = 0
    for at in varied_order(hunt.findings, hunt.place):
        evidence = hunt.evidence(hunt.findings[at], shots=40)
        strip = draw(hunt, evidence)
        if strip is None:
            continue
        number += 1
        yield f"**{evidence.own.title.rstrip('.')}**: {words(evidence)}\n"
        file = folder / f"{kind}-{number}.jpg"
        strip.save(file, quality=86, optimize=True)
        yield f"![{kind} {number}](img/gallery/{file.name})\n"
        if number == EXAMPLES:
            return


def photo_section(hunt: HuntEvidence, folder: Path) -> Iterator[str]:
    """Groups of photos and what the wrong ones are called; one picture, which may be shown."""
    wrong: dict[str, Counter[str]] = {}
    number = Counter[str]()
    shown: tuple[str, float] | None = None
    for stored in hunt.atlas.trials(hunt.row.id):
        group, trial = stored.trial.subject, stored.trial
        said, chance = next(call.facts[0] for call in stored.calls if call.role == "classifier")
        number[group] += 1
        if trial.verdict is Verdict.FAIL:
            wrong.setdefault(group, Counter())[said] += 1
        if SHOWN_PHOTO in getattr(stored.steps[0], "images", ()):
            shown = said, chance
    found = f"{len(hunt.findings)} findings ({len(hunt.suspects)} suspects)"
    if not hunt.findings:
        found = "with so few photos no slice is proven. " + " ".join(map(suspected, hunt.suspects[:1]))
    total = sum(row.total() for row in wrong.values())
    yield PHOTOS_ABOUT.format(trials=hunt.trials, wrong=total, found=found) + "\n"
    yield "| group | wrong | called, for example |\n|---|---|---|"
    for group in sorted(number, key=lambda group: -wrong.get(group, Counter()).total() / number[group]):
        names = wrong.get(group, Counter())
        yield f"| {group} | {names.total()} of {number[group]} | {', '.join(sorted(names)[:4])} |"
    if shown is not None:
        file = folder / "photos-1.jpg"
        picture = hunt.atlas.images.get(SHOWN_PHOTO).image.convert("RGB")
        picture.resize((2 * SIDE, 2 * SIDE)).save(file, quality=86, optimize=True)
        about = SHOWN_PHOTO_ABOUT.format(said=shown[0], chance=shown[1])
        yield f"\n![a seahorse on a green ground](img/gallery/{file.name})\n\n{about}\n"


def suspected(finding: Finding) -> str:
    return f"The nearest suspect: {finding.title[0].lower()}{finding.title[1:]}"


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
