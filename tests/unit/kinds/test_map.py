"""The parts of a survey: rules, mass, audit, replication, wording; what they say and when they are silent."""

import itertools
import json

import numpy as np
import pytest

from failscape.kinds.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.kinds.t2i.survey.assemble import (
    SurveyInput,
    failure_masses,
    group_sizes,
    groups_of,
    survey_of,
    wording_effect,
)
from failscape.kinds.t2i.survey.audit import audit_pruning, replication_of
from failscape.kinds.t2i.survey.judge_view import JudgeView, TriedCounts
from failscape.kinds.t2i.survey.rules import find_rules, judge_rules
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Lattice, Node, Wording, load_corpus
from failscape.stats.judging.accuracy import JudgeAccuracy
from tests.counting import calls_of

CORPUS = load_corpus("starter")
LATTICE = Lattice(CORPUS, depth=2)
GLASSES = JudgeView(LATTICE)
RED = CORPUS.value_index["Base: Colour=red"]
SINGLES = list(LATTICE.nodes(1))
REDS = [node for node in SINGLES if node.values == (RED,)]


def of_class(nodes: list[Node], name: str) -> list[Node]:
    return [node for node in nodes if CORPUS.entities[node.entity].upper_class == name]


# Rules


def test_a_class_that_fails_with_a_value_is_one_rule_with_its_exception() -> None:
    animals = of_class(REDS, "Animals")
    failing, passing = animals[1:], [animals[0], *of_class(REDS, "Food"), *of_class(REDS, "Vehicles")]
    book = find_rules(LATTICE, failing, passing)
    (rule,) = book.rules
    assert (rule.scope, rule.who, rule.values, rule.layer) == ("class", "Animals", ("Base: Colour=red",), 1)
    assert rule.exceptions == (LATTICE.subject(animals[0]),)
    assert rule.certified == len(failing) == book.covered
    assert rule.covers == len(animals) - 1
    assert rule.text == "Animals × red, except 1"


def test_one_entity_that_fails_with_everything_is_one_rule() -> None:
    mine = [node for node in SINGLES if node.entity == SINGLES[0].entity]
    rules = find_rules(LATTICE, mine, []).rules
    name = CORPUS.entities[mine[0].entity].name
    assert [(rule.scope, rule.who, rule.values) for rule in rules] == [("entity", name, ())]
    assert rules[0].text == f"{name}, with any 1 value"


def test_few_failures_are_no_rule_and_passes_break_one() -> None:
    animals = of_class(REDS, "Animals")
    assert find_rules(LATTICE, animals[:2], []).rules == ()
    assert find_rules(LATTICE, [], animals).rules == ()
    half = len(animals) // 2
    assert all(
        rule.scope == "sub-class" for rule in find_rules(LATTICE, animals[:half], animals[half:]).rules
    )


def test_what_is_known_of_a_corner_does_not_become_a_rule_about_everything() -> None:
    """Twelve pairs fail and nothing is known of the thirty others: they may be fine."""
    cat = CORPUS.find_entity("cat")
    pairs = [node for node in LATTICE.nodes(2, [cat]) if RED in node.values][:12]
    assert find_rules(LATTICE, pairs, []).rules == ()
    others = [node for node in LATTICE.nodes(2, [cat]) if RED in node.values and node not in pairs]
    fine = dict.fromkeys(others[:10], 1.0)
    (rule,) = find_rules(LATTICE, pairs, [], fine).rules
    assert (rule.scope, rule.values, rule.layer) == ("entity", ("Base: Colour=red",), 2)
    assert find_rules(LATTICE, pairs, [], dict.fromkeys(others[:10], 0.1)).rules == ()
    assert find_rules(LATTICE, pairs, [], chance=lambda nodes: np.ones(len(nodes))).rules == (rule,)


def test_the_order_of_nodes_changes_nothing() -> None:
    animals = of_class(REDS, "Animals")
    assert find_rules(LATTICE, animals, REDS[-3:]) == find_rules(LATTICE, animals[::-1], REDS[:-4:-1])


def test_held_out_precision_speaks_of_covered_nodes_only() -> None:
    animals = of_class(REDS, "Animals")
    book = find_rules(LATTICE, animals, [])
    panel = (
        dict.fromkeys(animals[:3], TriedCounts(0, 5))
        | {animals[3]: TriedCounts(5, 0)}
        | {SINGLES[0]: TriedCounts(5, 0)}
    )
    assert SINGLES[0] not in animals
    judged = judge_rules(LATTICE, book, panel, GLASSES, 0.8)
    share = judged.rules[0].held_out
    assert share is not None
    assert share.of == 4
    assert share.rate == pytest.approx(0.75, abs=0.08)
    assert judged.precision is not None
    assert judged.precision.of == 4
    assert judge_rules(LATTICE, book, {}, GLASSES, 0.8) == book


