"""Whole hunts with a verifier that cannot count: audits by a model and by people, cut off and told again."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from failscape.atlas import Atlas
from failscape.config.files import parse_config
from failscape.errors import AtlasError, FailscapeError
from failscape.runtime.progress import choose_reporter
from failscape.runtime.session import run_session
from failscape.simulate.questions import parse
from failscape.trials import Finding
from failscape.views.pages import write_report
from failscape.views.read import load_hunt
from failscape.views.review.sample import BORNE_OUT, draw_mode_audit, mode_tallies
from failscape.views.viewer.library import Library
from failscape.views.viewer.screens.review import act, review
from tests.integration.judges.conftest import failscape

CODE = """
import hashlib
from pathlib import Path

import numpy as np
from failscape.errors import Permanent
from failscape.simulate.questions import parse

FLAG = Path(__file__).with_name("auditor-is-gone")
LEFT = [20]

def luck(*what):
    return int.from_bytes(hashlib.blake2b(repr(what).encode(), digest_size=4).digest(), "big") / 2**32

def truth(question):
    return dict(parse(question)[1])["answer"]

def draw(prompt, seeds):
    return [np.full((8, 8, 3), seed % 251, np.uint8) for seed in seeds]

def answer(images, question):
    wrong = luck("target", question) < (0.9 if parse(question)[0] == "negation" else 0.02)
    return {"yes": "no", "no": "yes"}[truth(question)] if wrong else truth(question)

def verify(images, question, answer):
    right = answer == truth(question)
    errs = luck("verifier", question) < (0.45 if "counting" in parse(question)[0].split("+") else 0.03)
    return True, right and not errs, "" if right and not errs else "it is not so"

def look_again(images, question, answer):
    LEFT[0] -= 1
    if FLAG.exists() and LEFT[0] < 0:
        raise Permanent("gone in the middle of the audit", "wait")
    return True, answer == truth(question), ""

def waver(images, question, answer):
    LEFT[0] -= 1
    return True, luck(LEFT[0]) < 0.5, ""
"""


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "mine.py").write_text(CODE)

    def mine(name: str) -> dict[str, str]:
        return {"provider": "python", "path": f"{tmp_path / 'mine.py'}:{name}"}

    return {
        "hunt": "vlm",
        "target": mine("answer"),
        "verifier": mine("verify"),
        "auditor": mine("look_again"),
        "images": {"generator": mine("draw"), "prompts": ["anything"]},
        "questioner": {"grammar": "failscape.simulate.questions:PlantedGrammar"},
        "questions": 300,
    }


async def run(config: dict[str, Any], folder: Path) -> None:
    await run_session(parse_config(config, "test"), folder, choose_reporter(True))


def told(folder: Path) -> tuple[list[Finding], list[Finding]]:
    with Atlas.open(folder, readonly=True) as atlas:
        found = load_hunt(atlas)
        return found.findings, found.suspects


def certified(folder: Path) -> list[str]:
    return [one.subject for one in told(folder)[0] if one.status == "certified"]


async def test_an_audited_run_certifies_what_is_true_alone_and_goes_on_in_the_middle_of_the_audit(
    config: dict[str, Any], tmp_path: Path
) -> None:
    await run(config, tmp_path / "whole")
    gone = tmp_path / "auditor-is-gone"
    gone.touch()
    with pytest.raises(FailscapeError, match="gone in the middle"):
        await run(config, tmp_path / "cut")
    gone.unlink()
    await run(config, tmp_path / "cut")
    assert told(tmp_path / "whole") == told(tmp_path / "cut")
    assert certified(tmp_path / "whole") == ["negation | negation"]
    findings, suspects = told(tmp_path / "whole")
    assert not [one.subject for one in findings if "counting" in one.subject]
    refuted = [one.details for one in suspects if "the auditor calls only" in one.details.missing]
    assert any("counting" in one.skills for one in refuted)
    with Atlas.open(tmp_path / "whole", readonly=True) as atlas:
        looks = [stored.trial.key for stored in atlas.trials(1) if stored.trial.key.endswith("!")]
        assert "Looked at again by the auditor" in write_report(atlas).path.read_text(encoding="utf-8")
    assert any(key.endswith("!!") for key in looks)


async def test_an_auditor_that_contradicts_itself_bears_nothing_out_and_is_named(
    config: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config["auditor"]["path"] = config["auditor"]["path"].replace("look_again", "waver")
    await run(config, tmp_path / "atlas")
    assert "the auditor contradicts itself" in capsys.readouterr().out
    assert not certified(tmp_path / "atlas")
    assert "contradicts itself" in told(tmp_path / "atlas")[0][0].details.condition


async def test_people_certify_modes_by_a_table_and_at_the_screen(
    config: dict[str, Any], tmp_path: Path
) -> None:
    del config["auditor"]
    atlas = tmp_path / "atlas"
    await run(config, atlas)
    findings, _ = told(atlas)
    assert {one.status for one in findings} == {"conditional"}
    assert any("counting" in one.subject for one in findings), "the verifier accuses counting"
    done = failscape("review", "export", atlas, "--modes", "--out", tmp_path / "audit")
    assert done.returncode == 0, done.stderr
    table = tmp_path / "audit" / "review.csv"
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    assert len({row["item"] for row in rows}) == len(rows)
    half = [_labelled(row) for row in rows[: len(rows) // 8]]
    _write(table, half)
    done = failscape("review", "import", atlas, table)
    assert done.returncode == 0, done.stderr

    with Library([atlas]) as library:
        hunt = library.hunt("atlas", 1)
        state = review(hunt, {"reviewer": "Ada", "of": "modes"})
        assert state["next"]
        while state["next"]:
            shown = state["next"][0]
            assert shown["question"] == "Is the answer right?"
            label = _labelled({"statement": shown["statement"]})["label"]
            told_now = {"of": "modes", "reviewer": "Ada", "item": shown["item"], "label": label}
            state = act(hunt, "label", told_now)
    assert certified(atlas) == ["negation | negation"]
    findings, suspects = told(atlas)
    assert not [one.subject for one in findings if "counting" in one.subject]
    assert any("people call only" in one.details.missing for one in suspects)
    with Atlas.open(atlas, readonly=True) as opened:
        row = opened.hunt(1)
        tallies = mode_tallies(opened, row)
        assert {one.subject for one in tallies if one.state == BORNE_OUT} == {"negation | negation"}
        assert all(one.labels <= 40 for one in tallies)
        with pytest.raises(AtlasError, match="waits for an audit"):
            draw_mode_audit(opened, row)
    await run(config, atlas)  # a run that goes on keeps what people said
    assert certified(atlas) == ["negation | negation"]
    done = failscape("findings", atlas, "--json")
    assert json.loads(done.stdout.splitlines()[0])["status"] == "certified"


def _labelled(row: dict[str, str]) -> dict[str, str]:
    """As somebody who knows the right answer labels it."""
    asked, _, said = row["statement"].partition("”, it answered “")
    found = parse(asked)
    assert found is not None
    return {**row, "label": "yes" if said.rstrip("”.") == dict(found[1])["answer"] else "no"}


def _write(table: Path, rows: list[dict[str, str]]) -> None:
    with table.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
