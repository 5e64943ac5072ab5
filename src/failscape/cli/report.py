"""`failscape report ATLAS`: write one static HTML page about a hunt."""

import time
from pathlib import Path

import click

from failscape.atlas import Atlas
from failscape.cli.screen import TellingLine
from failscape.views.pages.page import GALLERY, write_report


@click.command("report")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Folder to write to [ATLAS/report].")
@click.option("--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial unless told.")
@click.option("--single-file", is_flag=True, help="Put the pictures into the page, to send it around.")
@click.option(
    "--findings",
    type=click.IntRange(min=0),
    default=GALLERY,
    show_default=True,
    help="How many findings are shown with pictures.",
)
def command(atlas: Path, out: Path | None, hunt_id: int | None, single_file: bool, findings: int) -> None:
    """Write a report about the hunt in ATLAS as a page that opens from disk."""
    clock = time.monotonic()
    with Atlas.open(atlas, readonly=True) as opened:
        written = write_report(
            opened, out, hunt_id, gallery=findings, single_file=single_file, watch=TellingLine()
        )
    seconds = time.monotonic() - clock
    click.echo(
        f"{written.findings:,} findings, {written.pictured:,} shown with {written.images:,} pictures "
        f"({seconds:.1f} s)"
    )
    if written.missing:
        click.echo(f"{written.missing:,} pictures have no readable file and are shown as empty frames")
    click.echo(written.path)
