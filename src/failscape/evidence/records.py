"""Findings with all their trials as plain data: what `findings --json` prints, one record a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from failscape.atlas import Atlas, StoredTrial
from failscape.evidence.hunt import HuntEvidence
from failscape.evidence.marks import Mark
from failscape.evidence.shots import ShotRow
from failscape.trials import Finding


def finding_records(hunt: HuntEvidence, findings: Iterable[Finding]) -> Iterator[dict[str, Any]]:
    """Every trial of each finding, whatever it was drawn for."""
    for finding in findings:
        stored = list(hunt.trials_of(finding))
        row = ShotRow(finding.subject, finding.title, hunt.rate(finding), (), finding.counted)
        yield {
            "hunt": hunt.row.id,
            "kind": hunt.row.kind,
            "subject": finding.subject,
            "title": finding.title,
            "caption": finding.caption,
            "status": finding.status,
            "rate": finding.rate,
            "interval": list(finding.interval),
            "e_value": finding.e_value,
            "trials": finding.trials,
            "failures": finding.failures,
            "invalid": finding.invalid,
            "images_used": sum(len(one.images) for one in stored),
            "parents": list(finding.parents),
            "details": finding.details_data,
            "seeds": [one.trial.seed for one in stored],
            "image_files": [file for one in stored for file in _files(hunt.atlas, one)],
            "evidence": [_trial_record(hunt, row, one) for one in stored],
        }


def _trial_record(hunt: HuntEvidence, row: ShotRow, stored: StoredTrial) -> dict[str, Any]:
    """`counted`: whether it is one of the trials that the finding's rate is over."""
    shot = hunt.shot(stored)
    return {
        "key": shot.key,
        "seed": shot.seed,
        "verdict": shot.verdict.value,
        "reason": shot.reason,
        "purpose": shot.purpose,
        "counted": row.counts(shot),
        "checks": {mark.text: _holds(mark) for mark in shot.marks},
        "images": _files(hunt.atlas, stored),
    }


def _holds(mark: Mark) -> bool | None:
    return None if mark.state == "open" else mark.state == "yes"


def _files(atlas: Atlas, stored: StoredTrial) -> list[str | None]:
    """One name per picture; `None` where it was not kept."""
    return [atlas.images.name(digest) for digest in stored.images]
