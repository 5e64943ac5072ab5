"""What the report says about imported tables: nothing of its own but where a case lies, by its group."""

from typing import Any

from failscape.trials import Subject, thing_text
from failscape.views.pages.sections import PlainPage
from failscape.views.read.hunt import Place, Placer

_PLAIN = PlainPage()
tiles = _PLAIN.tiles
sections = _PLAIN.sections
notes = _PLAIN.notes


def placer(config: dict[str, Any]) -> Placer:
    """Cases of a group stand as `group; case`."""

    def place(subject: str) -> Place:
        parsed = Subject.parse(subject)
        case = thing_text(parsed.labels[0], parsed.labels[1:]) if parsed.values else ""
        return Place(parsed.name, parsed.name if case else "all cases", (case or "case",))

    return place
