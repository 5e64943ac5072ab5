"""`failscape findings ATLAS`: what a hunt has found, as a table, as CSV, or as one JSON object a line."""

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from failscape.atlas import Atlas
from failscape.atlas.formats.plain import no_formula
from failscape.cli.answer import print_answer, print_hanging
from failscape.cli.screen import TellingLine, echo_json, shell_path
from failscape.trials import Status, Verdict
from failscape.views.read import HuntEvidence, load_hunt
from failscape.views.read.answer import answer_of
from failscape.views.read.findings import suggestions, worst_groups
from failscape.views.read.numbers import number, percent, spread
from failscape.views.rows import (
    SORTS,
    FindingFilter,
    FindingRow,
    check_group,
    finding_records,
    finding_rows,
    select,
)

TABLE_ROWS = 40
SUSPECT_ROWS = 8
WORST = 5
COLUMNS = (
    *("number", "status", "title", "subject", "class"),
    *("failures", "trials", "rate", "low", "high", "e_value", "missing"),
)


@click.command("findings")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option("--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial unless told.")
@click.option("--limit", type=click.IntRange(min=1), help=f"Most findings to print [{TABLE_ROWS}; else all].")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    metavar="STATUS",
    help=f"Only these, may be repeated: {', '.join(Status)}, all [all but suspects].",
)
@click.option("--where", "words", default="", metavar="WORDS", help="Only what these words all occur in.")
@click.option("--class", "group", default="", metavar="NAME", help="Only of this class of things.")
@click.option(
    "--min-rate",
    type=click.FloatRange(0, 100),
    default=0.0,
    metavar="PERCENT",
    help="Least rate of failure.",
)
@click.option("--sort", type=click.Choice(list(SORTS)), default="certain", show_default=True, help="Order.")
@click.option("--rules", "only_rules", is_flag=True, help="Only rules that were tested as one group.")
@click.option("--themes", "only_themes", is_flag=True, help="Only the headline and all themes.")
@click.option("--wide", is_flag=True, help="With e-values, for a wide terminal.")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, a line each.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, with all evidence.")
def command(
    atlas: Path,
    hunt_id: int | None,
    limit: int | None,
    statuses: tuple[str, ...],
    words: str,
    group: str,
    min_rate: float,
    sort: str,
    only_rules: bool,
    only_themes: bool,
    wide: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Print what the hunt in ATLAS has found, most certain first; below it, what it suspects."""
    wanted = FindingFilter(statuses, words, group, min_rate / 100, sort)
    with Atlas.open(atlas, readonly=True) as opened:
        hunt = load_hunt(opened, hunt_id, watch=TellingLine())
        if hunt.found.warning:
            click.echo(f"warning: {hunt.found.warning}", err=True)
        rows = finding_rows(hunt)
        check_group(rows, group)
        chosen = select(rows, wanted)
        if only_themes:
            show_themes(hunt, limit, as_json)
        elif only_rules:
            show_rules(hunt, limit, as_json)
        elif as_json:
            for record in finding_records(hunt, chosen[:limit]):
                echo_json(record)
        elif as_csv:
            print_csv(chosen[:limit])
        else:
            shown = TableShown(limit or TABLE_ROWS, shell_path(atlas), wanted != FindingFilter(), wide)
            print_text(hunt, chosen, shown, Console())


def show_themes(hunt: HuntEvidence, limit: int | None, as_json: bool) -> None:
    """Every theme, a line each."""
    answer = answer_of(hunt)
    if as_json:
        for theme in answer.themes[:limit]:
            echo_json(theme.as_data())
        return
    console = Console()
    console.print(Text(answer.headline, style="bold"))
    for theme in answer.themes[:limit]:
        print_hanging(f"{theme.number}. ", theme.sentence, console)


def show_rules(hunt: HuntEvidence, limit: int | None, as_json: bool) -> None:
    """What is proven as a group; without any, what was seen without being tested."""
    rules = hunt.tested_rules[:limit]
    for rule in rules:
        if as_json:
            echo_json({"proof": rule.proof, **rule.as_data()})
        else:
            click.echo(f"{rule.text}: {rule.proof}")
    if rules or as_json:
        return
    themes = answer_of(hunt).themes[:limit]
    click.echo("No group was tested as one and proven." + (" Seen in the findings:" if themes else ""))
    for theme in themes:
        print_hanging(f"{theme.number}. ", theme.sentence, Console())


def print_csv(rows: Sequence[FindingRow]) -> None:
    """`number` counts the lines that are printed."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line, row in enumerate(rows, 1):
        data = {**row.as_data(), "number": line}
        writer.writerow([_cell(data[name]) for name in COLUMNS])


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return no_formula(value)
    return f"{value:.6g}" if isinstance(value, float) else value


@dataclass(frozen=True, slots=True)
class TableShown:
    """How findings are printed: at most `most` of the atlas in this folder; `wide` has e-values too.

    `filtered`: not all were asked for.
    """

    most: int
    atlas: str
    filtered: bool = False
    wide: bool = False


def print_text(hunt: HuntEvidence, chosen: Sequence[FindingRow], shown: TableShown, console: Console) -> None:
    """The answer, findings, then suspects; for people. Lines say what was left out."""
    atlas, filtered = shown.atlas, shown.filtered
    if not hunt.findings and not filtered:
        print_nothing_found(hunt, console)
    elif not chosen:
        console.print(f"None of the {len(hunt.findings):,} findings fits.", highlight=False)
    else:
        if not filtered:
            print_answer(hunt, console)
            console.print()
        rows = chosen[: shown.most]
        console.print(_table(hunt, rows, shown.wide))
        of = f"{len(rows):,} of {len(chosen):,}" if len(rows) < len(chosen) else f"{len(chosen):,}"
        what = "findings" if len(chosen) != 1 else "finding"
        tried = _tried(hunt)
        console.print(f"\n{of} {what} in {tried} of hunt {hunt.row.id}.", highlight=False)
        if hunt.judge is not None:
            console.print(f"Rates allow for the judge's errors ({hunt.judge.source}).", highlight=False)
        if len(rows) < len(chosen):
            # Not wrapped, so that the command can be copied.
            console.print(f"All of them: failscape findings {atlas} --json", highlight=False, soft_wrap=True)
    if not filtered:
        print_suspects(hunt, console, atlas)
        print_seen(hunt, console)
    number = hunt.found.undecided
    if number:
        who = "1 subject used up its" if number == 1 else f"{number:,} subjects used up their"
        console.print(f"{who} trials without a verdict.", highlight=False)


def _tried(hunt: HuntEvidence) -> str:
    """How much was looked at: a photo has a trial for each look at it, so photos are not trials."""
    return f"{hunt.trials:,} trials"


def _table(hunt: HuntEvidence, rows: Sequence[FindingRow], wide: bool) -> Table:
    """Titles wrap, numbers never do: it fits 80 columns."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("finding", overflow="fold", ratio=1)
    for name in (f"failed {hunt.unit}s", "rate (95%)", *(["e-value"] if wide else [])):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for row in rows:
        table.add_row(
            Text(row.short_title),  # brackets in it are no markup
            f"{row.failures} of {row.trials}",
            f"{percent(row.rate)} ({spread(row.interval)})",
            *([number(row.e_value)] if wide else []),
            Text(row.status),
        )
    return table


def print_suspects(hunt: HuntEvidence, console: Console, atlas: str) -> None:
    """What looks failing but is not claimed, and what is missing."""
    if not hunt.suspects:
        return
    total = len(hunt.suspects)
    console.print(
        f"\n[bold]Suspects[/bold]: {total:,} {'looks' if total == 1 else 'look'} failing, not proven.",
        highlight=False,
    )
    for row in select(finding_rows(hunt), FindingFilter((Status.SUSPECT,)))[:SUSPECT_ROWS]:
        seen = f"{row.failures} of {row.trials} {hunt.unit}s fail"
        print_hanging("  ", f"{row.short_title}: {seen}{f'; {row.missing}' if row.missing else ''}", console)
    if total > SUSPECT_ROWS:
        more = f"All of them: failscape findings {atlas} --status {Status.SUSPECT}"
        console.print(more, highlight=False, soft_wrap=True)


def print_seen(hunt: HuntEvidence, console: Console) -> None:
    """What plainly fails in the recorded trials, though the search has not tested it."""
    if not hunt.seen:
        return
    total = len(hunt.seen)
    what = "pattern fails" if total == 1 else "patterns fail"
    console.print(
        f"\n[bold]Seen, not tested[/bold]: {total:,} {what} more than usual in all recorded trials.",
        highlight=False,
    )
    for one in hunt.seen[:SUSPECT_ROWS]:
        line = f"  {one.sentence}; usual is {percent(one.usual_rate)}"
        console.print(Text(line, overflow="ellipsis", no_wrap=True))
    if total > SUSPECT_ROWS:
        console.print(f"  {total - SUSPECT_ROWS:,} more are in the report.", highlight=False)


def print_nothing_found(hunt: HuntEvidence, console: Console) -> None:
    """What was seen, the worst of it, and what to change."""
    seen = hunt.seen_rate()
    valid = seen.of + hunt.seen_rate(apart=True).of
    invalid = hunt.counts[Verdict.INVALID]
    console.print(
        f"Nothing is proven yet after {_tried(hunt)} ({hunt.progress.phase}): {valid:,} valid, "
        f"{invalid:,} invalid.",
        highlight=False,
    )
    if seen.known:
        share = f"{percent(seen.rate)} ({spread(seen.interval)})"
        console.print(f"{share} of the {seen.of:,} {seen.counted} failed.", highlight=False)
    worst = worst_groups(hunt, WORST)
    if worst:
        names = [f"{one.name} ({one.rate.failures} of {one.rate.of})" for one in worst]
        console.print(f"Worst so far: {', '.join(names)}.", highlight=False)
    for line in suggestions(hunt):
        console.print(f"- {line}", highlight=False)
