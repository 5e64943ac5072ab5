"""What a t2i hunt has decided about its nodes, for files that keep a verdict for each node."""

from __future__ import annotations

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.reviews import hunt_accuracy
from failscape.evidence.found import rebuild_hunt, tell_all
from failscape.hunts.protocol import Hunt
from failscape.spaces.subjects import ancestors_of


def told_hunt(atlas: Atlas, row: HuntRow) -> Hunt:
    """The hunt, told all its trials again."""
    hunt = rebuild_hunt(row, hunt_accuracy(atlas, row))
    tell_all(atlas, row.id, hunt)
    return hunt


def node_verdicts(hunt: Hunt) -> dict[str, bool]:
    """Subject → whether it passes. What a finding rests on passes, as the hunt says; the rest is open."""
    decided = hunt.decided()
    for finding in hunt.findings():
        for ancestor in ancestors_of(finding.subject):
            decided.setdefault(ancestor, True)
    return decided
