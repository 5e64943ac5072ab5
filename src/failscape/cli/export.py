"""`failscape export ATLAS --format …`: write what a hunt recorded to a file or folder."""

import sys
from pathlib import Path

import click

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.files import explained
from failscape.cli.screen import TellingLine
from failscape.views.export.formats import (
    ABOUT,
    FILE_FORMATS,
    FOLDER_FORMATS,
    FORMATS,
    OF_TRIALS,
    TEXT_FORMATS,
)


@click.command("export")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="jsonl",
    show_default=True,
    help="; ".join(f"{name}: {about}" for name, about in ABOUT.items()) + ".",
)
@click.option(
    "--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial when left out."
)
@click.option("-o", "--output", default="-", show_default=True, help="What to write; - is the screen.")
def command(atlas: Path, form: str, hunt_id: int | None, output: str) -> None:
    """Write the trials, nodes or results of ATLAS to a file or folder."""
    if output == "-" and form not in TEXT_FORMATS:
        what = "file" if form in FILE_FORMATS else "folder"
        raise click.UsageError(f"--format {form} needs a {what}: give it with -o")
    with Atlas.open(atlas, readonly=True) as opened:
        hunt = opened.hunt(hunt_id)
        if form in FOLDER_FORMATS:
            _write_folder(opened, hunt, form, Path(output))
            return
        if output == "-":
            TEXT_FORMATS[form](opened, hunt, sys.stdout, _warn)
            return
        number = _write_file(opened, hunt, form, Path(output))
    what = "trials" if form in OF_TRIALS else "nodes"
    click.echo(f"{number:,} {what} of hunt {hunt.id} written to {output}")


def _warn(text: str) -> None:
    click.echo(text, err=True)


def _write_folder(atlas: Atlas, hunt: HuntRow, form: str, out: Path) -> None:
    with explained(out):
        written = FOLDER_FORMATS[form](atlas, hunt, out, TellingLine())
    click.echo(written.said)
    if written.warning:
        _warn(written.warning)


def _write_file(atlas: Atlas, hunt: HuntRow, form: str, path: Path) -> int:
    """A file that is there is complete: it gets its name at the end."""
    draft = path.with_name(f"{path.name}.part")
    try:
        with explained(path):
            draft.unlink(missing_ok=True)  # in a stranger's folder it may be a link that leads anywhere
            number = _write_draft(atlas, hunt, form, draft)
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return number


def _write_draft(atlas: Atlas, hunt: HuntRow, form: str, draft: Path) -> int:
    if form in FILE_FORMATS:
        return FILE_FORMATS[form](atlas, hunt, draft)
    with draft.open("x", encoding="utf-8", newline="") as out:
        return TEXT_FORMATS[form](atlas, hunt, out, _warn)
