"""`failscape dataset ATLAS -o DIR`: the failures of certified findings as a dataset."""

from __future__ import annotations

from pathlib import Path

import click

from failscape.atlas import Atlas
from failscape.cli.telling import TellingLine
from failscape.evidence import load_hunt
from failscape.export.datasets import write_dataset

UNKNOWN = "unknown: see the licence of the generator or the photos"


@click.command("dataset")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Folder to write to [ATLAS/dataset-HUNT].")
@click.option("--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial unless told.")
@click.option(
    "--license", "licence", default=UNKNOWN, show_default=True, help="What to write beside pictures."
)
@click.option("--passes", is_flag=True, help="Also what the target got right, so that rates can be measured.")
@click.option("--parquet", is_flag=True, help="One Parquet file with the pictures inside, too.")
def command(
    atlas: Path, out: Path | None, hunt_id: int | None, licence: str, passes: bool, parquet: bool
) -> None:
    """Write an adversarial dataset from the findings in ATLAS: images, metadata.jsonl and a card."""
    with Atlas.open(atlas, readonly=True) as opened:
        loaded = load_hunt(opened, hunt_id, watch=TellingLine())
        folder = out or atlas / f"dataset-{loaded.row.id}"
        done = write_dataset(opened, loaded.row, loaded.findings, folder, licence, passes, parquet)
    click.echo(f"{done.rows:,} rows from {done.findings:,} findings written to {done.folder}")
    if done.missing:
        click.echo(f"{done.missing:,} rows are left out: their pictures were not kept")
