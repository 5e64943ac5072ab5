"""Atlases of an earlier version open, read and resume; the same hunt goes the same way as it did then.

Everything is compared with the files in `golden`. See `remake.py` for changes that are intended.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from failscape.atlas import Atlas
from tests.golden import tools
from tests.golden.tools import FIXTURES, IMAGES, KINDS, MORE_IMAGES, assert_same, read_golden

every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def kept(kind: str, tmp_path: Path) -> Path:
    """A copy of the atlas that was made with the golden files."""
    return Path(shutil.copytree(FIXTURES / kind, tmp_path / "atlas"))


@pytest.fixture(scope="module")
def new_atlases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Kind → an atlas of the same hunt, run by the code of now. Filled when first asked for."""

    class Atlases(dict[str, Path]):
        def __missing__(self, kind: str) -> Path:
            atlas = tmp_path_factory.mktemp("new") / kind
            tools.hunt(kind, atlas)
            self[kind] = atlas
            return atlas

    return Atlases()


@pytest.fixture
def new(kind: str, new_atlases: dict[str, Path]) -> Path:
    return new_atlases[kind]


# An atlas of then, read by the code of now.


@every_kind
def test_a_kept_atlas_gives_the_same_findings(kind: str, kept: Path) -> None:
    name = f"{kind}.findings.json"
    assert_same(tools.findings_of(kept), read_golden(name), name)


@every_kind
def test_a_kept_atlas_is_printed_the_same_at_80_and_120_columns(kind: str, kept: Path) -> None:
    name = f"{kind}.findings_text.json"
    printed = tools.findings_text(kept)
    assert_same(printed, read_golden(name), name)
    for width, lines in printed.items():
        commands = "failscape findings"  # never wrapped, so that they can be copied
        assert all(len(line) <= int(width) for line in lines if commands not in line)


@every_kind
def test_a_kept_atlas_gives_the_same_report(kind: str, kept: Path, tmp_path: Path) -> None:
    name = f"{kind}.page.json"
    page, golden = tools.page_of(kept, tmp_path / "report"), read_golden(name)
    assert_same(tools.numbers_in(page), tools.numbers_in(golden), f"the numbers of {name}")
    assert_same(page, golden, name)


@every_kind
def test_a_kept_atlas_is_the_one_of_the_golden_files(kind: str, kept: Path) -> None:
    name = f"{kind}.keys.json"
    golden = read_golden(name)
    assert_same(tools.trials_of(kept), golden["trials"], name)
    assert golden["count"] == len(golden["trials"])
    assert_same(tools.calls_of(kept), golden["calls"], f"the calls of {name}")


@every_kind
def test_a_kept_atlas_goes_on(kind: str, kept: Path) -> None:
    name = f"{kind}.keys.json"
    before = tools.rows_of_trials(kept)
    assert tools.counts_of(kept) == {"hunts": 1, "runs": 1, "images": IMAGES[kind]}
    tools.hunt(kind, kept, IMAGES[kind] + MORE_IMAGES)
    after = tools.rows_of_trials(kept)
    assert tools.counts_of(kept) == {"hunts": 1, "runs": 2, "images": IMAGES[kind] + MORE_IMAGES}
    assert len(after) > len(before)
    assert after[: len(before)] == before
    assert_same(tools.trials_of(kept, len(before)), read_golden(name)["resumed"], f"resumed in {name}")


# The same hunt, run by the code of now.


@every_kind
def test_a_new_hunt_makes_the_same_trials(kind: str, new: Path) -> None:
    name = f"{kind}.keys.json"
    assert_same(tools.trials_of(new), read_golden(name)["trials"], name)


@every_kind
def test_a_new_hunt_finds_the_same(kind: str, new: Path) -> None:
    name = f"{kind}.findings.json"
    found, golden = tools.findings_of(new), read_golden(name)
    assert_same(tools.without_pictures(found), tools.without_pictures(golden), name)


@every_kind
def test_a_new_hunt_gives_the_same_report(kind: str, new: Path, tmp_path: Path) -> None:
    name = f"{kind}.page.json"
    assert_same(tools.page_of(new, tmp_path / "report"), read_golden(name), name)


@every_kind
def test_a_new_hunt_makes_the_same_requests(kind: str, new: Path) -> None:
    name = f"{kind}.keys.json"
    assert_same(tools.requests_of(new), read_golden(name)["requests"], f"the requests of {name}")


# Forms.


@every_kind
def test_the_tables_of_an_atlas_are_the_same(kind: str, kept: Path, new: Path) -> None:
    golden = read_golden("atlas_schema.sql")
    assert_same(tools.schema_of(new), golden, "atlas_schema.sql")
    Atlas.open(kept).close()  # an atlas of an earlier version is brought up to date
    assert_same(tools.schema_of(kept), golden, "atlas_schema.sql")


def test_the_schema_of_config_files_is_the_same() -> None:
    name = "config.schema.json"
    assert_same(tools.config_schema(), read_golden(name), name)
