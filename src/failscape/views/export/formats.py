"""The formats of `failscape export`. A new one is a writer, a line in a table below, and one in `ABOUT`."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TextIO

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.formats.failureatlas import KIND, write_rows
from failscape.atlas.formats.plain import write_csv, write_jsonl, write_parquet, write_pictures
from failscape.errors import ConfigError
from failscape.views.export.every_eval_ever import write_record
from failscape.views.read import WatchTelling, load_hunt
from failscape.views.read.found import node_verdicts, told_hunt

#: Is called with what a person should know of the file.
Warn = Callable[[str], None]


class FolderWritten(NamedTuple):
    """What was written, in words, and what is wrong with it, if anything is."""

    said: str
    warning: str = ""


def _write_failureatlas(atlas: Atlas, hunt: HuntRow, out: TextIO, warn: Warn) -> int:
    """With what the hunt itself decided, which is more than its images say (error control, early stops), and
    what its predictor said."""
    if hunt.kind != KIND:
        return write_rows(atlas, hunt, out, None, {})
    try:
        told = told_hunt(atlas, hunt)
    except ConfigError as error:
        warn(f"Verdicts go by images alone, since the hunt cannot be told again: {error.message}")
        return write_rows(atlas, hunt, out, None, {})
    try:
        scores = told.predicted()
    except ConfigError as error:
        warn(f"`predictor_score` is null, since the predictor cannot be asked: {error}")
        scores = {}
    return write_rows(atlas, hunt, out, node_verdicts(told), scores)


def _write_jsonl(atlas: Atlas, hunt: HuntRow, out: TextIO, warn: Warn) -> int:
    return write_jsonl(atlas, hunt, out)


def _write_csv(atlas: Atlas, hunt: HuntRow, out: TextIO, warn: Warn) -> int:
    return write_csv(atlas, hunt, out)


def _write_record(atlas: Atlas, hunt: HuntRow, out: Path, watch: WatchTelling) -> FolderWritten:
    written = write_record(load_hunt(atlas, hunt.id, watch=watch), out)
    samples = f"{written.results:,} results with {written.samples:,} samples"
    return FolderWritten(f"{samples} of hunt {hunt.id} written to {written.path}")


def _write_pictures(atlas: Atlas, hunt: HuntRow, out: Path, watch: WatchTelling) -> FolderWritten:
    written, gone = write_pictures(atlas, hunt, out)
    lost = f"{gone:,} pictures are gone or damaged: see `failscape doctor {atlas.folder}`" if gone else ""
    return FolderWritten(f"{written:,} pictures of hunt {hunt.id} written to {out}", lost)


#: Text, which can go to the screen. Writers give the number of lines.
TEXT_FORMATS: dict[str, Callable[[Atlas, HuntRow, TextIO, Warn], int]] = {
    "failureatlas": _write_failureatlas,
    "jsonl": _write_jsonl,
    "csv": _write_csv,
}

#: One file. Writers give the number of rows.
FILE_FORMATS: dict[str, Callable[[Atlas, HuntRow, Path], int]] = {"parquet": write_parquet}

#: A folder of files.
FOLDER_FORMATS: dict[str, Callable[[Atlas, HuntRow, Path, WatchTelling], FolderWritten]] = {
    "eee": _write_record,
    "pictures": _write_pictures,
}

FORMATS = (*TEXT_FORMATS, *FILE_FORMATS, *FOLDER_FORMATS)

#: What a line, row or file of each format is; for the help of the command.
ABOUT = {
    "failureatlas": "one node a line",
    "jsonl": "one trial a line, everything",
    "csv": "counts per subject",
    "parquet": "a table, one trial a row (extra `export`)",
    "eee": "a folder in the result schema Every Eval Ever 0.3.0",
    "pictures": "a folder with all that are kept, named as in `findings --json` and jsonl",
}

#: Formats whose rows are trials; those of the others are nodes.
OF_TRIALS = ("jsonl", "parquet")
