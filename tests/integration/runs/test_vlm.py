"""Whole vlm hunts: on the toybox, on a folder of photos with models of a user's own, and with bad models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failscape.atlas import Atlas
from failscape.config.files import parse_config
from failscape.errors import ConfigError, FailscapeError
from failscape.kinds.vlm.build import build_hunt
from failscape.pictures import Picture
from failscape.runtime.progress import choose_reporter
from failscape.runtime.session import Summary, run_session
from failscape.views.export.datasets import DatasetWish, RowSource, write_dataset
from failscape.views.pages import write_report
from failscape.views.read import HuntEvidence, load_hunt
from failscape.views.rows import FindingFilter, finding_rows, select

CODE = """
def answer(images, question, history):
    if "again" in question or history:
        return "yes"
    return "a very long story about nothing in particular, sorry" if "rambling" in question else "blue"

def answer_too(images, question, history):
    return "blue"

def verify_place(images, question, answer):
    right = "counting" not in question and "place" not in question
    return True, right, "" if right else "it is red"

def refuse(images, question):
    return ""

def write(images, guidance, n):
    skill = guidance.split("takes ")[1].split(" to answer")[0]
    return [f"{skill} question {i} about a picture of {images[0].size[0]} pixels?" for i in range(n)]

def verify(images, question, answer):
    return True, "counting" not in question, "" if "counting" not in question else "it is red"

def repeat(images, guidance, n):
    return ["What is it?"]

def dither(images, question, answer):
    return None, None
