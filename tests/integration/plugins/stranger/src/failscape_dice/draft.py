"""`failscape init --hunt dice`."""

from collections.abc import Mapping
from typing import Any

import failscape


def draft(asker: failscape.ConfigAsker, flags: Mapping[str, Any]) -> failscape.ConfigDraft:
    die = failscape.RoleDraft("dice", {"model": flags["model"]} if flags["model"] else {})
    throws = asker.ask("How many throws a face?", "--images", str(flags["images"] or ""), "10")
    return failscape.ConfigDraft(
        "dice",
        {"target": (die, "the die"), "judge": (failscape.RoleDraft("dice"), "tells its faces")},
        {"throws": (int(throws), "of each face"), "budget": ({"images": 6 * int(throws)}, "")},
    )
