"""The side-by-side benchmark runs, goes on from its log, and says what it could not run."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.t2i.arms import ARMS
from benchmarks.t2i.cells import Cell, all_cells, run_cells
from benchmarks.t2i.fair_oracle import Offer, best_at, make_offer, watch_fair_oracle
from benchmarks.t2i.oracle import watch_oracle
from benchmarks.t2i.table import found, write_tables

from failscape.simulate.corpus import planted_corpus
from failscape.simulate.planted import PlantedWorld
from failscape.simulate.scoring import Truth
from failscape.spaces import Lattice

SIZE = (25, 12, 600)


def cells(arms: list[str], judges: list[str]) -> list[Cell]:
    return all_cells(arms, ["wide"], judges, ["weak"], range(2), images=800, in_flight=20, size=SIZE)


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


def test_a_line_that_a_kill_cut_off_is_run_again(tmp_path: Path) -> None:
    log, asked = tmp_path / "log.jsonl", cells(["failureatlas"], ["perfect"])
    whole = list(run_cells(asked, 1, log, set()))
    lines = log.read_text().splitlines()
    log.write_text(lines[0] + "\n" + lines[1][:90])
    again = list(run_cells(asked, 1, log, set()))
    assert {(o.cell.key, found(o)) for o in again} == {(o.cell.key, found(o)) for o in whole}
    assert len(log.read_text().splitlines()) == 3
    assert len(list(run_cells(asked, 1, log, set()))) == 2
    assert len(log.read_text().splitlines()) == 3


def test_an_arm_that_cannot_be_built_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ARMS, "sprt+ridge", {"strategy": "guess"})
    outcomes = list(run_cells(cells(["sprt+ridge"], ["perfect"]), 1, None, set()))
    assert "search.strategy" in outcomes[0].skipped
    assert "not run:" in write_tables(outcomes, ["failureatlas"])


def test_a_review_matters_only_to_arms_that_know_of_it() -> None:
    assert {cell.arm for cell in cells(list(ARMS), ["reviewed"])} == {
        "certified",
        "listed",
        "oracle",
        "fair oracle",
    }


def test_the_oracle_finds_the_surest_first_and_never_more_than_there_is() -> None:
    truth = Truth(PlantedWorld(Lattice(planted_corpus(*SIZE)), "weak", seed=1))
    few, many = (watch_oracle(truth, images, 0.05, None, 10, seed=1) for images in (300, 10**6))
    assert few.images <= 300
    assert few.last.minimal > 300 / 8, "the surest failures need three images"
    assert many.last.minimal <= len(truth.minimal)
    gains = np.diff([0, *(point.minimal for point in few.checkpoints)])
    assert gains[:5].sum() >= gains[5:].sum()


def test_the_fair_oracle_buys_what_is_worth_most() -> None:
    """Two claims share an ancestor: together they are worth it, one alone would not be."""
    offer = Offer(np.array([3.0, 3.0, 3.0]), np.array([12.0, 40.0]), np.array([0, 1, 2]), np.array([0, 0, 1]))
    assert best_at(1 / 8, offer) == (0.0, 0)
    assert best_at(1 / 10, offer) == (18.0, 2)
    assert best_at(1 / 50, offer) == (61.0, 3)


def test_the_fair_oracle_matches_trying_every_choice() -> None:
    rng = np.random.default_rng(3)
    claim = np.repeat(np.arange(8), 2)
    rests = np.concatenate([rng.choice(5, 2, replace=False) for _ in range(8)])
    offer = Offer(rng.uniform(3, 30, 8), rng.uniform(5, 60, 5), claim, rests)
    for price in (0.01, 0.02, 0.04, 0.08):
        values = []
        for chosen in range(2**8):
            bought = np.array([chosen >> at & 1 for at in range(8)], dtype=bool)
            paid = np.unique(rests[bought[claim]])
            cost = offer.claims[bought].sum() + offer.ancestors[paid].sum()
            values.append(bought.sum() - price * cost)
        spent, found_ = best_at(price, offer)
        assert found_ - price * spent == pytest.approx(max(values), abs=1e-4)


def test_the_fair_oracle_pays_for_parents_too() -> None:
    truth = Truth(PlantedWorld(Lattice(planted_corpus(*SIZE)), "medium", seed=1))
    free, fair = (watch(truth, 600, 0.05, None, 10, seed=1) for watch in (watch_oracle, watch_fair_oracle))
    assert 0 < fair.last.minimal < free.last.minimal
    found_ = [point.minimal for point in fair.checkpoints]
    assert found_ == sorted(found_)
    assert np.all(make_offer(truth, 0.05, None, 1).ancestors >= 1)
