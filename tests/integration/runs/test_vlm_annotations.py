"""Questions that people annotated on their own photos: a hunt with exact answers, from a folder alone."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.config.files import parse_config
from failscape.errors import ConfigError
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.spaces.albums import load_album
from failscape.spaces.annotations import FORMS, AnnotationGrammar
from failscape.spaces.question_words import A_NUMBER, YES_OR_NO
from failscape.spaces.questions import make_pattern
from failscape.spaces.skills import AlbumSights
from failscape.views.read import load_hunt

SHAPES, COLOURS = ("circle", "square", "triangle"), ("red", "green", "blue")
TARGET = """
import json, pathlib, re
rows = [json.loads(line) for line in (pathlib.Path(__file__).parent / "truth.jsonl").read_text().splitlines()]
known = {(row["pixel"], row["question"]): row["answer"] for row in rows}
def answer(images, question):
    right = known[images[0].getpixel((0, 0))[2], question]
    if re.search(r"\\bnot\\b", question):
        return {"yes": "no", "no": "yes"}[right]
    return right
"""


def make_folder(root: Path, count: int = 120) -> Path:
    """Each picture has a shape in a colour, as its caption-less metadata and four questions tell."""
    luck = random.Random(4)
    photos = root / "photos"
    photos.mkdir(parents=True)
    rows, truth = [], []
    for number in range(count):
        shape, colour, copies = luck.choice(SHAPES), luck.choice(COLOURS), luck.randint(1, 4)
        name = f"{number}.png"
        Image.new("RGB", (8, 8), (number, luck.randrange(256), number)).save(photos / name)
        other = luck.choice(SHAPES)
        asked = [
            ("How many shapes are there?", str(copies), ["counting"]),
            (f"Is there a {other}?", "yes" if other == shape else "no", ["existence"]),
            (f"Is it true that it is not a {other}?", "no" if other == shape else "yes", ["existence"]),
            ("What colour is the shape?", colour, ["colour"]),
        ]
        for question, answer, tags in asked:
            rows.append({"file_name": name, "question": question, "answer": answer, "tags": tags})
            truth.append({"pixel": number, "question": question, "answer": answer})
    (photos / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "truth.jsonl").write_text("".join(json.dumps(row) + "\n" for row in truth))
    (root / "target.py").write_text(TARGET)
    return photos


def settings(root: Path) -> dict[str, Any]:
    return {
        "hunt": "vlm",
        "target": {"provider": "python", "path": f"{root}/target.py:answer"},
        "images": {"folder": str(root / "photos")},
        "questioner": {"grammar": "annotations"},
        "questions": 700,
        "seed": 5,
    }


def test_negated_questions_are_found_with_their_right_answers(tmp_path: Path) -> None:
    make_folder(tmp_path)
    asyncio.run(run_session(parse_config(settings(tmp_path), "test"), tmp_path / "atlas", PlainReporter()))
    # The folder may go: the atlas knows the questions.
    for path in (tmp_path / "photos").iterdir():
        path.unlink()
    with Atlas.open(tmp_path / "atlas", readonly=True) as atlas:
        hunt = load_hunt(atlas)
        trials = list(atlas.replay(hunt.row.id))
    assert hunt.findings
    assert all(finding.status == "certified" for finding in hunt.findings)
    told = [finding.subject for finding in hunt.findings]
    assert any("negated=yes" in subject for subject in told), told
    assert not any("counting" in subject or "colour" in subject for subject in told), told
    assert len(trials) >= 200
    negated = next(finding for finding in hunt.findings if "negated=yes" in finding.subject)
    assert "negated" in negated.title
    assert negated.trials >= 20, "a rate that six questions prove says little"
    assert all(one.truth in ("yes", "no") and one.answer != one.truth for one in negated.details.examples)


def test_the_first_run_on_photos_warns_of_no_lost_log(tmp_path: Path) -> None:
    make_folder(tmp_path, 40)
    config = tmp_path / "hunt.yaml"
    config.write_text(json.dumps({**settings(tmp_path), "questions": 40}))
    result = CliRunner().invoke(cli, ["run", str(config), "--atlas", str(tmp_path / "atlas")])
    assert result.exit_code == 0, result.output
    assert "atlas.db-wal" not in result.output


def test_doctor_works_on_own_annotations(tmp_path: Path) -> None:
    make_folder(tmp_path)
    config = tmp_path / "hunt.yaml"
    config.write_text(json.dumps(settings(tmp_path)))
    result = CliRunner().invoke(cli, ["doctor", str(config)])
    assert result.exit_code == 0, result.output
    assert "annotated-questions" in result.output
    assert "16 of 16 were answered" in " ".join(result.output.split())


def test_a_question_is_read_back_with_its_answer_and_its_words(tmp_path: Path) -> None:
    album = load_album(make_folder(tmp_path))
    grammar = AnnotationGrammar(AlbumSights(album, 0.5))
    assert grammar.skills == ("colour", "counting", "existence")
    luck = random.Random(1)
    asked = grammar.draft(make_pattern(FORMS[YES_OR_NO], (), [("negated", "yes")]), luck, fresh=True)
    assert asked is not None
    assert "not a" in asked.text
    assert ("negated", "yes") in asked.features
    assert asked.truth in ("yes", "no")
    assert grammar.read(asked.text, asked.sight, None) == asked
    assert grammar.read("Who are you?", asked.sight, None) is None
    number = grammar.draft(make_pattern(FORMS[A_NUMBER]), luck, fresh=False)
    assert number is not None
    assert number.truth.isdecimal()


def test_a_line_without_an_answer_is_named(tmp_path: Path) -> None:
    photos = make_folder(tmp_path, 4)
    with (photos / "questions.jsonl").open("a") as file:
        file.write(json.dumps({"file_name": "1.png", "question": "What is it?"}) + "\n")
    with pytest.raises(ConfigError, match=r"questions.jsonl, line 17 has no `answer`"):
        load_album(photos)


def test_a_folder_without_questions_says_what_to_write(tmp_path: Path) -> None:
    (make_folder(tmp_path) / "questions.jsonl").unlink()
    with pytest.raises(ConfigError, match="too few photos have questions"):
        AnnotationGrammar(AlbumSights(load_album(tmp_path / "photos"), 0.5))
