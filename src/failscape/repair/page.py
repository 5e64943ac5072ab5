"""Writes the page of a repair: what became of shown, hidden and other requests, and what the placebo did."""

import base64
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from failscape import __version__
from failscape.atlas import Atlas
from failscape.atlas.files import write_whole
from failscape.comparison.cases import AskedCase
from failscape.comparison.result import ComparedSubject
from failscape.errors import AtlasError
from failscape.export.parts import PARTS, REST
from failscape.repair.proof import AFTER, BEFORE, PLACEBO, RepairProof
from failscape.report.sections import templates

PAGE, DATA = "repair.html", "repair.json"
#: Pictures of a row, those first whose verdict changed.
PICTURES = 4

#: Rows of a part on the page; `repair.json` has all.
ROWS = 60


@dataclass(frozen=True, slots=True)
class PictureOfThree:
    """One case on the three models. Where the models draw, each has its own picture."""

    sources: tuple[str, ...]
    seed: int
    failed: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class RepairRow:
    row: ComparedSubject
    placebo: ComparedSubject | None
    pictures: tuple[PictureOfThree, ...]


def write_page(
    proof: RepairProof, cases: Mapping[str, Sequence[AskedCase]], folder: Path, out: Path, made: str
) -> Path:
    """`made` says in a sentence what was done to the model. `folder` is the atlas of the proof."""
    with Atlas.open(folder, readonly=True) as atlas:
        parts = {part: _rows(proof, part, cases, atlas) for part in PARTS if proof.rows(part)}
    page = (
        templates()
        .get_template("repair.html")
        .render(
            proof=proof,
            parts=parts,
            words=PARTS,
            most=ROWS,
            made=made,
            version=__version__,
            written=time.strftime("%Y-%m-%d %H:%M"),
        )
    )
    write_whole(out / PAGE, page.encode("utf-8", "replace"))
    return out / PAGE


def _rows(
    proof: RepairProof, part: str, cases: Mapping[str, Sequence[AskedCase]], atlas: Atlas
) -> list[RepairRow]:
    twins = {row.subject: row for row in proof.rows(part, placebo=True)}
    table = {name: {(one.subject, one.key): one for one in mine} for name, mine in cases.items()}
    rows = proof.rows(part)
    # Of the rest only what changed is worth a row.
    shown = [row for row in rows if part != REST or row.status not in ("unchanged", "undecided")]
    return [
        RepairRow(row, twins.get(row.subject), _pictures(row.subject, table, atlas) if at < ROWS else ())
        for at, row in enumerate(shown)
    ]


def _pictures(
    subject: str, table: Mapping[str, Mapping[tuple[str, str], AskedCase]], atlas: Atlas
) -> tuple[PictureOfThree, ...]:
    names = [name for name in (BEFORE, PLACEBO, AFTER) if name in table]
    shared = [
        place for place in table[BEFORE] if place[0] == subject and all(place in table[one] for one in names)
    ]
    threes = [[table[name][place] for name in names] for place in shared]
    threes.sort(key=lambda three: three[0].failed == three[-1].failed)
    found = []
    for three in threes[:PICTURES]:
        digests = dict.fromkeys(case.images[-1] for case in three)
        sources = tuple(source for digest in digests if (source := _source(atlas, digest)))
        found.append(PictureOfThree(sources, three[0].seed, tuple(case.failed for case in three)))
    return tuple(found)


def _source(atlas: Atlas, digest: str) -> str:
    try:
        small = atlas.images.thumbnail(digest, 96)
    except AtlasError:
        return ""
    return f"data:image/webp;base64,{base64.b64encode(small).decode()}"
