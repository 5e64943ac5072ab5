"""Findings and suspects: a list to filter and sort, everything about one of them, and where they lie.

Things lie across the map, attributes down; each can be opened to what it is made of. It shows what was
tried: the search looks harder where failures are, so cells compare like with like only roughly. What holds
for the whole space is said beside it, where the hunt can tell.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from failscape.errors import FailscapeError
from failscape.search.surveys import SpaceRate, Survey
from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import split_subject
from failscape.spaces.prompt_list import load_prompts
from failscape.stats.intervals import exact_interval
from failscape.trials import Subject, Verdict
from failscape.views.pages import sections
from failscape.views.read import Shot, ShotRow
from failscape.views.read.numbers import number as number_text
from failscape.views.read.numbers import percent, spread
from failscape.views.read.shots import rate_of_counts
from failscape.views.rows import FindingFilter, FindingRow, finding_row, finding_rows, select
from failscape.views.viewer.library import Data, OpenHunt


def rate_data(rate: float, interval: tuple[float, float]) -> dict[str, Any]:
    """A rate with its interval, and both as they are written everywhere."""
    low, high = interval
    return {
        "rate": rate,
        "low": low,
        "high": high,
        "rate_text": percent(rate),
        "spread_text": spread((low, high)),
    }


def counted_rate(failures: int, valid: int) -> dict[str, Any]:
    share = failures / valid if valid else float("nan")
    return {**rate_data(share, exact_interval(failures, valid)), "failures": failures, "trials": valid}


LARGEST_PAGE = 400
MOST_FACETS = 60
SHOTS = 400
PARENTS = 6

#: What the list can be narrowed by → the values of a row.
FACETS: dict[str, Callable[[FindingRow], Sequence[str]]] = {
    "status": lambda row: [row.status],
    "class": lambda row: [row.group],
    "thing": lambda row: [row.thing],
    "attribute": lambda row: row.attributes,
}


def row_data(row: FindingRow) -> Data:
    """One line of the list."""
    return {**row.as_data(), **rate_data(row.rate, row.interval), "look": row.status.look}


def findings(hunt: OpenHunt, query: Mapping[str, str]) -> Data | None:
    """A page of the list after filters, with how many there are per facet; `None` until the hunt is read."""
    rows = hunt.derived("findings", finding_rows)
    if rows is None:
        return None
    kept = select(rows, FindingFilter.from_query(query))
    start, many = page_of(query)
    return {
        "total": len(kept),
        "all": len(rows),
        "as_of": hunt.as_of,
        "rows": [_shown(hunt, row, query.get("view") == "cards") for row in kept[start : start + many]],
        "facets": {name: _facet(kept, names_of) for name, names_of in FACETS.items()},
    }


def _shown(hunt: OpenHunt, row: FindingRow, pictured: bool) -> Data:
    """A row as it is sent; on cards with the first picture that failed."""
    failed = (
        shot.images[-1]
        for shot in (hunt.reader.shots(row.subject) if pictured else ())
        if shot.verdict is Verdict.FAIL and shot.images and not shot.apart
    )
    return {**row_data(row), "image": next(failed, "")}


def page_of(query: Mapping[str, str]) -> tuple[int, int]:
    """First row and number of rows asked for, within reason."""
    return _whole(query.get("start"), 0, 10**9), _whole(query.get("many"), 100, LARGEST_PAGE)


def _whole(text: str | None, otherwise: int, most: int) -> int:
    return min(int(text), most) if text and text.isascii() and text.isdigit() else otherwise


def _facet(
    rows: Sequence[FindingRow], names_of: Callable[[FindingRow], Sequence[str]]
) -> list[tuple[str, int]]:
    counted = Counter(name for row in rows for name in names_of(row))
    return [(value, number) for value, number in counted.most_common(MOST_FACETS) if value]


def shot_data(shot: Shot) -> Data:
    return {
        "key": shot.key,
        "seed": shot.seed,
        "verdict": shot.verdict.value,
        "reason": shot.reason,
        "images": list(shot.images),
        "marks": [asdict(mark) for mark in shot.marks],
        "lines": [asdict(line) for line in shot.lines],
        "replies": [asdict(line) for line in shot.replies],
        "purpose": shot.purpose,
        "apart": shot.apart,
    }


def finding(hunt: OpenHunt, subject: str) -> Data | None:
    """Everything about one finding or any other subject; `None` until the hunt is read."""
    loaded = hunt.loaded(wait=0.25)
    if loaded is None:
        return None
    listed = [*loaded.findings, *loaded.suspects]
    number = next((at for at, one in enumerate(listed) if one.subject == subject), None)
    if number is None:
        return _bare(hunt, subject)
    found = listed[number]
    evidence = loaded.evidence(found, SHOTS, PARENTS)
    return {
        **row_data(finding_row(loaded, number + 1, found)),
        "meaning": found.status.sentence,
        "e_text": number_text(found.e_value),
        "own": _row_data(evidence.own),
        "parents": [_row_data(row) for row in evidence.parents],
        "tallies": [asdict(one) for one in evidence.tallies],
        "notes": [*loaded.went_wrong(found), *sections.page_of(hunt.row.kind).notes(found)],
        "details": found.details_data,
        "course": _course(evidence.own),
        "near": {
            name: listed[at].subject
            for name, at in (("previous", number - 1), ("next", number + 1))
            if 0 <= at < len(listed)
        },
    }


def _bare(hunt: OpenHunt, subject: str) -> Data:
    """A subject that is no finding: what was seen of it."""
    shots = hunt.reader.shots(subject)
    counted = [shot for shot in shots if shot.valid and not shot.apart]
    failures, trials = sum(shot.verdict is Verdict.FAIL for shot in counted), len(counted)
    rate = rate_of_counts(failures, trials, f"valid {hunt.reader.unit}s of this very request")
    row = ShotRow(subject, subject, rate, shots)
    title = next((line.text for shot in shots for line in shot.lines if line.label == "prompt"), subject)
    return {
        "subject": subject,
        "title": title,
        "caption": "",
        "status": "",
        "counted": rate.counted,
        **rate_data(rate.rate if trials else float("nan"), rate.interval),
        "failures": failures,
        "trials": trials,
        "own": _row_data(row),
        "parents": [],
        "tallies": [],
        "notes": [],
        "details": {},
        "course": _course(row),
        "near": {},
    }


def _row_data(row: ShotRow) -> Data:
    return {
        "subject": row.subject,
        "title": row.title,
        "failures": row.rate.failures,
        "trials": row.rate.of,
        "counted": row.rate.counted,
        "only": row.only,
        **rate_data(row.rate.rate, row.rate.interval),
        "shots": [
            None if shot is None else {**shot_data(shot), "counts": row.counts(shot)} for shot in row.shots
        ],
    }


def _course(row: ShotRow) -> list[tuple[int, float, float, float]]:
    """How rate and interval moved, trial by trial that counts: (trials, rate, low, high)."""
    course, failures, trials = [], 0, 0
    for shot in row.shots:
        if shot is not None and row.counts(shot):
            trials += 1
            failures += shot.verdict is Verdict.FAIL
            course.append((trials, failures / trials, *exact_interval(failures, trials)))
    return course


ALONE = "alone"
MOST_ROWS, MOST_COLUMNS, MOST_LABELS = 60, 40, 14
ALL_PROMPTS = "all prompts"
Named = tuple[str, tuple[tuple[str, str], ...]]


class Branches(NamedTuple):
    """Where a thing hangs in the tree of things."""

    upper: str
    lower: str


class Tried(NamedTuple):
    entity: str
    values: tuple[tuple[str, str], ...]
    failures: int
    valid: int


def failure_map(hunt: OpenHunt, query: Mapping[str, str]) -> Data:
    """`class`, `sub` and `thing` open a column, `kind` opens a row."""
    loaded = hunt.loaded(wait=0.25)
    survey = loaded.survey_as(Survey) if loaded is not None else None
    kind = hunt.reader.kind
    found: Data = {
        "kind": hunt.row.kind,
        "by_skill": kind.mapped_by_skill,
        "tree": survey.skill_tree if survey is not None else None,
        "confusions": None,
        "heat": None,
        "whole": whole_of(hunt),
        "reading": hunt.loaded() is None and hunt.problem is None,
    }
    if kind.mapped_by_skill:
        return found
    columns = hunt.columns
    columns.refresh()
    apart = {purpose.name for purpose in kind.purposes if not purpose.follows_search}
    place = prompt_places(hunt.row.config) or split_tuple
    tried = [
        Tried(*place(subject), fails, fails + passes) for subject, passes, fails in columns.per_subject(apart)
    ]
    found["heat"] = heat_of(tried, branches_of(hunt.row.config), query)
    if kind.target == "classifier":  # its trials say which label was given instead
        found["confusions"] = confusions_of(_called(columns.per_wrong_label()))
    return found


def whole_of(hunt: OpenHunt) -> Data | None:
    """What holds for the whole space, free of the search's bias: in all, by class, by kind of attribute."""
    loaded = hunt.loaded(wait=0.25)
    survey = loaded.survey_as(Survey) if loaded is not None else None
    rates = survey.space_rates if survey is not None else ()
    everywhere = next((one for one in rates if one.group == "all"), None)
    if everywhere is None:
        return None
    return {
        **rate_data(everywhere.rate, everywhere.interval),
        "nodes": everywhere.subjects,
        "columns": _rates_of(rates, "class"),
        "rows": _rates_of(rates, "kind"),
    }


