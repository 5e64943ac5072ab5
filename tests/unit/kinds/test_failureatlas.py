"""The FailureAtlas rule: what it asks, when it decides, what it prunes, and the promises of every hunt."""

import random
from collections import Counter
from functools import partial

import pytest

from failscape.errors import ConfigError
from failscape.kinds.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.kinds.t2i.build import build_hunt
from failscape.kinds.t2i.config import T2IConfig
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Lattice, Node, Wording, load_corpus
from failscape.testing.hunt_suite import HuntSuite
from failscape.trials import Generate, Probe, Trial, Verdict, derive_seed
from tests.counting import calls_of

CORPUS = load_corpus("starter")
SMALL = Lattice(CORPUS, entities=("cat", "cup", "house"), families=("Base",), depth=2)
WORDING = Wording(CORPUS)


def make(lattice: Lattice = SMALL, **settings: object) -> FailureAtlasHunt:
    return FailureAtlasHunt(lattice, WORDING, **{"images_per_node": 5, **settings})  # type: ignore[arg-type]


def trial(probe: Probe, verdict: Verdict, dropped: int = 0) -> Trial:
    checks = len(probe.subject.split("; "))
    holds = [verdict is Verdict.PASS or place != dropped for place in range(checks)]
    facts = ["image", None if verdict is Verdict.INVALID else holds]
    return Trial(probe.key, probe.subject, verdict, "", facts, probe.seed)


def drive(hunt: FailureAtlasHunt, verdict_of: object, at_once: int = 7) -> list[str]:
    """Run to the end; gives the subjects in the order in which they were first asked for."""
    subjects: dict[str, None] = {}
    while probes := hunt.ask(at_once):
        for probe in probes:
            subjects.setdefault(probe.subject)
            hunt.tell(trial(probe, verdict_of(probe)))  # type: ignore[operator]
    assert hunt.done
    return list(subjects)


class TestLayerMajor(HuntSuite):
    world = PlantedWorld(SMALL, "medium", seed=3, undecided=0.1)

    def make_hunt(self) -> FailureAtlasHunt:
        return make(seed=9)

    def run(self, probe: Probe) -> Trial:
        return self.world.run(probe)


class TestEntityMajor(TestLayerMajor):
    def make_hunt(self) -> FailureAtlasHunt:
        return make(traversal="entity", batch_nodes=3)


class TestDeep(TestLayerMajor):
    lattice = Lattice(CORPUS, entities=("cat", "cup"), families=("Image",), depth=4)
    world = PlantedWorld(lattice, "strong", seed=2)
    images = 100_000

    def make_hunt(self) -> FailureAtlasHunt:
        return make(self.lattice, images_per_node=2)


def test_a_probe_says_all_that_is_needed() -> None:
    first, second = make(seed=4).ask(2)
    assert (first.key, second.key) == ("cat#0", "cat#1")
    assert (first.seed, second.seed) == (derive_seed(4, 0), derive_seed(4, 1))
    assert first.steps[0] == Generate("An image of a cat.")
    assert first.images == 1


def test_siblings_share_seeds() -> None:
    seeds: dict[str, list[int]] = {}
    for probe in make().ask(15):
        seeds.setdefault(probe.subject, []).append(probe.seed)
    assert len(seeds) == 3
    assert len({tuple(each) for each in seeds.values()}) == 1


@pytest.mark.parametrize(
    ("images", "threshold", "at_threshold", "passes", "fails"),
    [
        (25, 0.8, "pass", 20, False),
        (25, 0.8, "pass", 19, True),
        (25, 0.8, "fail", 20, True),
        (25, 0.8, "fail", 21, False),
        (10, 0.75, "pass", 8, False),
        (10, 0.75, "pass", 7, True),
        (10, 0.75, "fail", 8, False),
        (10, 0.3, "pass", 3, False),
        (1, 0.5, "pass", 0, True),
    ],
)
def test_the_threshold(images: int, threshold: float, at_threshold: str, passes: int, fails: bool) -> None:
    lattice = Lattice(CORPUS, entities=("cat",), depth=0)
    hunt = make(lattice, images_per_node=images, threshold=threshold, at_threshold=at_threshold)
    for number, probe in enumerate(hunt.ask(100)):
        hunt.tell(trial(probe, Verdict.PASS if number < passes else Verdict.FAIL))
    assert hunt.done
    assert [finding.subject for finding in hunt.findings()] == (["cat"] if fails else [])


