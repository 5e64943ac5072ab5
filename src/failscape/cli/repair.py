"""`failscape repair ATLAS`: from findings to a better model, its placebo twin, and the proof."""

from pathlib import Path

import click

from failscape.atlas import Atlas
from failscape.atlas.files import output_folder
from failscape.cli.screen import TellingLine, echo_json, run_reported
from failscape.cli.trust import trust_options, vouched_by
from failscape.config import ModelConfig
from failscape.config.files import load_model
from failscape.errors import ConfigError
from failscape.repair.proof import AFTER, PLACEBO, RepairWish
from failscape.repair.session import RepairResult, prove, repair
from failscape.views.read import load_hunt

USUAL = RepairWish()


@click.command("repair")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Folder to write to [ATLAS/repair-HUNT].")
@click.option("--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial unless told.")
@click.option("--model", type=click.Path(path_type=Path), help="The ONNX file, where the config names none.")
@click.option("--labels", type=click.Path(path_type=Path), help="Its labels, one per line.")
@click.option(
    "--after",
    type=click.Path(path_type=Path),
    help="Only prove: a config whose target you trained. Any hunt.",
)
@click.option(
    "--placebo", type=click.Path(path_type=Path), help="With --after: its twin, trained without failures."
)
@click.option(
    "--trained-on",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    help="With --after, hunts in photos: a folder that a twin was trained on. Its pictures are left out.",
)
@click.option(
    "--failures",
    default=USUAL.failures,
    show_default=True,
    help="Failures to draw more of each shown finding.",
)
@click.option(
    "--clean", default=USUAL.clean, show_default=True, help="Plain pictures of each class to learn from."
)
@click.option(
    "--images", default=USUAL.images, show_default=True, help="Fresh pictures of each finding in the proof."
)
@click.option(
    "--rest", default=USUAL.rest, show_default=True, help="Other subjects in the proof, to look for harm."
)
@click.option(
    "--findings",
    default=USUAL.findings,
    show_default=True,
    help="With --after: try at most so many findings, two thirds of them shown.",
)
@trust_options
@click.option("--json", "as_json", is_flag=True, help="Print the proof as one JSON object.")
def command(
    atlas: Path,
    out: Path | None,
    hunt_id: int | None,
    model: Path | None,
    labels: Path | None,
    after: Path | None,
    placebo: Path | None,
    trained_on: tuple[Path, ...],
    failures: int,
    clean: int,
    images: int,
    rest: int,
    findings: int,
    configs: tuple[Path, ...],
    trust_models: bool,
    as_json: bool,
) -> None:
    """Fit the last layer of the classifier in ATLAS anew on its failures, and prove what that changed.

    Two thirds of the findings are shown to the repair, the others are hidden from it. A placebo twin is
    fitted in the same way without failures. All three are tried on fresh seeds.
    A hunt in photos is proven with --after and --placebo, on its own photos.
    """
    wish = RepairWish(failures, clean, images, rest, findings, trained_on=trained_on)
    given, twins = _model(model, labels), _twins(after, placebo)
    vouched = vouched_by(configs, trust_models)
    if given is not None:
        vouched = vouched.plus(given.model_dump(mode="json"))
    with Atlas.open(atlas, readonly=True).vouch(vouched) as opened:
        loaded = load_hunt(opened, hunt_id, watch=TellingLine())
        folder = out or output_folder(atlas, f"repair-{loaded.row.id}")
        result = run_reported(
            lambda reporter: (
                prove(loaded, twins, folder, wish, reporter)
                if twins
                else repair(loaded, given, folder, wish, reporter)
            )
        )
    if as_json:
        echo_json(result.proof.as_data())
    else:
        tell(result)


def _model(path: Path | None, labels: Path | None) -> ModelConfig | None:
    if path is None:
        if labels is not None:
            raise ConfigError("--labels belongs to --model", "give both, or none")
        return None
    return ModelConfig(provider="onnx", path=str(path), labels=str(labels or ""))


def _twins(after: Path | None, placebo: Path | None) -> dict[str, ModelConfig]:
    if after is None and placebo is None:
        return {}
    if after is None or placebo is None:
        raise ConfigError(
            "a proof needs both twins: a change may come from training alone, whatever it was shown",
            "give --after FILE and --placebo FILE",
        )
    return {PLACEBO: load_model(placebo, "target"), AFTER: load_model(after, "target")}


def tell(result: RepairResult) -> None:
    click.echo(f"\nRepair: {result.proof.sentence}\nPlacebo: {result.proof.placebo_sentence}")
    for note in result.proof.notes:
        click.echo(note)
    if result.model is not None:
        click.echo(f"The model: {result.model}")
    click.echo(f"The page: {result.page}")
