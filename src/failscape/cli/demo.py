"""`failscape demo`: a whole hunt against models that come with the package, ending in a report."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from failscape.atlas import Atlas
from failscape.cli.run import run_and_report
from failscape.cli.screen import command_name, run_reported, shell_path
from failscape.config.files import parse_config
from failscape.errors import ConfigError, MissingExtra
from failscape.plugins import Demo, find_kind, kind_names
from failscape.views.pages import write_report

REPAIR = "repair"
#: The variant of a demo that asks about clips.
VIDEO = "video"


@click.command("demo")
@click.argument("kind", default="t2i")
@click.option("--atlas", type=click.Path(path_type=Path), help="Folder [runs/demo, or runs/demo-KIND].")
@click.option("--images", type=click.IntRange(min=1), help="How many to draw; each demo has its own number.")
@click.option("--questioner", help="Who asks in the vlm demo: evolve, learn, or grpo (needs the extra `rl`).")
@click.option("--video", is_flag=True, help="Ask about clips in place of pictures, in the vlm demo.")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", help="Where models run.")
def command(
    kind: str, atlas: Path | None, images: int | None, questioner: str | None, video: bool, engine: str
) -> None:
    """Hunt a small network that comes with the package. No account, no GPU, no torch.

    KIND is the kind of hunt; t2i unless told. `repair` goes on from a classifier's findings to a better
    one and the proof; it needs the extra `repair`.
    """
    if kind == REPAIR:
        _demo_repair(atlas or Path("runs") / "demo-repair", images)
        return
    demo = find_kind(kind).demo
    if demo is None:
        able = ", ".join(name for name in kind_names() if find_kind(name).demo is not None)
        raise ConfigError(f"hunts of kind {kind!r} have no demo", f"these have one: {able}")
    if video and questioner:
        raise ConfigError("`--video` and `--questioner` do not go together", "leave one of them out")
    questioner = VIDEO if video else questioner
    budget = {**demo.settings["budget"], **({} if images is None else {"images": images})}
    other = _questioner(demo, kind, questioner)
    more = {"budget": budget, "engine": {"kind": engine}}
    settings = parse_config({**demo.settings, **other, **more}, "demo")
    name = "demo" if kind == "t2i" else f"demo-{kind}"
    folder = atlas or Path("runs") / (f"{name}-{questioner}" if other else name)
    click.echo(demo.openings.get(questioner or "", demo.opening))
    summary = run_and_report(settings, folder)
    if summary.stop.is_interrupted:
        sys.exit(130)
    with Atlas.open(folder, readonly=True) as opened:
        written = write_report(opened)
    click.echo(f"\nThe report, to share: {written.path}\nTo look around, live and with review:")
    click.echo(f"{command_name()} view {shell_path(folder)}")


def _demo_repair(folder: Path, images: int | None) -> None:
    """Hunt, repair, placebo, proof."""
    if find_spec("onnx") is None:
        raise MissingExtra("repairing a classifier", "repair")
    from failscape.cli.repair import tell
    from failscape.repair.proof import RepairWish
    from failscape.repair.session import repair
    from failscape.views.read import load_hunt

    demo = next(demo for name in kind_names() if (demo := find_kind(name).repair_demo) is not None)
    settings = parse_config({**demo.settings, **({"budget": {"images": images}} if images else {})}, "demo")
    click.echo(demo.opening)
    if run_and_report(settings, folder).stop.is_interrupted:
        sys.exit(130)
    out, wish = folder / "repair-1", RepairWish(images=60)
    with Atlas.open(folder, readonly=True) as opened:
        hunt = load_hunt(opened)
        result = run_reported(lambda reporter: repair(hunt, None, out, wish, reporter))
    tell(result)


def _questioner(demo: Demo, kind: str, name: str | None) -> dict[str, Any]:
    """The settings that another way to ask changes."""
    if name is None:
        return {}
    if name not in demo.variants:
        known = ", ".join(demo.variants) or "none"
        raise ConfigError(f"the {kind} demo has no variant {name!r}", f"it has: {known}")
    return dict(demo.variants[name])
