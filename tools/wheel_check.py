"""Runs every demo from a built wheel, in an environment that has nothing else: `make wheel-check`.

    python -m tools.wheel_check dist/failscape-*.whl [--images 400]

The wheel is installed by pipx where it is there, else into a bare environment by pip.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LARGEST = 25_000_000
DEMOS = ("t2i", "classifier", "vlm", "repair")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("wheel", type=Path)
    options.add_argument("--images", type=int, default=400, help="of each demo; `repair` gets its own number")
    chosen = options.parse_args()
    wheel, size = chosen.wheel.resolve(), chosen.wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.1f} MB")
    if size > LARGEST:
        sys.exit(f"a wheel has at most {LARGEST / 1e6:.0f} MB")
    with tempfile.TemporaryDirectory() as folder:
        command = install(wheel, Path(folder))
        # Nothing of the tree may help: another folder, no PYTHONPATH.
        settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        for arguments in (["--version"], *(demo(kind, chosen.images) for kind in DEMOS)):
            print(f"$ failscape {' '.join(arguments)}", flush=True)
            subprocess.run([str(command), *arguments], cwd=folder, env=settings, check=True)


def demo(kind: str, images: int) -> list[str]:
    return ["demo", kind] if kind == "repair" else ["demo", kind, "--images", str(images)]


def install(wheel: Path, folder: Path) -> Path:
    """Gives the installed command."""
    wanted = f"failscape[repair] @ {wheel.as_uri()}"
    if pipx := shutil.which("pipx"):
        places = {"PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin")}
        subprocess.run([pipx, "install", wanted], env={**os.environ, **places}, check=True)
        return folder / "bin" / "failscape"
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    pip = [str(folder / "venv" / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, wanted], check=True)
    return folder / "venv" / "bin" / "failscape"


if __name__ == "__main__":
    main()
