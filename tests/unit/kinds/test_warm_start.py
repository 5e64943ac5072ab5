"""A warm start: an earlier hunt proposes, new trials decide how much of it holds, nothing old is evidence."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from failscape.config.files import parse_config
from failscape.errors import AtlasError, ConfigError
from failscape.kinds.classifier.hunt import ClassifierHunt
from failscape.kinds.t2i.prompts.hunt import PromptHunt, PromptSettings
from failscape.kinds.t2i.search.hunt import CertifiedHunt
from failscape.kinds.t2i.search.settings import CertifiedSettings
from failscape.kinds.vlm.hunt import VlmHunt
from failscape.plugins import begin_hunt
from failscape.search.belief.belief import Belief, Taxonomy, counts_of
from failscape.search.belief.nodes import Nodes
from failscape.search.belief.transfer import learn_share, to_try_first
from failscape.simulate.corpus import planted_corpus
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Lattice, Wording
from failscape.spaces.earlier import Earlier, parse_earlier
from failscape.spaces.prompt_list import read_prompts
from failscape.trials import Decide, Probe, Trial, Verdict

CORPUS = planted_corpus(16, 8, 900)
LATTICE = Lattice(CORPUS, depth=2)
FAILING = [LATTICE.subject(node) for node in LATTICE.nodes(1)][5:60:5]
EARLIER = Earlier(
    "t2i",
    "old",
    {LATTICE.subject(node): (12, 0) for layer in (0, 1) for node in LATTICE.nodes(layer)}
    | dict.fromkeys(FAILING, (0, 12)),
    tuple(FAILING),
)
TOYBOX = {
    "target": {"provider": "toybox"},
    "judge": {"provider": "toybox"},
    "generator": {"provider": "toybox", "model": "renderer"},
}


def hunt(earlier: Earlier | None = EARLIER, images: int = 600) -> CertifiedHunt:
    made = CertifiedHunt(LATTICE, Wording(CORPUS), CertifiedSettings(strategy="listed", images=images))
    if earlier is not None:
        made.begin_with(earlier)
    return made


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_share_that_holds_is_learned_whatever_was_expected(share: float) -> None:
    rng = np.random.default_rng(3)
    beyond, offset = rng.normal(0, 2, 400), rng.normal(1, 1, 400)
    trials = np.full(400, 4.0)
    passes = rng.binomial(4, special.expit(offset - 0.5 + share * beyond)).astype(float)
    for expected in (0.0, 0.9):
        assert learn_share(beyond, offset, passes, trials, expected) == pytest.approx(share, abs=0.12)


def test_what_speaks_against_the_old_rates_leaves_nothing_of_them() -> None:
    rng = np.random.default_rng(4)
    beyond = rng.normal(0, 2, 200)
    passes = rng.binomial(4, special.expit(1 - beyond)).astype(float)
    assert learn_share(beyond, np.ones(200), passes, np.full(200, 4.0), 0.7) == 0.0


def test_the_belief_begins_with_the_old_rates_as_far_as_one_hopes() -> None:
    taxonomy, old = Taxonomy.of_lattice(LATTICE), counts_of(LATTICE, EARLIER.counts)
    earlier, nothing = Belief(taxonomy, 2, old, 0.8), counts_of(LATTICE, {})
    nodes = counts_of(LATTICE, {FAILING[0]: (0, 0), LATTICE.subject(next(LATTICE.nodes(1))): (0, 0)}).nodes
    for hope, told in ((0.0, False), (0.7, True)):
        failing, passing = Belief(taxonomy, 2, nothing, 0.8, earlier, hope).rows(1, nodes).tolist()
        assert (failing < passing - 4) is told


def test_larger_nodes_are_carried_over_one_by_one() -> None:
    pairs = [LATTICE.subject(node) for node in LATTICE.nodes(2)][:40]
    counts = EARLIER.counts | dict.fromkeys(pairs, (9, 0)) | {pairs[7]: (0, 9)}
    belief = Belief(Taxonomy.of_lattice(LATTICE), 2, counts_of(LATTICE, counts), 0.8)
    nodes: Nodes = counts_of(LATTICE, dict.fromkeys(pairs, (0, 0))).nodes
    beyond = belief.beyond(2, nodes)
    assert int(np.argmin(beyond)) == 7
    assert beyond[7] < np.median(beyond) - 2


def test_the_first_looks_go_to_old_findings_and_to_what_passed_in_turn() -> None:
    made = hunt()
    above = [probe for probe in made.ask(60) if "; " in probe.subject and "#p" not in probe.key]
    first = above[: 2 * len(FAILING)]
    looked = [probe.subject in FAILING for probe in first]
    assert sum(looked) >= len(FAILING) - len(set(made.unguided.panel.subjects) & set(FAILING))
    assert abs(sum(looked) - looked.count(False)) <= 2
    assert all("#s" in probe.key for probe in first)  # a look, never evidence
    assert not {probe.subject for probe in first} & set(made.unguided.panel.subjects)


def test_a_small_budget_has_few_first_looks_and_entities_need_none() -> None:
    assert len(to_try_first(LATTICE, EARLIER, LATTICE.entities, 200)) == 10
    entities = replace(EARLIER, findings=tuple(LATTICE.subject(node) for node in LATTICE.nodes(0)))
    assert not to_try_first(LATTICE, entities, LATTICE.entities, None)
    assert not to_try_first(LATTICE, EARLIER, (), None)


@pytest.mark.parametrize(("holds", "least", "most"), [(True, 0.5, 1.0), (False, 0.0, 0.1)])
def test_the_first_looks_tell_how_much_holds(holds: bool, least: float, most: float) -> None:
    """Before the second refit, on one image each: as told by the old hunt, or the other way round."""
    first = to_try_first(LATTICE, EARLIER, LATTICE.entities, None)
    seen = {LATTICE.subject(node): (LATTICE.subject(node) in FAILING) is holds for node in first}
    counts = {subject: (int(not failed), int(failed)) for subject, failed in seen.items()}
    taxonomy = Taxonomy.of_lattice(LATTICE)
    earlier = Belief(taxonomy, 2, counts_of(LATTICE, EARLIER.counts), 0.8)
    carried = Belief(taxonomy, 2, counts_of(LATTICE, counts), 0.8, earlier, 0.7).carried
    assert least <= carried[1] <= most
    assert carried[2] <= carried[1]


def test_nothing_old_is_evidence() -> None:
    made = hunt()
    assert made.findings() == made.suspects() == []
    assert made.evidence().tolist() == []
    assert made.posterior.belief.carried == [0.0, 0.0, 0.0]


def test_telling_again_gives_the_same_hunt() -> None:
    world, first = PlantedWorld(LATTICE, "medium", 2), hunt()
    told = simulate(first, world, 250, shuffle=1, keep=True)
    again = hunt()
    for trial in told.trials:
        again.tell(trial)
    again.ask(0)
    assert [one.subject for one in again.findings()] == [one.subject for one in first.findings()]
    # Slots are numbered in another order, and sums differ in their last digits.
    assert again.posterior.belief.carried == pytest.approx(first.posterior.belief.carried, abs=1e-6)


def test_a_space_without_any_of_the_old_subjects_is_refused() -> None:
    with pytest.raises(ConfigError, match="none of the 1 subjects tried there is in this space"):
        hunt(Earlier("t2i", "old", {"dragon": (3, 3)}, ("dragon",)))


def test_strategies_that_do_not_choose_refuse_it() -> None:
    config = parse_config(
        {"hunt": "t2i", **_roles("judge"), "search": {"strategy": "failureatlas"}}, "a test"
    )
    with pytest.raises(ConfigError, match="`warm_start` is for hunts that choose"):
        begin_hunt(config, earlier=EARLIER)


def test_seeds_are_nobodys_and_differ_from_start_to_start() -> None:
    other = Earlier("t2i", "old", EARLIER.counts, ())
    assert len({7, EARLIER.fresh_seed(7), other.fresh_seed(7), EARLIER.fresh_seed(8)}) == 4
    config = parse_config({"hunt": "t2i", **_roles("judge"), "seed": 7}, "a test")
    known = Earlier("t2i", "old", {"cow": (3, 3)}, ())
    cold, warm = (begin_hunt(config, earlier=one).ask(50) for one in (None, known))
    assert not {probe.seed for probe in cold} & {probe.seed for probe in warm}


def test_old_bugs_join_the_race_first() -> None:
    earlier = Earlier("classifier", "old", {}, ("penguin; Background: place=space", "owl; Base: colour=red"))
    settings = {"hunt": "classifier", **_roles("judge", "generator"), "space": {"corpus": "toybox"}}
    config = parse_config({**settings, "classes": ["penguin", "camel"]}, "a test")
    made = begin_hunt(config, earlier=earlier)
    assert isinstance(made, ClassifierHunt)
    asked: list[str] = []
    for _ in range(12):
        probes = made.ask(128)
        asked += [probe.subject for probe in probes]
        for probe in probes:
            made.tell(Trial(probe.key, probe.subject, Verdict.PASS, "", _passing(probe), probe.seed))
    assert "penguin; Background: place=space" in asked
    assert not made.findings()
    with pytest.raises(ConfigError, match="none of the 1 findings there is about a class"):
        begin_hunt(config, earlier=Earlier("classifier", "old", {}, ("dragon; Base: colour=red",)))


def test_old_modes_get_the_first_looks() -> None:
    config = parse_config({"hunt": "vlm", **_roles()}, "a test")
    cold = begin_hunt(config)
    assert isinstance(cold, VlmHunt)
    mode = cold.grammar.patterns()[3]
    made = begin_hunt(config, earlier=Earlier("vlm", "old", {}, (mode.text, "no such form | x")))
    first: list[Probe] = made.ask(8)
    assert [probe.subject for probe in first].count(mode.text) == 2
    assert not made.findings()
    asking = {"questioner": {"strategy": "zero-shot"}}
    config = parse_config({"hunt": "vlm", **_roles(), **asking}, "a test")
    with pytest.raises(ConfigError, match="`zero-shot` is the baseline"):
        begin_hunt(config, earlier=EARLIER)


def _passing(probe: Probe) -> list[object]:
    """Facts of a picture that shows its class and nothing that was not asked for, rightly named."""
    decide = next(step for step in probe.steps if isinstance(step, Decide))
    return ["a" * 32, [check.gate for check in decide.checks], [[probe.subject.partition(";")[0], 1.0]]]


def _roles(*more: str) -> dict[str, object]:
    return {role: TOYBOX[role] for role in ("target", *more)}


def test_prompts_that_failed_before_come_first_and_are_claimed_no_sooner() -> None:
    rows = [{"id": f"p{at}", "prompt": f"thing {at}", "checks": [f"thing {at}"]} for at in range(40)]
    prompts = read_prompts("\n".join(map(json.dumps, rows)), "a test")
    counts = {f"p{at}": (0, 9) if at % 5 == 0 else (9, 0) for at in range(40)}
    made = PromptHunt(prompts, PromptSettings(panel=0.0, images=400))
    made.begin_with(Earlier("t2i", "old", counts, ()))
    assert made.findings() == []
    assert all(int(probe.subject[1:]) % 5 == 0 for probe in made.ask(8))
    with pytest.raises(ConfigError, match="none of the 1 prompts tried there"):
        made.begin_with(Earlier("t2i", "old", {"x": (1, 2)}, ()))


def test_what_is_kept_comes_back_and_nothing_else_does() -> None:
    assert parse_earlier(EARLIER.text, "a file") == EARLIER
    for text in ("", "[]", "{}", EARLIER.text.replace('"format":1', '"format":2'), '{"format":1,"counts":3}'):
        with pytest.raises(AtlasError, match="is not what a warm start keeps"):
            parse_earlier(text, "a file")
