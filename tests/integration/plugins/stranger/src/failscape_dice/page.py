"""What the kind adds to the report: a section, a tile, notes, and where faces lie on the map."""

from __future__ import annotations

from typing import Any

import failscape

from . import FACES


class DicePage(failscape.PlainPage):
    """A section and a tile of its own, from a template that lies in this package."""

    def sections(self, context: Any) -> list[failscape.Section]:
        faces = [finding.title for finding in context.loaded.findings]
        return [failscape.Section("dice", "Faces that never came", "failscape_dice:dice.html", faces)]

    def tiles(self, context: Any) -> list[failscape.Tile]:
        return [failscape.Tile("faces", str(len(FACES)))]

    def notes(self, finding: failscape.Finding) -> list[str]:
        return [f"The die never showed {finding.subject}."]

    def placer(self, config: dict[str, Any]) -> Any:
        return lambda face: failscape.Place("die", "dice", ("face",)) if face in FACES else None
