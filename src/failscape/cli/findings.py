"""`failscape findings ATLAS`: what a hunt has found, as a table or as one JSON object a line."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from failscape.atlas import Atlas
from failscape.evidence import HuntEvidence, finding_records, load_hunt
from failscape.evidence.rates import shown_rate
from failscape.hunts.t2i.survey.survey import T2ISurvey
from failscape.jsonable import finite
from failscape.report.figures.basic import number, percent, spread
from failscape.trials import Finding

TABLE_ROWS = 40
NOT_MINIMAL = "failing, not known to be minimal"
"""A count of the t2i hunt's survey."""

_MANY_WAIT = "{:,} nodes fail, but simpler ones inside them"


@click.command("findings")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option("--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial unless told.")
@click.option(
    "--limit", type=click.IntRange(min=1), help=f"Most findings to print [{TABLE_ROWS}; with --json all]."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, with all evidence.")
def command(atlas: Path, hunt_id: int | None, limit: int | None, as_json: bool) -> None:
    """Print what the hunt in ATLAS has found, most certain first."""
    with Atlas.open(atlas, readonly=True) as opened:
        loaded = load_hunt(opened, hunt_id)
        if loaded.found.warning:
            click.echo(f"warning: {loaded.found.warning}", err=True)
        if as_json:
            for record in finding_records(loaded, loaded.findings[:limit]):
                click.echo(json.dumps(finite(record), ensure_ascii=False))
        else:
            print_table(loaded, limit or TABLE_ROWS, Console(), str(atlas))


def print_table(loaded: HuntEvidence, limit: int, console: Console, atlas: str) -> None:
    """A table for people; the last line says what was left out."""
    shown, total = loaded.findings[:limit], len(loaded.findings)
    if not total:
        console.print(f"No findings yet after {loaded.trials:,} trials ({loaded.progress.phase}).")
        _print_why_none(loaded, console)
        _print_undecided(loaded, console)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("finding", overflow="fold", ratio=1)
    for name in ("failed", "rate", "interval", "e-value"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for finding in shown:
        table.add_row(*_cells(finding))
    console.print(table)
    of = f"{len(shown):,} of {total:,}" if len(shown) < total else f"{total:,}"
    some = "finding" if total == 1 else "findings"
    console.print(f"\n{of} {some} in {loaded.trials:,} trials of hunt {loaded.row.id}.", highlight=False)
    if loaded.judge is not None:
        console.print(f"Rates allow for the judge's errors ({loaded.judge.source}).", highlight=False)
    _print_undecided(loaded, console)
    if len(shown) < total:
        # Not wrapped, so that the command can be copied.
        console.print(f"All of them: failscape findings {atlas} --json", highlight=False, soft_wrap=True)


def _print_why_none(loaded: HuntEvidence, console: Console) -> None:
    waiting = loaded.survey.counts.get(NOT_MINIMAL, 0) if isinstance(loaded.survey, T2ISurvey) else 0
    if waiting:
        who = "1 node fails, but simpler ones inside it" if waiting == 1 else _MANY_WAIT.format(waiting)
        console.print(f"{who} are not yet known to pass: more images will tell.", highlight=False)
    if loaded.judge is not None:
        console.print(
            f"The judge's errors are allowed for ({loaded.judge.source}): a judge that errs often leaves "
            "little that can be told.",
            highlight=False,
        )


def _print_undecided(loaded: HuntEvidence, console: Console) -> None:
    if loaded.found.undecided:
        who = (
            "1 subject used up its"
            if loaded.found.undecided == 1
            else f"{loaded.found.undecided:,} subjects used up their"
        )
        console.print(f"{who} trials without a verdict.", highlight=False)


def _cells(finding: Finding) -> list[Text | str]:
    """Titles may hold brackets, which rich would read as markup: they go in as plain text."""
    rate = shown_rate(finding)
    return [
        Text(finding.title),
        f"{finding.failures} of {finding.trials}",
        percent(rate.rate),
        spread(rate.interval),
        number(finding.e_value),
        Text(finding.status),
    ]
