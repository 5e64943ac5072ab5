"""Writes a review as a folder: pictures, a table to fill in, and a page that works from disk.

Nothing in it tells what the judge said. That stays in the atlas.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader

from failscape.atlas import Atlas
from failscape.atlas.faults import explained
from failscape.errors import AtlasError
from failscape.review.sample import BlindQuestion, ReviewSample

COLUMNS = ("review", "item", "image", "statement", "label")
PAGE, TABLE, IMAGES = "index.html", "review.csv", "images"


def write_review(atlas: Atlas, sample: ReviewSample, folder: Path) -> Path:
    """The page to open. The folder must be new or empty: labels in an older one are not overwritten."""
    with explained(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise AtlasError(f"{folder} is not empty", "give another folder with --out")
        (folder / IMAGES).mkdir(parents=True, exist_ok=True)
        files = {digest: _copy(atlas, digest, folder) for digest in {one.image for one in sample.questions}}
        _write_table(folder / TABLE, sample.review.uid, sample.questions, files)
        (folder / PAGE).write_text(_page(sample, files), encoding="utf-8")
    return folder / PAGE


def _copy(atlas: Atlas, digest: str, folder: Path) -> str:
    return f"{IMAGES}/{atlas.images.copy_out(digest, folder / IMAGES).name}"


def _write_table(path: Path, uid: str, questions: Sequence[BlindQuestion], files: dict[str, str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(COLUMNS)
        for question in questions:
            writer.writerow([uid, question.item, files[question.image], question.statement, ""])


def _page(sample: ReviewSample, files: dict[str, str]) -> str:
    environment = Environment(loader=PackageLoader("failscape.report"), autoescape=True)
    data = {
        "review": sample.review.uid,
        "items": [[one.item, files[one.image], one.statement] for one in sample.questions],
    }
    # Inside a script element only `</` and `<!--` could end it early.
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return environment.get_template("review.html").render(data=text, count=len(sample.questions))
