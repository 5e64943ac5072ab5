"""Facts by which photos are sliced besides what captions mention: metadata, and clusters of vectors. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from failscape.kinds.classifier.prompts import CLUSTER, COLUMN, Clause
from failscape.kinds.classifier.tallies import SeenPhoto
from failscape.trials import parse_label, without_separators

#: Longer texts are no categories.
LONGEST_CELL = 40

#: A column of numbers with more different ones than this is cut into quarters; others are categories.
MOST_CATEGORIES = 12

#: A class gets a cluster for so many of its photos.
MOST_CLUSTERS = 8
PER_CLUSTER = 12


def metadata_facts(details: Sequence[Mapping[str, Any]]) -> list[list[Clause]]:
    """For every photo one clause for each short cell, and for each entry of a list.

    Cells that are missing say nothing. Numbers that hardly repeat, such as a brightness, say in which quarter
    of the folder the photo is.
    """
    columns = sorted({column for row in details for column in row})
    quarters = {column: _quarters(details, column) for column in columns}
    return [list(_clauses(row, quarters)) for row in details]


def _clauses(row: Mapping[str, Any], quarters: Mapping[str, Sequence[float]]) -> Iterator[Clause]:
    for column, cell in sorted(row.items()):
        for entry in cell if isinstance(cell, (list, tuple)) else (cell,):
            text = _quarter(entry, quarters[column]) if quarters[column] else _cell(entry)
            if text and len(text) <= LONGEST_CELL:
                yield Clause(f"{COLUMN}: {_plain(str(column))}", text, "")


def _cell(entry: Any) -> str:
    return "" if entry is None or isinstance(entry, (list, dict)) else _plain(str(entry))


def _is_number(entry: Any) -> bool:
    return isinstance(entry, (int, float)) and not isinstance(entry, bool) and math.isfinite(entry)


def _quarters(details: Sequence[Mapping[str, Any]], column: str) -> list[float]:
    """The five ends of the quarters of a column of numbers; none where they are categories or texts."""
    cells = [row[column] for row in details if row.get(column) is not None]
    if not cells or not all(map(_is_number, cells)) or len(set(cells)) <= MOST_CATEGORIES:
        return []
    return sorted({float(end) for end in np.quantile(cells, [0, 0.25, 0.5, 0.75, 1])})


def _quarter(entry: Any, ends: Sequence[float]) -> str:
    if entry is None:
        return ""
    at = min(max(bisect_right(ends, entry), 1), len(ends) - 1)
    return f"{ends[at - 1]:.3g} to {ends[at]:.3g}"


def _plain(text: str) -> str:
    """Without the signs that part a subject."""
    return without_separators(text)


def cluster_clauses(seen: Sequence[SeenPhoto], classes: int) -> None:
    """Give every photo the cluster of its vector as a clause. The suggesting half makes the clusters."""
    from scipy.cluster.vq import kmeans2, vq  # here: it loads slowly, and few hunts need it

    for label in range(classes):
        mine = [one for one in seen if one.photo.label == label and one.vector]
        for one in mine:
            for name in [name for name in one.clauses if name.startswith(CLUSTER)]:
                del one.clauses[name]
        suggesting = [one for one in mine if one.photo.suggests]
        count = min(MOST_CLUSTERS, len(suggesting) // PER_CLUSTER)
        if count < 2:
            continue
        rows = np.array([one.vector for one in suggesting])
        centres, _ = kmeans2(rows, count, iter=50, minit="++", rng=0)
        numbers, _ = vq(np.array([one.vector for one in mine]), centres)
        named = [_name(number, _members(mine, numbers, number), mine) for number in range(count)]
        for number, name in enumerate(named):
            clause = Clause(CLUSTER, name, "")
            for one in _members(mine, numbers, number):
                one.clauses[clause.label] = clause


def _members(mine: Sequence[SeenPhoto], numbers: Any, number: int) -> list[SeenPhoto]:
    return [one for one, at in zip(mine, numbers, strict=True) if at == number]


def _name(number: int, members: Sequence[SeenPhoto], mine: Sequence[SeenPhoto]) -> str:
    """Its number, and what most of its photos share by captions or metadata and others do not."""
    inside = Counter(label for one in members for label in one.clauses)
    overall = Counter(label for one in mine for label in one.clauses)
    more_often = {
        label: hits / len(members) - overall[label] / len(mine)
        for label, hits in inside.items()
        if hits > len(members) / 2
    }
    best = max(more_often, key=lambda label: (more_often[label], label), default="")
    words = f", {inside[best]} of {len(members)} {_words(best)}" if best and more_often[best] > 0.1 else ""
    return f"group {number + 1} of pictures that look alike{words}"


def _words(label: str) -> str:
    """`rotation: upside down` of a column, the bare value of anything else."""
    kind, value = parse_label(label)
    return f"{kind.partition(': ')[2]}: {value}" if kind.startswith(COLUMN) else value
