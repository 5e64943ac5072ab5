"""Rewrite the world's corpus folder from its tables.

Usage: python -m tools.toybox_training.build_corpus
"""

import json

from failscape.toybox.world import corpus_files, corpus_folder


def _text(content: object) -> str:
    """Return readable JSON: one line per value where values are long, one per list where they are short."""
    if isinstance(content, list):
        rows = ",\n".join(f"  {json.dumps(row)}" for row in content)
        return f"[\n{rows}\n]\n"
    return json.dumps(content, indent=2) + "\n"


def main() -> None:
    """Write every corpus file."""
    for name, content in corpus_files().items():
        (corpus_folder() / name).write_text(_text(content), encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main()
