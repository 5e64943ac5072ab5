"""`failscape dataset ATLAS -o DIR`: the failures of findings as a dataset to train and test with."""

import sys
from contextlib import ExitStack
from pathlib import Path

import click

from failscape.again.rejudge import DrawnTries, draw_more, drawn_folder
from failscape.atlas import Atlas
from failscape.atlas.files import folder_inside, output_folder
from failscape.cli.screen import TellingLine, run_reported
from failscape.cli.trust import trust_options, vouched_by
from failscape.views.export.datasets import DatasetWish, RowSource, WrittenDataset, write_dataset
from failscape.views.export.splits import SPLITS
from failscape.views.read import HuntEvidence, load_hunt
from failscape.views.rows import FindingFilter, finding_rows, select

UNKNOWN = "unknown: see the licence of the generator or the photos"


@click.command("dataset")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Folder to write to [ATLAS/dataset-HUNT].")
@click.option("--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial unless told.")
@click.option(
    "--license", "licence", default=UNKNOWN, show_default=True, help="What to write beside pictures."
)
@click.option(
    "--passes",
    is_flag=True,
    help="Also what the target got right, so that rates can be measured; t2i has them always, for its pairs.",
)
@click.option("--parquet", is_flag=True, help="Parquet with the pictures inside, too (extra `export`).")
@click.option(
    "--split",
    type=click.Choice(SPLITS),
    multiple=True,
    help="What the halves train and retest must not share, besides pictures; may be given twice.",
)
@click.option(
    "--draw",
    type=click.IntRange(min=1),
    metavar="N",
    help="First draw N more failures of each finding, with the models of the hunt and fresh seeds.",
)
@trust_options
def command(
    atlas: Path,
    out: Path | None,
    hunt_id: int | None,
    licence: str,
    passes: bool,
    parquet: bool,
    split: tuple[str, ...],
    draw: int | None,
    configs: tuple[Path, ...],
    trust_models: bool,
) -> None:
    """Write a dataset from the findings in ATLAS: images, metadata.jsonl, a card, chats or preference pairs.

    Pictures that an earlier --draw made are always among them.
    """
    wish = DatasetWish(licence, passes, parquet, tuple(dict.fromkeys(split)))
    with ExitStack() as stack:
        opened = stack.enter_context(Atlas.open(atlas, readonly=True))
        opened.vouch(vouched_by(configs, trust_models))
        loaded = load_hunt(opened, hunt_id, watch=TellingLine())
        if draw is not None:
            tell_drawn(_draw(loaded, draw), draw)
        sources = [RowSource(opened, loaded.row)]
        more = folder_inside(atlas, drawn_folder(atlas, loaded.row.id).name)
        if more.is_dir():
            drawn = stack.enter_context(Atlas.open(more, readonly=True))
            sources.append(RowSource(drawn, drawn.hunt()))
        folder = out or output_folder(atlas, f"dataset-{loaded.row.id}")
        findings = select(finding_rows(loaded), FindingFilter())
        done = write_dataset(sources, findings, folder, wish)
    _tell(done, wish)


def _draw(loaded: HuntEvidence, failures: int) -> DrawnTries:
    drawn = run_reported(
        lambda reporter: draw_more(loaded.atlas, loaded.row, loaded.findings, failures, reporter)
    )
    if drawn.summary.stop.is_interrupted:
        sys.exit(130)
    return drawn


def tell_drawn(drawn: DrawnTries, failures: int) -> None:
    trials = drawn.summary.trials
    click.echo(f"{trials:,} fresh tries, kept in {drawn.folder}")
    if drawn.short:
        click.echo(f"{len(drawn.short):,} findings failed fewer than {failures:,} times in them")


def _tell(done: WrittenDataset, wish: DatasetWish) -> None:
    click.echo(f"{done.rows:,} rows from {done.findings:,} findings written to {done.folder}")
    if done.missing:
        click.echo(f"{done.missing:,} rows are left out: their pictures were not kept")
    if done.apart:
        click.echo(f"{done.apart:,} rows are left out: they would tie the two halves together")
    if wish.split and done.retest in (0, done.rows):
        half = "retest" if done.retest else "train"
        click.echo(
            f"--split {' '.join(wish.split)} hides nothing: all rows are in `{half}`. With {done.findings:,} "
            "findings none can be held back from its rule; without --split, pictures are held back"
        )
