"""Makes the golden files anew from the code as it is now: for changes that are intended.

    python -m tests.golden.remake                    the golden files, from the atlases in `fixtures`
    python -m tests.golden.remake --atlases          the atlases as well, by running the hunts anew
    python -m tests.golden.remake --atlases t2i      of one kind of hunt alone

Run it from the folder of the repository, then read `git diff tests/golden` line by line: every change in
it is one that users will see.

Without `--atlases` the atlases stay as they are. That is right after a change of what is made of trials:
statistics, findings, the report. When a hunt now asks for other trials, or records them in another way,
the atlases must be made anew too. Atlases of the earlier version are then no longer tested. If users have
such atlases, keep a copy in a test of its own.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.golden import tools
from tests.golden.tools import FIXTURES, IMAGES, KINDS, MORE_IMAGES


def remake_atlas(kind: str) -> None:
    """Run the hunt in a new folder, which then takes the place of the fixture."""
    with tempfile.TemporaryDirectory() as folder:
        atlas = Path(folder) / kind
        tools.hunt(kind, atlas)
        tools.settle(atlas)
        shutil.rmtree(FIXTURES / kind, ignore_errors=True)
        shutil.copytree(atlas, FIXTURES / kind)


def remake_golden(kind: str) -> None:
    """Works on a copy: reading an atlas may leave files beside it."""
    with tempfile.TemporaryDirectory() as folder:
        atlas = Path(folder) / "atlas"
        shutil.copytree(FIXTURES / kind, atlas)
        tools.write_golden(f"{kind}.findings.json", tools.findings_of(atlas))
        tools.write_golden(f"{kind}.findings_text.json", tools.findings_text(atlas))
        tools.write_golden(f"{kind}.page.json", tools.page_of(atlas, Path(folder) / "report"))
        trials = tools.trials_of(atlas)
        calls = tools.calls_of(atlas)
        requests = tools.requests_of(atlas)
        tools.hunt(kind, atlas, IMAGES[kind] + MORE_IMAGES)
        resumed = tools.trials_of(atlas, len(trials))
        keys = {
            "count": len(trials),
            "calls": calls,
            "requests": requests,
            "trials": trials,
            "resumed": resumed,
        }
        tools.write_golden(f"{kind}.keys.json", keys)
        tools.write_golden("atlas_schema.sql", tools.schema_of(atlas))


def main(arguments: Sequence[str]) -> None:
    kinds = [one for one in arguments if one != "--atlases"] or list(KINDS)
    unknown = [one for one in kinds if one not in KINDS]
    if unknown:
        sys.exit(f"no such kind of hunt: {', '.join(unknown)}\n{__doc__}")
    for kind in kinds:
        if "--atlases" in arguments:
            remake_atlas(kind)
        remake_golden(kind)
        print(f"{kind}: {len(tools.read_golden(f'{kind}.findings.json'))} findings")
    tools.write_golden("config.schema.json", tools.config_schema())


if __name__ == "__main__":
    main(sys.argv[1:])
