"""What the report says about t2i hunts in particular: the map of failure, rules, and how far to trust it.

See `sections.py` for how it joins the page.

How much of the space fails and where, from a survey's masses. Pure.

Masses are free of the search's bias. Where there are none, `heat_of_counts` shows what was tried instead.

Shows rules: who fails with what, pictures of nodes it covers, and exceptions beside them.

What the report says about wording: do failures belong to the concept or to the way it is said?

Only for hunts that vary the wording. Counts come from the prompts that were sent, so it holds for every
strategy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from failscape.atlas import Atlas, HuntRow
from failscape.report.figures.basic import Estimate, percent, spread
from failscape.report.figures.heat import VAGUE, HeatMap, Patch
from failscape.report.kinds.t2i_trust import Panel, panels
from failscape.report.load import EvidenceReader, Shot
from failscape.report.maps import ALONE, FailureMap, Placer, place_node
from failscape.report.sections import LEAD, TRUST, Context, Section, Tile
from failscape.spaces.corpus import load_corpus
from failscape.stats.intervals import clopper_pearson
from failscape.stats.nuisance import Nuisance, nuisance_effect
from failscape.trials import Finding, Verdict

ALL = "all"
JOINT = " × "
MOST_ROWS, MOST_COLUMNS = 40, 10
MOST_LINES = 8


@dataclass(frozen=True, slots=True)
class MassList:
    """Groups of one sort, the worst first. `hidden` more are not shown, or have too few pictures to tell."""

    title: str
    lines: list[Estimate]
    hidden: int = 0


LISTS = (
    ("layer", "By number of attributes"),
    ("family", "By family of attributes"),
    ("sub-class", "By sub-class"),
    ("entity", "By thing"),
)
"""Classes and kinds are the margins of the map already."""


def heat_of_masses(masses: Sequence[dict[str, Any]]) -> HeatMap | None:
    """Kinds of attributes × classes, with totals first; `None` when no cell has a picture."""
    cells = {}
    for mass in masses:
        if mass["group"] == "cell" and mass["images"]:
            column, _, row = str(mass["name"]).partition(JOINT)
            cells[row or ALONE, column] = mass
    if not cells:
        return None
    rows = _kept(masses, "kind", [row for row, _ in cells], MOST_ROWS)
    columns = _kept(masses, "class", [column for _, column in cells], MOST_COLUMNS)
    patches = {at: _patch(mass) for at, mass in cells.items() if at[0] in rows and at[1] in columns}
    totals = {(row, ALL): _named(masses, "kind", row) for row in rows}
    totals |= {(ALL, column): _named(masses, "class", column) for column in columns}
    totals[ALL, ALL] = next((mass for mass in masses if mass["group"] == "all"), None)
    found = {at: _patch(mass) for at, mass in totals.items() if mass is not None and mass["images"]}
    if not found:
        return HeatMap(rows, columns, patches)
    rows = [ALL, *rows] if any(row == ALL for row, _ in found) else rows
    columns = [ALL, *columns] if any(column == ALL for _, column in found) else columns
    return HeatMap(rows, columns, patches | found, totals=True)


def heat_of_counts(found: FailureMap) -> HeatMap | None:
    """What was seen where the search went: darker cells may only have been looked at harder."""
    patches = {}
    for at, cell in found.cells.items():
        low, high = clopper_pearson(cell.failed, cell.tried)
        words = f"{cell.failed:,} of {cell.tried:,} trials failed, subjects: {cell.subjects:,}"
        patches[at] = Patch(cell.share, (float(low), float(high)), words)
    return HeatMap(found.rows, found.columns, patches) if patches else None


def overall(masses: Sequence[dict[str, Any]]) -> tuple[Estimate, int] | None:
    """The mean failure rate over the whole space, and the number of its nodes."""
    found = next((mass for mass in masses if mass["group"] == "all" and mass["images"]), None)
    return (_estimate(found), int(found["nodes"])) if found else None


def mass_lists(masses: Sequence[dict[str, Any]]) -> list[MassList]:
    lists = []
    for group, title in LISTS:
        lines = [_estimate(mass) for mass in masses if mass["group"] == group and mass["images"]]
        if group == "layer":
            lines = [replace(line, name=_layer_name(line.name)) for line in sorted(lines, key=_by_name)]
        else:
            lines.sort(key=lambda line: (-line.rate, line.name))
        clear = [line for line in lines if line.interval[1] - line.interval[0] <= VAGUE]
        if len(clear) > 1:
            lists.append(MassList(title, clear[:MOST_LINES], len(lines) - len(clear[:MOST_LINES])))
    return lists


def _by_name(line: Estimate) -> str:
    return line.name


def _layer_name(name: str) -> str:
    """Layers are named by how many attributes their nodes have."""
    return {"0": "the thing alone", "1": "1 attribute"}.get(
        name, f"{name} attributes" if name.isdigit() else name
    )


def _kept(masses: Sequence[dict[str, Any]], group: str, names: Sequence[str], most: int) -> list[str]:
    """The groups that hold the most pictures, the worst first; `alone` comes before all."""
    known = {str(mass["name"]): mass for mass in masses if mass["group"] == group}
    different = sorted(dict.fromkeys(names), key=lambda name: (-_of(known, name, "images"), name))[:most]
    return sorted(different, key=lambda name: (name != ALONE, -_of(known, name, "rate"), name))


def _of(known: dict[str, dict[str, Any]], name: str, field: str) -> float:
    return float(known[name][field]) if name in known else 0.0


def _named(masses: Sequence[dict[str, Any]], group: str, name: str) -> dict[str, Any] | None:
    return next((mass for mass in masses if mass["group"] == group and mass["name"] == name), None)


def _patch(mass: dict[str, Any]) -> Patch:
    line = _estimate(mass)
    return Patch(line.rate, line.interval, line.words)


def _estimate(mass: dict[str, Any]) -> Estimate:
    low, high = mass["interval"]
    words = f"{mass['images']:,} pictures speak for {mass['nodes']:,} nodes"
    return Estimate(str(mass["name"]), float(mass["rate"]), (float(low), float(high)), words)


PICTURED = 6
LISTED = 30
EXAMPLES = 6
EXCEPTIONS = 6


@dataclass(frozen=True, slots=True)
class Sample:
    """One node of a rule: its name without what all nodes of the rule share, and one picture of it."""

    name: str
    subject: str
    shot: Shot


@dataclass(frozen=True, slots=True)
class RuleCard:
    """A rule as it is shown: `who` fails with `values` and any `more` further ones.

    `held_out` is the share of failing nodes among those that the search did not choose.
    """

    number: int
    who: str
    scope: str
    values: list[str]
    more: int
    covers: int
    certified: int
    exceptions: int
    held_out: Estimate | None
    examples: list[Sample]
    passing: list[Sample]
    others: list[str]
    """Names of exceptions that have no picture here."""


def rule_cards(rules: Sequence[dict[str, Any]], reader: EvidenceReader) -> list[RuleCard]:
    """The first rules with pictures, some more without; what lies beyond is only counted on the page."""
    return [_card(rule, at + 1, reader, at < PICTURED) for at, rule in enumerate(rules[:LISTED])]


def pictures_of(cards: Sequence[RuleCard]) -> tuple[str, ...]:
    samples = (sample for card in cards for sample in (*card.examples, *card.passing))
    return tuple(digest for sample in samples for digest in sample.shot.images[:1])


def _card(rule: dict[str, Any], number: int, reader: EvidenceReader, pictured: bool) -> RuleCard:
    who, values = str(rule["who"]), [str(value) for value in rule["values"]]
    exceptions = [str(one) for one in rule.get("exceptions", ())]
    shared = {value.rpartition("=")[2] for value in values} | ({who} if rule["scope"] == "entity" else set())
    passing = _samples(exceptions, shared, reader, Verdict.PASS, EXCEPTIONS) if pictured else []
    shown = {sample.subject for sample in passing}
    examples = [str(one) for one in rule.get("examples", ())]
    return RuleCard(
        number=number,
        who=who or "everything",
        scope=str(rule["scope"]) if who else "",
        values=[value.rpartition("=")[2] for value in values],
        more=max(0, int(rule.get("layer", 0)) - len(values)),
        covers=int(rule["covers"]),
        certified=int(rule["certified"]),
        exceptions=len(exceptions),
        held_out=held_out(rule.get("held_out")),
        examples=_samples(examples, shared, reader, Verdict.FAIL, EXAMPLES) if pictured else [],
        passing=passing,
        others=[_name(one, shared) for one in exceptions if one not in shown],
    )


def held_out(share: dict[str, Any] | None) -> Estimate | None:
    """A share of nodes that were set aside before the search."""
    if not share or not share["of"]:
        return None
    low, high = share["interval"]
    words = f"{share['hits']:.3g} of {share['of']:,} nodes"
    return Estimate("held out", share["hits"] / share["of"], (float(low), float(high)), words)


def _samples(
    subjects: Sequence[str], shared: set[str], reader: EvidenceReader, verdict: Verdict, most: int
) -> list[Sample]:
    """One picture a node: the first with the verdict that the node has."""
    found = []
    for subject in subjects:
        shots = [shot for shot in reader.shots(subject) if shot.images]
        shot = next((one for one in shots if one.verdict is verdict), shots[0] if shots else None)
        if shot is not None:
            found.append(Sample(_name(subject, shared), subject, shot))
        if len(found) == most:
            break
    return found


def _name(subject: str, shared: set[str]) -> str:
    """`cat; Base: Colour=red` → `cat, red`, without what is said anyway."""
    parts = [part.rpartition("=")[2] for part in subject.split("; ")]
    return ", ".join([part for part in parts if part not in shared] or parts)


CONCERN = 0.05
"""Below this p-value the wording matters somewhere."""


def wording_notes(atlas: Atlas, row: HuntRow) -> Iterator[str]:
    """One or two sentences, for a hunt whose wording was varied."""
    if (row.config.get("space") or {}).get("wording") != "vary":
        return
    found = nuisance_effect(list(counts_by_wording(atlas, row.id)))
    if found is None:
        yield "Every node was asked for in several wordings, but too few pictures tell what that does."
    else:
        yield _sentence(found)


def counts_by_wording(atlas: Atlas, hunt_id: int) -> Iterator[Sequence[tuple[int, int]]]:
    """Passes and failures of each subject, by what was asked for."""
    query = (
        "SELECT subject, sum(verdict = 'pass'), sum(verdict = 'fail') FROM trials"
        " WHERE hunt = ? AND verdict IN ('pass', 'fail') GROUP BY subject, plan ORDER BY subject, plan"
    )
    with atlas.reading() as db:
        rows = db.execute(query, (hunt_id,)).fetchall()
    subject, levels = None, list[tuple[int, int]]()
    for name, passes, fails in rows:
        if name != subject and levels:
            yield levels
            levels = []
        subject = name
        levels.append((passes, fails))
    if levels:
        yield levels


def _sentence(found: Nuisance) -> str:
    told = f"{found.units:,} nodes and {found.trials:,} pictures tell"
    low, high = (percent(end) for end in found.interval)
    if found.p_value > CONCERN:
        return (
            f"Every node was asked for in several wordings ({told}). There is no sign that the wording "
            "matters: the failures belong to the concepts. If the rate of failure differs between the "
            f"wordings of one node, then by {high} at most (standard deviation, upper end of a 95% interval)."
        )
    return (
        f"Every node was asked for in several wordings ({told}). The wording matters: the rate of failure "
        f"differs between the wordings of one node by {percent(found.spread)} (standard deviation beyond "
        f"chance, 95% interval {low} to {high}; p = {found.p_value:.3g})."
    )


TEMPLATE = "t2i.html"
JUDGE_ALLOWED_FOR = ("certified", "probable")
"""Strategies that reckon with the judge's errors."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules with pictures, some more without, how many there are, and their precision taken together."""

    pictured: list[RuleCard]
    listed: list[RuleCard]
    total: int
    precision: Estimate | None