def _rates_of(rates: Iterable[SpaceRate], group: str) -> dict[str, Data]:
    return {one.name: rate_data(one.rate, one.interval) for one in rates if one.group == group}


def split_tuple(subject: str) -> Named:
    entity, pairs = split_subject(subject)
    return entity, tuple(pairs)


def prompt_places(config: Mapping[str, Any]) -> Callable[[str], Named] | None:
    """Where prompts of a list lie: one column, and a row for each of their tags; `None` for other hunts."""
    space = config.get("space")
    name = str(space.get("prompts") or "") if isinstance(space, Mapping) else ""
    if not name:
        return None
    try:
        tags = {one.id: tuple(one.tags) for one in load_prompts(name).prompts}
    except FailscapeError:
        tags = {}
    return lambda subject: (ALL_PROMPTS, tuple((tag.name, tag.value) for tag in tags.get(subject, ())))


def branches_of(config: Mapping[str, Any]) -> dict[str, Branches]:
    """Thing → its class and sub-class; empty where the hunt names no corpus, or it has moved."""
    space = config.get("space")
    name = str(space.get("corpus") or "") if isinstance(space, Mapping) else ""
    try:
        corpus = load_corpus(name) if name else None
    except FailscapeError:
        return {}
    entities = corpus.entities if corpus is not None else ()
    return {one.name: Branches(one.upper_class, one.sub_class) for one in entities}