def test_rules_cost_as_many_calls_as_there_are_failures_not_nodes_or_pairs() -> None:
    lattice = Lattice(load_corpus("general"), "sample", depth=2)
    nodes = lattice.sample(2, 24_000, np.random.default_rng(1))
    hard = {value for node in nodes[:20] for value in node.values}
    ranked = sorted(set(nodes), key=lambda node: -len(hard.intersection(node.values)))
    books = []

    def cost(failures: int) -> int:
        return calls_of(lambda: books.append(find_rules(lattice, ranked[:failures], ranked[4_000:])))

    assert cost(4_000) < 8 * cost(1_000), "four times the work; sixteen times if pairs were compared"
    assert [book.failures for book in books] == [4_000, 1_000]


# Mass


def test_groups_are_counted_as_if_walked() -> None:
    lattice = Lattice(CORPUS, entities=("cat", "cup", "house"), depth=2)
    walked: dict[tuple[str, str], dict[int, int]] = {}
    for layer in range(3):
        for node in lattice.nodes(layer):
            for group in groups_of(lattice, node):
                sizes = walked.setdefault(group, {})
                sizes[layer] = sizes.get(layer, 0) + 1
    assert group_sizes(lattice, walked) == walked


def test_a_full_panel_gives_the_exact_mass() -> None:
    lattice = Lattice(CORPUS, entities=("cat", "cup"), families=("Base",), depth=1)
    nodes = [node for layer in range(2) for node in lattice.nodes(layer)]
    panel = {node: TriedCounts(place % 5, 4 - place % 5) for place, node in enumerate(nodes)}
    masses = {(mass.group, mass.name): mass for mass in failure_masses(lattice, panel)}
    whole = masses["all", ""]
    assert whole.nodes == len(nodes) == len(lattice)
    assert whole.rate == pytest.approx(np.mean([counts.fails / 4 for counts in panel.values()]))
    assert whole.images == 4 * len(nodes)
    assert masses["layer", "1"].nodes == lattice.layer_size(1)
    assert ("family", "Image") not in masses


def test_wrong_predictions_are_not_believed() -> None:
    rng = np.random.default_rng(0)
    panel = {
        node: TriedCounts(int(p), 4 - int(p))
        for node, p in zip(SINGLES, rng.binomial(4, 0.5, 300), strict=False)
    }
    plain = failure_masses(LATTICE, panel)
    assert failure_masses(LATTICE, panel, predict=lambda nodes: rng.random(len(nodes))) == plain
    assert failure_masses(LATTICE, {}) == ()


def test_the_judges_errors_are_taken_out_of_the_mass() -> None:
    """The judge passes 90 % of good and 10 % of bad entities; half of all images are bad."""
    entities = list(LATTICE.nodes(0))
    panel = dict.fromkeys(entities, TriedCounts(50, 50))
    accuracy = JudgeAccuracy.from_rates({"*": (0.9, 0.9)})
    (mass,) = [
        m
        for m in failure_masses(LATTICE, panel, judge_view=JudgeView(LATTICE, accuracy))
        if m.group == "layer"
    ]
    assert mass.rate == pytest.approx(0.5)
    panel = dict.fromkeys(entities, TriedCounts(90, 10))
    (mass,) = [
        m
        for m in failure_masses(LATTICE, panel, judge_view=JudgeView(LATTICE, accuracy))
        if m.group == "layer"
    ]
    assert mass.rate == pytest.approx(0.0, abs=1e-9)


# Audit, replication, wording


def test_ancestors_have_fewer_values() -> None:
    assert LATTICE.ancestors(Node(3, (1, 5))) == [Node(3), Node(3, (1,)), Node(3, (5,))]
    assert LATTICE.ancestors(Node(3)) == []


def census(rate_of) -> dict[Node, TriedCounts]:
    rng = np.random.default_rng(5)
    nodes = [*LATTICE.nodes(0), *SINGLES[::8], *LATTICE.sample(2, 200, rng)]
    return {node: TriedCounts(round(8 * rate_of(node)), 8 - round(8 * rate_of(node))) for node in nodes}


def test_nothing_is_missed_below_nodes_that_do_fail() -> None:
    cat = CORPUS.find_entity("cat")
    panel = census(lambda node: 0.0 if node.entity == cat else 1.0)
    search = {
        node: TriedCounts(0, 25) if node.entity == cat else TriedCounts(25, 0) for node in LATTICE.nodes(0)
    }
    audit = audit_pruning(LATTICE, panel, search, [Node(cat)], GLASSES, 0.8)
    assert audit is not None
    assert audit.missed < 0.01
    assert 0 < audit.closed < audit.skipped <= len(LATTICE)
    assert audit_pruning(LATTICE, {}, search, [Node(cat)], GLASSES, 0.8) is None


