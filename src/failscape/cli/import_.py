"""`failscape import FILE --atlas DIR`: bring FailureAtlas results into an atlas."""

from __future__ import annotations

from pathlib import Path

import click

from failscape.atlas import Atlas
from failscape.atlas.formats.failureatlas_import import import_rows


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--atlas", type=click.Path(path_type=Path), required=True, help="Folder; made when missing.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="The success rate at or below which a node fails; read off the file when left out.",
)
def command(file: Path, atlas: Path, threshold: float | None) -> None:
    """Bring FILE, a FailureAtlas result file (JSONL), into an atlas as a hunt."""
    with Atlas.open(atlas, create=True) as opened:
        hunt = import_rows(file, opened, threshold)
        number = sum(opened.counts(hunt).values())
        rule = opened.hunt(hunt).config["search"]
    click.echo(
        f"{number:,} trials are hunt {hunt} of {atlas} "
        f"(threshold {rule['threshold']:g}, {rule['images_per_node']} images per node)\n"
        f"  failscape findings {atlas}\n  failscape report {atlas}"
    )
