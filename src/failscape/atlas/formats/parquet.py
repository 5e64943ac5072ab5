"""Writes a hunt's trials as one Parquet table: a row a trial, steps and facts as JSON (extra `export`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from failscape.atlas.formats.plain import trial_to_data
from failscape.atlas.records import HuntRow, StoredTrial, prompts_of
from failscape.atlas.store import Atlas
from failscape.errors import MissingExtra

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
