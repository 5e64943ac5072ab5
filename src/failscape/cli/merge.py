"""`failscape merge SRC... -o DEST`: join the atlases of shards."""

from pathlib import Path

import click

from failscape.atlas.merge import MergeRules, merge_atlases


@click.command("merge")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Atlas to merge into.")
@click.option("--trust-sources", is_flag=True, help="Their reviews and stored replies hold for all hunts.")
@click.option("--without-reviews", is_flag=True, help="Leave out what their reviews say about judges.")
def command(sources: tuple[Path, ...], output: Path, trust_sources: bool, without_reviews: bool) -> None:
    """Join atlases. Hunts with the same settings become one; doing it again adds only what is new."""
    merged = merge_atlases(sources, output, MergeRules(trust_sources, not without_reviews))
    click.echo(f"{merged.trials:,} trials and {merged.images:,} images are new in {output}")
    if merged.missing_images:
        click.echo(
            f"{merged.missing_images:,} images are missing in the sources: their files are gone or damaged",
            err=True,
        )
    click.echo(f"  failscape findings {output}\n  failscape report {output}")
