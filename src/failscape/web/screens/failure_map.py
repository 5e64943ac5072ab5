"""The map: where failures lie. Things across, attributes down; each can be opened to what it is made of.

It shows what was tried: the search looks harder where failures are, so cells compare like with like only
roughly. What holds for the whole space is said beside it, where the hunt can tell.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from failscape.errors import FailscapeError
from failscape.hunts.t2i.survey.survey import Mass, T2ISurvey
from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import split_subject
from failscape.spaces.prompt_list import load_prompts
from failscape.web.library import OpenHunt
from failscape.web.screens.findings import counted_rate, rate_data

Data = dict[str, Any]

ALONE = "alone"
MOST_ROWS, MOST_COLUMNS, MOST_LABELS = 60, 40, 14
CALLED = "called "
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
    # Skills of a vlm hunt, from families to kinds of question; `None` where there are none yet.
    loaded = hunt.loaded(wait=0.25)
    survey = loaded.survey.as_data() if loaded is not None and loaded.survey is not None else {}
    tree = survey.get("taxonomy")
    found: Data = {
        "kind": hunt.row.kind,
        "tree": (tree if isinstance(tree, dict) and tree.get("trials") else None),
        "confusions": None,
        "heat": None,
    }
    found["whole"] = whole_of(hunt)
    found["reading"] = hunt.loaded() is None and hunt.problem is None
    if hunt.row.kind == "vlm":
        return found
    columns = hunt.columns
    columns.refresh()
    apart = {hunt.reader.kind.purposes.get(mark, "") for mark in hunt.reader.kind.apart}
    tree = branches_of(hunt.row.config)
    place = prompt_places(hunt.row.config) or split_tuple
    tried = [
        Tried(*place(subject), fails, fails + passes) for subject, passes, fails in columns.per_subject(apart)
    ]
    found["heat"] = heat_of(tried, tree, query)
    if hunt.row.kind == "classifier":
        found["confusions"] = confusions_of(_called(columns.per_reason()))
    return found


def whole_of(hunt: OpenHunt) -> Data | None:
    """What holds for the whole space, free of the search's bias: in all, by class, by kind of attribute."""
    loaded = hunt.loaded(wait=0.25)
    survey = loaded.survey_as(T2ISurvey) if loaded is not None else None
    masses = [mass for mass in survey.masses if mass.images] if survey is not None else []
    everywhere = next((mass for mass in masses if mass.group == "all"), None)
    if everywhere is None:
        return None
    return {
        **rate_data(everywhere.rate, everywhere.interval),
        "nodes": everywhere.nodes,
        "columns": _rates_of(masses, "class"),
        "rows": _rates_of(masses, "kind"),
    }


def _rates_of(masses: Iterable[Mass], group: str) -> dict[str, Data]:
    return {mass.name: rate_data(mass.rate, mass.interval) for mass in masses if mass.group == group}


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


def _called(reasons: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    called: dict[tuple[str, str], int] = defaultdict(int)
    for (subject, reason), number in reasons.items():
        if reason.startswith(CALLED):
            called[split_subject(subject)[0], reason.removeprefix(CALLED)] += number
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