@dataclass(frozen=True, slots=True)
class MassMap:
    heat: HeatMap
    lists: list[MassList]


@dataclass(frozen=True, slots=True)
class Trust:
    panels: list[Panel]
    notes: list[str]


def placer(config: dict[str, Any]) -> Placer:
    """Columns are classes of entities, rows are kinds of attributes."""
    corpus = load_corpus(str(config.get("space", {}).get("corpus", "toybox")))
    return place_node({entity.name: entity.upper_class for entity in corpus.entities})


def sections(context: Context) -> Iterator[Section]:
    yield from _map(context.survey.get("masses") or ())
    yield from _rules(context)
    yield from _trust(context)


def tiles(context: Context) -> Iterator[Tile]:
    found = overall(context.survey.get("masses") or ())
    if found is not None:
        mass, nodes = found
        yield Tile("Of random pictures fail", percent(mass.rate), spread(mass.interval))
        yield Tile("Nodes in the space", f"{nodes:,}")


def notes(finding: Finding) -> Iterator[str]:
    """Sentences about one finding: the interaction, which check is to blame, the rate without errors."""
    for name in ("interaction", "blamed"):
        said = finding.details.get(name)
        if isinstance(said, dict) and said.get("sentence"):
            sentence = str(said["sentence"])
            yield sentence[:1].upper() + sentence[1:]
    corrected = finding.details.get("corrected")
    if isinstance(corrected, dict):
        low, high = corrected["interval"]
        rate = percent(float(corrected["rate"]))
        yield f"Allowing for the judge’s errors, {rate} fail ({spread((float(low), float(high)))})."