def test_a_node_opens_only_when_all_parents_passed() -> None:
    bad = {"cup", "cat; Base: Colour=red", "house; Base: Count=two"}
    hunt = make()
    subjects = drive(hunt, lambda probe: Verdict.FAIL if probe.subject in bad else Verdict.PASS)
    expected = []
    for layer in range(3):
        for node in SMALL.nodes(layer):
            ancestors = _ancestors(node)
            if not any(SMALL.subject(ancestor) in bad for ancestor in ancestors):
                expected.append(SMALL.subject(node))
    assert subjects == expected
    assert {finding.subject for finding in hunt.findings()} == bad


def _ancestors(node: Node) -> set[Node]:
    above = set(SMALL.parents(node))
    return above.union(*(_ancestors(parent) for parent in above)) if above else above


def test_deep_nodes_need_every_parent() -> None:
    lattice = TestDeep.lattice
    rng = random.Random(5)
    verdicts = {lattice.subject(n): rng.random() < 0.8 for k in range(5) for n in lattice.nodes(k)}
    verdicts |= {"cat": True, "cup": True}
    hunt = make(lattice, images_per_node=1)
    opened = drive(hunt, lambda p: Verdict.PASS if verdicts[p.subject] else Verdict.FAIL, at_once=50)
    tested: set[Node] = set()
    for layer in range(5):
        for node in lattice.nodes(layer):
            if all(p in tested and verdicts[lattice.subject(p)] for p in lattice.parents(node)):
                tested.add(node)
    assert set(opened) == {lattice.subject(node) for node in tested}
    assert Counter(len(node.values) for node in tested)[4] > 0
    assert len(hunt.findings()) == sum(not verdicts[lattice.subject(node)] for node in tested)


def test_entity_major_finishes_an_entity_first() -> None:
    subjects = drive(make(traversal="entity", batch_nodes=4), lambda _: Verdict.PASS, at_once=5)
    entities = [subject.split("; ")[0] for subject in subjects]
    assert entities == sorted(entities, key=["cat", "cup", "house"].index)


def test_entity_major_starts_the_next_entity_rather_than_wait() -> None:
    assert [probe.subject for probe in make(traversal="entity").ask(10)] == ["cat"] * 5 + ["cup"] * 5


def test_layers_wait_for_their_last_verdict() -> None:
    hunt = make()
    probes = hunt.ask(100)
    assert {probe.subject for probe in probes} == {"cat", "cup", "house"}
    for probe in probes[:-1]:
        hunt.tell(trial(probe, Verdict.PASS))
    assert hunt.ask(100) == []
    assert not hunt.done
    hunt.tell(trial(probes[-1], Verdict.PASS))
    assert hunt.progress().phase == "layer 1 of 2"
    assert hunt.progress().total == 3 + SMALL.layer_size(1)
    assert len(hunt.ask(100)) == 100


def test_invalid_tries_are_replaced_and_never_count_as_failures() -> None:
    lattice = Lattice(CORPUS, entities=("cat",), depth=0)
    hunt = make(lattice)
    asked = []
    while probes := hunt.ask(10):
        for probe in probes:
            asked.append(probe.key)
            number = int(probe.key.split("#")[1])
            hunt.tell(trial(probe, Verdict.INVALID if number in (1, 5) else Verdict.PASS))
    assert asked == [f"cat#{number}" for number in range(7)]
    assert hunt.done
    assert hunt.findings() == []


def test_a_node_that_cannot_be_judged_stays_open_and_closes_its_branch() -> None:
    hunt = make()
    subjects = drive(hunt, lambda p: Verdict.INVALID if p.subject == "cat" else Verdict.PASS)
    assert not any(subject.startswith("cat;") for subject in subjects)
    assert hunt.findings() == []
    assert hunt.undecided() == ["cat"]


def test_a_verdict_that_no_image_could_change_is_taken_at_the_cap() -> None:
    lattice = Lattice(CORPUS, entities=("cat",), depth=0)
    hunt = make(lattice)  # 5 images, 4 must pass: two failures settle it
    while probes := hunt.ask(3):
        for probe in probes:
            fails = int(probe.key.split("#")[1]) in (0, 1)
            hunt.tell(trial(probe, Verdict.FAIL if fails else Verdict.INVALID))
    (finding,) = hunt.findings()
    assert (finding.trials, finding.failures, finding.invalid) == (2, 2, 8)


