"""Writes findings as a dataset: an image folder with `metadata.jsonl`, a card, and what trainers read.

The layout is the one that Hugging Face's `imagefolder` loader reads. Each kind of hunt has its own rows, and
its own files beside them: chats, preference pairs. Rows come from the hunt's own trials and, where more were
drawn of its findings (`draw`), from those.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.files import explained, write_whole
from failscape.errors import AtlasError, ConfigError
from failscape.export.card import card_of
from failscape.export.classifier_rows import classifier_rows
from failscape.export.files import need_parquet, write_data_table, write_lines
from failscape.export.parts import choose_parts
from failscape.export.splits import halves
from failscape.export.t2i_rows import t2i_rows, write_pairs
from failscape.export.vlm_rows import vlm_rows, write_chats
from failscape.plugins import DatasetRows, Row, find_kind, kind_names
from failscape.trials import Finding

METADATA = "metadata.jsonl"
CARD = "README.md"

Rows = Callable[[Atlas, HuntRow, Sequence[Finding], bool], Iterator[Row]]
Beside = Callable[[Sequence[Row], Path, bool], None]


def _nothing(rows: Sequence[Row], folder: Path, parquet: bool = False) -> None:
    """A classifier's rows are all there is to say."""


class RowsOfKind(NamedTuple):
    """How findings of one kind become rows, and what else is written beside them."""

    rows: Rows
    beside: Beside = _nothing


CLASSIFIER = RowsOfKind(classifier_rows)
VLM = RowsOfKind(vlm_rows, write_chats)
T2I = RowsOfKind(t2i_rows, write_pairs)


@dataclass(frozen=True, slots=True)
class DatasetWish:
    """What to write. `passes`: also what the target got right. `split`: what the halves must not share."""

    licence: str
    passes: bool = False
    parquet: bool = False
    split: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenDataset:
    """`missing` rows were left out because their pictures were not kept, `apart` because they would tie the
    two halves together."""

    folder: Path
    rows: int
    findings: int
    missing: int
    apart: int


class RowSource(NamedTuple):
    """A hunt whose trials become rows: the one with the findings, or one that drew more of them."""

    atlas: Atlas
    hunt: HuntRow


def write_dataset(
    sources: Sequence[RowSource], findings: Sequence[Finding], out: Path, wish: DatasetWish
) -> WrittenDataset:
    """Fill the folder `out`, which must not hold a dataset yet. `metadata.jsonl` is written last."""
    first = sources[0].hunt
    maker = _maker(first)
    if (out / METADATA).exists():
        raise ConfigError(f"{out} holds a dataset already", "give another folder with -o, or remove it")
    if wish.parquet:
        need_parquet()
    with explained(out):
        rows, missing, apart = _rows(sources, maker, findings, out, wish)
        if not rows:
            raise ConfigError("there is nothing to write: no finding has failed images that were kept")
        write_whole(out / CARD, card_of(first, rows, findings, wish.licence, wish.split).encode())
        maker.beside(rows, out, wish.parquet)
        if wish.parquet:
            write_data_table(rows, out)
        write_lines(out / METADATA, rows)
    return WrittenDataset(out, len(rows), len(findings), missing, apart)


def _maker(hunt: HuntRow) -> DatasetRows:
    maker = find_kind(hunt.kind).dataset
    if maker is None:
        able = [name for name in kind_names() if find_kind(name).dataset is not None]
        raise ConfigError(f"{hunt.kind} hunts have no dataset", f"it is for hunts of kind {', '.join(able)}")
    return maker


def _rows(
    sources: Sequence[RowSource],
    maker: DatasetRows,
    findings: Sequence[Finding],
    out: Path,
    wish: DatasetWish,
) -> tuple[list[Row], int, int]:
    """The rows with their pictures in place; how many lack theirs, and how many belong to no half."""
    found = [
        (source, row)
        for source in sources
        for row in maker.rows(source.atlas, source.hunt, findings, wish.passes)
    ]
    seed = int(sources[0].hunt.config.get("seed", 0))
    shown = choose_parts([one.subject for one in findings], (), 0, seed).shown
    parts = halves([row for _, row in found], wish.split, shown)
    rows, missing = list[Row](), 0
    for (source, item), half in zip(found, parts, strict=True):
        placed = _place(source.atlas, item, out) if half else None
        missing += bool(half) and placed is None
        if placed is not None:
            rows.append({**placed, "split": half, **_models(source.hunt), "license": wish.licence})
    return rows, missing, parts.count("")


def _place(atlas: Atlas, item: Row, out: Path) -> Row | None:
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


def _models(row: HuntRow) -> Row:
    """Which models drew and failed."""
    roles = {role: f"{one.provider} {one.model}".strip() for role, one in row.identities.items()}
    return {"generator": roles.get("generator", ""), "target": roles.get(find_kind(row.kind).target, "")}
