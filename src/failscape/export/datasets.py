"""Writes findings as an adversarial dataset: an image folder with `metadata.jsonl`, a card, Parquet if asked.

The layout is the one that Hugging Face's `imagefolder` loader reads. Each kind of hunt has its own rows
(`rows.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.faults import explained
from failscape.atlas.files import write_whole
from failscape.errors import AtlasError, ConfigError, MissingExtra
from failscape.export.rows import DatasetRow, classifier_rows, vlm_rows, write_chats
from failscape.plugins import find_kind, kind_names
from failscape.trials import Finding

METADATA = "metadata.jsonl"
CARD = "README.md"
PARQUET = "data.parquet"

Rows = Callable[[Atlas, HuntRow, Sequence[Finding], bool], Iterator[DatasetRow]]


@dataclass(frozen=True, slots=True)
class WrittenDataset:
    """`missing` rows were left out: their pictures were not kept."""

    folder: Path
    rows: int
    findings: int
    missing: int


class RowsOfKind(NamedTuple):
    """How findings of one kind become rows, and what else is written beside them."""

    rows: Rows
    beside: Callable[[Sequence[DatasetRow], Path], None] = lambda rows, folder: None


CLASSIFIER = RowsOfKind(classifier_rows)
VLM = RowsOfKind(vlm_rows, write_chats)


def write_dataset(
    atlas: Atlas,
    row: HuntRow,
    findings: Sequence[Finding],
    out: Path,
    licence: str,
    passes: bool = False,
    parquet: bool = False,
) -> WrittenDataset:
    """Fill the folder `out`, which must not hold a dataset yet. `metadata.jsonl` is written last."""
    kind = find_kind(row.kind)
    if kind.dataset is None:
        able = [name for name in kind_names() if find_kind(name).dataset is not None]
        raise ConfigError(f"{row.kind} hunts have no dataset", f"it is for hunts of kind {', '.join(able)}")
    if (out / METADATA).exists():
        raise ConfigError(f"{out} holds a dataset already", "give another folder with -o, or remove it")
    if parquet and find_spec("pyarrow") is None:
        raise MissingExtra("writing Parquet", "export")
    rows: list[DatasetRow] = []
    missing = 0
    with explained(out):
        for item in kind.dataset.rows(atlas, row, findings, passes):
            placed = _place(atlas, item, out)
            missing += placed is None
            rows += [] if placed is None else [{**placed, **_sources(row), "license": licence}]
        if not rows:
            raise ConfigError("there is nothing to write: no finding has failed images that were kept")
        write_whole(out / CARD, _card(row, rows, findings, licence).encode())
        kind.dataset.beside(rows, out)
        if parquet:
            _write_parquet(rows, out)
        lines = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in rows)
        write_whole(out / METADATA, lines.encode())
    return WrittenDataset(out, len(rows), len(findings), missing)


def _place(atlas: Atlas, item: DatasetRow, out: Path) -> DatasetRow | None:
    """Put the pictures of a row into the folder; `None` when one of them is gone."""
    digests: list[str] = item["images"]
    folder = Path("images", _safe(item.get("folder", "")))
    names = []
    for digest in digests:
        try:
            names.append((folder / atlas.images.copy_out(digest, out / folder).name).as_posix())
        except AtlasError:
            return None
    rest = {key: value for key, value in item.items() if key not in ("images", "folder")}
    shown = {"file_name": names[0]} if len(names) == 1 else {"file_name": names[0], "file_names": names}
    return {**shown, **rest}


def _safe(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in name)


def _sources(row: HuntRow) -> DatasetRow:
    """Which models drew and failed."""
    roles = {role: f"{one.provider} {one.model}".strip() for role, one in row.identities.items()}
    return {"generator": roles.get("generator", ""), "target": roles.get(find_kind(row.kind).target, "")}


def _card(row: HuntRow, rows: Sequence[DatasetRow], findings: Sequence[Finding], licence: str) -> str:
    first = rows[0]
    named = "\n".join(f"- {finding.title}" for finding in findings[:200])
    return (
        f"---\nlicense: {json.dumps(licence)}\n---\n\n# Pictures that {first['target']} gets wrong\n\n"
        f"{len(rows):,} pictures of {len(findings):,} findings, written by Failscape from hunt {row.id}. "
        f"Drawn by: {first['generator'] or 'a folder of photos'}. One line of `{METADATA}` per picture.\n\n"
        f"Licence of the pictures: {licence}. What a generator's pictures may be used for is said by its own "
        f"licence; check it before you pass them on.\n\n## Findings\n\n{named}\n"
    )


def _write_parquet(rows: Sequence[DatasetRow], out: Path) -> None:
    """One file with the pictures inside, as the `datasets` library reads images: bytes and path."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in rows[0]}
    names = columns.pop("file_name")
    columns["image"] = [{"bytes": (out / name).read_bytes(), "path": name} for name in names]
    features = {"info": {"features": {"image": {"_type": "Image"}}}}
    table = pa.table(columns).replace_schema_metadata({"huggingface": json.dumps(features)})
    pq.write_table(table, out / PARQUET)
