"""Small torch-free helpers of the recipes: JSON files and file sizes."""

import json
from pathlib import Path
from typing import Any


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write readable JSON."""
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def megabytes(path: Path) -> float:
    """Return the size of a file in MB."""
    return path.stat().st_size / 1e6
