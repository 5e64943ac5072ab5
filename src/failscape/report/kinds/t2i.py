"""What the report says about t2i hunts in particular: the map of failure, rules, and how far to trust it.

See `sections.py` for how it joins the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from failscape.evidence import HuntReader
from failscape.evidence.judge_confidence import judge_confidence
from failscape.evidence.places import Placer, place_node, place_prompt
from failscape.hunts.t2i.findings import CorrectedRate, NodeDetails
from failscape.hunts.t2i.prompts.findings import PromptDetails
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
from failscape.spaces.prompt_list import load_prompts
from failscape.trials import Finding

TEMPLATE = "t2i.html"
JUDGE_ALLOWED_FOR = ("certified", "listed")
"""Strategies that reckon with the judge's errors."""


@dataclass(frozen=True, slots=True)
class RuleSection:
    """Rules with pictures, some more without, how many there are, and their precision taken together."""

    pictured: list[RuleCard]
    listed: list[RuleCard]
    total: int
    precision: Estimate | None
    noun: str = "node"


@dataclass(frozen=True, slots=True)
class MassMap:
    heat: HeatMap | None
    lists: list[MassList]


@dataclass(frozen=True, slots=True)
class TrustSection:
    boxes: list[TrustBox]
    notes: list[str]


def placer(config: dict[str, Any]) -> Placer:
    """Columns are classes of entities, rows are kinds of attributes."""
    space = config.get("space", {})
    if space.get("prompts"):
        return place_prompt(load_prompts(str(space["prompts"])).prompts)
    corpus = load_corpus(str(space.get("corpus", "toybox")))
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
        MassMap(heat, mass_lists(masses)),
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
            MassMap(None, lists),
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
    noun = "prompt" if "prompts" in survey.counts else "node"
    cards = rule_cards(survey.rules, reader)
    pictured = [card for card in cards if card.examples]
    listed = [card for card in cards if not card.examples]
    yield Section(
        "rules",
        "What the failures have in common",
        TEMPLATE,
        RuleSection(pictured, listed, len(merge_rules(survey.rules)), held_out(survey.rule_precision), noun),
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
        yield Section("trust", "How far to trust it", TEMPLATE, TrustSection(found, said), TRUST, "Trust")
