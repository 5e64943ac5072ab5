"""`failscape import FILE --atlas DIR`: bring results of others into an atlas: FailureAtlas files, tables."""

from pathlib import Path

import click

from failscape.atlas import Atlas
from failscape.atlas.formats.failureatlas import ABSENT
from failscape.atlas.formats.failureatlas_import import contradicting_lines, import_rows
from failscape.atlas.formats.plain import import_table, looks_like_table
from failscape.views.read.found import told_hunt


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--atlas", type=click.Path(path_type=Path), required=True, help="Folder; made when missing.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="The success rate at or below which a node fails; read off a FailureAtlas file, 0.8 for a table.",
)
def command(file: Path, atlas: Path, threshold: float | None) -> None:
    """Bring FILE into an atlas: a FailureAtlas result file, or a table of model, case, passes, trials.

    A table is CSV, TSV or JSON lines; each of its models becomes a hunt, to certify and to compare.
    """
    if looks_like_table(file):
        _import_table(file, atlas, threshold)
        return
    with Atlas.open(atlas, create=True) as opened:
        hunt = import_rows(file, opened, threshold)
        number = sum(opened.counts(hunt).values())
        config = opened.hunt(hunt).config
        rule = config["search"]
        told = told_hunt(opened, opened.hunt(hunt))
        found, failing = len(told.findings()), sum(not passed for passed in told.decided().values())
        absent = sum(ABSENT in opened.node_details(hunt, one) for one in opened.subjects(hunt))
    click.echo(
        f"{number:,} trials are hunt {hunt} of {atlas} "
        f"(threshold {rule['threshold']:g}, {rule['images_per_node']} images per node)\n"
        f"{found:,} findings: nodes that fail although all that is simpler passes"
    )
    against = contradicting_lines(file, config) if threshold is None else []
    if against:
        rows = "row says" if len(against) == 1 else "rows say"
        click.echo(
            f"{len(against):,} {rows} otherwise than a threshold of {rule['threshold']:g} does, the first in "
            f"line {against[0]:,}: its own `valid` counts there; --threshold decides for all rows"
        )
    if failing > found:
        click.echo(f"{failing - found:,} more nodes fail, but something simpler is open or fails too")
    if absent:
        click.echo(f"{absent:,} simpler nodes that failing ones rest on are not in the file: taken to pass")
    click.echo(f"  failscape findings {atlas}\n  failscape report {atlas}")


def _import_table(file: Path, atlas: Path, threshold: float | None) -> None:
    with Atlas.open(atlas, create=True) as opened:
        hunts = import_table(file, opened, threshold)
        for model, hunt in hunts.items():
            click.echo(f"{sum(opened.counts(hunt).values()):,} trials of {model} are hunt {hunt} of {atlas}")
    last = max(hunts.values())
    click.echo(f"  failscape findings {atlas} --hunt {last}")
    if len(hunts) > 1:
        click.echo(f"  failscape compare {atlas}")
