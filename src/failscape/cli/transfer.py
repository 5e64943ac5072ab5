"""`failscape transfer ATLAS --target …`: do other classifiers fail on the same pictures?"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from failscape.atlas import Atlas
from failscape.atlas.files import write_whole
from failscape.cli.telling import TellingLine
from failscape.config import ModelConfig
from failscape.config.files import load_model
from failscape.errors import ConfigError
from failscape.evidence import load_hunt
from failscape.report.figures.basic import percent, spread
from failscape.report.kinds.classifier import FILE
from failscape.runtime.after.transfer import cases_of, transfer

ROWS = 40


@click.command("transfer")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option(
    "--target",
    "targets",
    multiple=True,
    required=True,
    metavar="FILE|PROVIDER:MODEL",
    help="Another classifier: a config with `target`, or for example toybox:vit. May be given several times.",
)
@click.option("--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial unless told.")
@click.option("--images", type=click.IntRange(min=1), default=60, show_default=True, help="Most per finding.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole matrix as JSON.")
def command(atlas: Path, targets: tuple[str, ...], hunt_id: int | None, images: int, as_json: bool) -> None:
    """Show the pictures of the findings in ATLAS to other classifiers. The report shows the matrix too."""
    models = dict(model_of(text) for text in targets)
    with Atlas.open(atlas, readonly=True) as opened:
        loaded = load_hunt(opened, hunt_id, watch=TellingLine())
        if loaded.row.kind != "classifier":
            raise ConfigError(
                f"hunt {loaded.row.id} is a {loaded.row.kind} hunt", "transfer is for classifier hunts"
            )
        cases = cases_of(opened, loaded.row.id, loaded.findings, images)
        if not cases:
            raise ConfigError("the hunt has no findings with pictures yet", "let it run on, then try again")
        note = (lambda text: None) if as_json else click.echo
        data = asyncio.run(transfer(opened, cases, models, loaded.target, note))
    write_whole(atlas / FILE.format(hunt=loaded.row.id), json.dumps(data, indent=1).encode())
    if as_json:
        click.echo(json.dumps(data))
    else:
        _print(data, Console(), atlas)


def model_of(text: str) -> tuple[str, ModelConfig]:
    """`toybox:vit`, or a config file whose `target` it is."""
    provider, colon, model = text.partition(":")
    if Path(text).is_file() or not colon:
        settings = load_model(Path(text), "target")
        return settings.model or Path(settings.path).name or settings.provider, settings
    return model or provider, ModelConfig(provider=provider, model=model)


def _print(data: dict[str, Any], console: Console, atlas: Path) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("bug", overflow="fold", ratio=1)
    for name in data["models"]:
        table.add_column(name, justify="right", no_wrap=True)
    for line in data["lines"][:ROWS]:
        cells = [f"{percent(cell['rate'])} ({spread(tuple(cell['interval']))})" for cell in line["cells"]]
        table.add_row(Text(line["title"]), *cells)
    console.print(table)
    if len(data["lines"]) > ROWS:
        console.print(f"and {len(data['lines']) - ROWS:,} more (--json has all)", highlight=False)
    for row in data["differences"]:
        low, high = row["interval"]
        more = "more" if row["difference"] >= 0 else "less"
        console.print(
            f"{data['models'][0]} fails {abs(100 * row['difference']):.0f} points {more} often than "
            f"{row['model']} on the same {row['images']:,} images ({100 * low:+.0f} to {100 * high:+.0f}).",
            highlight=False,
        )
    console.print(f"  failscape report {atlas}", highlight=False, soft_wrap=True)
