"""What the report says about t2i hunts in particular: the map of failure, rules, and how far to trust it.

The map comes from the masses of the survey, which are free of the search's bias. Where there are none,
`heat_of_counts` shows what was tried. See `sections.py` for how it joins the page.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from operator import attrgetter
from typing import Any

from failscape.kinds.t2i.findings import NodeDetails
from failscape.kinds.t2i.page_trust import judge_confidence, trust_boxes, wording_notes
from failscape.kinds.t2i.prompts.findings import PromptDetails
from failscape.kinds.t2i.survey.survey import Mass, Rule, Share, T2ISurvey
from failscape.search.checked import CorrectedRate
from failscape.spaces.corpus import load_corpus
from failscape.spaces.prompt_list import load_prompts
from failscape.stats.intervals import exact_interval
from failscape.trials import Finding, Status, Subject, Verdict, parse_label
from failscape.views.figures.basic import Estimate
from failscape.views.figures.heat import HeatCell, HeatMap
from failscape.views.pages.sections import LEAD, TRUST, Context, Section, Tile
from failscape.views.read import HuntReader, Shot
from failscape.views.read.hunt import ALONE, Placer, place_node, place_prompt
from failscape.views.read.numbers import percent, spread

PICTURED = 6
LISTED = 30
EXAMPLES = 6
EXCEPTIONS = 6


@dataclass(frozen=True, slots=True)
class NodePicture:
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
    examples: list[NodePicture]
    passing: list[NodePicture]
    #: Names of exceptions that have no picture here.
    others: list[str]
    #: What its test as one group says; empty for rules that sum up findings.
    proof: str = ""


@dataclass(frozen=True, slots=True)
class MergedRule:
    """Rules that say the same of several groups, or with several values of one kind, told once.

    `whos` fail with all of `shared` values and any one of `either`. Counts are sums: the rules speak of
    different nodes.
    """

    whos: tuple[str, ...]
    scope: str
    shared: tuple[str, ...]
    either: tuple[str, ...]
    layer: int
    parts: tuple[Rule, ...]

    @property
    def values(self) -> int:
        return len(self.shared) + bool(self.either)

    @property
    def held_out(self) -> Share | None:
        known = [one.held_out for one in self.parts if one.held_out is not None and one.held_out.of]
        if len(known) < 2:
            return known[0] if known else None
        hits, of = sum(one.hits for one in known), sum(one.of for one in known)
        return Share(hits, of, exact_interval(hits, of))


def merge_rules(rules: Sequence[Rule]) -> list[MergedRule]:
    """First the same values of several groups, then one kind of value that varies. The strongest first.

    Rules that were tested as one lead; each of them stands by itself.
    """
    tested = [_merged([rule], rule.values, ()) for rule in rules if rule.test]
    by_values: dict[tuple[str, int, frozenset[str]], list[Rule]] = {}
    for rule in (one for one in rules if not one.test):
        by_values.setdefault((rule.scope, rule.layer, frozenset(rule.values)), []).append(rule)
    found = [_merged(same, same[0].values, ()) for same in by_values.values() if len(same) > 1]
    found += _by_kind([same[0] for same in by_values.values() if len(same) == 1])
    return [*tested, *sorted(found, key=lambda one: -sum(rule.certified for rule in one.parts))]


def _by_kind(rules: Sequence[Rule]) -> list[MergedRule]:
    """Rules of one group that differ in the value of one kind; large families first."""
    families: dict[tuple[str, str, int, frozenset[str], str], list[Rule]] = {}
    for rule in rules:
        for value in rule.values:
            rest = frozenset(rule.values) - {value}
            key = (rule.scope, rule.who, rule.layer, rest, parse_label(value).kind)
            families.setdefault(key, []).append(rule)
    taken: set[int] = set()
    found = []
    for (*_, rest, _), family in sorted(families.items(), key=lambda one: -len(one[1])):
        free = [rule for rule in family if id(rule) not in taken]
        if len(free) > 1:
            taken.update(map(id, free))
            either = tuple(value for rule in free for value in rule.values if value not in rest)
            found.append(_merged(free, tuple(v for v in free[0].values if v in rest), either))
    return [*found, *(_merged([rule], rule.values, ()) for rule in rules if id(rule) not in taken)]


def _merged(rules: Sequence[Rule], shared: Sequence[str], either: Sequence[str]) -> MergedRule:
    whos = tuple(dict.fromkeys(rule.who for rule in rules))
    return MergedRule(whos, rules[0].scope, tuple(shared), tuple(either), rules[0].layer, tuple(rules))


def rule_cards(rules: Sequence[Rule], reader: HuntReader) -> list[RuleCard]:
    """The first rules with pictures, some more without; what lies beyond is only counted on the page."""
    merged = merge_rules(rules)[:LISTED]
    return [_card(rule, at + 1, reader, at < PICTURED) for at, rule in enumerate(merged)]


def pictures_of(cards: Sequence[RuleCard]) -> tuple[str, ...]:
    samples = (sample for card in cards for sample in (*card.examples, *card.passing))
    return tuple(digest for sample in samples for digest in sample.shot.images[:1])


def _card(rule: MergedRule, number: int, reader: HuntReader, pictured: bool) -> RuleCard:
    values = [parse_label(value).value for value in rule.shared]
    either = " or ".join(parse_label(value).value for value in rule.either)
    alone = rule.whos if rule.scope == "entity" and len(rule.whos) == 1 else ()
    shared = {*values, *alone}
    exceptions = [name for part in rule.parts for name in part.exceptions]
    in_turn = zip_longest(*(part.examples for part in rule.parts))
    examples = [name for names in in_turn for name in names if name]
    passing = _samples(exceptions, shared, reader, Verdict.PASS, EXCEPTIONS) if pictured else []
    shown = {sample.subject for sample in passing}
    return RuleCard(
        number=number,
        who=", ".join(rule.whos) or "everything",
        scope=rule.scope if any(rule.whos) else "",
        values=[*values, *([either] if either else [])],
        more=max(0, rule.layer - rule.values),
        covers=sum(part.covers for part in rule.parts),
        certified=sum(part.certified for part in rule.parts),
        exceptions=len(exceptions),
        held_out=held_out(rule.held_out),
        examples=_samples(examples, shared, reader, Verdict.FAIL, EXAMPLES) if pictured else [],
        passing=passing,
        others=[_name(one, shared) for one in exceptions if one not in shown],
        proof=rule.parts[0].proof,
    )


def held_out(share: Share | None) -> Estimate | None:
    """A share of nodes that were set aside before the search."""
    if share is None or not share.of:
        return None
    return Estimate("held out", share.rate, share.interval, f"{share.hits:.3g} of {share.of:,} nodes")


def _samples(
    subjects: Sequence[str], shared: set[str], reader: HuntReader, verdict: Verdict, most: int
) -> list[NodePicture]:
    """One picture a node: the first with the verdict that the node has."""
    found = []
    for subject in subjects:
        shots = [shot for shot in reader.shots(subject) if shot.images]
        shot = next((one for one in shots if one.verdict is verdict), shots[0] if shots else None)
        if shot is not None:
            found.append(NodePicture(_name(subject, shared), subject, shot))
        if len(found) == most:
            break
    return found


def _name(subject: str, shared: set[str]) -> str:
    """`cat; Base: Colour=red` → `cat, red`, without what is said anyway."""
    parsed = Subject.parse(subject)
    parts = [parsed.name, *(one.value for one in parsed.values)]
    return ", ".join([part for part in parts if part not in shared] or parts)


ALL = "all"
JOINT = " × "
MOST_ROWS, MOST_COLUMNS = 40, 10
MOST_LINES, MOST_FOLDED = 8, 200


@dataclass(frozen=True, slots=True)
class MassList:
    """Groups of one sort: those that surely fail the most first, whatever their number of pictures.

    The first `lines` are always seen, `more` on request.
    """

    title: str
    lines: list[Estimate]
    more: list[Estimate]


#: Classes and kinds are the margins of the map already.
LISTS = (
    ("layer", "By number of attributes"),
    ("family", "By family of attributes"),
    ("sub-class", "By sub-class"),
    ("entity", "By thing"),
    ("tag", "By tag"),
    ("check", "By kind of check"),
)


def heat_of_masses(masses: Sequence[Mass]) -> HeatMap | None:
    """Kinds of attributes × classes, with totals first; `None` when no cell has a picture."""
    cells = {}
    for mass in masses:
        if mass.group == "cell" and mass.images:
            column, _, row = mass.name.partition(JOINT)
            cells[row or ALONE, column] = mass
    if not cells:
        return None
    rows = _kept(masses, "kind", [row for row, _ in cells], MOST_ROWS)
    columns = _kept(masses, "class", [column for _, column in cells], MOST_COLUMNS)
    patches = {at: _patch(mass) for at, mass in cells.items() if at[0] in rows and at[1] in columns}
    totals = {(row, ALL): _named(masses, "kind", row) for row in rows}
    totals |= {(ALL, column): _named(masses, "class", column) for column in columns}
    totals[ALL, ALL] = next((mass for mass in masses if mass.group == "all"), None)
    found = {at: _patch(mass) for at, mass in totals.items() if mass is not None and mass.images}
    if not found:
        return HeatMap(rows, columns, patches)
    rows = [ALL, *rows] if any(row == ALL for row, _ in found) else rows
    columns = [ALL, *columns] if any(column == ALL for _, column in found) else columns
    return HeatMap(rows, columns, patches | found, totals=True)


def overall(masses: Sequence[Mass]) -> tuple[Estimate, int] | None:
    """The mean failure rate over the whole space, and the number of its nodes."""
    found = next((mass for mass in masses if mass.group == "all" and mass.images), None)
    return (_estimate(found), found.nodes) if found else None


def mass_lists(masses: Sequence[Mass]) -> list[MassList]:
    lists = []
    for group, title in LISTS:
        lines = [_estimate(mass) for mass in masses if mass.group == group and mass.images]
        if group == "layer":
            lines = [
                replace(line, name=_layer_name(line.name)) for line in sorted(lines, key=attrgetter("name"))
            ]
        else:
            # By the lower end: a thing that failed in its only picture is not the worst that is known.
            lines.sort(key=lambda line: (-round(line.interval[0], 2), -line.rate, line.name))
        if len(lines) > 1:
            lists.append(MassList(title, lines[:MOST_LINES], lines[MOST_LINES:MOST_FOLDED]))
    return lists


def _layer_name(name: str) -> str:
    """Layers are named by how many attributes their nodes have."""
    return {"0": "the thing alone", "1": "1 attribute"}.get(
        name, f"{name} attributes" if name.isdigit() else name
    )


def _kept(masses: Sequence[Mass], group: str, names: Sequence[str], most: int) -> list[str]:
    """The groups that hold the most pictures, the worst first; `alone` comes before all."""
    known = {mass.name: mass for mass in masses if mass.group == group}
    pictures = {name: known[name].images if name in known else 0 for name in names}
    kept = sorted(pictures, key=lambda name: (-pictures[name], name))[:most]
    rates = {name: known[name].rate if name in known else 0.0 for name in kept}
    return sorted(kept, key=lambda name: (name != ALONE, -rates[name], name))


def _named(masses: Sequence[Mass], group: str, name: str) -> Mass | None:
    return next((mass for mass in masses if mass.group == group and mass.name == name), None)


def _patch(mass: Mass) -> HeatCell:
    line = _estimate(mass)
    return HeatCell(line.rate, line.interval, line.words)


def _estimate(mass: Mass) -> Estimate:
    noun = "prompts" if mass.group in ("tag", "check") else "nodes"
    words = f"{mass.images:,} pictures speak for {mass.nodes:,} {noun}"
    return Estimate(mass.name, mass.rate, mass.interval, words)


TEMPLATE = "failscape.kinds.t2i:page.html"
#: Strategies that reckon with the judge's errors.
JUDGE_ALLOWED_FOR = (Status.CERTIFIED, Status.LISTED)


def placer(config: dict[str, Any]) -> Placer:
    """Columns are classes of entities, rows are kinds of attributes."""
    space = config.get("space", {})
    if space.get("prompts"):
        return place_prompt(load_prompts(str(space["prompts"])).prompts)
    corpus = load_corpus(str(space.get("corpus", "toybox")))
    return place_node({one.name: (one.upper_class, one.sub_class) for one in corpus.entities})


def sections(context: Context) -> Iterator[Section]:
    survey = context.survey_as(T2ISurvey) or T2ISurvey()
    yield from _map(survey.masses)
    yield from _rules(survey, context.loaded)
    yield from _trust(survey, context)


def tiles(context: Context) -> Iterator[Tile]:
    survey = context.survey_as(T2ISurvey)
    found = overall(survey.masses) if survey else None
    if found is not None:
        mass, nodes = found
        yield Tile("Of random pictures fail", percent(mass.rate), spread(mass.interval))
        listed = survey is not None and "prompts" in survey.counts
        yield Tile("Prompts in the list" if listed else "Nodes in the space", f"{nodes:,}")


def notes(finding: Finding) -> Iterator[str]:
    """Sentences about one finding: the interaction, which check is to blame, the rate without errors."""
    details = finding.details
    if isinstance(details, PromptDetails):
        yield from _prompt_notes(details)
    if not isinstance(details, NodeDetails):
        return
    for said in (details.interaction, details.blamed):
        if said is not None and said.sentence:
            yield said.sentence[:1].upper() + said.sentence[1:]
    if details.corrected is not None:
        yield _without_errors(details.corrected)


def _prompt_notes(details: PromptDetails) -> Iterator[str]:
    """What a failing prompt missed most, its tags, and what a suspect lacks."""
    worst = max(details.missed, key=lambda name: details.missed[name], default="")
    if worst and details.missed[worst]:
        yield f"Missed most: {worst} ({details.missed[worst]:,} of the failed pictures)."
    if details.tags:
        yield f"Tags: {', '.join(details.tags)}."
    if details.missing:
        yield details.missing[:1].upper() + details.missing[1:] + "."
    if details.corrected is not None:
        yield _without_errors(details.corrected)


def _without_errors(found: CorrectedRate) -> str:
    return f"Allowing for the judge’s errors, {percent(found.rate)} fail ({spread(found.interval)})."


def _map(masses: Sequence[Mass]) -> Iterator[Section]:
    heat = heat_of_masses(masses)
    if heat is None:
        yield from _listed_map(masses)
        return
    yield Section(
        "map",
        "Where it fails",
        TEMPLATE,
        {"heat": heat, "lists": mass_lists(masses)},
        LEAD,
        "Map",
        "How often a random picture fails, by class of thing and kind of attribute. It is estimated from "
        "nodes drawn at random before the search began, so it does not depend on where the search went.",
        "Take any node of the space at random: the number is the chance that one picture of it fails, "
        "the small range its 95% interval. A node with several attributes counts in the row of each. "
        "“alone” is the thing without attributes. Darker is worse; a wide range means few pictures.",
    )


def _listed_map(masses: Sequence[Mass]) -> Iterator[Section]:
    """A list of prompts has no classes and kinds to cross: tags and kinds of checks, one below the other."""
    lists = mass_lists(masses)
    if lists:
        yield Section(
            "map",
            "Where it fails",
            TEMPLATE,
            {"heat": None, "lists": lists},
            LEAD,
            "Map",
            "How often a picture of a random prompt fails, by tag and by kind of check. It is estimated from "
            "prompts drawn at random before the search began, whatever the search looked at.",
            "Take any prompt with the tag at random: the number is the chance that one picture of it fails, "
            "the small range its 95% interval. A prompt with several tags counts for each.",
        )


def _rules(survey: T2ISurvey, reader: HuntReader) -> Iterator[Section]:
    if not survey.rules:
        return
    cards = rule_cards(survey.rules, reader)
    pictured = [card for card in cards if card.examples]
    yield Section(
        "rules",
        "What the failures have in common",
        TEMPLATE,
        {
            "pictured": pictured,
            "listed": [card for card in cards if not card.examples],
            "total": len(merge_rules(survey.rules)),
            "precision": held_out(survey.rule_precision),
            "noun": "prompt" if "prompts" in survey.counts else "node",
        },
        LEAD,
        "Rules",
        "A few rules stand for many failures. Each is shown with nodes that were found to fail, and beside "
        "them the exceptions that pass. Rules tested as one are proven by pictures of random members.",
        "A rule says who fails with what. The share of held-out nodes that fail is its precision: those "
        "nodes were drawn at random before the search began, so they had no part in making the rule. The "
        "range is a 95% interval; each node has a few pictures only, so their number is an estimate. "
        f"Every picture is the first of its node with the verdict that the node has. The first {PICTURED} "
        "rules have pictures.",
        pictures_of(pictured),
    )


def _trust(survey: T2ISurvey, context: Context) -> Iterator[Section]:
    search = context.loaded.row.config.get("search") or {}
    allowed_for = search.get("strategy") in JUDGE_ALLOWED_FOR
    sure = judge_confidence(context.atlas, context.loaded.row, context.loaded.findings)
    found = trust_boxes(survey, context.loaded.judge, context.limit, allowed_for, sure)
    said = [*survey.notes, *wording_notes(context.atlas, context.loaded.row)]
    if found or said:
        yield Section(
            "trust", "How far to trust it", TEMPLATE, {"boxes": found, "notes": said}, TRUST, "Trust"
        )
