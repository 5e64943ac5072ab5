"""The front door: `import failscape` is quick and typed, runs callables anywhere, and reads atlases."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import failscape
from failscape.models.registry import create_model


def draw(prompt: str, seeds: list[int]) -> list[np.ndarray]:
    """Pictures whose first pixel says whether the colour came out: pink never does."""
    pictures = [np.full((16, 16, 3), 120, np.uint8) for _ in seeds]
    for pixels, seed in zip(pictures, seeds, strict=True):
        pixels[0, 0] = (0 if "pink" in prompt else 255, seed % 256, seed // 256 % 256)
    return pictures


def look(image: Any, checks: Any) -> list[bool]:
    return [bool(np.asarray(image)[0, 0, 0] > 100)] * len(checks)


def config(images: int = 120, **models: Any) -> dict[str, Any]:
    return {
        "hunt": "t2i",
        "target": draw,
        "judge": look,
        "space": {"corpus": "toybox", "entities": ["car"], "families": ["Base"], "depth": 1},
        "search": {"strategy": "failureatlas", "images_per_node": 5},
        "budget": {"images": images},
        "seed": 3,
        **models,
    }


def test_importing_it_loads_nothing_large_and_little_of_its_own() -> None:
    code = (
        "import sys, failscape; "
        "print([m for m in ('numpy', 'aiohttp', 'pydantic', 'PIL', 'scipy') if m in sys.modules], "
        "sum(m.partition('.')[0] == 'failscape' for m in sys.modules))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    large, _, own = said.rpartition(" ")
    assert large == "[]"
    assert int(own) <= 5


def test_every_public_name_is_there_and_the_stub_has_the_same() -> None:
    stub = (Path(failscape.__file__).parent / "__init__.pyi").read_text()
    typed = set(re.findall(r"^from \S+ import (\w+) as \1$", stub, re.MULTILINE)) | {"__version__"}
    assert typed == set(failscape.__all__)
    for name in failscape.__all__:
        assert getattr(failscape, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = failscape.nothing_like_it


def test_callables_are_models_and_a_run_goes_on(tmp_path: Path) -> None:
    seen: list[failscape.RunSnapshot] = []
    first = failscape.run(config(40), atlas=tmp_path / "a", on_progress=seen.append)
    assert seen
    assert first.reason.startswith("budget")
    run = failscape.run(config(120), atlas=tmp_path / "a", on_progress=seen.append)
    assert run.summary.resumed == 40
    assert ["pink" in finding.title for finding in run.findings()] == [True]


def test_it_runs_inside_a_running_loop_too(tmp_path: Path) -> None:
    async def notebook() -> failscape.Run:
        return failscape.run(config(40), atlas=tmp_path / "a", on_note=lambda *_: None)

    assert asyncio.run(notebook()).summary.trials == 40


def test_an_error_inside_a_running_loop_reaches_the_caller(tmp_path: Path) -> None:
    async def notebook() -> None:
        failscape.run(config(40, judge=lambda image, checks: 1 / 0), tmp_path / "a", on_note=lambda *_: None)

    with pytest.raises(failscape.FailscapeError, match="ZeroDivisionError"):
        asyncio.run(notebook())


def test_another_source_is_another_model(tmp_path: Path) -> None:
    def other(image: Any, checks: Any) -> list[bool]:
        return [True for _ in checks]

    other.__qualname__ = look.__qualname__
    failscape.run(config(20), atlas=tmp_path / "a", on_note=lambda *_: None)
    with pytest.raises(failscape.AtlasError, match=r"judge.*version"):
        failscape.run(config(20, judge=other), atlas=tmp_path / "a", on_note=lambda *_: None)


def test_code_without_a_source_needs_a_version_to_go_on(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    exec("def typed(image, checks):\n    return [True] * len(checks)", space)
    unnamed, named = space["typed"], failscape.versioned(space["typed"], "1")
    failscape.run(config(20, judge=unnamed), atlas=tmp_path / "a", on_note=lambda *_: None)
    with pytest.raises(failscape.AtlasError, match="without a source or a version"):
        failscape.run(config(30, judge=unnamed), atlas=tmp_path / "a", on_note=lambda *_: None)
    assert failscape.load(tmp_path / "a").hunts(), "reading always works"
    failscape.run(config(20, judge=named), atlas=tmp_path / "b", on_note=lambda *_: None)
    again = failscape.run(config(30, judge=named), atlas=tmp_path / "b", on_note=lambda *_: None)
    assert again.summary.resumed == 20


def test_a_held_object_cannot_be_resumed_from_a_file() -> None:
    model = failscape.ModelConfig(provider="python", path="object:look")
    with pytest.raises(failscape.ConfigError, match="given as a Python object"):
        create_model("judge", model)


def test_reading_gives_trials_pictures_tables_and_a_page(tmp_path: Path) -> None:
    failscape.run(config(120), atlas=tmp_path / "a", on_note=lambda *_: None)
    atlas = failscape.load(tmp_path / "a")
    finding = atlas.findings()[0]
    trials = list(atlas.trials(subject=finding.subject, verdict="fail"))
    assert len(trials) == finding.failures
    assert atlas.image(trials[0].images[0]).array[0, 0, 0] == 0
    with pytest.raises(failscape.AtlasError, match="is not in"):
        atlas.image("0" * 32)
    assert atlas.report(tmp_path / "page").is_file()


def test_a_folder_that_is_no_atlas_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(failscape.AtlasError):
        failscape.load(tmp_path)


def test_the_pure_loop_needs_no_models() -> None:
    hunt = failscape.hunt(config(40))
    for probe in hunt.ask(8):
        step = probe.steps[0]
        assert isinstance(step, failscape.Generate)
        checks = probe.steps[1].checks  # type: ignore[union-attr]
        facts = ["picture", ["pink" not in step.prompt for _ in checks]]
        verdict, reason = failscape.reach_verdict(probe.steps, facts)
        hunt.tell(failscape.Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed))
    assert hunt.progress().finished >= 1
