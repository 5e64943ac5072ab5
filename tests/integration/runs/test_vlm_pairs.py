"""Minimal pairs in whole hunts: composed on toybox pictures and photos, or made by an editor and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failscape.atlas import Atlas
from failscape.config.files import parse_config
from failscape.errors import BadReply, ConfigError
from failscape.kinds.vlm.build import build_hunt
from failscape.models.providers.exact import changed
from failscape.pictures import Picture
from failscape.runtime.progress import choose_reporter
from failscape.runtime.session import run_session
from failscape.spaces.minimal_pairs import PAIR, THINGS
from failscape.toybox.renderer import composite
from failscape.trials import is_not_shown
from failscape.views.pages import write_report
from failscape.views.read import load_hunt

CODE = """
import numpy as np

def answer(images, question):
    "It sees where something lies on the plain ground, and never its colour."
    pixels = np.asarray(images[-1].convert("RGB"), dtype=int)
    there = (np.abs(pixels - pixels[0, 0]).max(axis=2) > 8).any(axis=0)
    if question.startswith(("Is there", "Can you see")):
        return "yes" if there.any() else "no"
    if "left" in question:
        return "left" if np.nonzero(there)[0].mean() < len(there) / 2 else "right"
    if "ount" in question or "How many" in question:
        return "two" if there[: len(there) // 3].any() and there[-len(there) // 3 :].any() else "one"
    return "red"

def verify(images, question, answer):
    return True, True, ""

def write(images, guidance, n):
    return [f"What is it, number {i}? {guidance}" for i in range(n)]

def edit(image, instruction, seed):
    return image

def judge(image, checks):
    return [False for one in checks]
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "photos").mkdir()
    for shade in range(8):
        pixels = np.full((96, 128, 3), 90 + shade, np.uint8)
        Picture.from_array(pixels).image.save(tmp_path / "photos" / f"{shade}.png")
    return tmp_path


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    def code(name: str) -> dict[str, str]:
        return {"provider": "python", "path": f"{folder / 'mine.py'}:{name}"}

    return {
        "hunt": "vlm",
        "target": code("answer"),
        "verifier": code("verify"),
        "images": {"folder": str(folder / "photos")},
        "questioner": {"writer": code("write"), "skills": ["colour"]},
        "editor": {"provider": "composite"},
        "questions": 260,
        **{key: code(value) if isinstance(value, str) else value for key, value in more.items()},
    }


async def run(config: dict[str, Any], folder: Path) -> None:
    await run_session(parse_config(config, "test"), folder, choose_reporter(True))


async def test_a_target_blind_to_colour_fails_the_pairs_of_photos_by_construction(mine: Path) -> None:
    await run(settings(mine), mine / "atlas")
    with Atlas.open(mine / "atlas", readonly=True) as atlas:
        found = load_hunt(atlas)
        page = write_report(atlas).path.read_text(encoding="utf-8")
    (finding,) = found.findings
    assert finding.subject.startswith("pair recolour")
    assert finding.status == "certified"
    example = finding.details.examples[0]
    assert len(set(example.images)) == 2
    assert "turned from" in example.truth
    assert "It answers as before although the thing turned" in page


async def test_toybox_pictures_make_pairs_too_and_a_cut_off_hunt_ends_alike(tmp_path: Path) -> None:
    config = {
        "hunt": "vlm",
        "target": {"provider": "toybox"},
        "editor": {"provider": "composite"},
        "questions": 200,
    }
    await run(config, tmp_path / "whole")
    await run({**config, "budget": {"images": 60}}, tmp_path / "cut")
    await run(config, tmp_path / "cut")
    with (
        Atlas.open(tmp_path / "whole", readonly=True) as one,
        Atlas.open(tmp_path / "cut", readonly=True) as two,
    ):
        assert load_hunt(one).findings == load_hunt(two).findings
        pairs = [stored.trial for stored in one.trials(1) if stored.trial.key.endswith("=")]
        assert pairs
        assert all(trial.verdict.value in ("pass", "fail") for trial in pairs)


async def test_an_editor_that_changes_nothing_makes_no_failure(mine: Path) -> None:
    await run(settings(mine, editor="edit", judge="judge", questions=120), mine / "atlas")
    with Atlas.open(mine / "atlas", readonly=True) as atlas:
        assert not load_hunt(atlas).findings
        pairs = [stored for stored in atlas.trials(1) if PAIR in stored.trial.subject]
    assert pairs
    assert all(is_not_shown(stored.steps, stored.trial.facts) for stored in pairs)


def test_pairs_are_off_without_an_editor_and_an_editor_needs_a_judge(mine: Path) -> None:
    without = settings(mine)
    del without["editor"]
    hunt = build_hunt(parse_config(without, "test"))
    assert not any(PAIR in pattern.skills for pattern in hunt.grammar.patterns())
    with pytest.raises(ConfigError, match="judge sees it"):
        parse_config(settings(mine, editor="edit"), "test")


@pytest.mark.parametrize("thing", THINGS)
def test_what_is_composed_is_there(thing: str) -> None:
    plain = Picture.from_array(np.full((60, 90, 3), 128, np.uint8))
    left, right = (
        np.asarray(composite(plain, f"Add a red {thing} on the {side} of the picture.").image, dtype=int)
        != 128
        for side in ("left", "right")
    )
    assert left[:, :45].sum() > 4 * left[:, 45:].sum()
    assert right[:, 45:].sum() > 4 * right[:, :45].sum()
    with pytest.raises(BadReply, match="was told 'make it night'"):
        composite(plain, "make it night")


@pytest.mark.parametrize(
    ("before", "after", "right"),
    [
        ("yes", "Yes.", False),
        ("There is one penguin.", "I count 1", False),
        ("on the left", "It is on the right side", True),
        ("red", "blue", True),
        ("red", "a red penguin", False),
        ("", "blue", None),
    ],
)
def test_when_an_answer_is_another(before: str, after: str, right: bool | None) -> None:
    assert changed(before, after, "it moved")[1] is right