def heat_of(tried: Iterable[Tried], tree: Mapping[str, Branches], query: Mapping[str, str]) -> Data:
    column_of = _column_of(tree, query)
    opened = query.get("kind", "")
    cells: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for one in tried:
        column = column_of(one.entity)
        if not column or not one.valid:
            continue
        rows_here = _rows_of(one.values, opened)
        # A trial with two attributes stands in two rows, but only once in the totals.
        places = [(row, name) for row in rows_here for name in (column, "")]
        for at in (*places, *((("", column), ("", "")) if rows_here else ())):
            cells[at][0] += one.failures
            cells[at][1] += one.valid
    rows = _ranked(cells, 0, MOST_ROWS, first=ALONE)
    columns = _ranked(cells, 1, MOST_COLUMNS)
    level = "thing" if query.get("thing") or query.get("sub") else "sub" if query.get("class") else "class"
    return {
        "level": level if tree else "thing",
        "opened": opened,
        "rows": rows,
        "columns": columns,
        "hidden": [
            len({at[0] for at in cells}) - 1 - len(rows),
            len({at[1] for at in cells}) - 1 - len(columns),
        ],
        "cells": [[_cell(cells, row, column) for column in ("", *columns)] for row in ("", *rows)],
    }


def _column_of(tree: Mapping[str, Branches], query: Mapping[str, str]) -> Any:
    """What a thing is counted under: "" for those outside what was opened."""
    upper, lower, thing = query.get("class", ""), query.get("sub", ""), query.get("thing", "")

    def column(entity: str) -> str:
        at = tree.get(entity)
        if thing:
            return entity if entity == thing else ""
        if at is None:
            return entity
        if (upper and at.upper != upper) or (lower and at.lower != lower):
            return ""
        return entity if lower else at.lower if upper else at.upper

    return column


def _rows_of(values: Sequence[tuple[str, str]], opened: str) -> list[str]:
    if opened:
        return [value for kind, value in values if kind == opened]
    return list(dict.fromkeys(kind for kind, _ in values)) or [ALONE]


def _ranked(cells: Mapping[tuple[str, str], list[int]], axis: int, most: int, first: str = "") -> list[str]:
    """The worst first, among those tried most. The empty name holds the totals."""
    totals = {at[axis]: counts for at, counts in cells.items() if at[1 - axis] == "" and at[axis]}
    kept = sorted(totals, key=lambda name: (-totals[name][1], name))[:most]
    return sorted(kept, key=lambda name: (name != first, -totals[name][0] / totals[name][1], name))


def _cell(cells: Mapping[tuple[str, str], list[int]], row: str, column: str) -> Data | None:
    found = cells.get((row, column))
    return counted_rate(*found) if found else None


def _called(wrong_labels: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """(thing, label given instead) → how often, over all subjects about the thing."""
    called: dict[tuple[str, str], int] = defaultdict(int)
    for (subject, label), number in wrong_labels.items():
        called[Subject.parse(subject).name, label] += number
    return called


def confusions_of(called: Mapping[tuple[str, str], int]) -> Data:
    """What was taken for what: (thing, wrong label) → how often."""
    things: dict[str, int] = defaultdict(int)
    labels: dict[str, int] = defaultdict(int)
    for (thing, label), number in called.items():
        things[thing] += number
        labels[label] += number
    rows = sorted(things, key=lambda name: (-things[name], name))[:MOST_LABELS]
    columns = sorted(labels, key=lambda name: (-labels[name], name))[:MOST_LABELS]
    return {
        "rows": rows,
        "columns": columns,
        "counts": [[called.get((row, column), 0) for column in columns] for row in rows],
        "total": sum(called.values()),
    }
