"""What failures have in common: clauses over-represented among failed images, overall and per cluster. Pure.

It proposes. Nothing it says is evidence: every proposal is tried on fresh images.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import stats

from failscape.hunts.classifier.prompts import SAID, Clause
from failscape.hunts.classifier.tallies import Described

SMALLEST = 2
"""A clause seen in fewer failures than this tells nothing."""

MOST_CLUSTERS = 4
PER_CLUSTER = 3


def proposals(
    images: Sequence[Described], clauses: Sequence[Sequence[Clause]], most: int
) -> list[list[Clause]]:
    """Candidate descriptions as lists of clauses, the most telling first; `clauses` has one row per image.

    Single clauses come from all failures and from each cluster; each cluster of two or more clauses also
    gives them together, as the pooled description of that cluster.
    """
    failed = [at for at, image in enumerate(images) if image.failed]
    passed = [at for at, image in enumerate(images) if not image.failed]
    if not failed:
        return []
    rows = [{clause.label: clause for clause in row} for row in clauses]
    found: dict[tuple[str, ...], list[Clause]] = {}
    for members in [failed, *clusters(images, rows, failed)]:
        telling = over_represented(rows, members, passed)[:PER_CLUSTER]
        for clause in telling:
            found.setdefault((clause.label,), [clause])
        pooled = _compatible(telling)
        if len(pooled) > 1:
            found.setdefault(tuple(sorted(clause.label for clause in pooled)), pooled)
    return list(found.values())[:most]


def over_represented(
    rows: Sequence[dict[str, Clause]], failed: Sequence[int], passed: Sequence[int]
) -> list[Clause]:
    """Clauses commoner among failures than among passes, by one-sided Fisher tests; weakest signs dropped."""
    in_failed = Counter(label for at in failed for label in rows[at])
    in_passed = Counter(label for at in passed for label in rows[at])
    known = {label: clause for at in failed for label, clause in rows[at].items()}
    least = min(SMALLEST, len(failed))
    scored = []
    for label, hits in in_failed.items():
        others = in_passed[label]
        if hits < least or hits * max(1, len(passed)) <= others * len(failed):
            continue
        table = np.array([[hits, len(failed) - hits], [others, len(passed) - others]])
        p_value = float(stats.fisher_exact(table, alternative="greater")[1]) if passed else 1.0
        scored.append((p_value, -hits, label))
    # Of a few captions nothing can be significant; half of everything being chance is the point to stop.
    return [known[label] for p_value, _, label in sorted(scored) if p_value < 0.5 or not passed]


def clusters(
    images: Sequence[Described], rows: Sequence[dict[str, Clause]], failed: Sequence[int]
) -> list[list[int]]:
    """Failures grouped by wrong label, and large groups by their features once more."""
    by_label: dict[str, list[int]] = {}
    for at in failed:
        by_label.setdefault(images[at].wrong, []).append(at)
    found: list[list[int]] = []
    for _, members in sorted(by_label.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_CLUSTERS]:
        if len(members) >= SMALLEST:
            found += [members, *_by_features(images, rows, members)]
    return found


def _by_features(
    images: Sequence[Described], rows: Sequence[dict[str, Clause]], members: Sequence[int]
) -> list[list[int]]:
    """Agglomerative clusters of image vectors; without an embedder, of which clauses were said."""
    if len(members) < 6:
        return []
    from sklearn.cluster import AgglomerativeClustering  # here: it loads slowly, and few hunts need it

    features = _features(images, rows, members)
    if features.shape[1] == 0 or np.allclose(features, features[0]):
        return []
    count = min(3, len(members) // 3)
    labels = AgglomerativeClustering(n_clusters=count).fit_predict(features)
    groups = [[at for at, label in zip(members, labels, strict=True) if label == one] for one in range(count)]
    return [group for group in groups if SMALLEST <= len(group) < len(members)]


def _features(
    images: Sequence[Described], rows: Sequence[dict[str, Clause]], members: Sequence[int]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    vectors = [images[at].vector for at in members]
    if all(vectors) and len({len(vector) for vector in vectors}) == 1:
        return np.array(vectors, np.float64)
    labels = sorted({label for at in members for label in rows[at]})
    return np.array([[float(label in rows[at]) for label in labels] for at in members], np.float64)


def _compatible(clauses: Sequence[Clause]) -> list[Clause]:
    """At most one clause of each kind: a thing has one place. Sentences may stand side by side."""
    kept: list[Clause] = []
    for clause in clauses:
        if clause.kind == SAID or all(clause.kind != other.kind for other in kept):
            kept.append(clause)
    return kept
