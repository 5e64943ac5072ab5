"""Rewrite the world's corpus folder from its tables.

Usage: python -m tools.toybox_training.build_corpus
"""

import json
from typing import Any

from failscape.spaces.corpus import folder_of
from failscape.spaces.wording import phrasing_of
from failscape.toybox.world.vocab import ADJECTIVES, CONFLICTS, FAMILIES, KINDS, MENTIONABLE, PHRASES


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


def _text(content: object) -> str:
    """Return readable JSON: one line per value where values are long, one per list where they are short."""
    if isinstance(content, list):
        rows = ",\n".join(f"  {json.dumps(row)}" for row in content)
        return f"[\n{rows}\n]\n"
    return json.dumps(content, indent=2) + "\n"


def main() -> None:
    """Write every corpus file."""
    for name, content in corpus_files().items():
        (folder_of("toybox") / name).write_text(_text(content), encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main()
