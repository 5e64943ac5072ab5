"""What the search must give back in other worlds: small, lopsided, almost everything or nothing failing.

Claims are never lost without a reason, and a hunt does not end with questions that images could answer.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

import pytest
from scipy import stats

import failscape
from failscape.hunts.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.hunts.t2i.certified import tuning
from failscape.hunts.t2i.certified.hunt import CertifiedHunt
from failscape.hunts.t2i.certified.settings import CertifiedSettings
from failscape.hunts.t2i.certified.standing import ancestors_of
from failscape.spaces import Lattice, Wording, load_corpus
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.testing.planted import SHAPES, PlantedWorld, simulate
from failscape.testing.planted_corpus import planted_corpus
from failscape.testing.scoring import Truth
from failscape.trials import Finding, Probe, Trial, Verdict, reach_verdict

STARTER = load_corpus("starter")


@dataclass(frozen=True)
class Rates:
    """A model with set success rates, by subject; everything else succeeds as often as `otherwise` says."""

    rates: dict[str, float]
    otherwise: float
    seed: int

    def run(self, probe: Probe) -> Trial:
        luck = random.Random(f"{self.seed}|{probe.key}").random()
        passed = luck < self.rates.get(probe.subject, self.otherwise)
        checks = len(probe.subject.split("; "))
        verdict = Verdict.PASS if passed else Verdict.FAIL
        return Trial(probe.key, probe.subject, verdict, "", ["image", [passed] * checks], probe.seed)


def play(hunt: CertifiedHunt, world: Rates | GroupFailures, images: int) -> int:
    spent = 0
    while spent < images and (probes := hunt.ask(min(16, images - spent))):
        for probe in probes:
            hunt.tell(world.run(probe))
        spent += len(probes)
    return spent


def one_entity(strategy: str, images: int, seed: int) -> tuple[CertifiedHunt, list[str]]:
    lattice = Lattice(STARTER, entities=("cat",), families=("Image",), depth=1)
    settings = CertifiedSettings(strategy=strategy, images=images)
    values = [lattice.subject(node) for node in lattice.nodes(1)][:8]
    return CertifiedHunt(lattice, Wording(STARTER), settings, seed=seed), values


@pytest.mark.parametrize("strategy", ["certified", "listed"])
def test_eight_values_of_one_entity_are_decided_within_1500_images(strategy: str) -> None:
    """The entity passes at .88. Every value at least 15 points below τ is claimed: in 3 runs, 18 of 18 but
    for the luck of one."""
    missed = 0
    for seed in range(3):
        hunt, values = one_entity(strategy, 1_500, seed)
        failing = dict(zip(values, (0.27, 0.35, 0.45, 0.5, 0.58, 0.65), strict=False))
        play(hunt, Rates({"cat": 0.88} | failing, 0.95, seed), 1_500)
        missed += len(failing.keys() - {finding.subject for finding in hunt.findings()})
    assert missed <= 1


def test_a_hunt_does_not_end_with_questions_that_images_could_answer() -> None:
    for seed in range(3):
        hunt, values = one_entity("listed", 4_000, seed)
        world = Rates({"cat": 0.95} | dict.fromkeys(values[:5], 0.4), 0.97, seed)
        spent = play(hunt, world, 4_000)
        if spent < 4_000:
            assert hunt.done
            assert hunt.notices()
            assert hunt.suspects() == []
            widths = [(high - low) / 2 for finding in hunt.findings() for low, high in [finding.interval]]
            assert max(widths) <= 0.101


CORPUS = planted_corpus(50, 24, 5_000)
LATTICE = Lattice(CORPUS, depth=2)
MEAN = {"*": (0.96, 0.96)}
UNEVEN = "uneven"
HARD = ("adversarial", "near-miss", "entity-dominated", UNEVEN)


@cache
def hunted(
    shape: str, regime: str, seed: int, images: int, depth: int = 2
) -> tuple[Truth, list[list[Finding]]]:
    """Findings at ten moments of a hunt with `strategy: listed`; what went without a reason is an error.

    `uneven` is the usual shape seen by a judge that is right on 96 % in the mean, which is all that the hunt
    knows of it, and on one word in twenty only half of the time."""
    lattice = LATTICE if depth == 2 else Lattice(CORPUS, depth=depth)
    if shape == UNEVEN:
        truth = Truth(PlantedWorld(lattice, regime, seed, MEAN, uneven=(0.05, 0.5)))
    else:
        truth = Truth(PlantedWorld(lattice, regime, seed, shape=shape))
    hunt = CertifiedHunt(
        lattice,
        Wording(CORPUS),
        CertifiedSettings(strategy="listed", images=images),
        accuracy=JudgeAccuracy.from_rates(MEAN) if shape == UNEVEN else None,
        seed=seed,
    )
    shown: list[list[Finding]] = []
    standing: dict[int, tuple[int, int]] = {}

    def look(spent: int) -> None:
        if spent % (images // 10) == 0:
            shown.append(hunt.findings())
            assert_none_vanished(hunt, standing)
            standing.clear()
            standing.update({claim.slot: claim.images for claim in hunt.claims()})

    simulate(hunt, truth.world, images, shuffle=seed, after=look)
    return truth, shown


def assert_none_vanished(hunt: CertifiedHunt, before: dict[int, tuple[int, int]]) -> None:
    """`before`: claims that stood, and how many images of each, and of its ancestors, they had seen."""
    ledger = hunt.ledger
    for slot in before.keys() - {claim.slot for claim in hunt.claims()}:
        reason = hunt.book.withdrawn[slot].reason
        above = sum(ledger.images(ledger.slot_by_key[key]) for key in ancestors_of(ledger.keys[slot]))
        new = (ledger.images(slot) if "images of it" in reason else above) - before[slot][
            "images of it" not in reason
        ]
        assert new > 0, f"{ledger.subjects[slot]} went without a new image: {reason}"


@pytest.mark.parametrize("shape", [*sorted(SHAPES.keys() - {"planted"}), UNEVEN])
def test_the_list_keeps_its_level_and_none_vanish_in_worlds_of_other_shapes(shape: str) -> None:
    """Claims of all worlds together, at every moment with at least 50 of them: 5 % do not fail, but for luck
    that one of twenty such looks has; 10 % are not minimal, and the few that rest on one entity: they fall
    together.

    Where all that passes is near τ, where 30 % of the entities fail by a hair, and with an uneven judge
    lists were wrong in 13, 28 and 13 % of their claims before priors were wary and words could be misread.
    """
    runs = [hunted(shape, "medium", seed, 2_000) for seed in range(4 if shape in HARD else 2)]
    for moment in range(10):
        found = [(truth, finding.subject) for truth, shown in runs for finding in shown[moment]]
        if len(found) >= 50:
            passing = sum(not truth.fails(subject) for truth, subject in found)
            nested = sum(truth.fails(one) and one not in truth.subjects for truth, one in found)
            assert passing <= stats.binom.isf(0.05, len(found), 0.05), f"{passing} of {len(found)} pass"
            most = 0.1 * len(found) + tuning.FEW_ON_ONE
            assert nested <= most, f"{nested} of {len(found)} are not minimal"
    assert len(found) >= 10


def test_as_much_is_found_where_entities_fail_as_by_the_failureatlas_rule() -> None:
    """In a space of the usual size, with images enough to get beyond the entities; with half of them both
    name as many. In the space of 50 entities the rule names 8 % more true failures at 5,000 images: it claims
    what looks failing in 25 of them, and is wrong in 4 to 21 % of it, where the list keeps its 5 %."""
    corpus = planted_corpus(150, 48, 65_000)
    lattice, ours, theirs = Lattice(corpus, depth=2), 0, 0
    for seed in range(2):
        truth = Truth(PlantedWorld(lattice, "medium", seed, shape="entity-dominated"))
        hunts = (
            CertifiedHunt(
                lattice, Wording(corpus), CertifiedSettings(strategy="listed", images=20_000), seed=seed
            ),
            FailureAtlasHunt(lattice, Wording(corpus), seed=seed),
        )
        for hunt in hunts:
            simulate(hunt, truth.world, 20_000, shuffle=seed)
        found = [sum(finding.subject in truth.subjects for finding in hunt.findings()) for hunt in hunts]
        ours, theirs = ours + found[0], theirs + found[1]
    assert ours >= theirs


@pytest.mark.parametrize("depth", [1, 3])
def test_other_depths_are_searched_too(depth: int) -> None:
    truth, shown = hunted("planted", "weak", 0, 1_500, depth)
    true = sum(truth.fails(finding.subject) for finding in shown[-1])
    assert len(shown[-1]) >= 60
    assert len(shown[-1]) - true <= stats.binom.isf(1e-4, len(shown[-1]), 0.05)


@pytest.mark.parametrize(("rate", "least"), [(0.02, 40), (0.99, 0)])
def test_a_model_that_fails_almost_everywhere_or_almost_never(rate: float, least: int) -> None:
    """Where all fails, entities are claimed and nothing below them; where nothing does, nothing is."""
    hunt = CertifiedHunt(LATTICE, Wording(CORPUS), CertifiedSettings(strategy="listed", images=1_500), seed=1)
    play(hunt, Rates({}, rate, 1), 1_500)
    found = hunt.findings()
    assert least <= len(found) <= (50 if least else 2)
    assert all("; " not in finding.subject for finding in found) or not least


@pytest.mark.parametrize("order", range(4))
def test_no_hunt_with_a_budget_ends_before_it_looks_at_its_claims(
    order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claims are looked at late here, when a small hunt has nothing left to ask: it must get that far."""
    monkeypatch.setattr(tuning, "FIRST_REVISION", 400)
    space = {"corpus": "toybox", "entities": ["car", "owl", "apple"], "families": ["Base"], "depth": 1}
    models = {role: {"provider": "python", "path": "none:none"} for role in ("target", "judge")}
    config = {"hunt": "t2i", **models, "space": space, "budget": {"images": 600}, "seed": 7}
    hunt, chance, images = failscape.hunt(config), random.Random(order), 0
    pending: list[Probe] = []
    while True:
        asked = hunt.ask(min(64 - len(pending), 600 - images))
        images, pending = images + len(asked), pending + asked
        if not pending:
            break
        for probe in [pending.pop(0) for _ in range(min(len(pending), chance.choice((1, 8, 64))))]:
            facts = ["", ["pink" not in probe.subject] * len(probe.steps[1].checks)]
            verdict, reason = reach_verdict(probe.steps, facts)
            hunt.tell(Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed))
    assert images >= 400, "it ended before it looked at its claims"


