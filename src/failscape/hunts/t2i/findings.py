"""Turns a failing node and its counts into a finding: rate, interval, e-value, parents, explanation.

What is special about one failing node: its interaction and which check is to blame, as plain data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from failscape.hunts.counts import Tally
from failscape.hunts.t2i.survey.judge_view import Counts
from failscape.spaces.lattice import Lattice, Node
from failscape.spaces.wording import Wording
from failscape.stats.contrasts import blame, interaction
from failscape.stats.evalues import e_value
from failscape.stats.intervals import clopper_pearson
from failscape.trials import Finding

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


def describe_failure(
    tally: Tally,
    lattice: Lattice,
    wording: Wording,
    threshold: float,
    status: str,
    tally_of: Callable[[str], Tally | None],
) -> Finding:
    """`tally_of` looks up the parents' counts by subject."""
    node = tally.node
    return Finding(
        subject=lattice.subject(node),
        title=_title(lattice, node),
        caption=wording.caption(node),
        status=status,
        rate=tally.fails / tally.valid if tally.valid else 0.0,
        interval=rate_interval(tally.fails, tally.valid),
        e_value=_e_value(tally.passes, tally.fails, threshold),
        trials=tally.valid,
        failures=tally.fails,
        invalid=tally.invalid,
        parents=tuple(_parent(lattice.subject(parent), tally_of) for parent in lattice.parents(node)),
        details=_details(tally, lattice) | _explained(tally, lattice, tally_of),
    )


@lru_cache(maxsize=65536)
def rate_interval(hits: int, trials: int) -> tuple[float, float]:
    """The exact 95 % interval. Nodes share few distinct counts, so most are looked up."""
    low, high = clopper_pearson(hits, trials)
    return float(low), float(high)


@lru_cache(maxsize=65536)
def _e_value(passes: int, fails: int, threshold: float) -> float:
    return float(e_value(passes, fails, threshold))


def _title(lattice: Lattice, node: Node) -> str:
    entity = lattice.corpus.entities[node.entity].name
    values = ", ".join(lattice.corpus.values[value].name for value in node.values)
    return f"{entity}: {values}" if values else entity


def _parent(subject: str, tally_of: Callable[[str], Tally | None]) -> dict[str, Any]:
    tally = tally_of(subject)
    if tally is None or not tally.valid:
        return {"subject": subject, "rate": None, "trials": 0, "failures": 0}
    return {
        "subject": subject,
        "rate": tally.fails / tally.valid,
        "trials": tally.valid,
        "failures": tally.fails,
    }


def _explained(tally: Tally, lattice: Lattice, tally_of: Callable[[str], Tally | None]) -> dict[str, Any]:
    def counts_of(node: Node) -> Counts | None:
        other = tally if node == tally.node else tally_of(lattice.subject(node))
        return Counts(other.passes, other.fails) if other is not None else None

    return explain(lattice, tally.node, counts_of, tally.dropped or ())


def _details(tally: Tally, lattice: Lattice) -> dict[str, Any]:
    corpus, node = lattice.corpus, tally.node
    entity = corpus.entities[node.entity]
    kinds = ["entity", *(corpus.values[value].kind for value in node.values)]
    return {
        "entity": entity.name,
        "values": [[corpus.values[value].kind, corpus.values[value].name] for value in node.values],
        "class": entity.upper_class,
        "sub_class": entity.sub_class,
        "layer": len(node.values),
        "blame": dict(zip(kinds, tally.dropped or [0] * len(kinds), strict=False)),
    }
