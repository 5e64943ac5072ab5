"""`failscape merge SRC... -o DEST`: join the atlases of shards."""

from pathlib import Path

import click

from failscape.atlas.merge import merge_atlases


@click.command("merge")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Atlas to merge into.")
def command(sources: tuple[Path, ...], output: Path) -> None:
    """Join atlases. Hunts with the same settings become one; doing it again adds only what is new."""
    merged = merge_atlases(sources, output)
    click.echo(f"{merged.trials:,} trials and {merged.images:,} images are new in {output}")
    if merged.missing_images:
        click.echo(
            f"{merged.missing_images:,} images are missing in the sources: their files are gone", err=True
        )
    click.echo(f"  failscape findings {output}\n  failscape report {output}")
