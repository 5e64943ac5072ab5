"""Writes a review as a folder for people who label elsewhere: pictures, and a table to fill in.

Nothing in it tells what the judge said. That stays in the atlas.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Sequence
from pathlib import Path

from failscape.atlas import Atlas
from failscape.atlas.faults import explained
from failscape.atlas.formats.plain import no_formula
from failscape.errors import AtlasError
from failscape.review.sample import BlindQuestion, ReviewSample

COLUMNS = ("review", "item", "image", "statement", "label")
TABLE, IMAGES = "review.csv", "images"


def write_review(atlas: Atlas, sample: ReviewSample, folder: Path) -> Path:
    """The table to fill in. The folder must be new or empty: labels in an older one are not overwritten."""
    with explained(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise AtlasError(f"{folder} is not empty", "give another folder with --out")
        draft = folder.with_name(f".{folder.name}.part")  # a killed export leaves this, and no folder
        shutil.rmtree(draft, ignore_errors=True)
        (draft / IMAGES).mkdir(parents=True)
        files = {digest: _copy(atlas, digest, draft) for digest in {one.image for one in sample.questions}}
        _write_table(draft / TABLE, sample.review.uid, sample.questions, files)
        draft.replace(folder)
    return folder / TABLE


def _copy(atlas: Atlas, digest: str, folder: Path) -> str:
    return f"{IMAGES}/{atlas.images.copy_out(digest, folder / IMAGES).name}"


def _write_table(path: Path, uid: str, questions: Sequence[BlindQuestion], files: dict[str, str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(COLUMNS)
        for question in questions:
            writer.writerow([uid, question.item, files[question.image], no_formula(question.statement), ""])
