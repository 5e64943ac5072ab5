"""What the report says about wording: do failures belong to the concept or to the way it is said?

Only for hunts that vary the wording. Counts come from the prompts that were sent, so it holds for every
strategy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failscape.atlas import Atlas, HuntRow
from failscape.report.figures import percent
from failscape.stats.nuisance import Nuisance, nuisance_effect

CONCERN = 0.05
"""Below this p-value the wording matters somewhere."""


def wording_notes(atlas: Atlas, row: HuntRow) -> Iterator[str]:
    """One or two sentences, for a hunt whose wording was varied."""
    if (row.config.get("space") or {}).get("wording") != "vary":
        return
    found = nuisance_effect(list(counts_by_wording(atlas, row.id)))
    if found is None:
        yield "Every node was asked for in several wordings, but too few pictures tell what that does."
    else:
        yield _sentence(found)


def counts_by_wording(atlas: Atlas, hunt_id: int) -> Iterator[Sequence[tuple[int, int]]]:
    """Passes and failures of each subject, by what was asked for."""
    query = (
        "SELECT subject, sum(verdict = 'pass'), sum(verdict = 'fail') FROM trials"
        " WHERE hunt = ? AND verdict IN ('pass', 'fail') GROUP BY subject, plan ORDER BY subject, plan"
    )
    with atlas.reading() as db:
        rows = db.execute(query, (hunt_id,)).fetchall()
    subject, levels = None, list[tuple[int, int]]()
    for name, passes, fails in rows:
        if name != subject and levels:
            yield levels
            levels = []
        subject = name
        levels.append((passes, fails))
    if levels:
        yield levels


def _sentence(found: Nuisance) -> str:
    told = f"{found.units:,} nodes and {found.trials:,} pictures tell"
    low, high = (percent(end) for end in found.interval)
    if found.p_value > CONCERN:
        return (
            f"Every node was asked for in several wordings ({told}). There is no sign that the wording "
            "matters: the failures belong to the concepts. If the rate of failure differs between the "
            f"wordings of one node, then by {high} at most (standard deviation, upper end of a 95% interval)."
        )
    return (
        f"Every node was asked for in several wordings ({told}). The wording matters: the rate of failure "
        f"differs between the wordings of one node by {percent(found.spread)} (standard deviation beyond "
        f"chance, 95% interval {low} to {high}; p = {found.p_value:.3g})."
    )
