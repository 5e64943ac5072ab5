"""`failscape run CONFIG --atlas DIR`: start a hunt, or go on with one."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from failscape.cli.answer import tell_answer
from failscape.cli.screen import run_reported, shell_path
from failscape.config import HuntConfig
from failscape.config.files import load_config
from failscape.errors import ConfigError
from failscape.runtime.engine import StopKind
from failscape.runtime.progress import duration
from failscape.runtime.session import Summary, run_session


@click.command("run")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--atlas", type=click.Path(path_type=Path), required=True, help="Folder that keeps everything.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting.")
@click.option("--shard", metavar="I/N", default="1/1", help="Work on the I-th of N parts; join with `merge`.")
@click.option("--engine", type=click.Choice(["local", "ray"]), help="Where in-process models run.")
@click.option("--dry-run", is_flag=True, help="Say what the budget can prove, as `plan` does; run nothing.")
@click.option("--fork", is_flag=True, help="The config has changed: begin a new hunt in the same atlas.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def command(
    config: Path,
    atlas: Path,
    overrides: tuple[str, ...],
    shard: str,
    engine: str | None,
    dry_run: bool,
    fork: bool,
    as_json: bool,
) -> None:
    """Start the hunt that CONFIG describes, or go on where it stopped."""
    chosen = (f"engine.kind={engine}",) if engine else ()
    settings = load_config(config, (*overrides, *chosen))
    if dry_run:
        from failscape.cli.plan import make_plan, print_plan

        print_plan(make_plan(settings), as_json)
        return
    summary = run_and_report(settings, atlas, parse_shard(shard), fork, as_json)
    if not as_json:
        folder = shell_path(atlas)
        click.echo(f"\n  failscape findings {folder}\n  failscape view {folder}\n  failscape report {folder}")
    if summary.stop.is_interrupted:
        sys.exit(130)


def run_and_report(
    settings: HuntConfig,
    atlas: Path,
    shard: tuple[int, int] = (0, 1),
    fork: bool = False,
    as_json: bool = False,
) -> Summary:
    """Run with progress on the screen and close with a short account."""
    summary = run_reported(lambda reporter: run_session(settings, atlas, reporter, shard, fork), as_json)
    if as_json:
        # Programs read the summary from the last line.
        tell_answer(atlas, as_json)
        click.echo(json.dumps({"event": "summary", **asdict(summary)}))
    else:
        click.echo(f"{describe(summary)}\n")
        tell_answer(atlas, as_json)
    return summary


def describe(summary: Summary) -> str:
    rate = summary.trials / summary.seconds if summary.seconds else 0.0
    spent = summary.spent
    money = f", {spent.money:,.2f} in money" if spent.money else ""
    return (
        f"{outcome(summary)}. {summary.findings:,} finding{'' if summary.findings == 1 else 's'}.\n"
        f"This session: {summary.trials:,} trials in {duration(summary.seconds)} ({rate:,.0f}/s). "
        f"In all: {spent.images:,} images, {spent.requests:,} requests{money}."
    )


def outcome(summary: Summary) -> str:
    """How it ended, in words: a run that used up its budget is finished, not broken."""
    stop = summary.stop
    if stop.kind is StopKind.BUDGET:
        return f"Finished: budget used ({stop.reason})"
    return f"Finished: {stop.reason}" if stop.kind is StopKind.DONE else f"Stopped: {stop.reason}"


def parse_shard(text: str) -> tuple[int, int]:
    """`2/8` → (1, 8)."""
    part, slash, parts = text.partition("/")
    if not (slash and part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise ConfigError(f"--shard takes I/N with 1 <= I <= N, but got {text!r}", "for example --shard 2/8")
    return int(part) - 1, int(parts)
