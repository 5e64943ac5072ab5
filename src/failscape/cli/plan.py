"""`failscape plan CONFIG`: what a budget can prove, how long it takes, what it costs, before it is spent."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import click

from failscape.cli.screen import shell_path
from failscape.config import HuntConfig
from failscape.config.files import load_config
from failscape.engines import model_maker
from failscape.errors import ConfigError, FailscapeError
from failscape.planning.foresight import (
    LABEL_SECONDS,
    QUICK,
    Expectation,
    Foresight,
    Pace,
    RunPlan,
    SimulationEffort,
    reckon,
    say_range,
)
from failscape.planning.measuring import measure
from failscape.plugins import kind_of
from failscape.runtime.progress import duration
from failscape.runtime.warm_start import choose_accuracy
from failscape.stats.judging.accuracy import JudgeAccuracy


@click.command("plan")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting.")
@click.option(
    "--measure", "measuring", is_flag=True, help="Draw and judge a few images to know speed and size."
)
@click.option("--speed", type=click.FloatRange(0, min_open=True), help="Trials a second, where you know it.")
@click.option("--precise", is_flag=True, help="Simulate larger hunts, for minutes: narrower ranges.")
@click.option("--worlds", type=click.IntRange(2, 20), help="Simulated worlds of each sort.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    config: Path,
    overrides: tuple[str, ...],
    measuring: bool,
    speed: float | None,
    precise: bool,
    worlds: int | None,
    as_json: bool,
) -> None:
    """Say what the budget of CONFIG can prove. Nothing is recorded, and nothing drawn but for --measure."""
    settings = load_config(config, overrides)
    if not as_json:
        click.echo(f"simulating hunts, {'some minutes' if precise else 'some seconds'} …", err=True)
    effort = SimulationEffort(precise, worlds)
    print_plan(make_plan(settings, measuring, speed, effort), as_json)
    if not as_json:
        click.echo(f"next:    failscape run {shell_path(config)} --atlas runs/first")


def make_plan(
    settings: HuntConfig,
    measuring: bool = False,
    speed: float | None = None,
    effort: SimulationEffort = QUICK,
) -> RunPlan:
    foresee = kind_of(settings).foresee
    if foresee is None:
        raise ConfigError(f"hunts of kind {settings.hunt!r} have no plan", "run it with a small budget")
    foresight: Foresight = foresee(settings, known_accuracy(settings), effort)
    found = asyncio.run(measure(settings)) if measuring else Pace()
    if speed:
        found = Pace(speed, found.picture_bytes, f"{speed:g} trials a second, as given")
    return reckon(settings, foresight, found)


def known_accuracy(settings: HuntConfig) -> JudgeAccuracy | None:
    """How the judge errs, as far as that is known before a run. One that cannot be made is the doctor's."""
    roles = settings.models()
    role = "judge" if "judge" in roles else "verifier"
    if role not in roles:
        return None
    try:
        judge = model_maker(settings)(role, roles[role])
    except FailscapeError:
        return None
    return choose_accuracy(settings, judge, Path())


def print_plan(plan: RunPlan, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(plan.as_data(), indent=2))
        return
    for line in _lines(plan):
        click.echo(line)


def _lines(plan: RunPlan) -> Iterator[str]:
    foresight = plan.foresight
    yield from _section("space", foresight.space)
    yield from _section("proof", foresight.proves)
    yield from _section("finds", [_expectation(one) for one in foresight.expectations])
    deepest = [_by_depth(one.by_depth) for one in foresight.expectations if one.like == "medium"]
    yield from _section("", [f"of them, for the medium one: {text}" for text in deepest if text])
    yield from _section("", [foresight.simulated] if foresight.simulated else [])
    yield from _section("time", [_time(plan)])
    yield from _section("cost", [_cost(plan)])
    yield from _section("disk", [f"{plan.disk / 2**20:,.0f} MiB ({plan.disk_basis})"])
    minutes = plan.labels * LABEL_SECONDS / 60
    yield from _section(
        "labels",
        [f"{plan.labels:,} to know the judge to ±3 %, some {minutes:.0f} minutes (`failscape view`)"],
    )
    for warning in foresight.warnings:
        yield f"{click.style('warning', fg='yellow')} {warning}"
    for proposal in foresight.proposals:
        yield f"  try    --set {proposal.change}\n         {proposal.brings}"


def _expectation(one: Expectation) -> str:
    what = "finding" if one.high == 1 else "findings"
    return f"expect {one} {what} if the model is like {one.like!r}: {one.about}"


def _section(name: str, lines: tuple[str, ...] | list[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"{click.style(f'{name if not number else str():<7}', bold=True)} {line}"


def _by_depth(ranges: object) -> str:
    if not isinstance(ranges, dict):
        return ""
    words = {"0": "entities alone", "1": "with one value"}
    return ", ".join(
        f"{say_range(low, high)} {words.get(depth, f'with {depth} values')}"
        for depth, (low, high) in ranges.items()
    )


def _time(plan: RunPlan) -> str:
    if plan.seconds is None:
        return "unknown: `--measure` draws a few images, `--speed N` says how many trials a second there are"
    return f"{duration(plan.seconds)} at {plan.speed}"


def _cost(plan: RunPlan) -> str:
    missing = ", ".join(f"`{role}`" for role in plan.unpriced)
    if plan.cost is None:
        return (
            f"unknown: no `price` (money per request) is set for {missing}" if missing else "nothing is asked"
        )
    return f"{plan.cost:,.2f} in money" + (
        f", without {missing}, whose `price` is not set" if missing else ""
    )
