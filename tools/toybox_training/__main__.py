"""`python -m tools.toybox_training`: train all toybox models, one after the other.

Options go to every recipe: `--out DIR`, `--checkpoints DIR`, `--resume`. Stop it and go on with `--resume`.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from failscape.errors import MissingExtra

RECIPES = ("eyes", "classifiers", "vlm", "questioner", "painter")
"""Eyes come first: toy-vlm starts from their first layers, and toy-painter's card is judged by them."""


def main() -> None:
    if importlib.util.find_spec("torch") is None:
        sys.exit(f"error: {MissingExtra('training the toybox', 'train')}")
    for name in RECIPES:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"tools.toybox_training.{name}", *sys.argv[1:]], check=True)


if __name__ == "__main__":
    main()
