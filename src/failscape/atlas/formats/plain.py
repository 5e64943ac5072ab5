"""Writes a hunt's trials to files: JSON lines with everything, counts per subject, the pictures, or Parquet.

The Parquet table has a row a trial, with steps and facts as JSON (extra `export`).
"""

import csv
import json
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from failscape.atlas.records import HuntRow, StoredCall, StoredTrial, prompts_of
from failscape.atlas.store import Atlas
from failscape.errors import AtlasError, MissingExtra
from failscape.trials import Generate, Verdict, steps_to_json

COLUMNS = ("hunt", "subject", "caption", "trials", "valid", "pass", "fail", "invalid", "none", "failure_rate")


def write_jsonl(atlas: Atlas, hunt: HuntRow, out: TextIO) -> int:
    """One trial per line, in the order recorded; gives their number."""
    number = 0
    for stored in atlas.trials(hunt.id):
        out.write(json.dumps(trial_to_data(stored), ensure_ascii=False) + "\n")
        number += 1
    return number


def trial_to_data(stored: StoredTrial) -> dict[str, Any]:
    trial = stored.trial
    return {
        "id": stored.id,
        "hunt": stored.hunt,
        "key": trial.key,
        "subject": trial.subject,
        "seed": trial.seed,
        "verdict": trial.verdict.value,
        "reason": trial.reason,
        "steps": json.loads(steps_to_json(stored.steps)),
        "facts": trial.facts,
        "calls": [_call_to_data(call) for call in stored.calls],
        "started": stored.started,
        "seconds": stored.seconds,
    }


def _call_to_data(call: StoredCall) -> dict[str, Any]:
    usage = call.usage
    return {
        "key": call.key.hex(),
        "role": call.role,
        "model": call.identity.data,
        "facts": call.facts,
        "invalid": call.invalid,
        "raw": call.raw,
        "image": call.image or None,
        "file": call.file or None,
        "requests": usage.requests,
        "seconds": usage.seconds,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cost": usage.cost,
    }


def write_pictures(atlas: Atlas, hunt: HuntRow, folder: Path) -> tuple[int, int]:
    """Every kept picture of a hunt's trials as a file; gives how many, and how many cannot be read."""
    written, gone = set[str](), set[str]()
    for stored in atlas.trials(hunt.id):
        for digest in stored.images:
            if digest in written or atlas.images.name(digest) is None:
                continue
            try:
                atlas.images.copy_out(digest, folder)
                written.add(digest)
            except AtlasError:
                gone.add(digest)
    return len(written), len(gone)


def no_formula(text: str) -> str:
    """Text for a cell. Spreadsheets run what begins with one of these signs; an apostrophe stops that."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def write_csv(atlas: Atlas, hunt: HuntRow, out: TextIO) -> int:
    """One subject per line; `failure_rate` is the share of valid trials that failed."""
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    number = 0
    for subject, counts in atlas.subject_counts(hunt.id):
        steps, _ = atlas.facts_of(hunt.id, subject)
        caption = next((step.prompt for step in steps if isinstance(step, Generate)), "")
        valid = counts[Verdict.PASS] + counts[Verdict.FAIL]
        rate = f"{counts[Verdict.FAIL] / valid:.6g}" if valid else ""
        numbers = [counts[verdict] for verdict in Verdict]
        table.writerow(
            (hunt.id, no_formula(subject), no_formula(caption), sum(numbers), valid, *numbers, rate)
        )
        number += 1
    return number


#: Rows that are in memory at once.
GROUP = 10_000


def write_parquet(atlas: Atlas, hunt: HuntRow, path: Path) -> int:
    """One trial a row, in the order recorded; gives their number."""
    if find_spec("pyarrow") is None:
        raise MissingExtra("writing Parquet", "export")
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, whole = pa.string(), pa.int64()
    schema = pa.schema(
        [
            ("id", whole), ("hunt", whole), ("key", text), ("subject", text), ("seed", whole),
            ("verdict", text), ("reason", text), ("prompts", pa.list_(text)),
            ("images", pa.list_(text)), ("steps", text), ("facts", text), ("started", pa.float64()),
            ("seconds", pa.float64()),
        ]
    )  # fmt: skip
    number = 0
    with pq.ParquetWriter(path, schema) as table:
        for group in _groups(atlas, hunt.id):
            table.write_table(pa.Table.from_pylist(group, schema))
            number += len(group)
    return number


def _groups(atlas: Atlas, hunt_id: int) -> Iterator[list[dict[str, Any]]]:
    rows = map(_row, atlas.trials(hunt_id))
    while group := list(islice(rows, GROUP)):
        yield group


def _row(stored: StoredTrial) -> dict[str, Any]:
    """A line of `jsonl` without its calls, with what nests as text, and prompts and pictures beside it."""
    row = trial_to_data(stored)
    del row["calls"]
    nested = {name: json.dumps(row[name], ensure_ascii=False) for name in ("steps", "facts")}
    prompts = prompts_of(stored.steps, stored.trial.facts)
    return {**row, **nested, "prompts": prompts, "images": list(stored.images)}