def test_what_lies_below_a_wrongly_closed_entity_is_missed() -> None:
    """The cat passes but was called failing; every cat with one value fails."""
    cat = CORPUS.find_entity("cat")
    panel = census(lambda node: 0.0 if node.entity == cat and node.values else 1.0)
    search = dict.fromkeys(LATTICE.nodes(0), TriedCounts(25, 0))
    audit = audit_pruning(LATTICE, panel, search, [Node(cat)], GLASSES, 0.8)
    assert audit is not None
    assert audit.missed > 0.5
    assert audit.interval[0] <= audit.missed <= audit.interval[1]


def test_replication_says_what_was_confirmed_and_shows_the_winners_curse() -> None:
    nodes = SINGLES[:20]
    found = dict.fromkeys(nodes, TriedCounts(2, 8))
    fresh = dict.fromkeys(nodes[:18], TriedCounts(6, 14)) | dict.fromkeys(nodes[18:], TriedCounts(20, 0))
    report = replication_of(LATTICE, found, fresh, GLASSES, 0.8)
    assert report is not None
    assert report.found_rate == pytest.approx(0.8)
    assert report.fresh_rate == pytest.approx(0.7 * 0.9)
    assert report.confirmed.rate == pytest.approx(0.9, abs=0.03)
    assert {row.verdict for row in report.rows} == {"confirmed", "refuted"}
    assert replication_of(LATTICE, found, {}, GLASSES, 0.8) is None


def test_a_bad_wording_is_found_and_its_nodes_named() -> None:
    fine = {node: [TriedCounts(9, 1), TriedCounts(9, 1)] for node in SINGLES[:20]}
    same = wording_effect(LATTICE, fine, 0.8)
    assert same is not None
    assert same.p_value > 0.5
    assert same.worst == ()
    spoiled = {**fine, SINGLES[30]: [TriedCounts(1, 19), TriedCounts(19, 1)]}
    effect = wording_effect(LATTICE, spoiled, 0.8)
    assert effect is not None
    assert effect.worst == (LATTICE.subject(SINGLES[30]),)
    assert effect.variants[0].of == 220
    assert effect.p_value < 0.01
    assert wording_effect(LATTICE, {SINGLES[0]: [TriedCounts(3, 3)]}, 0.8) is None


# All together


def test_a_survey_from_counts_alone_has_rules_and_says_what_is_missing() -> None:
    animals = of_class(REDS, "Animals")
    search = dict.fromkeys(animals, TriedCounts(2, 8))
    survey = survey_of(SurveyInput(LATTICE, 0.8, animals, [], search, states={"opened": 3}))
    assert [rule.who for rule in survey.rules] == ["Animals"]
    assert survey.masses == ()
    assert survey.audit is None
    assert survey.replication is None
    assert any("No nodes were drawn" in note for note in survey.notes)
    assert survey.counts == {"opened": 3}


def test_a_full_survey_is_plain_data_and_the_same_every_time() -> None:
    rng = np.random.default_rng(2)
    drawn = list(itertools.chain(LATTICE.nodes(0), LATTICE.sample(1, 150, rng), LATTICE.sample(2, 150, rng)))
    panel = {
        node: TriedCounts(int(p), 4 - int(p))
        for node, p in zip(drawn, rng.binomial(4, 0.7, 999), strict=False)
    }
    animals = of_class(REDS, "Animals")
    given = SurveyInput(
        LATTICE,
        0.8,
        failing=animals,
        passing=SINGLES[:5],
        search=dict.fromkeys(animals, TriedCounts(2, 8)) | dict.fromkeys(SINGLES[:5], TriedCounts(10, 0)),
        panel=panel,
        fresh=dict.fromkeys(animals[:5], TriedCounts(2, 8)),
        predict=lambda nodes: np.full(len(nodes), 0.7),
        accuracy=JudgeAccuracy.from_counts({"*": (95, 100, 95, 100)}),
        variants={SINGLES[0]: [TriedCounts(5, 5), TriedCounts(5, 5)]},
    )
    survey = survey_of(given)
    assert survey == survey_of(given)
    assert survey.audit
    assert survey.replication
    assert survey.calibration
    assert survey.wording
    assert survey.masses
    assert json.loads(json.dumps(survey.as_data()))["masses"][0]["group"] == "all"


def test_the_failureatlas_hunt_tells_its_rules() -> None:
    hunt = FailureAtlasHunt(LATTICE, Wording(CORPUS), images_per_node=5)
    simulate(hunt, PlantedWorld(LATTICE, "weak", seed=1), 6_000)
    survey = hunt.survey()
    assert survey.rules
    assert survey.counts["opened"] >= survey.counts["failed"] + survey.counts["passed"]
    assert survey == hunt.survey()
    assert all(rule.held_out is None for rule in survey.rules)
