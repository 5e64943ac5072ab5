"""Sessions, events, endpoints, settings and cost of a hunt."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

import yaml

from failscape.web.library import OpenHunt

Data = dict[str, Any]
EVENTS = 500


def runs(hunt: OpenHunt) -> Data:
    atlas, row = hunt.atlas, hunt.row
    events = [event for event in atlas.events() if event.hunt in (None, row.id)]
    return {
        "runs": [asdict(run) for run in atlas.runs(row.id)],
        "events": [asdict(event) for event in reversed(events[-EVENTS:])],
        "hidden_events": max(0, len(events) - EVENTS),
        "endpoints": [event.detail for event in events if event.kind == "endpoint"],
        "models": [
            {"name": name, "role": one.role, "provider": one.provider, "model": one.model}
            for name, one in row.identities.items()
        ],
        "settings": shown_settings(row.config),
    }


def costs(hunt: OpenHunt) -> Data:
    """By role. It reads every call, so it has a question of its own: the rest need not wait for it."""
    found = hunt.atlas.costs(hunt.row.id)
    return {
        "roles": [{"role": role, "calls": calls, **asdict(usage)} for role, (calls, usage) in found.items()]
    }


def shown_settings(config: Data) -> str:
    """Settings hold no secrets, but an address may carry a name and password."""
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
    return re.sub(r"://[^/@\s]+@", "://…@", text)
