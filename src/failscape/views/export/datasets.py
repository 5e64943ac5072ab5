"""Writes findings as a dataset: an image folder with `metadata.jsonl`, a card, and what trainers read.

The layout is the one that Hugging Face's `imagefolder` loader reads. Each kind of hunt has its own rows,
and its own files beside them: chats, preference pairs. Rows come from the hunt's own trials and, where more
were drawn of its findings (`draw`), from those. The card says how it was made, by which models, under which
licence.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.files import explained, write_whole
from failscape.errors import AtlasError, ConfigError
from failscape.plugins import DatasetRows, Row, find_kind, kind_names
from failscape.views.export.files import need_parquet, write_data_table, write_lines
from failscape.views.export.splits import RETEST, SHOWN, TRAIN, choose_parts, halves
from failscape.views.rows import FindingRow

#: Findings and prompts named in the card; `metadata.jsonl` has all.
LISTED = 200


def card_of(
    hunt: HuntRow,
    rows: Sequence[Row],
    findings: Sequence[FindingRow],
    licence: str,
    split: Sequence[str] = (),
) -> str:
    """Markdown with the front matter that dataset hubs read."""
    maker = find_kind(hunt.kind).dataset or DatasetRows()
    head = _head(hunt, maker.task, rows, findings, licence)
    body = _body(hunt, maker.about_files, rows, licence, split)
    return "\n".join(chain(head, body, _lists(rows, findings)))


def _head(
    hunt: HuntRow, task: str, rows: Sequence[Row], findings: Sequence[FindingRow], licence: str
) -> Iterator[str]:
    yield "---"
    yield f"license: {json.dumps(licence)}"
    if task:
        yield f"task_categories: [{task}]"
    yield "tags: [failures, failscape]"
    yield "---"
    yield f"\n# Pictures that {rows[0]['target']} gets wrong\n"
    failed = sum(bool(row["failed"]) for row in rows)
    yield (
        f"{len(rows):,} rows, {failed:,} of them failures, of {len(findings):,} findings, written by"
        f" Failscape from hunt {hunt.id}. One line of `metadata.jsonl` per row."
    )


def _body(
    hunt: HuntRow, about_files: str, rows: Sequence[Row], licence: str, split: Sequence[str]
) -> Iterator[str]:
    if about_files:
        yield f"\n{about_files}"
    counts = Counter(row["split"] for row in rows)
    shared = " and no ".join(["no picture", *("finding" if one == SHOWN else one for one in split)])
    yield (
        f"\n`split` says which half a row belongs to: {counts[TRAIN]:,} to {TRAIN}, {counts[RETEST]:,} to"
        f" {RETEST}. The halves share {shared}."
    )
    yield "\n## Licence\n"
    yield (
        f"{licence}. What a generator's pictures may be used for is said by its own licence; check it before"
        " you pass them on."
    )
    yield "\n## How it was made\n"
    yield "| role | provider | model | identity |\n|---|---|---|---|"
    for role, one in hunt.identities.items():
        yield f"| {role} | {one.provider} | {one.model} | `{one.digest[:12]}` |"
    yield f"\nSeed of the hunt: {hunt.config.get('seed', 0)}. Each row has the seed of its picture."


def _lists(rows: Sequence[Row], findings: Sequence[FindingRow]) -> Iterator[str]:
    yield "\n## Findings\n"
    yield from (f"- {row.title} ({row.status})" for row in findings[:LISTED])
    prompts = list(dict.fromkeys(row["prompt"] for row in rows if row.get("prompt")))
    if prompts:
        yield "\n## Prompts\n"
        yield from (f"- {prompt}" for prompt in prompts[:LISTED])
    yield ""


METADATA = "metadata.jsonl"
CARD = "README.md"


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
    two halves together. `retest` rows are hidden from training."""

    folder: Path
    rows: int
    findings: int
    missing: int
    apart: int
    retest: int = 0


class RowSource(NamedTuple):
    """A hunt whose trials become rows: the one with the findings, or one that drew more of them."""

    atlas: Atlas
    hunt: HuntRow


def write_dataset(
    sources: Sequence[RowSource], findings: Sequence[FindingRow], out: Path, wish: DatasetWish
) -> WrittenDataset:
    """Fill the folder `out`, which must not hold a dataset yet. `metadata.jsonl` is written last."""
    first = sources[0].hunt
    maker = find_kind(first.kind).dataset
    if maker is None:
        able = [name for name in kind_names() if find_kind(name).dataset is not None]
        raise ConfigError(f"{first.kind} hunts have no dataset", f"it is for hunts of kind {', '.join(able)}")
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
    retest = sum(row["split"] == RETEST for row in rows)
    return WrittenDataset(out, len(rows), len(findings), missing, apart, retest)


def _rows(
    sources: Sequence[RowSource],
    maker: DatasetRows,
    findings: Sequence[FindingRow],
    out: Path,
    wish: DatasetWish,
) -> tuple[list[Row], int, int]:
    """The rows with their pictures in place; how many lack theirs, and how many belong to no half."""
    claimed = [row.finding for row in findings]
    found = [
        (source, row)
        for source in sources
        for row in maker.rows(source.atlas, source.hunt, claimed, wish.passes)
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
