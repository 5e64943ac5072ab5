"""The world as a corpus folder, so that a t2i hunt can search it like any other space."""

from pathlib import Path
from typing import Any, Final

from failscape.toybox.world.vocab import CONFLICTS, FAMILIES, KINDS, MENTIONABLE
from failscape.toybox.world.wording import PHRASES

CORPUS: Final = Path(__file__).parent / "corpus"


def corpus_folder() -> Path:
    """Return the folder of the shipped corpus."""
    return CORPUS


def corpus_files() -> dict[str, Any]:
    """Return what the corpus files hold, by file name, made from the world's own tables."""
    entities: dict[str, dict[str, list[str]]] = {}
    for kind in KINDS:
        entities.setdefault(kind.group, {}).setdefault(kind.subgroup, []).append(kind.name)
    files: dict[str, Any] = {"entities.json": entities}
    for family, names in FAMILIES.items():
        files[f"attributes_{family}.json"] = {name: _values(name) for name in names}
    files["conflicts.json"] = [[list(first), list(second)] for first, second in CONFLICTS]
    return files


def _values(name: str) -> list[Any]:
    if name not in PHRASES:
        return list(MENTIONABLE[name])
    joint = ", " if name in ("style", "position") else " "
    return [
        {"value": value, "wording": [f"{{thing}}{joint}{phrase}" for phrase in PHRASES[name][value]]}
        for value in MENTIONABLE[name]
    ]
