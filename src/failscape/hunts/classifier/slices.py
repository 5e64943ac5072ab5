"""Slices of photos besides what captions mention: columns of the metadata, and clusters of vectors. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from failscape.hunts.classifier.prompts import CLUSTER, COLUMN, Clause
from failscape.hunts.classifier.tallies import SeenPhoto

#: Longer texts are no categories.
LONGEST_CELL = 40

#: A class gets a cluster for so many of its photos.
MOST_CLUSTERS = 8
PER_CLUSTER = 12


def metadata_clauses(details: Mapping[str, Any]) -> Iterator[Clause]:
    """One clause for each short cell; cells that are missing say nothing."""
    for column, cell in sorted(details.items()):
        text = " ".join(re.sub(r"[;#=]", " ", str(cell)).split()) if cell is not None else ""
        if text and len(text) <= LONGEST_CELL and not isinstance(cell, (list, dict)):
            yield Clause(f"{COLUMN}: {column}", text, "")


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
        for number in range(count):
            members = [one for one, at in zip(mine, numbers, strict=True) if at == number]
            clause = Clause(CLUSTER, _name(number, members, mine), "")
            for one in members:
                one.clauses[clause.label] = clause


def _name(number: int, members: Sequence[SeenPhoto], mine: Sequence[SeenPhoto]) -> str:
    """What most of its photos are said to show and others are not, else its number."""
    inside = Counter(label for one in members for label in one.clauses)
    overall = Counter(label for one in mine for label in one.clauses)
    telling = {
        label: hits / len(members) - overall[label] / len(mine)
        for label, hits in inside.items()
        if hits > len(members) / 2
    }
    best = max(telling, key=lambda label: (telling[label], label), default="")
    words = f", mostly {best.partition('=')[2]}" if best and telling[best] > 0.1 else ""
    return f"group {number + 1} of pictures that look alike{words}"
