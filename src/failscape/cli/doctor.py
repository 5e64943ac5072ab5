"""`failscape doctor CONFIG`: test by experiment that the models do what the numbers will rest on.

Given an atlas instead of a config, it verifies what is in there.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from failscape.atlas import Atlas, HuntRow, upkeep
from failscape.atlas.hunts import changed_corpus, keep_results, rules_version
from failscape.atlas.judging import hunt_accuracy, people_said, reckoned_with
from failscape.config import HuntConfig
from failscape.config.files import load_config
from failscape.doctor.cluster import examine_cluster
from failscape.doctor.observations import Observation
from failscape.errors import ConfigError
from failscape.plugins import find_kind, kind_of
from failscape.search.hunt_results import to_bytes
from failscape.search.protocol import replay
from failscape.secrets import clean, printable
from failscape.trials import Trial
from failscape.views.read.found import kept_by_run, rebuild_hunt, tell_again

Examine = Callable[[HuntConfig], Awaitable[list[Observation]]]
MARKS = {"ok": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("fail", "red")}


@click.command("doctor")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting.")
@click.option("--mend", is_flag=True, help="Of an atlas: do what can be done about what is wrong.")
@click.option("--yes", "sure", is_flag=True, help="With --mend: also where over 1 % of pictures are damaged.")
@click.option("--restore", is_flag=True, help="Of an atlas: bring back trials that a mend took back.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    config: Path, overrides: tuple[str, ...], mend: bool, sure: bool, restore: bool, as_json: bool
) -> None:
    """Draw and judge a few images of CONFIG's models, and say what is wrong with them.

    Or verify digests, rows and counts of an atlas, when CONFIG is the folder of one.
    """
    if config.is_dir():
        if restore:
            with Atlas.open(config) as atlas:
                number = upkeep.restore_withdrawn(atlas)
            click.echo(f"{number:,} trials brought back", err=as_json)
        doctor_atlas(config, mend, as_json, sure)
        return
    if mend or restore:
        raise click.UsageError("--mend and --restore are for atlases: give the folder of one")
    settings = load_config(config, overrides)
    examine = kind_of(settings).examine
    if examine is None:
        raise ConfigError(
            f"doctor cannot examine hunts of kind {settings.hunt!r}", "run it with a small budget"
        )
    # A server may echo the key, and may write escapes for the terminal.
    observations = [_safe(one) for one in asyncio.run(_all(settings, examine))]
    if as_json:
        click.echo(json.dumps([asdict(observation) for observation in observations], indent=2))
    else:
        _print(observations)
    if any(observation.status == "fail" for observation in observations):
        sys.exit(1)
    if not as_json:
        click.echo(f"next:    failscape plan {config}")


def _safe(one: Observation) -> Observation:
    name, seen, means, fix = (printable(clean(text)) for text in (one.name, one.seen, one.means, one.fix))
    return replace(one, name=name, seen=seen, means=means, fix=fix)


async def _all(settings: HuntConfig, examine: Examine) -> list[Observation]:
    """The cluster first: without it there are no models to examine."""
    found = await examine_cluster(settings)
    if any(observation.status == "fail" for observation in found):
        return found
    return [*found, *await examine(settings)]


def _print(observations: list[Observation]) -> None:
    """A table; what is not ok says below what it means and what to do."""
    table = Table(box=None, pad_edge=False)
    for title in ("", "examined", "seen"):
        table.add_column(title, overflow="fold")
    table.add_column("n", justify="right")
    for one in observations:
        mark, colour = MARKS[one.status]
        below = "" if one.status == "ok" else f"\n{one.means}" + (f"\nfix: {one.fix}" if one.fix else "")
        words = (Text(mark, colour), Text(one.name), Text(f"{one.seen}{below}"))
        table.add_row(*words, str(one.n) if one.n else "")
    Console().print(table)
    counts = {status: sum(one.status == status for one in observations) for status in MARKS}
    click.echo(", ".join(f"{number} {status}" for status, number in counts.items() if number))


def doctor_atlas(folder: Path, mending: bool, as_json: bool, sure: bool = False) -> None:
    """Exits with 1 when something is wrong and stays so."""
    with Atlas.open(folder, readonly=True) as atlas:
        found = upkeep.examine(atlas, lost=sure)
    done: list[str] = []
    if mending:
        with Atlas.open(folder) as atlas:
            done = upkeep.mend(atlas, found, partial(_retell, atlas), sure)
            # What runs of earlier versions did not keep, or not by today's rules: told once, then at hand.
            done += [
                f"findings of hunt {row.id} told again and kept" for row in atlas.hunts() if _keep(atlas, row)
            ]
            found = upkeep.examine(atlas)
    if as_json:
        wrong = [ailment._asdict() for ailment in found.ailments]
        counts = {"trials": found.trials, "pictures": found.pictures, "bytes": found.bytes}
        click.echo(json.dumps({**counts, "done": done, "wrong": wrong}, indent=2))
    else:
        _print_diagnosis(found, done, folder, mending)
    if found.ailments:
        sys.exit(1)


def _print_diagnosis(found: upkeep.Diagnosis, done: list[str], folder: Path, mending: bool) -> None:
    for line in done:
        click.echo(f"{click.style('done', fg='green')}  {line}")
    for ailment in found.ailments:
        click.echo(f"{click.style('fail', fg='red')}  {ailment.what}")
        if ailment.mends and not mending:
            click.echo(f"      failscape doctor {folder} --mend: {ailment.mends}")
    size = f"{found.bytes / 2**20:,.1f} MiB"
    counted = f"{found.trials:,} trials, {found.pictures:,} pictures ({size}) looked at"
    if found.ailments:
        click.echo(f"{counted}: {len(found.ailments)} things are wrong")
    else:
        click.echo(f"{click.style('ok', fg='green')}    {counted}: rows, counts and digests are right")


def _retell(atlas: Atlas, row: HuntRow, trials: Iterator[Trial]) -> None:
    replay(rebuild_hunt(row, hunt_accuracy(atlas, row)), trials)


def _keep(atlas: Atlas, row: HuntRow) -> bool:
    trials, judge = sum(atlas.counts(row.id).values()), hunt_accuracy(atlas, row)
    if not trials or changed_corpus(row.config, row.identities) or kept_by_run(atlas, row, judge):
        return False
    content = to_bytes(tell_again(atlas, row, judge))
    rules = rules_version(type(find_kind(row.kind)).__module__)
    known = reckoned_with(judge, people_said(atlas, row.id))
    return keep_results(atlas, row.id, content, rules, known, trials)
