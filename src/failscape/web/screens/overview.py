"""The first screen: what was asked, what fails, how sure that is, how the run goes."""

from __future__ import annotations

import time
from collections import Counter
from itertools import islice
from typing import Any

from failscape.atlas import Event
from failscape.evidence import HuntEvidence
from failscape.web.library import Library, OpenHunt
from failscape.web.screens.findings import example_of, finding_row

Data = dict[str, Any]

FRESH_SECONDS = 60.0
"""A session that recorded nothing for so long, and never said why it stopped, was killed."""

HEADLINES = 6
WORST = 8


def library_data(library: Library) -> Data:
    """Every atlas with its hunts."""
    atlases = []
    for slug, atlas in library.atlases.items():
        hunts = [_hunt_line(library.hunt(slug, row.id)) for row in atlas.hunts()]
        atlases.append({"slug": slug, "hunts": hunts})
    return {"atlases": atlases}


def _hunt_line(hunt: OpenHunt) -> Data:
    return {
        "id": hunt.row.id,
        "kind": hunt.row.kind,
        "target": hunt.reader.target,
        "trials": sum(hunt.atlas.counts(hunt.row.id).values()),
        "running": is_running(hunt),
    }


def is_running(hunt: OpenHunt) -> bool:
    runs = hunt.atlas.runs(hunt.row.id)
    if not runs or runs[-1].why:
        return False
    return time.time() - (runs[-1].started + runs[-1].seconds) < FRESH_SECONDS


def overview(hunt: OpenHunt) -> Data:
    """Counts, cost and health are there at once; what was found as soon as the hunt is read."""
    atlas, row = hunt.atlas, hunt.row
    spent, runs = atlas.spent(row.id), atlas.runs(row.id)
    budget, search = row.config.get("budget"), row.config.get("search")
    loaded = hunt.loaded(wait=0.25)
    return {
        "kind": row.kind,
        "target": hunt.reader.target,
        "models": {role: one.model or one.provider for role, one in row.identities.items()},
        "counts": {verdict.value: number for verdict, number in atlas.counts(row.id).items()},
        "spent": {
            "images": spent.images,
            "requests": spent.requests,
            "seconds": spent.seconds,
            "money": spent.money,
        },
        "budget": budget if isinstance(budget, dict) else {},
        "running": is_running(hunt),
        "stopped": runs[-1].why if runs else "",
        "limit": hunt.reader.limit,
        "level": search.get("fdr") if isinstance(search, dict) else None,
        "warnings": warnings_of(hunt, loaded),
        "problem": _problem(hunt),
        "found": None if loaded is None else _found(hunt, loaded),
    }


def _problem(hunt: OpenHunt) -> Data | None:
    error = hunt.problem
    return None if error is None else {"error": error.message, "fix": error.fix}


def _found(hunt: OpenHunt, loaded: HuntEvidence) -> Data:
    return {
        "as_of": loaded.trials,
        "findings": len(loaded.findings),
        "statuses": dict(Counter(finding.status for finding in loaded.findings)),
        "curve": loaded.curve,
        "phase": loaded.progress.phase,
        "undecided": loaded.found.undecided,
        "judge": loaded.judge.source if loaded.judge is not None else "",
        "headlines": _headlines(hunt, loaded),
        "worst": _worst(hunt, loaded),
    }


def _headlines(hunt: OpenHunt, loaded: HuntEvidence) -> list[Data]:
    """Findings about different things, with a picture each: more of one thing tells little more."""
    seen: set[str] = set()
    first: list[int] = []
    for number, finding in enumerate(loaded.findings):
        place = hunt.place(finding.subject)
        about = place.about if place else finding.subject
        if about not in seen:
            seen.add(about)
            first.append(number)
        if len(first) == HEADLINES:
            break
    rest = (number for number in range(len(loaded.findings)) if number not in first)
    chosen = [*first, *islice(rest, HEADLINES - len(first))]
    return [
        {
            **finding_row(hunt, number, loaded.findings[number]),
            "example": example_of(hunt, loaded.findings[number]),
        }
        for number in chosen
    ]


def _worst(hunt: OpenHunt, loaded: HuntEvidence) -> list[Data]:
    """Things with the most findings."""
    count = Counter(place.about for one in loaded.findings if (place := hunt.place(one.subject)) is not None)
    return [{"name": name, "findings": number} for name, number in count.most_common(WORST)]


def warnings_of(hunt: OpenHunt, loaded: HuntEvidence | None) -> list[Data]:
    """Each warning once, as it was last seen."""
    events: dict[tuple[str, Any], Event] = {}
    for event in hunt.atlas.events():
        if event.kind in ("warning", "error") and event.hunt in (None, hunt.row.id):
            events[event.kind, event.detail.get("name", event.id)] = event
    found = [{"at": event.at, "kind": event.kind, **_words(event.detail)} for event in events.values()]
    if loaded is not None and loaded.found.warning:
        found.append({"at": None, "kind": "warning", "text": loaded.found.warning, "fix": ""})
    return found


def _words(detail: Data) -> Data:
    text = detail.get("text") or detail.get("message") or detail.get("error") or ""
    return {"text": str(text), "fix": str(detail.get("fix", ""))}
