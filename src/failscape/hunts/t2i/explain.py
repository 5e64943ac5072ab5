"""What is special about one failing node: its interaction and which check is to blame, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from failscape.hunts.t2i.panel import Counts
from failscape.spaces.lattice import Lattice, Node
from failscape.stats.contrasts import blame, interaction

CountsOf = Callable[[Node], Counts | None]


def explain(lattice: Lattice, node: Node, counts_of: CountsOf, dropped: Sequence[int] = ()) -> dict[str, Any]:
    """For `Finding.details`: `interaction` and `blamed`, each with its `sentence`, where counts allow.

    `dropped` counts the failed images in which each check did not hold, in the order of the node's checks.
    """
    own = counts_of(node)
    if own is None:
        return {}
    found: dict[str, Any] = {}
    parents = [counts_of(parent) or Counts(0, 0) for parent in lattice.parents(node)]
    excess = interaction(own, parents, counts_of(Node(node.entity)) or Counts(0, 0))
    if excess is not None:
        found["interaction"] = asdict(excess)
    blamed = blame(dict(zip(_check_names(lattice, node), dropped, strict=False)), own.fails)
    if blamed is not None:
        found["blamed"] = asdict(blamed)
    return found


def _check_names(lattice: Lattice, node: Node) -> list[str]:
    values = [lattice.corpus.values[value] for value in node.values]
    entity = lattice.corpus.entities[node.entity].name
    return [f"The {entity}", *(f"{value.sub_category} “{value.name}”" for value in values)]