"""


async def run(folder: Path, **settings: Any) -> Summary:
    config = {"hunt": "vlm", "target": {"provider": "toybox"}, "questions": 240, **settings}
    return await run_session(parse_config(config, "test"), folder, choose_reporter(True))


def loaded(folder: Path) -> HuntEvidence:
    with Atlas.open(folder, readonly=True) as atlas:
        return load_hunt(atlas)


async def test_a_hunt_that_was_cut_off_ends_like_one_that_was_not(tmp_path: Path) -> None:
    await run(tmp_path / "whole")
    stopped = await run(tmp_path / "cut", budget={"images": 100})
    assert stopped.stop.kind == "budget"
    await run(tmp_path / "cut")
    whole, cut = loaded(tmp_path / "whole"), loaded(tmp_path / "cut")
    assert whole.findings == cut.findings
    assert whole.trials == cut.trials == 240


async def test_the_report_and_the_dataset_of_a_hunt(tmp_path: Path) -> None:
    await run(tmp_path / "atlas", questions=700, confirm={"modes": 30})
    with Atlas.open(tmp_path / "atlas", readonly=True) as atlas:
        found = load_hunt(atlas)
        assert found.findings, "toy-vlm cannot tell which thing differs in kind"
        page = write_report(atlas).path.read_text(encoding="utf-8")
        rows = select(finding_rows(found), FindingFilter())
        done = write_dataset([RowSource(atlas, found.row)], rows, tmp_path / "data", DatasetWish("none"))
    for text in ("What it gets wrong", "The tree of failures", "Questions over time", 'class="rings"'):
        assert text in page
    chats = [
        json.loads(line)
        for part in ("train", "retest")
        for line in (tmp_path / "data" / f"{part}.jsonl").read_text().splitlines()
    ]
    assert len(chats) == done.rows
    assert all(chat["messages"][-1]["content"][0]["text"] == chat["solution"] for chat in chats)
    shown = {part: set() for part in ("train", "retest")}
    for line in (tmp_path / "data" / "metadata.jsonl").read_text().splitlines():
        row = json.loads(line)
        shown[row["split"]].add(row["file_name"])
    assert not shown["train"] & shown["retest"]


async def test_two_turns_and_two_pictures(tmp_path: Path) -> None:
    await run(tmp_path / "turns", turns=2)
    await run(tmp_path / "pairs", images_per_question=2)
    with Atlas.open(tmp_path / "turns", readonly=True) as atlas:
        seconds = [stored for stored in atlas.trials(1) if stored.trial.key.endswith(">")]
    assert seconds
    assert all(len(stored.images) == 1 for stored in seconds)
    with Atlas.open(tmp_path / "pairs", readonly=True) as atlas:
        counts = {len(stored.images) for stored in atlas.trials(1) if stored.trial.subject.startswith("pair")}
    assert counts == {2}


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for shade in range(8):
        Picture.from_array(np.full((16 + shade, 16 + shade, 3), shade, np.uint8)).image.save(
            folder / f"{shade}.png"
        )
    (folder / "broken.png").write_bytes(b"no picture")
    (tmp_path / "mine.py").write_text(CODE)
    return folder


def mine(photos: Path, name: str) -> dict[str, Any]:
    return {"provider": "python", "path": f"{photos.parent / 'mine.py'}:{name}"}


def own(photos: Path, **settings: Any) -> dict[str, Any]:
    return {
        "target": mine(photos, "answer"),
        "verifier": mine(photos, "verify"),
        "images": {"folder": str(photos)},
        "questioner": {
            "writer": mine(photos, "write"),
            "skills": ["colour", "counting", "place"],
            "per_image": 2,
        },
        **settings,
    }


async def test_models_and_photos_of_a_users_own(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await run(tmp_path / "atlas", **own(photos))
    (finding,) = loaded(tmp_path / "atlas").findings
    assert finding.details.skills == ("counting",)
    assert finding.details.minimal
    said = capsys.readouterr().out
    assert "broken.png" in said
    assert "no photo has a caption" in said


async def test_findings_are_told_again_when_the_folder_is_gone(tmp_path: Path, photos: Path) -> None:
    lines = [json.dumps({"file_name": f"{shade}.png", "caption": f"shade {shade}"}) for shade in range(8)]
    (photos / "metadata.jsonl").write_text("\n".join(lines))
    await run(tmp_path / "atlas", **own(photos))
    before = loaded(tmp_path / "atlas").findings
    photos.rename(tmp_path / "elsewhere")
    assert loaded(tmp_path / "atlas").findings == before
    with Atlas.open(tmp_path / "atlas", readonly=True) as atlas:
        write_report(atlas)


async def test_a_writer_with_one_question_is_said_and_stops_the_hunt(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await run(tmp_path / "atlas", **own(photos, questioner={"writer": mine(photos, "repeat")}, questions=400))
    assert "collapsed: 1 question in the last" in capsys.readouterr().out
    assert loaded(tmp_path / "atlas").trials < 400


async def test_several_photos_and_a_second_turn_with_a_panel(tmp_path: Path, photos: Path) -> None:
    panel = [mine(photos, "verify"), mine(photos, "verify"), mine(photos, "dither")]
    await run(
        tmp_path / "atlas", **own(photos, verifier=panel, turns=2, images_per_question=2, questions=120)
    )
    with Atlas.open(tmp_path / "atlas", readonly=True) as atlas:
        answered = [stored for stored in atlas.trials(1) if not stored.trial.key.endswith("?")]
    assert all(len(stored.images) == 2 for stored in answered)
    agreement = {
        round(stored.trial.facts[-1][3], 2) for stored in answered if len(stored.trial.facts[-1]) > 3
    }
    assert agreement == {0.67}


@pytest.mark.parametrize("bad", [{"target": "refuse"}, {"verifier": "dither"}])
async def test_models_that_say_nothing_stop_the_run_and_accuse_nobody(
    tmp_path: Path, photos: Path, bad: dict[str, str]
) -> None:
    settings = own(photos, **{role: mine(photos, name) for role, name in bad.items()})
    with pytest.raises(FailscapeError):
        await run(tmp_path / "atlas", **settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"images": {"folder": "x", "source": "toybox"}}, "exactly one"),
        ({"images": {"folder": "x"}}, "toybox grammar"),
        ({"images": {"generator": {"provider": "toybox"}}}, "prompts"),
        ({"images_per_question": 3}, "one or two"),
        ({"turns": 2, "runtime": {"keep_images": "none"}}, "keep_images"),
    ],
)
def test_settings_that_do_not_fit_together(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_config({"hunt": "vlm", "target": {"provider": "toybox"}, **settings}, "test")


def test_a_vlm_hunt_has_no_shards() -> None:
    config = parse_config({"hunt": "vlm", "target": {"provider": "toybox"}}, "test")
    with pytest.raises(ConfigError, match="shards"):
        build_hunt(config, (1, 4))


async def test_targets_of_one_atlas_share_modes_and_have_their_own(tmp_path: Path, photos: Path) -> None:
    """The same verifier finds counting wrong for both; a second one finds place wrong as well."""
    await run(tmp_path / "atlas", **own(photos))
    other = own(photos, target=mine(photos, "answer_too"), verifier=mine(photos, "verify_place"))
    config = {"hunt": "vlm", "questions": 240, **other}
    await run_session(parse_config(config, "test"), tmp_path / "atlas", choose_reporter(True), fork=True)
    with Atlas.open(tmp_path / "atlas", readonly=True) as atlas:
        page = write_report(atlas).path.read_text(encoding="utf-8")
    assert "1 of 2 modes are shared by all 2 targets, 1 belong to one." in page
    assert "universal" in page
    section = page.partition('id="targets"')[2]
    assert 'class="heat wide"' in section, "the picture beside the table"


async def test_a_long_talk_has_its_transcript_and_goes_on_after_a_stop(tmp_path: Path) -> None:
    await run(tmp_path / "whole", turns=4, questions=160)
    stopped = await run(tmp_path / "cut", turns=4, questions=160, budget={"images": 30})
    assert stopped.stop.kind == "budget"
    await run(tmp_path / "cut", turns=4, questions=160)
    talks = []
    for name in ("whole", "cut"):
        with Atlas.open(tmp_path / name, readonly=True) as atlas:
            talks.append({stored.trial.key: stored for stored in atlas.trials(1)})
    assert {key: one.trial for key, one in talks[0].items()} == {
        key: one.trial for key, one in talks[1].items()
    }
    last = [one for key, one in talks[0].items() if key.endswith(">>>")]
    assert last
    for one in last:
        assert len(one.images) == 2, "the first picture, and another beside it"
        assert len(one.trial.facts[2]) == 3, "what was said in three turns before"
