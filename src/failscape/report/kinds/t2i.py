"""What the report says about t2i hunts in particular: the map of failure, rules, and how far to trust it.

See `sections.py` for how it joins the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from failscape.evidence import HuntReader
from failscape.evidence.places import Placer, place_node
from failscape.hunts.t2i.findings import NodeDetails
from failscape.hunts.t2i.survey.survey import Mass, T2ISurvey
from failscape.report.figures.basic import Estimate, percent, spread
from failscape.report.figures.heat import HeatMap
from failscape.report.kinds.t2i_map import MassList, heat_of_masses, mass_lists, overall
from failscape.report.kinds.t2i_rules import (
    PICTURED,
    RuleCard,
    held_out,
    merge_rules,
    pictures_of,
    rule_cards,
)
from failscape.report.kinds.t2i_trust import TrustBox, trust_boxes, wording_notes
from failscape.report.sections import LEAD, TRUST, Context, Section, Tile
from failscape.spaces.corpus import load_corpus
from failscape.trials import Finding

TEMPLATE = "t2i.html"
JUDGE_ALLOWED_FOR = ("certified", "probable")
"""Strategies that reckon with the judge's errors."""


@dataclass(frozen=True, slots=True)
class RuleSection:
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
class TrustSection:
    boxes: list[TrustBox]
    notes: list[str]


def placer(config: dict[str, Any]) -> Placer:
    """Columns are classes of entities, rows are kinds of attributes."""
    corpus = load_corpus(str(config.get("space", {}).get("corpus", "toybox")))
    return place_node({entity.name: entity.upper_class for entity in corpus.entities})


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
        yield Tile("Nodes in the space", f"{nodes:,}")


def notes(finding: Finding) -> Iterator[str]:
    """Sentences about one finding: the interaction, which check is to blame, the rate without errors."""
    details = finding.details
    if not isinstance(details, NodeDetails):
        return
    for said in (details.interaction, details.blamed):
        if said is not None and said.sentence:
            yield said.sentence[:1].upper() + said.sentence[1:]
    if details.corrected is not None:
        rate, interval = details.corrected.rate, details.corrected.interval
        yield f"Allowing for the judge’s errors, {percent(rate)} fail ({spread(interval)})."


def _map(masses: Sequence[Mass]) -> Iterator[Section]:
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


def _rules(survey: T2ISurvey, reader: HuntReader) -> Iterator[Section]:
    if not survey.rules:
        return
    cards = rule_cards(survey.rules, reader)
    pictured = [card for card in cards if card.examples]
    listed = [card for card in cards if not card.examples]
    yield Section(
        "rules",
        "What the failures have in common",
        TEMPLATE,
        RuleSection(pictured, listed, len(merge_rules(survey.rules)), held_out(survey.rule_precision)),
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


def _trust(survey: T2ISurvey, context: Context) -> Iterator[Section]:
    search = context.loaded.row.config.get("search") or {}
    allowed_for = search.get("strategy") in JUDGE_ALLOWED_FOR
    found = trust_boxes(survey, context.loaded.judge, context.limit, allowed_for)
    said = [*survey.notes, *wording_notes(context.atlas, context.loaded.row)]
    if found or said:
        yield Section("trust", "How far to trust it", TEMPLATE, TrustSection(found, said), TRUST, "Trust")
