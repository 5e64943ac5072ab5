"""`failscape findings ATLAS`: what a hunt has found, as a table, as CSV, or as one JSON object a line."""

import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from failscape.atlas import Atlas
from failscape.cli.screen import TellingLine, echo_json
from failscape.evidence import HuntEvidence, finding_records, load_hunt, missing_of
from failscape.evidence.findings import (
    SORTS,
    SUSPECT,
    FindingFilter,
    group_of,
    select,
    short_title,
    suggestions,
    worst_groups,
)
from failscape.hunts.t2i.survey.survey import Rule, T2ISurvey
from failscape.report.figures.basic import number, percent, spread
from failscape.trials import STATUSES, Finding, Verdict

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
    help=f"Only these, may be repeated: {', '.join(STATUSES)}, all [all but suspects].",
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
    as_csv: bool,
    as_json: bool,
) -> None:
    """Print what the hunt in ATLAS has found, most certain first; below it, what it suspects."""
    wanted = FindingFilter(statuses, words, group, min_rate / 100, sort)
    with Atlas.open(atlas, readonly=True) as opened:
        hunt = load_hunt(opened, hunt_id, watch=TellingLine())
        if hunt.found.warning:
            click.echo(f"warning: {hunt.found.warning}", err=True)
        chosen = select(hunt, wanted)
        if only_rules:
            rules = tested_rules(hunt)[:limit]
            for rule in rules:
                if as_json:
                    echo_json({"proof": rule.proof, **asdict(rule)})
                else:
                    click.echo(f"{rule.text}: {rule.proof}")
            if not rules and not as_json:
                click.echo("No group of nodes is proven to fail as a whole.")
        elif as_json:
            for record in finding_records(hunt, chosen[:limit]):
                echo_json(record)
        elif as_csv:
            print_csv(hunt, chosen[:limit])
        else:
            print_text(hunt, chosen, limit or TABLE_ROWS, Console(), str(atlas), wanted != FindingFilter())


def print_csv(hunt: HuntEvidence, findings: Sequence[Finding]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for at, finding in enumerate(findings, 1):
        rate = hunt.rate(finding)
        numbers = [f"{value:.6g}" for value in (rate.rate, *rate.interval, finding.e_value)]
        names = [finding.status, finding.title, finding.subject, group_of(hunt, finding)]
        writer.writerow([at, *names, rate.failures, rate.of, *numbers, missing_of(finding)])


def print_text(
    hunt: HuntEvidence, chosen: Sequence[Finding], limit: int, console: Console, atlas: str, filtered: bool
) -> None:
    """Findings, then suspects; for people. Lines say what was left out."""
    if not hunt.findings and not filtered:
        print_nothing_found(hunt, console)
    elif not chosen:
        console.print(f"None of the {len(hunt.findings):,} findings fits.", highlight=False)
    else:
        if not filtered:
            print_rules(hunt, console, atlas)
        shown = chosen[:limit]
        console.print(_table(hunt, shown))
        of = f"{len(shown):,} of {len(chosen):,}" if len(shown) < len(chosen) else f"{len(chosen):,}"
        what = "findings" if len(chosen) != 1 else "finding"
        tried = _tried(hunt)
        console.print(f"\n{of} {what} in {tried} of hunt {hunt.row.id}.", highlight=False)
        if hunt.judge is not None:
            console.print(f"Rates allow for the judge's errors ({hunt.judge.source}).", highlight=False)
        if len(shown) < len(chosen):
            # Not wrapped, so that the command can be copied.
            console.print(f"All of them: failscape findings {atlas} --json", highlight=False, soft_wrap=True)
    if not filtered:
        print_suspects(hunt, console, atlas)
    number = hunt.found.undecided
    if number:
        who = "1 subject used up its" if number == 1 else f"{number:,} subjects used up their"
        console.print(f"{who} trials without a verdict.", highlight=False)


def _tried(hunt: HuntEvidence) -> str:
    """How much was looked at: a photo has a trial for each look at it, so photos are not trials."""
    return f"{hunt.trials:,} {'trial' if hunt.unit == 'photo' else hunt.unit}s"


def tested_rules(hunt: HuntEvidence) -> list[Rule]:
    survey = hunt.survey_as(T2ISurvey)
    return survey.tested_rules if survey is not None else []


def print_rules(hunt: HuntEvidence, console: Console, atlas: str) -> None:
    """Groups that fail as a whole come first: each stands for many nodes."""
    rules = tested_rules(hunt)
    if not rules:
        return
    nodes = sum(rule.covers for rule in rules)
    console.print(f"[bold]Rules[/bold]: {len(rules):,}, about {nodes:,} nodes.", highlight=False)
    for rule in rules[:SUSPECT_ROWS]:
        console.print(Text(f"  {rule.text}: {rule.proof}"))
    if len(rules) > SUSPECT_ROWS:
        console.print(f"All of them: failscape findings {atlas} --rules", highlight=False, soft_wrap=True)
    console.print()


def _table(hunt: HuntEvidence, findings: Sequence[Finding]) -> Table:
    """One line each: titles are cut, numbers never are."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("finding", overflow="ellipsis", no_wrap=True, ratio=1)
    for name in (f"failed {hunt.unit}s", "rate (95%)", "e-value"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for finding in findings:
        rate = hunt.rate(finding)
        table.add_row(
            Text(short_title(finding)),  # brackets in it are no markup
            f"{rate.failures} of {rate.of}",
            f"{percent(rate.rate)} ({spread(rate.interval)})",
            number(finding.e_value),
            Text(finding.status),
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
    for finding in hunt.suspects[:SUSPECT_ROWS]:
        rate, missing = hunt.rate(finding), missing_of(finding)
        seen = f"{rate.failures} of {rate.of} {hunt.unit}s fail"
        line = f"  {short_title(finding)}: {seen}{f'; {missing}' if missing else ''}"
        console.print(Text(line, overflow="ellipsis", no_wrap=True))
    if total > SUSPECT_ROWS:
        more = f"All of them: failscape findings {atlas} --status {SUSPECT}"
        console.print(more, highlight=False, soft_wrap=True)


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
