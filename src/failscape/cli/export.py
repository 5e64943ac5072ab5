"""`failscape export ATLAS --format …`: write what a hunt recorded to a file or folder."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import click

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.files import explained
from failscape.atlas.formats.failureatlas import KIND, write_rows
from failscape.atlas.formats.plain import write_csv, write_jsonl, write_parquet, write_pictures
from failscape.cli.screen import TellingLine
from failscape.errors import ConfigError
from failscape.evidence import load_hunt
from failscape.evidence.found import node_verdicts, told_hunt
from failscape.export.every_eval_ever import write_record
from failscape.hunts.t2i.baselines.failureatlas import FailureAtlasHunt

#: Formats that are text, and can go to the screen.
WRITERS: dict[str, Callable[[Atlas, HuntRow, TextIO], int]] = {
    "failureatlas": lambda atlas, hunt, out: write_rows(atlas, hunt, out, *_told(atlas, hunt)),
    "jsonl": write_jsonl,
    "csv": write_csv,
}

PICTURES, PARQUET, RECORD = "pictures", "parquet", "eee"


@click.command("export")
@click.argument("atlas", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice([*WRITERS, PARQUET, RECORD, PICTURES]),
    default="jsonl",
    show_default=True,
    help="failureatlas: one node a line; jsonl: one trial a line, everything; csv: counts per subject;"
    " parquet: a table, one trial a row (extra `export`); eee: a folder in the result schema Every Eval"
    " Ever 0.3.0; pictures: a folder with all that are kept, named as in `findings --json` and jsonl.",
)
@click.option(
    "--hunt", "hunt_id", type=int, help="Number of the hunt; that of the latest trial when left out."
)
@click.option("-o", "--output", default="-", show_default=True, help="What to write; - is the screen.")
def command(atlas: Path, form: str, hunt_id: int | None, output: str) -> None:
    """Write the trials, nodes or results of ATLAS to a file or folder."""
    if output == "-" and form not in WRITERS:
        what = "file" if form == PARQUET else "folder"
        raise click.UsageError(f"--format {form} needs a {what}: give it with -o")
    with Atlas.open(atlas, readonly=True) as opened:
        if form == RECORD:
            _write_record(opened, hunt_id, Path(output))
            return
        hunt = opened.hunt(hunt_id)
        if form == PICTURES:
            with explained(Path(output)):
                written, gone = write_pictures(opened, hunt, Path(output))
            click.echo(f"{written:,} pictures of hunt {hunt.id} written to {output}")
            if gone:
                click.echo(
                    f"{gone:,} pictures are gone or damaged: see `failscape doctor {opened.folder}`", err=True
                )
            return
        if output == "-":
            WRITERS[form](opened, hunt, sys.stdout)
            return
        number = _write_file(opened, hunt, form, Path(output))
    what = "trials" if form in ("jsonl", PARQUET) else "nodes"
    click.echo(f"{number:,} {what} of hunt {hunt.id} written to {output}")


def _write_record(atlas: Atlas, hunt_id: int | None, out: Path) -> None:
    loaded = load_hunt(atlas, hunt_id, watch=TellingLine())
    with explained(out):
        written = write_record(loaded, out)
    click.echo(
        f"{written.results:,} results with {written.samples:,} samples of hunt {loaded.row.id} written to"
        f" {written.path}"
    )


def _told(atlas: Atlas, hunt: HuntRow) -> tuple[dict[str, bool] | None, dict[str, float]]:
    """What the hunt itself decided, which is more than its images say (error control, early stops), and what
    its predictor said."""
    if hunt.kind != KIND:
        return None, {}
    try:
        told = told_hunt(atlas, hunt)
    except ConfigError as error:
        click.echo(
            f"Verdicts go by images alone, since the hunt cannot be told again: {error.message}", err=True
        )
        return None, {}
    try:
        scores = told.predicted() if isinstance(told, FailureAtlasHunt) else {}
    except ConfigError as error:
        click.echo(f"`predictor_score` is null, since the predictor cannot be asked: {error}", err=True)
        scores = {}
    return node_verdicts(told), scores


def _write_file(atlas: Atlas, hunt: HuntRow, form: str, path: Path) -> int:
    """A file that is there is complete: it gets its name at the end."""
    draft = path.with_name(f"{path.name}.part")
    try:
        with explained(path):
            number = _write_draft(atlas, hunt, form, draft)
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return number


def _write_draft(atlas: Atlas, hunt: HuntRow, form: str, draft: Path) -> int:
    if form == PARQUET:
        return write_parquet(atlas, hunt, draft)
    with draft.open("w", encoding="utf-8", newline="") as out:
        return WRITERS[form](atlas, hunt, out)
