"""The side-by-side benchmark runs, goes on from its log, and says what it could not run."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.t2i.arms import ARMS
from benchmarks.t2i.cells import Cell, all_cells, run_cells
from benchmarks.t2i.oracle import watch_oracle
from benchmarks.t2i.table import found, write_tables

from failscape.spaces import Lattice
from failscape.testing.planted import PlantedWorld
from failscape.testing.planted_corpus import planted_corpus
from failscape.testing.scoring import Truth

SIZE = (25, 12, 600)


def cells(arms: list[str], judges: list[str]) -> list[Cell]:
    return all_cells(arms, ["wide"], judges, ["weak"], 2, images=800, in_flight=20, size=SIZE)


def test_a_finished_cell_is_not_run_again(tmp_path: Path) -> None:
    log, asked = tmp_path / "log.jsonl", cells(["failureatlas", "sprt+ridge", "oracle"], ["noisy"])
    first = list(run_cells(asked[:4], 1, log, set()))
    whole = list(run_cells(asked, 1, log, set()))
    assert len(log.read_text().splitlines()) == len(asked) == 6
    assert whole[:4] == first
    assert all(len(outcome.curve) == 50 and not outcome.skipped for outcome in whole)
    again = list(run_cells(asked, 1, log, {"oracle"}))
    assert len(log.read_text().splitlines()) == 8
    assert {(o.cell.key, found(o)) for o in again} == {(o.cell.key, found(o)) for o in whole}
    table = write_tables(whole, ["failureatlas"])
    assert "**wide, judge noisy**" in table
    assert table.count("| weak |") == 3
    assert "±" in table


def test_an_arm_that_cannot_be_built_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ARMS, "sprt+ridge", {"strategy": "guess"})
    outcomes = list(run_cells(cells(["sprt+ridge"], ["perfect"]), 1, None, set()))
    assert "search.strategy" in outcomes[0].skipped
    assert "not run:" in write_tables(outcomes, ["failureatlas"])


def test_a_review_matters_only_to_arms_that_know_of_it() -> None:
    assert {cell.arm for cell in cells(list(ARMS), ["reviewed"])} == {"certified", "probable", "oracle"}


def test_the_oracle_finds_the_surest_first_and_never_more_than_there_is() -> None:
    truth = Truth(PlantedWorld(Lattice(planted_corpus(*SIZE)), "weak", seed=1))
    few, many = (watch_oracle(truth, images, 0.05, None, 10, seed=1) for images in (300, 10**6))
    assert few.images <= 300
    assert few.last.minimal > 300 / 8, "the surest failures need three images"
    assert many.last.minimal <= len(truth.minimal)
    gains = np.diff([0, *(point.minimal for point in few.checkpoints)])
    assert gains[:5].sum() >= gains[5:].sum()
