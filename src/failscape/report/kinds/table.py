"""What the report says about imported tables: nothing of its own but where a case lies, by its group."""

from typing import Any

from failscape.evidence.hunt import Place, Placer
from failscape.report.sections import PlainPage

_PLAIN = PlainPage()
tiles = _PLAIN.tiles
sections = _PLAIN.sections
notes = _PLAIN.notes


def placer(config: dict[str, Any]) -> Placer:
    """Cases of a group stand as `group; case`."""

    def place(subject: str) -> Place:
        group, _, case = subject.partition("; ")
        return Place(group, group if case else "all cases", (case or "case",))

    return place