MANY = planted_corpus(120, 10, 1_200)
MANY_WITH_ONE = Lattice(MANY, depth=1)


@dataclass(frozen=True)
class GroupFailures:
    """One value fails with everything, one with a class but for one entity; a third fails with one entity in
    three, so that no group of it does as a whole; all else works."""

    seed: int

    def rate(self, subject: str) -> float:
        node = MANY_WITH_ONE.parse(subject)
        entity = MANY.entities[node.entity]
        first = MANY.entities[0]
        spared = entity.upper_class != first.upper_class or entity.name == first.name
        never = 0 in node.values or (1 in node.values and not spared)
        return 0.05 if never or (2 in node.values and node.entity % 3 == 0) else 0.95

    def run(self, probe: Probe) -> Trial:
        passed = random.Random(f"{self.seed}|{probe.key}").random() < self.rate(probe.subject)
        checks = len(probe.subject.split("; "))
        verdict = Verdict.PASS if passed else Verdict.FAIL
        return Trial(probe.key, probe.subject, verdict, "", ["image", [passed] * checks], probe.seed)


def test_groups_that_fail_as_a_whole_are_rules_and_no_others_are() -> None:
    """Claimed groups fail in most of their members, in as many as they say, and cover what they should.

    2,500 images: to be sure of 120 entities takes more of them since rules 4 (with 2,000 one run in three
    knew 60 of the 70 that fail).
    """
    whole = 0
    for seed in range(3):
        world, settings = GroupFailures(seed), CertifiedSettings(strategy="listed", images=2_500)
        hunt = CertifiedHunt(MANY_WITH_ONE, Wording(MANY), settings, seed=seed)
        play(hunt, world, 2_500)
        for group in hunt.groups.claimed:
            failing = [world.rate(MANY_WITH_ONE.subject(hunt.node_of(key))) < 0.8 for key in group.cases()]
            assert sum(failing) > len(failing) / 2, "a false group: expected in one of 200 hunts"
            assert sum(failing) >= 0.9 * group.at_least * len(failing)
        whole += any(group.code.values == (0,) and group.code.scope == 2 for group in hunt.groups.claimed)
        known = {MANY_WITH_ONE.subject(hunt.node_of(key)) for key in hunt.rules()}
        known |= {finding.subject for finding in hunt.findings()}
        members = [MANY_WITH_ONE.subject(node) for node in MANY_WITH_ONE.nodes(1)]
        failing_members = {subject for subject in members if world.rate(subject) < 0.8}
        assert len(known & failing_members) >= 0.9 * len(failing_members)
    assert whole == 3, "a value that never works is one rule in every run"
