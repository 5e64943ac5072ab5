"""The world as a corpus folder, so that a t2i hunt can search it like any other space."""

from pathlib import Path
from typing import Any, Final

from failscape.spaces.wording import phrasing_of
from failscape.toybox.world.vocab import CONFLICTS, FAMILIES, KINDS, MENTIONABLE
from failscape.toybox.world.wording import ADJECTIVES, PHRASES

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
    return [{"value": value, **_words(name, value)} for value in MENTIONABLE[name]]


def _words(name: str, value: str) -> dict[str, Any]:
    """Only wordings that the world itself uses: its models know no other words."""
    if name in PHRASES:
        joint = ", " if name in ("style", "position") else " "
        return {"wording": [f"{{thing}}{joint}{phrase}" for phrase in PHRASES[name][value]]}
    general = phrasing_of("Base", name, value)
    thing = "{things}" if "{things}" in general.wordings[0] else "{thing}"
    wordings = [f"{word} {thing}" for word in ADJECTIVES[name][value]]
    return {"wording": wordings, "statement": general.statement}
