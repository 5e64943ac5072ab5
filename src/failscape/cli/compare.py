"""`failscape compare A B …`: what is fixed, better, worse and new, on the same cases, with the proof."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from failscape.again.comparing import ManyCompared, ModelMatrix, ModelTrend
from failscape.again.decide import PROVEN, UNDECIDED, ComparedSubject
from failscape.again.session import CompareRequest, compare_models, compared_folder
from failscape.again.words import say_overall, say_points, say_rate, say_spread, say_totals
from failscape.atlas.database import holds_atlas
from failscape.cli.screen import echo_json, run_reported
from failscape.cli.trust import trust_options, vouched_by, whole_configs
from failscape.config import ModelConfig
from failscape.config.files import load_model
from failscape.views.pages.page import write_comparison
from failscape.views.read.numbers import percent

#: Rows of a status in the terminal; `--json` has all.
SHOWN = 12

SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command("compare")
@click.argument("atlases", nargs=-1, required=True, metavar="ATLAS[@HUNT]...")
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="FILE|PROVIDER:MODEL",
    help="A model to run now on the cases of the first: a config with `target`, or for example toybox:vit.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    help="Trials of this comparison in all, those of earlier sessions included.",
)
@click.option("--atlas", type=click.Path(path_type=Path), help="Where new trials go [FIRST-compared].")
@click.option("--matrix", is_flag=True, help="All models on whole sets: plain pictures, each one's findings.")
@click.option(
    "--photos",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    help="A folder of labelled pictures as one more set of the matrix.",
)
@click.option(
    "--trained-on",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    help="A folder that a model was trained on: its pictures are left out, known by their content.",
)
@click.option("--rejudge", "again", is_flag=True, help="Let the first's judge look at the others' pictures.")
@click.option("--threshold", type=SHARE, help="The success rate that counts; that of the hunts unless told.")
@click.option("--level", type=SHARE, default=0.05, show_default=True, help="False share of claims, at most.")
@click.option("--margin", type=SHARE, default=0.05, show_default=True, help="Differences that do not matter.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write a page with pictures here.")
@trust_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    atlases: tuple[str, ...],
    targets: tuple[str, ...],
    budget: int | None,
    atlas: Path | None,
    matrix: bool,
    photos: tuple[Path, ...],
    trained_on: tuple[Path, ...],
    again: bool,
    threshold: float | None,
    level: float,
    margin: float,
    out: Path | None,
    configs: tuple[Path, ...],
    trust_models: bool,
    as_json: bool,
) -> None:
    """Compare models on the same subjects and the same seeds: the last with the first.

    ATLASES are in the order of the models' age; one alone stands for all of its hunts.
    """
    models = dict(model_of(text) for text in targets)
    vouched = vouched_by([*configs, *whole_configs(targets)], trust_models)
    request = CompareRequest(
        *(atlases, models, budget, atlas, again, threshold, level, margin, matrix, photos),
        vouched=vouched,
        trained_on=trained_on,
    )
    compared, stopped = run_reported(lambda reporter: compare_models(request, reporter))
    if as_json:
        echo_json(compared.as_data())
    else:
        print_comparison(compared, Console(), atlases)
    if out is not None:
        folder = atlas or compared_folder(compared.sides[0].folder)
        page = write_comparison(compared, out, [folder] if holds_atlas(folder) else [])
        click.echo(page, err=as_json)
    if stopped:
        sys.exit(130)


def model_of(text: str) -> tuple[str, ModelConfig]:
    """`toybox:vit`, or a config file whose `target` it is."""
    provider, colon, model = text.partition(":")
    if Path(text).is_file() or not colon:
        settings = load_model(Path(text), "target")
        return settings.model or Path(settings.path).name or settings.provider, settings
    return model or provider, ModelConfig(provider=provider, model=model)


def print_comparison(compared: ManyCompared, console: Console, atlases: Sequence[str] = ()) -> None:
    """`atlases` are as they were given, for the command that would decide what is open."""
    last = compared.last
    console.print(say_totals(last), highlight=False)
    rows = [row for name in PROVEN for row in last.of_status(name)[:SHOWN]]
    if rows:
        console.print(_table(rows, last.first, last.second))
    for name in PROVEN:
        more = len(last.of_status(name)) - SHOWN
        if more > 0:
            console.print(f"and {more:,} more {name} (--json has all)", highlight=False)
    if last.overall:
        console.print(say_overall(last.first, last.second, last.overall), highlight=False)
    if compared.trend:
        console.print(_trend(compared.trend))
    if compared.matrix:
        console.print(_matrix(compared.matrix))
        console.print(MATRIX_NOTE, highlight=False)
    console.print(f"Power: {last.power.sentence}.", highlight=False)
    _print_what_decides(compared, atlases, console)
    for note in last.notes:
        console.print(f"Note: {note}.", highlight=False)


def _print_what_decides(compared: ManyCompared, atlases: Sequence[str], console: Console) -> None:
    """The command that would decide the findings that are undecided, and how many trials it takes."""
    undecided = [row for row in compared.last.of_status(UNDECIDED) if row.claimed]
    missing = sum(max(0, compared.last.power.needed - row.all.pairs) for row in undecided)
    if not missing or not atlases:
        return
    # A pair is one trial of each of the two models.
    trials = 2 * missing
    number = "1 finding is" if len(undecided) == 1 else f"{len(undecided):,} findings are"
    console.print(f"{number} undecided; to decide them takes about {trials:,} trials:", highlight=False)
    names = " ".join(shlex.quote(name) for name in atlases)
    # Not wrapped, so that the command can be copied.
    command = f"  failscape compare {names} --budget {trials} --trust-models"
    console.print(Text(command), soft_wrap=True)


def _table(rows: Sequence[ComparedSubject], first: str, second: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    table.add_column("subject", overflow="fold", ratio=1)
    for name in (first, second, "difference", "pairs"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.status,
            Text(row.title),
            say_rate(row.first_rate),
            say_rate(row.second_rate),
            say_points(row),
            f"{row.all.pairs:,}",
        )
    return table


def _trend(trend: ModelTrend) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
    table.add_column("model", ratio=1)
    table.add_column(f"fails ({trend.points[0].cases:,} cases {trend.counted})", justify="right")
    table.add_column("since the one before", justify="right")
    for point, step in zip(trend.points, (None, *trend.steps), strict=True):
        low, high = point.interval
        change = f"{100 * step.difference:+.1f} ({say_spread(step.interval)})" if step else ""
        rate = f"{percent(point.rate)} ({percent(low)} – {percent(high)})" if point.cases else "–"
        table.add_row(Text(point.name), rate, change)
    return table


MATRIX_NOTE = (
    "Failure rates with 95% intervals; below, points more than the first model on the same cases, "
    "proven where marked *."
)


def _matrix(matrix: ModelMatrix) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("model", overflow="fold")
    for name, cell in zip(matrix.sets, matrix.cells[0], strict=True):
        table.add_column(Text(f"{name}\n{cell.cases:,} cases"), justify="right", overflow="fold")
    for model, row in zip(matrix.models, matrix.cells, strict=True):
        cells = []
        for cell in row:
            low, high = cell.interval
            text = "–" if cell.rate is None else f"{percent(cell.rate)} ({percent(low)} – {percent(high)})"
            if cell.beside:
                star = "*" if cell.proven else ""
                difference, interval = cell.beside.difference, cell.beside.interval
                text = f"{text}\n{100 * difference:+.1f}{star} ({say_spread(interval)})"
            cells.append(Text(text, justify="right"))
        table.add_row(Text(model), *cells)
    return table
