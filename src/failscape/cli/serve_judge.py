"""`failscape serve judge`: a judge that scores pictures over HTTP, for trainers that learn from rewards."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

import click

from failscape.config.files import load_model
from failscape.models.registry import create_model
from failscape.models.roles import Judge
from failscape.servers.running import serve_app
from failscape.servers.scoring import SCORE, read_prompts, scoring_app


@click.command("judge")
@click.option(
    "--judge",
    type=click.Path(path_type=Path),
    required=True,
    help="A config with the section `judge`, or a file with nothing else.",
)
@click.option(
    "--dataset",
    type=click.Path(path_type=Path),
    help="A folder of `failscape dataset` of a t2i hunt: its prompts then name their checks.",
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, help="0 takes a free one.")
def command(judge: Path, dataset: Path | None, host: str, port: int) -> None:
    """Score pictures until Ctrl-C: POST images with prompts or statements, get the share that holds."""
    model = cast(Judge, create_model("judge", load_model(judge, "judge")))
    prompts = read_prompts(dataset) if dataset is not None else {}
    app = scoring_app(model, prompts)
    asyncio.run(serve_app(app, host, port, lambda url: click.echo(introduce(url, len(prompts)))))


def introduce(url: str, prompts: int) -> str:
    known = f"{prompts:,} prompts are known" if prompts else "send `statements`: no prompts are known"
    return (
        f'judge at {url}: POST {url}{SCORE} {{"images": ["<base64>"], "prompts": ["…"]}}; {known}.'
        " Ctrl-C stops it."
    )
