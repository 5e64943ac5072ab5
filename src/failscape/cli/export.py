"""`failscape export ATLAS --format …`: write what a hunt recorded to a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import click

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.faults import explained
from failscape.atlas.formats.failureatlas import write_rows
from failscape.atlas.formats.plain import write_csv, write_jsonl, write_pictures

WRITERS: dict[str, Callable[[Atlas, HuntRow, TextIO], int]] = {
    "failureatlas": write_rows,
    "jsonl": write_jsonl,
    "csv": write_csv,
}
PICTURES = "pictures"


@click.command("export")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice([*WRITERS, PICTURES]),
    default="jsonl",
    show_default=True,
    help="failureatlas: one node a line; jsonl: one trial a line, everything; csv: counts per subject;"
    " pictures: a folder with all that are kept, named as in `findings --json` and jsonl.",
)
@click.option(
    "--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial when left out."
)
@click.option("-o", "--output", default="-", show_default=True, help="What to write; - is the screen.")
def command(atlas: Path, form: str, hunt_id: int | None, output: str) -> None:
    """Write the trials or nodes of ATLAS to a file."""
    with Atlas.open(atlas, readonly=True) as opened:
        hunt = opened.hunt(hunt_id)
        if form == PICTURES:
            _write_pictures(opened, hunt, output)
            return
        if output == "-":
            WRITERS[form](opened, hunt, sys.stdout)
            return
        number = _write_file(opened, hunt, form, Path(output))
    what = "trials" if form == "jsonl" else "nodes"
    click.echo(f"{number:,} {what} of hunt {hunt.id} written to {output}")


def _write_pictures(atlas: Atlas, hunt: HuntRow, output: str) -> None:
    if output == "-":
        raise click.UsageError("--format pictures needs a folder: give it with -o")
    with explained(Path(output)):
        written, gone = write_pictures(atlas, hunt, Path(output))
    click.echo(f"{written:,} pictures of hunt {hunt.id} written to {output}")
    if gone:
        click.echo(f"{gone:,} pictures are gone or damaged: see `failscape doctor {atlas.folder}`", err=True)


def _write_file(atlas: Atlas, hunt: HuntRow, form: str, path: Path) -> int:
    """A file that is there is complete: it gets its name at the end."""
    draft = path.with_name(f"{path.name}.part")
    try:
        with explained(path):
            with draft.open("w", encoding="utf-8", newline="") as out:
                number = WRITERS[form](atlas, hunt, out)
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return number
