"""`failscape demo`: a whole hunt against models that come with the package, ending in a report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from failscape.atlas import Atlas
from failscape.cli.run import run_and_report
from failscape.config_files import parse_config
from failscape.report import write_report

THINGS = (
    *("penguin", "camel", "owl", "turtle", "apple", "cupcake"),
    *("palm tree", "car", "bicycle", "boat", "umbrella", "teddy bear"),
)
"""From all six classes; turtle, bicycle and teddy bear are scarce in the painter's training data."""

DEMO: dict[str, Any] = {
    "hunt": "t2i",
    "target": {"provider": "toybox", "model": "toy-painter"},
    "judge": {"provider": "toybox", "model": "toy-eyes"},
    "space": {"corpus": "toybox", "entities": THINGS, "depth": 2},
    "search": {"strategy": "failureatlas", "images_per_node": 8},
    "budget": {"images": 9000},
    "seed": 7,
}


@click.command("demo")
@click.option(
    "--atlas", type=click.Path(path_type=Path), default=Path("runs/demo"), show_default=True, help="Folder."
)
@click.option("--images", default=DEMO["budget"]["images"], show_default=True, help="How many to draw.")
def command(atlas: Path, images: int) -> None:
    """Hunt toy-painter, a small text-to-image network, judged by toy-eyes. No account, no GPU, no torch."""
    settings = parse_config({**DEMO, "budget": {"images": images}}, "demo")
    click.echo("Hunting toy-painter: which things can it not draw?")
    summary = run_and_report(settings, atlas)
    if summary.stop.kind == "interrupted":
        sys.exit(130)
    with Atlas.open(atlas, readonly=True) as opened:
        written = write_report(opened)
    click.echo(f"\nThe report, with pictures: {written.path}")
