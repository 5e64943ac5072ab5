"""`failscape rejudge ATLAS`: show stored images to another judge, or read the judge's replies again."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from failscape.again.rejudge import RejudgedHunt, rejudge
from failscape.again.reread import reread
from failscape.atlas import Atlas
from failscape.atlas.judging import pairs
from failscape.cli.screen import echo_json, plain_table, run_reported
from failscape.config.files import load_model
from failscape.errors import ConfigError
from failscape.stats.judging.agreement import Agreement, agreement
from failscape.views.read import load_hunt
from failscape.views.read.numbers import percent

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
        model = load_model(judge, "judge")
        done = run_reported(lambda reporter: rejudge(atlas, model, reporter, hunt_id), as_json)
        with Atlas.open(atlas, readonly=True) as opened:
            compared = compare_judges(opened, done.first, done.second)
        if as_json:
            data = {"event": "rejudged", "first": done.first, "second": done.second, "missing": done.missing}
            echo_json({**data, **compared.as_data()})
        else:
            _print(done, compared, Console(), atlas)
        if done.summary.stop.is_interrupted:
            sys.exit(130)


def _reread(atlas: Path, hunt_id: int | None, as_json: bool) -> None:
    with Atlas.open(atlas) as opened:
        done = reread(opened, hunt_id)
        compared = compare_judges(opened, done.first, done.second)
    if as_json:
        changes = {f"{before.value} -> {now.value}": count for (before, now), count in done.changes.items()}
        data = {"event": "reread", "first": done.first, "second": done.second, "contract": done.contract}
        counts = {"trials": done.trials, "changes": changes, "left_out": done.left_out}
        echo_json({**data, **counts, **compared.as_data()})
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


def _print(done: RejudgedHunt, compared: Comparison, console: Console, atlas: Path) -> None:
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
    table = plain_table(("kind of check",), ("checks", "agree", "kappa", "only old / new"))
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


EVERY = "all checks"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`kinds` ends with all checks together. Findings are subjects: of both hunts, or of one only."""

    kinds: dict[str, Agreement]
    both: list[str]
    only_first: list[str]
    only_second: list[str]

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def compare_judges(atlas: Atlas, first: int, second: int) -> Comparison:
    """The second hunt holds the first one's images, judged again."""
    rows: dict[str, list[tuple[bool, bool, str]]] = defaultdict(list)
    for pair in pairs(atlas, first, second):
        rows[pair.check.kind].append((pair.first, pair.second, pair.subject))
    found = {kind: rows[kind] for kind in sorted(rows)}
    found[EVERY] = [row for some in found.values() for row in some]
    kinds = {kind: _agreement(some) for kind, some in found.items() if some}
    one = [finding.subject for finding in load_hunt(atlas, first).findings]
    two = [finding.subject for finding in load_hunt(atlas, second).findings]
    here, there = set(one), set(two)
    return Comparison(
        kinds,
        [subject for subject in one if subject in there],
        [subject for subject in one if subject not in there],
        [subject for subject in two if subject not in here],
    )


def _agreement(rows: list[tuple[bool, bool, str]]) -> Agreement:
    first, second, subjects = zip(*rows, strict=True)
    return agreement(first, second, subjects)
