"""The baselines beside the FailureAtlas rule: when they stop, what they draw, what every hunt promises."""

import itertools

import pytest
from scipy import stats

from failscape.errors import ConfigError
from failscape.kinds.t2i.baselines import lanes as random_lane
from failscape.kinds.t2i.baselines.failureatlas import CurtailedRule, FailureAtlasHunt, FixedRule, SprtRule
from failscape.kinds.t2i.build import build_hunt
from failscape.kinds.t2i.config import T2IConfig
from failscape.search.counts import Tally
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Lattice, Node, Wording, load_corpus
from failscape.testing.hunt_suite import HuntSuite
from failscape.trials import Probe, Trial

CORPUS = load_corpus("starter")
SMALL = Lattice(CORPUS, entities=("cat", "cup", "house"), families=("Base",), depth=2)


def make(lattice: Lattice = SMALL, **settings: object) -> FailureAtlasHunt:
    return FailureAtlasHunt(lattice, Wording(CORPUS), **{"images_per_node": 5, **settings})  # type: ignore[arg-type]


class TestCurtailed(HuntSuite):
    world = PlantedWorld(SMALL, "medium", seed=3, undecided=0.1)
    settings: dict[str, object] = {"stopping": "curtailed"}  # noqa: RUF012

    def make_hunt(self) -> FailureAtlasHunt:
        return make(seed=9, **self.settings)

    def run(self, probe: Probe) -> Trial:
        return self.world.run(probe)


class TestSprt(TestCurtailed):
    settings = {"stopping": "sprt"}  # noqa: RUF012
    order_matters = True
    images = 6_000


class TestRandom(TestCurtailed):
    settings = {"traversal": "random"}  # noqa: RUF012
    images = 8_000


def tally(passes: int, fails: int) -> Tally:
    made = Tally(Node(0))
    made.passes, made.fails = passes, fails
    return made


def play(rule: FixedRule | SprtRule, outcomes: list[bool]) -> tuple[str, int]:
    """The verdict on a row of outcomes, and after how many it came; every image asked for is used."""
    counts = tally(0, 0)
    while not (outcome := rule.outcome(counts)):
        for _ in range(rule.wanted(counts)):
            assert rule.outcome(counts) == "", "more images were asked for than were sure to be needed"
            passed = outcomes[counts.valid]
            counts.passes += passed
            counts.fails += not passed
    return outcome, counts.valid


@pytest.mark.parametrize("at_threshold", ["pass", "fail"])
def test_curtailing_changes_no_verdict(at_threshold: str) -> None:
    fixed, curtailed = FixedRule(9, 0.7, at_threshold), CurtailedRule(9, 0.7, at_threshold)
    spent = 0
    for outcomes in itertools.product([False, True], repeat=9):
        verdict, images = play(curtailed, list(outcomes))
        assert (verdict, 9) == play(fixed, list(outcomes))
        spent += images
    assert spent < 9 * 2**9


def test_curtailed_stops_after_six_failures_or_twenty_passes() -> None:
    rule = CurtailedRule(25, 0.8, "pass")
    assert [rule.outcome(tally(*counts)) for counts in ((19, 5), (19, 6), (20, 5))] == ["", "fail", "pass"]


def test_sprt_stops_at_walds_bounds() -> None:
    rule = SprtRule(25, 0.8, "pass")
    assert play(rule, [False] * 200) == ("fail", 3)
    assert play(rule, [True] * 200) == ("pass", 12)
    assert rule.outcome(tally(80, 20)) in ("pass", "fail")
    assert rule.images == 100


@pytest.mark.parametrize(("rate", "wrong"), [(0.9, "fail"), (0.7, "pass")])
def test_sprt_errs_as_rarely_as_wald_says(rate: float, wrong: str) -> None:
    rule, runs = SprtRule(250, 0.8, "pass"), 2_000
    rows = stats.bernoulli.rvs(rate, size=(runs, rule.images), random_state=7).astype(bool).tolist()
    errors = sum(play(rule, row)[0] == wrong for row in rows)
    assert errors <= stats.binom.isf(1e-5, runs, 0.05)


@pytest.mark.parametrize("threshold", [0.01, 0.3, 0.5, 0.95])
def test_sprt_takes_any_threshold(threshold: float) -> None:
    rule = SprtRule(10, threshold, "pass")
    assert play(rule, [False] * 80)[0] == "fail"
    assert play(rule, [True] * 80)[0] == "pass"


def test_random_search_finds_what_a_full_search_finds() -> None:
    """Run to the end, both have tested every node that matters."""
    world = PlantedWorld(SMALL, "medium", seed=1)
    ordered, drawn = make(), make(traversal="random")
    simulate(ordered, world, 10**6)
    done = simulate(drawn, world, 10**6, keep=True)
    assert {f.subject for f in drawn.findings()} == {f.subject for f in ordered.findings()}
    assert len({trial.subject for trial in done.trials}) == len(SMALL)
    assert drawn.done


def test_random_search_draws_from_all_layers_and_explains_failures_at_once() -> None:
    lattice = Lattice(CORPUS, depth=2)
    world = PlantedWorld(lattice, "weak", seed=1)
    hunt = make(lattice, traversal="random")
    done = simulate(hunt, world, 3_000, keep=True)
    subjects = list(dict.fromkeys(trial.subject for trial in done.trials))
    # 97 % of all nodes have two values; a failing one brings at most three ancestors.
    assert sum(len(lattice.parse(subject).values) == 2 for subject in subjects) > len(subjects) / 5
    claims = [lattice.parse(finding.subject) for finding in hunt.findings()]
    assert claims
    for node in claims:
        smaller = {
            Node(node.entity, v)
            for k in range(len(node.values))
            for v in itertools.combinations(node.values, k)
        }
        assert {lattice.subject(each) for each in smaller} <= set(subjects)


def test_random_search_refuses_a_space_that_its_order_cannot_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_lane, "LARGEST", 10)
    with pytest.raises(ConfigError, match="random search takes at most 10 nodes"):
        make(traversal="random")


def test_strategies_are_chosen_in_the_config() -> None:
    model = {"provider": "python", "path": "x:y"}
    config = {"hunt": "t2i", "target": model, "judge": model, "space": {"corpus": "starter"}}
    rules = {"failureatlas": FixedRule, "curtailed": CurtailedRule, "sprt": SprtRule, "random": FixedRule}
    for strategy, rule in rules.items():
        hunt = build_hunt(T2IConfig.model_validate({**config, "search": {"strategy": strategy}}))
        assert isinstance(hunt, FailureAtlasHunt)
        assert type(hunt.rule) is rule
    assert hunt.progress().phase == "random nodes"
