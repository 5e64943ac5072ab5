"""`failscape doctor CONFIG`: test by experiment that the models do what the numbers will rest on.

Given an atlas instead of a config, it verifies what is in there.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from failscape.config import HuntConfig
from failscape.config.files import load_config
from failscape.doctor.cluster import examine_cluster
from failscape.doctor.observations import Observation
from failscape.errors import ConfigError
from failscape.plugins import kind_of

Examine = Callable[[HuntConfig], Awaitable[list[Observation]]]
MARKS = {"ok": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("fail", "red")}


@click.command("doctor")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting.")
@click.option("--mend", is_flag=True, help="Of an atlas: do what can be done about what is wrong.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(config: Path, overrides: tuple[str, ...], mend: bool, as_json: bool) -> None:
    """Draw and judge a few images of CONFIG's models, and say what is wrong with them.

    Or verify digests, rows and counts of an atlas, when CONFIG is the folder of one.
    """
    if config.is_dir():
        from failscape.cli.doctor_atlas import doctor_atlas

        doctor_atlas(config, mend, as_json)
        return
    if mend:
        raise click.UsageError("--mend is for atlases: give the folder of one")
    settings = load_config(config, overrides)
    examine = kind_of(settings).examine
    if examine is None:
        raise ConfigError(
            f"doctor cannot examine hunts of kind {settings.hunt!r}", "run it with a small budget"
        )
    observations = asyncio.run(_all(settings, examine))
    if as_json:
        click.echo(json.dumps([asdict(observation) for observation in observations], indent=2))
    else:
        _print(observations)
    if any(observation.status == "fail" for observation in observations):
        sys.exit(1)
    if not as_json:
        click.echo(f"next:    failscape plan {config}")


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
