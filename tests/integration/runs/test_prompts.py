"""A list of prompts from the file to the report: with plain callables, resumed, and with the file gone."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import failscape
from failscape.views.viewer.library import Library
from failscape.views.viewer.screens.findings import failure_map

COLOURS = ("red", "green", "blue", "yellow")


def draw(prompt: str, seeds: Sequence[int]) -> list[Image.Image]:
    """Yellow comes out green in two of three images."""
    wanted = next(name for name in COLOURS if name in prompt)
    return [
        Image.new("RGB", (16, 16), "green" if wanted == "yellow" and seed % 3 else wanted) for seed in seeds
    ]


def look(image: Image.Image, checks: Sequence[failscape.Check]) -> list[bool]:
    shown = image.convert("RGB").getpixel((3, 3))
    return [shown == Image.new("RGB", (1, 1), check.value).getpixel((0, 0)) for check in checks]


def write_list(path: Path) -> Path:
    rows = [
        {
            "id": f"{thing}-{colour}",
            "prompt": f"a {colour} {thing}",
            "checks": [{"statement": f"It is {colour}.", "kind": "colour", "value": colour}],
            "tags": {"colour": colour, "thing": thing},
        }
        for thing in ("cup", "hat", "car", "box")
        for colour in COLOURS
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def config(file: Path, images: int, **parts: Any) -> dict[str, Any]:
    return {
        "hunt": "t2i",
        "target": draw,
        "judge": look,
        "space": {"prompts": str(file)},
        "budget": {"images": images},
        **parts,
    }


def quiet(*_: object) -> None:
    pass


def test_a_list_is_hunted_resumed_and_reported(tmp_path: Path) -> None:
    file, atlas = write_list(tmp_path / "list.jsonl"), tmp_path / "atlas"
    failscape.run(config(file, 60), atlas=atlas, on_note=quiet, on_progress=quiet)
    run = failscape.run(config(file, 500), atlas=atlas, on_note=quiet, on_progress=quiet)
    assert run.summary.resumed == 60
    found = {one.subject for one in run.findings()}
    assert found == {f"{thing}-yellow" for thing in ("cup", "hat", "car", "box")}
    moved = tmp_path / "elsewhere.jsonl"
    file.rename(moved)
    again = failscape.run(config(moved, 520), atlas=atlas, on_note=quiet, on_progress=quiet)
    assert again.summary.resumed == 500, "the same list at another place is the same hunt"
    moved.unlink()
    loaded = failscape.load(atlas)
    assert {one.subject for one in loaded.findings()} == found
    page = Path(loaded.report(tmp_path / "page")).read_text(encoding="utf-8")
    assert "colour=yellow" in page
    assert "a yellow cup" in page
    assert "Prompts in the list" in page


def test_the_viewer_maps_tags(tmp_path: Path) -> None:
    file, atlas = write_list(tmp_path / "list.jsonl"), tmp_path / "atlas"
    failscape.run(config(file, 200), atlas=atlas, on_note=quiet, on_progress=quiet)
    library = Library([atlas])
    try:
        hunt = library.hunt(next(iter(library.atlases)), 1)
        heat = failure_map(hunt, {"kind": "colour"})["heat"]
        assert heat["rows"][0] == "yellow"
        assert heat["columns"] == ["all prompts"]
    finally:
        library.close()


def test_another_list_is_another_hunt(tmp_path: Path) -> None:
    file, atlas = write_list(tmp_path / "list.jsonl"), tmp_path / "atlas"
    failscape.run(config(file, 20), atlas=atlas, on_note=quiet, on_progress=quiet)
    file.write_text(file.read_text() + '{"prompt": "a red bus", "checks": ["It is red."]}\n')
    with pytest.raises(failscape.AtlasError, match="other settings"):
        failscape.run(config(file, 20), atlas=atlas, on_note=quiet, on_progress=quiet)
