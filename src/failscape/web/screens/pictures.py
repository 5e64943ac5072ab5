"""All pictures of a hunt: a filtered page of them, one trial in full, and pictures like it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from failscape.atlas.decisions import decided
from failscape.atlas.records import images_of
from failscape.trials import steps_from_json
from failscape.web.columns import TrialFilter
from failscape.web.library import OpenHunt
from failscape.web.screens.findings import page_of, shot_data

Data = dict[str, Any]


def pictures(hunt: OpenHunt, query: Mapping[str, str]) -> Data:
    """A page of trials after filters, newest first unless told, with counts per facet."""
    columns = hunt.columns
    columns.refresh()
    found = columns.select(TrialFilter.from_query(query))
    ordered = found if query.get("order") == "old" else found[::-1]
    start, many = page_of(query)
    page = ordered[start : start + many]
    streams = {number: columns.stream(int(at)) for number, at in zip(columns.ids(page), page, strict=True)}
    data: Data = {
        "total": len(found),
        "all": len(columns),
        "items": _items(hunt, columns.ids(page), streams),
    }
    if not start:
        data["facets"] = columns.facets(found)
    return data


def _items(hunt: OpenHunt, ids: Sequence[int], streams: Mapping[int, str]) -> list[Data]:
    marks = ",".join("?" * len(ids))
    with hunt.atlas.reading() as db:
        rows = db.execute(
            f"SELECT t.id, t.subject, t.verdict, t.reason, t.facts, p.steps FROM trials t"
            f" JOIN plans p ON p.id = t.plan WHERE t.id IN ({marks})",
            ids,
        ).fetchall()
    found = {
        number: {
            "id": number,
            "subject": subject,
            "verdict": verdict,
            "reason": reason,
            "stream": streams[number],
            "image": next(reversed(images_of(steps_from_json(steps), json.loads(facts))), ""),
        }
        for number, subject, verdict, reason, facts, steps in rows
    }
    return [found[number] for number in ids if number in found]


def trial(hunt: OpenHunt, number: int) -> Data:
    """One trial with all that was asked and said."""
    stored = hunt.atlas.trial(hunt.row.id, number)
    endpoints = hunt.atlas.endpoints([call.key for call in stored.calls])
    shot = shot_data(hunt.reader.shot(stored)) or {}
    return {
        **shot,
        "id": stored.id,
        "subject": stored.trial.subject,
        "stream": hunt.reader.purpose(stored.trial.key),
        "started": stored.started,
        "seconds": stored.seconds,
        "calls": [
            {
                "role": call.role,
                "model": call.identity.model or call.identity.provider,
                "raw": call.raw,
                "invalid": call.invalid,
                "facts": call.facts if call.role != "embedder" else "a vector",
                "seconds": call.usage.seconds,
                "cost": call.usage.cost,
                "endpoint": endpoints.get(call.key, ""),
            }
            for call in stored.calls
        ],
        "checks": _checks(stored.steps, stored.trial.facts),
    }


def _checks(steps: Sequence[Any], facts: Sequence[Any]) -> list[Data]:
    return [
        {"kind": check.kind, "value": check.value, "statement": check.statement, "holds": answer}
        for _, check, answer, _ in decided(tuple(steps), list(facts))
    ]
