"""Writes a hunt's trials to plain files: JSON lines with everything, counts per subject, or the pictures."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, TextIO

from failscape.atlas.records import HuntRow, StoredCall, StoredTrial
from failscape.atlas.store import Atlas
from failscape.errors import AtlasError
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
