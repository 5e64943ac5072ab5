"""`failscape gate CONFIG --baseline FILE`: stop a model that is worse than the last one. For CI."""

import sys
from pathlib import Path
from typing import Any

import click

from failscape.again.cases import read_side
from failscape.again.comparing import NotComparable
from failscape.again.gate import MOST_CASES, draw_more, freeze, read_baseline, run_gate, write_baseline
from failscape.again.harm import GateResult, GateRules, GateVerdict, markdown, write_junit
from failscape.again.session import compared_folder, with_earlier
from failscape.atlas.database import parse_reference
from failscape.atlas.files import write_whole
from failscape.cli.screen import echo_json, run_reported
from failscape.cli.trust import trust_options, vouched_by
from failscape.config.files import load_config

FREEZE = "freeze"
CODES = {GateVerdict.PASSED: 0, GateVerdict.FAILED: 1, GateVerdict.OPEN: 4}
SHOWN = 10
SHARE = click.FloatRange(0, 1, max_open=True)


class GateGroup(click.Group):
    """`gate freeze …`; anything else is the config of a gate."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return freeze_command if name == FREEZE else check

    def list_commands(self, ctx: click.Context) -> list[str]:
        return ["CONFIG", FREEZE]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return (FREEZE, freeze_command, args[1:]) if args[:1] == [FREEZE] else ("gate", check, args)


@click.command("gate")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--baseline", type=click.Path(path_type=Path), required=True, help="Made by `gate freeze`.")
@click.option("--budget", type=click.IntRange(min=1), required=True, help="Most trials of the new model.")
@click.option("--atlas", type=click.Path(path_type=Path), required=True, help="Folder that keeps everything.")
@click.option("--margin", type=SHARE, default=0.02, show_default=True, help="Harm that is allowed.")
@click.option("--level", type=SHARE, default=0.05, show_default=True, help="Chance of a false alarm.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML here.")
@click.option("--summary", type=click.Path(path_type=Path), help="Write a Markdown summary here.")
@click.option("--open-passes", is_flag=True, help="Exit 0 instead of 4: open, or not comparable.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(
    config: Path,
    baseline: Path,
    budget: int,
    atlas: Path,
    margin: float,
    level: float,
    overrides: tuple[str, ...],
    junit: Path | None,
    summary: Path | None,
    open_passes: bool,
    as_json: bool,
) -> None:
    """Ask the target of CONFIG the cases of a baseline, and fail when it is proven worse than the margin.

    Exit codes: 0 the harm is below the margin, 1 harm is proven, 3 a model broke, 4 open or not comparable.
    """
    settings, known, rules = load_config(config, overrides), read_baseline(baseline), GateRules(margin, level)
    try:
        result = run_reported(lambda reporter: run_gate(settings, known, atlas, budget, rules, reporter))
    except NotComparable as error:
        if not open_passes:
            raise
        click.echo(f"not comparable, which --open-passes lets pass: {error}", err=True)
        return
    if junit:
        write_junit(result, junit)
    if summary:
        write_whole(summary, markdown(result).encode())
    _print(result, as_json)
    if result.interrupted:
        sys.exit(130)
    code = CODES[result.verdict]
    sys.exit(0 if code == 4 and open_passes else code)


def _print(result: GateResult, as_json: bool) -> None:
    if as_json:
        echo_json(result.as_data())
        return
    click.echo(f"Gate {result.sentence}.")
    for row in result.harmed[:SHOWN]:
        data: dict[str, Any] = row.as_data()
        before, now = data["rates"]
        click.echo(f"  worse: {row.subject} ({before:.0%} -> {now:.0%} of {row.counts.pairs} cases fail)")
    if len(result.harmed) > SHOWN:
        click.echo(f"  and {len(result.harmed) - SHOWN:,} more (--json has all)")
    click.echo(f"Power: {result.power.sentence}.")
    if result.strange:
        click.echo(f"{result.strange:,} cases came out with another picture and do not count.")
    for note in result.notes:
        click.echo(f"Note: {note}.")


@click.command(FREEZE)
@click.argument("atlas", metavar="ATLAS[@HUNT]")
@click.option("--output", type=click.Path(path_type=Path), required=True, help="The file to commit.")
@click.option(
    "--cases", type=click.IntRange(min=1), default=MOST_CASES, show_default=True, help="Most cases to keep."
)
@click.option("--budget", type=click.IntRange(min=1), help="New cases to draw first, with the hunt's models.")
@trust_options
def freeze_command(
    atlas: str,
    output: Path,
    cases: int,
    budget: int | None,
    configs: tuple[Path, ...],
    trust_models: bool,
) -> None:
    """Write a baseline: subjects, seeds and how each case of the hunt in ATLAS went. No pictures.

    New cases go to ATLAS-compared beside it, where `compare` keeps its own, and are taken from there too.
    """
    place, number = parse_reference(atlas)
    side = read_side(place, number, vouched=vouched_by(configs, trust_models))
    folder = compared_folder(side.folder)
    side = with_earlier(side, folder)
    if budget:
        side = run_reported(lambda reporter: draw_more(side, folder, budget, reporter))
    baseline = freeze(side, cases)
    write_baseline(baseline, output)
    subjects = len(baseline.by_subject())
    click.echo(
        f"{len(baseline.cases):,} cases of {subjects:,} subjects on {baseline.name}: {output} "
        f"({output.stat().st_size / 1000:,.0f} kB)"
    )


@click.group(
    "gate",
    cls=GateGroup,
    subcommand_metavar="CONFIG --baseline FILE --budget N --atlas DIR",
    context_settings={"ignore_unknown_options": True},
)
def command() -> None:
    """Stop a model that is worse than the last one: ask it the cases of a committed baseline.

    `failscape gate CONFIG --help` has all options; `failscape gate freeze` makes the baseline.
    """
