"""The first screen: what was asked, what fails, how sure that is, how the run goes; and what runs cost."""

import time
from collections import Counter
from dataclasses import asdict

from failscape.views.read import BeforeAfter, HuntEvidence, varied_examples
from failscape.views.read.answer import answer_of, theme_examples
from failscape.views.read.numbers import percent, spread
from failscape.views.rows import finding_row
from failscape.views.viewer.library import Data, Library, OpenHunt
from failscape.views.viewer.screens.findings import row_data, whole_of

#: A session that recorded nothing for so long, and never said why it stopped, was killed.
FRESH_SECONDS = 60.0

HEADLINES = 6
WORST = 8
#: Pictures of each theme.
THEME_PAIRS = 2

#: What a card quotes from its trial: the prompt stands below the picture already.
QUOTED = ("asked", "answered", "right answer")


def library_data(library: Library) -> Data:
    atlases = []
    for slug, atlas in library.atlases.items():
        hunts = [_hunt_line(library.hunt(slug, row.id)) for row in atlas.hunts()]
        atlases.append({"slug": slug, "hunts": hunts})
    return {"atlases": atlases}


def _hunt_line(hunt: OpenHunt) -> Data:
    return {
        "id": hunt.row.id,
        "kind": hunt.row.kind,
        "role": hunt.reader.kind.target,
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
    budget = row.config.get("budget")
    loaded = hunt.loaded(wait=0.25)
    hunt.warm_up()
    error = hunt.problem
    # What the runs noticed, and what was noticed when they were read.
    found = [{"at": one.at, "kind": one.kind, **_words(one.detail)} for one in hunt.reader.warnings]
    if loaded is not None and loaded.found.warning:
        found.append({"at": None, "kind": "warning", "text": loaded.found.warning, "fix": ""})
    return {
        "kind": row.kind,
        "role": hunt.reader.kind.target,
        "target": hunt.reader.target,
        "models": {role: hunt.model_name(role) for role in row.identities},
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
        "warnings": found,
        "problem": None if error is None else {"error": error.message, "fix": error.fix},
        "reading": hunt.telling,
        "found": hunt.derived("overview", lambda evidence: _found(hunt, evidence)),
    }


def _found(hunt: OpenHunt, loaded: HuntEvidence) -> Data:
    shown = loaded.findings or loaded.suspects
    count = Counter(place.about for one in shown if (place := hunt.place(one.subject)) is not None)
    return {
        "as_of": hunt.as_of,
        "findings": len(loaded.findings),
        "suspects": len(loaded.suspects),
        "guarantees": _guarantees(loaded),
        "curve": loaded.curve,
        "phase": loaded.progress.phase,
        "undecided": loaded.found.undecided,
        "whole": whole_of(hunt),
        "rules": [{"text": rule.text, "proof": rule.proof} for rule in loaded.tested_rules],
        "answer": _answer(loaded),
        "judge": loaded.judge.source if loaded.judge is not None else "",
        # Examples about different things and attributes, with pictures: more of one tells little more.
        "headlines": [
            _example(loaded, one) for one in varied_examples(shown, hunt.place, loaded.evidence, HEADLINES)
        ],
        "worst": [{"name": name, "findings": number} for name, number in count.most_common(WORST)],
    }


def _guarantees(loaded: HuntEvidence) -> list[str]:
    """What can be relied on, a sentence for each status that is claimed."""
    level = "" if loaded.level is None else percent(loaded.level)
    return [
        f"{number:,} {status.guarantee(number, loaded.unit, level)}"
        for status, number in loaded.statuses.items()
        if status.is_claimed
    ]


def _answer(loaded: HuntEvidence) -> Data:
    """The headline and the themes of the first screen, each with pictures."""
    answer = answer_of(loaded)
    themes = [
        {
            **theme.as_data(),
            "rate_text": percent(theme.rate.rate),
            "spread_text": spread(theme.rate.interval),
            "examples": [_example(loaded, one) for one in theme_examples(loaded, theme, THEME_PAIRS)],
        }
        for theme in answer.shown
    ]
    seen = [
        {**one.as_data(), "rate_text": percent(one.rate.rate), "usual_text": percent(one.usual_rate)}
        for one in answer.seen
    ]
    return {**answer.as_data(), "seen": seen, "themes": themes, "hidden": len(answer.themes) - len(themes)}


def _example(loaded: HuntEvidence, one: BeforeAfter) -> Data:
    return {
        **row_data(finding_row(loaded, one.number, one.evidence.finding)),
        "example": {
            "after": one.after.images[-1],
            "before": one.before.images[-1] if one.before is not None else "",
            "before_title": one.parent.title if one.parent is not None else "",
            "quotes": [
                {"label": line.label, "text": line.text} for line in one.after.lines if line.label in QUOTED
            ],
        },
    }


def _words(detail: Data) -> Data:
    text = detail.get("text") or detail.get("message") or detail.get("error") or ""
    return {"text": str(text), "fix": str(detail.get("fix", ""))}


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
        "settings": hunt.reader.shown_settings,
    }


def costs(hunt: OpenHunt) -> Data:
    """By role. It reads every call, so it has a question of its own: the rest need not wait for it."""
    found = hunt.atlas.costs(hunt.row.id)
    return {
        "roles": [{"role": role, "calls": calls, **asdict(usage)} for role, (calls, usage) in found.items()]
    }