def test_a_finding_carries_its_evidence() -> None:
    hunt = make(images_per_node=10)
    bad = "cup; Base: Colour=red"
    count: Counter[str] = Counter()

    def verdict(probe: Probe) -> Verdict:
        count[probe.subject] += 1
        return Verdict.FAIL if probe.subject == bad and count[bad] <= 7 else Verdict.PASS

    drive(hunt, verdict)
    (finding,) = hunt.findings()
    assert (finding.subject, finding.status, finding.title) == (bad, "threshold", "cup: red")
    assert finding.caption == "An image of a red cup."
    assert (finding.rate, finding.trials, finding.failures) == (0.7, 10, 7)
    assert finding.interval == pytest.approx((0.3475, 0.9333), abs=1e-3)
    assert finding.e_value > 20
    assert finding.parents == ({"subject": "cup", "rate": 0.0, "trials": 10, "failures": 0},)
    details = finding.details.as_data()
    interaction, blamed = details.pop("interaction"), details.pop("blamed")
    assert interaction["excess"] == pytest.approx(0.7)
    assert interaction["sentence"].startswith("Fails 70 points more often than its entity alone")
    assert blamed["sentence"] == "The cup is missing in 100% of failures (7 of 7)."
    assert details == {
        "entity": "cup",
        "values": [["Base: Colour", "red"]],
        "class": "Household",
        "sub_class": "Kitchenware",
        "layer": 1,
        "blame": {"entity": 7, "Base: Colour": 0},
    }


def test_shards_are_disjoint_and_together_whole() -> None:
    world = PlantedWorld(SMALL, "medium", seed=1)
    whole = make()
    simulate(whole, world, 10**6)
    found: list[str] = []
    for part in range(2):
        hunt = make(shard=(part, 2))
        simulate(hunt, world, 10**6)
        found += [finding.subject for finding in hunt.findings()]
    assert sorted(found) == sorted(finding.subject for finding in whole.findings())
    with pytest.raises(ConfigError, match="another shard"):
        make(shard=(1, 2)).tell(Trial("cat#0", "cat", Verdict.PASS))


def test_an_empty_shard_is_done() -> None:
    hunt = make(shard=(4, 5))
    assert hunt.done
    assert hunt.ask(5) == []
    assert hunt.progress().finished == 0


@pytest.mark.parametrize(
    ("key", "subject", "message"),
    [
        ("unicorn#0", "unicorn", "no node of this space"),
        ("cat#99", "cat", "no try of this hunt"),
        ("cat", "cat", "no try of this hunt"),
        ("cat#x", "cat", "no try of this hunt"),
    ],
)
def test_foreign_trials_are_refused(key: str, subject: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make().tell(Trial(key, subject, Verdict.PASS))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": 1.0}, "threshold"),
        ({"images_per_node": 0}, "images_per_node"),
        ({"traversal": "sideways"}, "traversal"),
        ({"batch_nodes": 0}, "batch_nodes"),
        ({"at_threshold": "maybe"}, "at_threshold"),
        ({"shard": (2, 2)}, "shard"),
    ],
)
def test_nonsense_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make(**settings)


def test_build_hunt_obeys_the_config() -> None:
    model = {"provider": "python", "path": "x:y"}
    config = T2IConfig.model_validate(
        {
            "hunt": "t2i",
            "target": model,
            "judge": model,
            "space": {"corpus": "starter", "entities": ["cup"], "families": ["Image"], "depth": 1},
            "search": {
                "strategy": "failureatlas",
                "images_per_node": 3,
                "threshold": 0.5,
                "at_threshold": "fail",
            },
            "seed": 11,
        }
    )
    hunt = build_hunt(config)
    assert isinstance(hunt, FailureAtlasHunt)
    assert [probe.seed for probe in hunt.ask(9)] == [derive_seed(11, number) for number in range(3)]
    assert hunt.rule.needed == 2


def test_replay_costs_a_few_calls_a_trial_however_many_there_are() -> None:
    """1 M trials must replay in a few seconds."""
    lattice = Lattice(CORPUS, depth=2)
    world = PlantedWorld(lattice, "medium", seed=1)
    hunt = FailureAtlasHunt(lattice, WORDING)
    told = simulate(hunt, world, 8_000, keep=True).trials
    stored = [Trial(t.key, t.subject, t.verdict, t.reason, text=t.text, seed=t.seed) for t in told]
    fresh = FailureAtlasHunt(lattice, WORDING)

    def tell(trials: list[Trial]) -> None:
        for each in trials:
            fresh.tell(each)

    first, last = (calls_of(partial(tell, half)) for half in (stored[:4_000], stored[4_000:]))
    assert first < 40 * 4_000
    assert last < 2 * first, "the later ones cost no more than the first"
    assert fresh.findings() == hunt.findings()
