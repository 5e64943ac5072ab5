"""The ground truth of toy-painter: complete, sane, and what toy-painter still does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks.toybox_truth import MeasuredNode, painter_truth, write_truth
from scipy import stats

from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import Lattice
from failscape.spaces.wording import Wording
from failscape.toybox.eyes import Eyes
from failscape.toybox.painter import ToyPainter
from failscape.trials import derive_seed

LATTICE = Lattice(load_corpus("toybox"), "all", ("Base", "Background", "Image"), 2)


def test_every_node_with_at_most_one_value_was_measured() -> None:
    truth = painter_truth()
    for layer in (0, 1):
        for node in LATTICE.nodes(layer):
            assert truth[LATTICE.subject(node)].images >= 60
    pairs = [subject for subject in truth if len(LATTICE.parse(subject).values) == 2]
    assert len(pairs) >= 1000


def test_counts_are_possible() -> None:
    for subject, row in painter_truth().items():
        assert len(row.checks) == 1 + len(LATTICE.parse(subject).values)
        assert 0 <= row.passes <= min(row.checks) <= row.images
        assert 0 <= row.rate <= 1


def test_the_painter_still_draws_what_was_measured() -> None:
    """Fresh seeds of twelve nodes: the two shares differ by more than chance in hardly one of a million."""
    painter, eyes, wording = ToyPainter(), Eyes(), Wording(LATTICE.corpus)
    truth = painter_truth()
    for node in LATTICE.sample(1, 12, np.random.default_rng(4)):
        row, checks = truth[LATTICE.subject(node)], wording.checks(node)
        seeds = [derive_seed(99, index) for index in range(64)]
        decided = eyes.judge(painter.paint([wording.caption(node)] * 64, seeds), [checks] * 64)
        passes = sum(all(row) for row in decided)
        table = [[row.passes, row.images - row.passes], [passes, 64 - passes]]
        assert stats.fisher_exact(table).pvalue > 1e-6, LATTICE.subject(node)


def test_a_table_can_be_written_and_read(tmp_path: Path) -> None:
    rows = {"cow": MeasuredNode(10, 7, (9,)), "cow; Base: colour=red": MeasuredNode(10, 2, (9, 2))}
    path = tmp_path / "truth.csv.gz"
    write_truth(rows, path)
    assert painter_truth(path) == rows
    first = path.read_bytes()
    write_truth(rows, path)
    assert path.read_bytes() == first
