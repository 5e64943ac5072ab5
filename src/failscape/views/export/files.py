"""The files that hold the rows of a dataset: JSON lines, and Parquet (extra `export`)."""

import json
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from failscape.atlas.files import write_whole
from failscape.errors import MissingExtra
from failscape.plugins import Row

DATA_TABLE = "data.parquet"


def write_lines(path: Path, rows: Iterable[Row]) -> None:
    """One JSON object a line, all of the file or nothing."""
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


def need_parquet() -> None:
    if find_spec("pyarrow") is None:
        raise MissingExtra("writing Parquet", "export")


def write_data_table(rows: Sequence[Row], out: Path) -> None:
    """All rows with their pictures, as the `datasets` library reads images: bytes and path."""
    columns = _columns([{name: value for name, value in row.items() if name != "file_name"} for row in rows])
    columns["image"] = [_picture(out, row["file_name"]) for row in rows]
    write_table(columns, ("image",), out / DATA_TABLE)


def _columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _picture(out: Path, name: str) -> dict[str, Any]:
    return {"bytes": (out / name).read_bytes(), "path": name}


def write_table(columns: dict[str, list[Any]], images: Sequence[str], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(columns)
    if images:
        features = {"info": {"features": {name: {"_type": "Image"} for name in images}}}
        table = table.replace_schema_metadata({"huggingface": json.dumps(features)})
    pq.write_table(table, path)
