"""`failscape prune ATLAS`: drop pictures by rule, keep all evidence."""

from pathlib import Path

import click

from failscape.atlas import Atlas
from failscape.atlas.upkeep import PruneRule, prune


@click.command("prune")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option("--passes", is_flag=True, help="Pictures of trials that passed.")
@click.option("--hunt", "hunts", type=int, multiple=True, help="Pictures of this hunt; may be given again.")
@click.option("--older", is_flag=True, help="Pictures of all hunts but the one with the latest trial.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def command(atlas: Path, passes: bool, hunts: tuple[int, ...], older: bool, dry_run: bool) -> None:
    """Drop pictures of ATLAS that only such trials name. Trials, replies and findings stay as they are."""
    if not (passes or hunts or older):
        raise click.UsageError("say which pictures may go: --passes, --hunt N or --older")
    with Atlas.open(atlas) as opened:
        chosen = {opened.hunt(number).id for number in hunts}
        if older:
            newest = opened.hunt().id
            chosen |= {row.id for row in opened.hunts() if row.id != newest}
            if not chosen:
                click.echo(f"{atlas} has one hunt only: there is no older one")
                return
        done = prune(opened, PruneRule(passes, frozenset(chosen)), dry_run)
    what = "would go" if dry_run else "are gone"
    click.echo(f"{done.pictures:,} pictures ({done.bytes / 2**20:,.1f} MiB) {what}, {done.kept:,} stay")
