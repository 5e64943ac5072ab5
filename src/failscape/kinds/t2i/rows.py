"""Findings of a t2i hunt as rows of a dataset: prompts, pictures, and what the judge said of each check.

Passing pictures of the same prompts are always among them, since a preference needs both. `reward` is the
share of checks that hold.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from failscape.atlas import Atlas, HuntRow, StoredTrial
from failscape.atlas.judging import decided
from failscape.atlas.records import prompts_of
from failscape.plugins import DatasetRows, Row
from failscape.trials import Finding, Verdict
from failscape.views.export.files import write_lines, write_table
from failscape.views.export.splits import RETEST, TRAIN

PAIRS_TABLE = "pairs.parquet"


class T2IRows(DatasetRows):
    """Every kept picture of every finding, and preference pairs of them."""

    task = "text-to-image"
    about_files = (
        "`pairs_train.jsonl` and `pairs_retest.jsonl` have a passing and a failed picture of one prompt"
        " a line (`chosen`, `rejected`). `reward` is the share of checks that hold."
    )

    def rows(self, atlas: Atlas, hunt: HuntRow, findings: Sequence[Finding], passes: bool) -> Iterator[Row]:
        return t2i_rows(atlas, hunt, findings, passes)

    def beside(self, rows: Sequence[Row], folder: Path, parquet: bool) -> None:
        write_pairs(rows, folder, parquet)


def t2i_rows(atlas: Atlas, row: HuntRow, findings: Sequence[Finding], passes: bool) -> Iterator[Row]:
    """Every kept picture of every finding whose checks were decided, failed or not."""
    seen: set[str] = set()
    for finding in findings:
        for stored in atlas.trials(row.id, subject=finding.subject):
            judged = stored.trial.verdict in (Verdict.FAIL, Verdict.PASS)
            if judged and stored.images and stored.images[-1] not in seen:
                seen.add(stored.images[-1])
                yield _drawn(finding, stored)


def _drawn(finding: Finding, stored: StoredTrial) -> Row:
    trial = stored.trial
    checks = [
        {"kind": check.kind, "value": check.value, "statement": check.statement, "holds": bool(holds)}
        for _, check, holds, _ in decided(stored.steps, trial.facts)
    ]
    return {
        "images": [stored.images[-1]],
        "folder": "",
        "prompt": prompts_of(stored.steps, trial.facts)[-1],
        "seed": trial.seed,
        "failed": trial.verdict is Verdict.FAIL,
        "reward": sum(check["holds"] is True for check in checks) / len(checks),
        "checks": checks,
        "reason": trial.reason,
        "subject": finding.subject,
        "finding": finding.title,
    }


def write_pairs(rows: Sequence[Row], out: Path, parquet: bool = False) -> None:
    """`pairs_train.jsonl` and `pairs_retest.jsonl`: a passing and a failed picture of one prompt a line.

    With `parquet` also `pairs.parquet` with the pictures inside, in the columns of diffusion DPO.
    """
    halves = {half: pairs_of([row for row in rows if row["split"] == half]) for half in (TRAIN, RETEST)}
    for half, pairs in halves.items():
        write_lines(out / f"pairs_{half}.jsonl", pairs)
    if parquet:
        write_pairs_table([{**pair, "split": half} for half in halves for pair in halves[half]], out)


def pairs_of(rows: Sequence[Row]) -> list[Row]:
    """Each failed picture with a passing one of its prompt, in turn; prompts that only fail give none."""
    passing: dict[str, list[Row]] = {}
    for row in rows:
        if not row["failed"]:
            passing.setdefault(row["prompt"], []).append(row)
    pairs, used = list[Row](), dict[str, int]()
    for row in rows:
        others = passing.get(row["prompt"], [])
        if row["failed"] and others:
            number = used[row["prompt"]] = used.get(row["prompt"], -1) + 1
            better = others[number % len(others)]
            pairs.append(
                {
                    "prompt": row["prompt"],
                    "chosen": better["file_name"],
                    "rejected": row["file_name"],
                    "chosen_seed": better["seed"],
                    "rejected_seed": row["seed"],
                    "why": row["reason"],
                    "subject": row["subject"],
                }
            )
    return pairs


def write_pairs_table(pairs: Sequence[Row], out: Path) -> None:
    """Preferences in the columns that trainers of diffusion DPO read: the chosen picture comes first."""
    columns: dict[str, list[Any]] = {
        "caption": [pair["prompt"] for pair in pairs],
        "jpg_0": [(out / pair["chosen"]).read_bytes() for pair in pairs],
        "jpg_1": [(out / pair["rejected"]).read_bytes() for pair in pairs],
        "label_0": [1.0] * len(pairs),
        "split": [pair["split"] for pair in pairs],
    }
    write_table(columns, (), out / PAIRS_TABLE)


ROWS = T2IRows()
