"""`failscape rejudge ATLAS`: show stored images to another judge, or read the judge's replies again."""

from __future__ import annotations

import asyncio
import json
import sys
from math import isfinite
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from failscape.atlas import Atlas
from failscape.config.files import load_model
from failscape.errors import ConfigError
from failscape.jsonable import finite
from failscape.report.figures.basic import percent
from failscape.review.rejudged import Comparison, compare_judges
from failscape.runtime.after.rejudge import Rejudged, rejudge
from failscape.runtime.after.reread import reread
from failscape.runtime.progress import choose_reporter
from failscape.stats.judging.agreement import Agreement

SHOWN = 10


@click.command("rejudge")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option(
    "--judge",
    type=click.Path(path_type=Path),
    help="A config with the section `judge`, or a file with nothing else.",
)
@click.option("--reread", "again", is_flag=True, help="Call no model: read stored replies by today's rules.")
@click.option("--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial unless told.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def command(atlas: Path, judge: Path | None, again: bool, hunt_id: int | None, as_json: bool) -> None:
    """Judge the kept images of ATLAS again, without drawing any, and say how far the judges agree.

    With --reread, what judges and verifiers said is read by the rules of now.
    """
    if again == (judge is not None):
        raise ConfigError(
            "rejudge needs either another judge or --reread", "give --judge FILE, or --reread without it"
        )
    if judge is None:
        _reread(atlas, hunt_id, as_json)
    else:
        _rejudge(atlas, judge, hunt_id, as_json)


def _reread(atlas: Path, hunt_id: int | None, as_json: bool) -> None:
    with Atlas.open(atlas) as opened:
        done = reread(opened, hunt_id)
        compared = compare_judges(opened, done.first, done.second)
    if as_json:
        changes = {f"{before.value} -> {now.value}": count for (before, now), count in done.changes.items()}
        data = {"event": "reread", "first": done.first, "second": done.second, "contract": done.contract}
        counts = {"trials": done.trials, "changes": changes, "left_out": done.left_out}
        told = {**data, **counts, **compared.as_data()}
        click.echo(json.dumps(finite(told), ensure_ascii=False))
        return
    console = Console()
    console.print(
        f"Hunt {done.second} has the replies of hunt {done.first} as {done.contract} reads them:"
        f" {done.changed:,} of {done.trials:,} verdicts differ.",
        highlight=False,
    )
    for (before, now), count in sorted(done.changes.items()):
        if before is not now:
            console.print(f"  {before.value} -> {now.value}: {count:,}", highlight=False)
    if done.left_out:
        console.print(
            f"{done.left_out:,} trials stay with hunt {done.first} alone: by the verdicts of now others would"
            " have been asked for.",
            highlight=False,
        )
    _print_findings(compared, console, atlas, done.second)


def _rejudge(atlas: Path, judge: Path, hunt_id: int | None, as_json: bool) -> None:
    model = load_model(judge, "judge")
    reporter = choose_reporter(as_json)
    try:
        done = asyncio.run(rejudge(atlas, model, reporter, hunt_id))
    finally:
        reporter.close()
    with Atlas.open(atlas, readonly=True) as opened:
        compared = compare_judges(opened, done.first, done.second)
    if as_json:
        data = {"event": "rejudged", "first": done.first, "second": done.second, "missing": done.missing}
        click.echo(json.dumps(finite({**data, **compared.as_data()}), ensure_ascii=False))
    else:
        _print(done, compared, Console(), atlas)
    if done.summary.stop.kind == "interrupted":
        sys.exit(130)


def _print(done: Rejudged, compared: Comparison, console: Console, atlas: Path) -> None:
    summary = done.summary
    console.print(
        f"Hunt {done.second} has the images of hunt {done.first} with the new judge:"
        f" {summary.trials:,} judged now, {summary.resumed:,} before. {summary.stop.reason.capitalize()}.",
        highlight=False,
    )
    if done.missing:
        console.print(f"{done.missing:,} trials are left out: their pictures were not kept.", highlight=False)
    console.print(_table(compared))
    _print_findings(compared, console, atlas, done.second)


def _print_findings(compared: Comparison, console: Console, atlas: Path, hunt_id: int) -> None:
    both, lost, new = len(compared.both), len(compared.only_first), len(compared.only_second)
    console.print(f"\nFindings: {both:,} stay, {lost:,} are gone, {new:,} are new.", highlight=False)
    for sign, subjects in (("-", compared.only_first), ("+", compared.only_second)):
        for subject in subjects[:SHOWN]:
            console.print(Text(f"  {sign} {subject}"))
        if len(subjects) > SHOWN:
            console.print(f"  {sign} and {len(subjects) - SHOWN:,} more", highlight=False)
    console.print(f"  failscape report {atlas} --hunt {hunt_id}", highlight=False, soft_wrap=True)


def _table(compared: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("kind of check")
    for name in ("checks", "agree", "kappa", "only old / new"):
        table.add_column(name, justify="right", no_wrap=True)
    for kind, found in compared.kinds.items():
        low, high = found.interval
        agree = f"{percent(found.share)} ({percent(low)} – {percent(high)})"
        only = f"{found.only_first:,} / {found.only_second:,}"
        table.add_row(Text(kind), f"{found.answers:,}", agree, _kappa(found), only)
    return table


def _kappa(found: Agreement) -> str:
    if not isfinite(found.kappa):
        return "–"
    low, high = found.kappa_interval
    return f"{found.kappa:.2f} ({low:.2f} – {high:.2f})"
