"""Writes a hunt's trials to plain files: JSON lines with everything, or a table of counts per subject."""

from __future__ import annotations

import csv
import json
from typing import Any, TextIO

from failscape.atlas.records import HuntRow, StoredCall, StoredTrial
from failscape.atlas.store import Atlas
from failscape.trials import Generate, Verdict, steps_to_json

COLUMNS = ("hunt", "subject", "caption", "trials", "valid", "pass", "fail", "invalid", "none", "failure_rate")


def write_jsonl(atlas: Atlas, hunt: HuntRow, out: TextIO) -> int:
    """One trial per line, in the order recorded; gives their number."""
    number = 0
    for stored in atlas.trials(hunt.id):
        out.write(json.dumps(trial_to_data(atlas, stored), ensure_ascii=False) + "\n")
        number += 1
    return number


def trial_to_data(atlas: Atlas, stored: StoredTrial) -> dict[str, Any]:
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
        "calls": [_call_to_data(atlas, call) for call in stored.calls],
        "started": stored.started,
        "seconds": stored.seconds,
    }


def _call_to_data(atlas: Atlas, call: StoredCall) -> dict[str, Any]:
    usage = call.usage
    return {
        "key": call.key.hex(),
        "role": call.role,
        "model": call.identity.data,
        "facts": call.facts,
        "invalid": call.invalid,
        "raw": call.raw,
        "image": call.image or None,
        "path": call.path.relative_to(atlas.folder).as_posix() if call.path else None,
        "requests": usage.requests,
        "seconds": usage.seconds,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cost": usage.cost,
    }


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
        table.writerow((hunt.id, subject, caption, sum(numbers), valid, *numbers, rate))
        number += 1
    return number
