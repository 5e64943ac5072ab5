"""Hunts on photos with an open list of skills: named by a model or by words, photos captioned and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failscape.atlas import Atlas
from failscape.config.files import parse_config
from failscape.errors import FailscapeError
from failscape.pictures import Picture
from failscape.runtime.progress import choose_reporter
from failscape.runtime.session import run_session
from failscape.views.pages import write_report
from failscape.views.read import HuntEvidence, load_hunt

CODE = """
import json
from pathlib import Path

from failscape.errors import Permanent

FLAG, CALLS = Path(__file__).with_name("llm-is-gone"), [0]
ASKED = ["Which brand is shown, {}?", "How many are there, {}?", "What colour is it, {}?", "Is it wet, {}?"]

def write(images, guidance, n):
    "Ignores what it is asked for, as writers do."
    at = sum(map(ord, guidance)) + images[0].size[0] * 7
    return [ASKED[(at + i) % 4].format(guidance[-12:] + str(at + i)) for i in range(n)]

def dark(image):
    return image.convert("RGB").getpixel((0, 0))[0] < 100

def answer(images, question):
    return "a"

def verify(images, question, answer):
    wrong = "brand" in question and dark(images[0])
    return True, not wrong, "another brand" if wrong else ""

def name(messages):
    CALLS[0] += 1
    if FLAG.exists() and CALLS[0] > 30:
        raise Permanent("the llm is gone", "wait")
    text = messages[-1]["content"]
    if "A visual skill is called" in text:
        listed = [line for line in text.splitlines() if line[:1].isdigit()]
        return json.dumps({"definition": "who made it", "takes": ["brand" in line for line in listed]})
    question = text.splitlines()[0]
    if "brand" in question:
        return json.dumps({"skills": [f"brand recognition {sum(map(ord, question))}", "brands"]})
    return json.dumps({"skills": ["counting" if "many" in question else "colour"]})

def embed(items):
    "Brands, makers and logos are one; every other name is by itself."
    rows = []
    for item in items:
        known = next((at for at, word in enumerate(("brand", "maker", "logo")) if word in item), None)
        place = 0 if known is not None else 1 + sum(at * ord(char) for at, char in enumerate(item, 1)) % 996
        rows.append([float(at == place) for at in range(997)])
    return rows

def call_it_otherwise(messages):
    text = name(messages)
    return text.replace("brands", "logo of the maker")

def caption(image):
    return ["a shop at night" if dark(image) else "a shop in daylight"]

def judge(image, checks):
    return [dark(image) if one.value == "night" else (not dark(image) if one.value == "day" else False)
            for one in checks]
"""


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "photos").mkdir()
    for number in range(24):
        pixels = np.full((16 + number, 16, 3), 40 if number % 2 else 200, np.uint8)
        Picture.from_array(pixels).image.save(tmp_path / "photos" / f"{number}.png")

    def mine(name: str) -> dict[str, str]:
        return {"provider": "python", "path": f"{tmp_path / 'mine.py'}:{name}"}

    return {
        "hunt": "vlm",
        "target": mine("answer"),
        "verifier": mine("verify"),
        "images": {"folder": str(tmp_path / "photos")},
        "questioner": {"writer": mine("write"), "per_image": 2},
        "llm": mine("name"),
        "judge": mine("judge"),
        "captioner": mine("caption"),
        "questions": 400,
    }


async def run(config: dict[str, Any], folder: Path) -> None:
    await run_session(parse_config(config, "test"), folder, choose_reporter(True))


def loaded(folder: Path) -> HuntEvidence:
    with Atlas.open(folder, readonly=True) as atlas:
        return load_hunt(atlas)


async def test_skills_are_taken_up_from_questions_and_clauses_from_pictures(
    config: dict[str, Any], tmp_path: Path
) -> None:
    await run(config, tmp_path / "whole")
    (tmp_path / "llm-is-gone").touch()
    with pytest.raises(FailscapeError, match="the llm is gone"):
        await run(config, tmp_path / "cut")
    (tmp_path / "llm-is-gone").unlink()
    await run(config, tmp_path / "cut")
    whole = loaded(tmp_path / "whole")
    (finding,) = whole.findings
    (skill,) = finding.details.skills
    assert skill.startswith("brand")
    assert finding.details.clauses == (("light", "night"),)
    assert finding.details.contrast is not None
    rows = {row.name: row for row in whole.survey.skills.rows}
    new = [row for row in rows.values() if row.state == "taken up"]
    assert len(new) == 1, "every name for brands is one skill"
    assert len(new[0].merged) > 15
    assert new[0].definition == "who made it"
    with Atlas.open(tmp_path / "whole", readonly=True) as atlas:
        page = write_report(atlas).path.read_text(encoding="utf-8")
    assert "merged by hashed words" in page
    assert "who made it" in page
    cut = loaded(tmp_path / "cut")
    assert cut.findings == whole.findings


async def test_without_a_language_model_skills_are_mined_from_the_words(
    config: dict[str, Any], tmp_path: Path
) -> None:
    for role in ("llm", "judge", "captioner"):
        del config[role]
    await run(config, tmp_path / "atlas")
    found = loaded(tmp_path / "atlas")
    assert "brand" in {skill for one in (*found.findings, *found.suspects) for skill in one.details.skills}
    assert found.survey.skills.named_by == "the words of the questions"
    assert all(not one.details.clauses for one in found.findings), "pictures without any feature have none"


async def test_an_embedder_merges_names_that_share_no_word(config: dict[str, Any], tmp_path: Path) -> None:
    for role in ("judge", "captioner"):
        del config[role]
    path = config["llm"]["path"].rpartition(":")[0]
    config["llm"] = {"provider": "python", "path": f"{path}:call_it_otherwise"}
    config["embedder"] = {"provider": "python", "path": f"{path}:embed"}
    await run({**config, "questions": 160}, tmp_path / "atlas")
    skills = loaded(tmp_path / "atlas").survey.skills
    assert skills.merged_by == "the embedder"
    (new,) = [row for row in skills.rows if row.state == "taken up"]
    assert any("logo" in name for name in (new.name, *new.merged))
    assert any("brand" in name for name in (new.name, *new.merged))