def _map(masses: Any) -> Iterator[Section]:
    heat = heat_of_masses(masses)
    if heat is None:
        return
    yield Section(
        "map",
        "Where it fails",
        TEMPLATE,
        MassMap(heat, mass_lists(masses)),
        LEAD,
        "Map",
        "How often a random picture fails, by class of thing and kind of attribute. It is estimated from "
        "nodes drawn at random before the search began, so it does not depend on where the search went.",
        "Take any node of the space at random: the number is the chance that one picture of it fails, "
        "the small range its 95% interval. A node with several attributes counts in the row of each. "
        "“alone” is the thing without attributes. Darker is worse; a wide range means few pictures.",
    )


def _rules(context: Context) -> Iterator[Section]:
    rules = context.survey.get("rules") or ()
    if not rules:
        return
    cards = rule_cards(rules, context.reader)
    pictured = [card for card in cards if card.examples]
    listed = [card for card in cards if not card.examples]
    yield Section(
        "rules",
        "What the failures have in common",
        TEMPLATE,
        Rules(pictured, listed, len(rules), held_out(context.survey.get("rule_precision"))),
        LEAD,
        "Rules",
        "A few rules stand for many failures. Each is shown with nodes that were found to fail, and beside "
        "them the exceptions that pass.",
        "A rule says who fails with what. The share of held-out nodes that fail is its precision: those "
        "nodes were drawn at random before the search began, so they had no part in making the rule. The "
        "range is a 95% interval; each node has a few pictures only, so their number is an estimate. "
        f"Every picture is the first of its node with the verdict that the node has. The first {PICTURED} "
        "rules have pictures.",
        pictures_of(pictured),
    )


def _trust(context: Context) -> Iterator[Section]:
    search = context.loaded.row.config.get("search") or {}
    allowed_for = search.get("strategy") in JUDGE_ALLOWED_FOR
    found = panels(context.survey, context.loaded.judge, context.limit, allowed_for)
    said = [str(note) for note in context.survey.get("notes") or ()]
    said += wording_notes(context.atlas, context.loaded.row)
    if found or said:
        yield Section("trust", "How far to trust it", TEMPLATE, Trust(found, said), TRUST, "Trust")
