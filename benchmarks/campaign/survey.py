"""The map's numbers in planted worlds, where the truth is known: no bias, and intervals that cover.

Coverage is asked to be at least 90 % where 95 % is promised: the runs of a case share their world. Bias is
held against its own standard error (z = 4.5).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchmarks.campaign.measurements import Measurement, at_least, at_most, few_of, just
from failscape.kinds.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.kinds.t2i.survey.assemble import failure_masses, groups_of
from failscape.kinds.t2i.survey.audit import audit_pruning
from failscape.kinds.t2i.survey.judge_view import JudgeView, TriedCounts
from failscape.kinds.t2i.survey.rules import find_rules, judge_rules, speaks_of
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Lattice, Node, Wording, load_corpus
from failscape.stats.contrasts import interaction
from failscape.stats.deconvolve import share_below
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.stats.nuisance import same_in_all

Z = 4.5
LATTICE = Lattice(load_corpus("starter"), entities="sample", depth=2)
NODES = [node for layer in range(3) for node in LATTICE.nodes(layer)]
PLAIN_VIEW = JudgeView(LATTICE)
Floats = NDArray[np.float64]


def rates_of(world: PlantedWorld, nodes: list[Node]) -> Floats:
    rates = np.empty(len(nodes))
    for layer in range(3):
        places = [place for place, node in enumerate(nodes) if len(node.values) == layer]
        if places:
            rates[places] = world.landscape.rates([nodes[place] for place in places])
    return rates


def draw_panel(
    rates: Mapping[Node, float],
    rng: np.random.Generator,
    sizes: tuple[int, ...] = (8, 100, 200),
    images: int = 4,
) -> dict[Node, TriedCounts]:
    nodes = sorted({node for layer, size in enumerate(sizes) for node in LATTICE.sample(layer, size, rng)})
    passes = rng.binomial(images, [rates[node] for node in nodes])
    return {node: TriedCounts(int(p), images - int(p)) for node, p in zip(nodes, passes, strict=True)}


def true_masses(rates: Mapping[Node, float]) -> dict[tuple[str, str], float]:
    found = defaultdict(list)
    for node in NODES:
        for group in groups_of(LATTICE, node):
            found[group].append(1 - rates[node])
    return {group: float(np.mean(failures)) for group, failures in found.items()}


def masses() -> Iterator[Measurement]:
    """25 panels of one world, without and with predictions that are too low: they may not bias anything."""
    rates = dict(zip(NODES, rates_of(PlantedWorld(LATTICE, "medium", seed=2), NODES), strict=True))
    truth = true_masses(rates)
    for assisted in (False, True):
        rng = np.random.default_rng(1)
        errors, covered, widths = [], defaultdict(list), []
        predict = (lambda nodes: 0.7 * np.array([rates[node] for node in nodes])) if assisted else None
        for repeat in range(25):
            for mass in failure_masses(LATTICE, draw_panel(rates, rng), predict=predict, seed=repeat):
                true = truth[mass.group, mass.name]
                covered[mass.group].append(mass.interval[0] <= true <= mass.interval[1])
                if mass.group == "all":
                    errors.append(mass.rate - true)
                    widths.append(mass.interval[1] - mass.interval[0])
        name = "with predictions" if assisted else "panel alone"
        for group in ("all", "layer", "class", "kind", "cell"):
            yield at_least(f"{name}: intervals of {group} that cover", float(np.mean(covered[group])), 0.9)
        off = abs(np.mean(errors)) / (np.std(errors) / np.sqrt(len(errors)))
        yield at_most(f"{name}: standard errors of bias", float(off), Z)
        yield at_most(f"{name}: mean width for the whole space", float(np.mean(widths)), 0.14)


class _JudgedRates(dict[Node, float]):
    """Judged rates, worked out when they are first asked for."""

    def __init__(self, world: PlantedWorld) -> None:
        super().__init__()
        self._world = world

    def __missing__(self, node: Node) -> float:
        return self.setdefault(node, self._world.judged_rate(node))


def masses_of_a_noisy_judge() -> Iterator[Measurement]:
    pair = (0.95, 0.9)
    world = PlantedWorld(LATTICE, "strong", seed=4, accuracy={"*": pair})
    rates = _JudgedRates(world)
    truth = true_masses(dict(zip(NODES, rates_of(world, NODES), strict=True)))["all", ""]
    rng = np.random.default_rng(3)
    judge_view = JudgeView(LATTICE, JudgeAccuracy.from_rates({"*": pair}))
    naive, corrected = 0, 0
    for _ in range(15):
        panel = draw_panel(rates, rng)
        (plain,) = [one for one in failure_masses(LATTICE, panel) if one.group == "all"]
        (seen,) = [one for one in failure_masses(LATTICE, panel, judge_view=judge_view) if one.group == "all"]
        naive += plain.interval[0] <= truth <= plain.interval[1]
        corrected += seen.interval[0] <= truth <= seen.interval[1]
    yield at_least("corrected intervals of 15 that cover", corrected, 14)
    yield just("plain intervals of 15 that cover", naive)


def shares_of_failing_nodes() -> Iterator[Measurement]:
    for regime in ("weak", "medium", "strong"):
        world = PlantedWorld(LATTICE, regime, seed=5)
        rates = rates_of(world, [node for node in NODES if len(node.values) == 2])
        true = float(np.mean(rates < 0.8))
        rng = np.random.default_rng(2)
        fitted, counted, covered = [], [], 0
        for _ in range(40):
            passes = rng.binomial(5, rng.choice(rates, 250))
            share, (low, high) = share_below(passes, 5 - passes, 0.8)
            fitted.append(share)
            counted.append(np.mean(passes / 5 <= 0.8))
            covered += low <= true <= high
        yield at_most(f"{regime}: bias of the fitted share", float(abs(np.mean(fitted) - true)), 0.04)
        yield just(f"{regime}: bias of counting", float(abs(np.mean(counted) - true)))
        yield at_least(f"{regime}: intervals of 40 that cover", covered, 34)


def settled(
    regime: str, seed: int, images: int
) -> tuple[PlantedWorld, dict[Node, TriedCounts], set[Node], set[Node]]:
    """A world, what the FailureAtlas rule with 15 images tried in it, what it called failing and passing."""
    world = PlantedWorld(LATTICE, regime, seed=seed)
    hunt = FailureAtlasHunt(LATTICE, Wording(LATTICE.corpus), images_per_node=15)
    passes: dict[str, int] = defaultdict(int)
    fails: dict[str, int] = defaultdict(int)
    for trial in simulate(hunt, world, images, keep=True).trials:
        (passes if trial.verdict == "pass" else fails)[trial.subject] += 1
    search = {LATTICE.parse(name): TriedCounts(passes[name], fails[name]) for name in {*passes, *fails}}
    done = {node: counts for node, counts in search.items() if counts.images == 15}
    failing = {node for node, counts in done.items() if counts.passes < 12}
    return world, search, failing, set(done) - failing


def rules_of_the_map() -> Iterator[Measurement]:
    """Rules found by a search hold on nodes that it never looked at."""
    for regime in ("weak", "medium"):
        world, _, failing, passing = settled(regime, 3, 12_000)
        book = find_rules(LATTICE, failing, passing)
        rates = dict(zip(NODES, rates_of(world, NODES), strict=True))
        panel = draw_panel(rates, np.random.default_rng(0), (12, 400, 400))
        judged = judge_rules(LATTICE, book, panel, PLAIN_VIEW, 0.8)
        assert judged.precision is not None
        meant = [node for node in NODES if any(speaks_of(LATTICE, rule, node) for rule in book.rules)]
        true = float(np.mean([rates[node] < 0.8 for node in meant]))
        low, high = judged.precision.interval
        yield at_least(f"{regime}: share of the nodes that rules speak of that fails", true, 0.9)
        yield at_least(f"{regime}: the interval of that share covers it", int(low <= true <= high), 1)
        yield just(f"{regime}: share of failing nodes that rules cover", book.covered / len(failing))


def audits() -> Iterator[Measurement]:
    """The rule with 15 images closes off by luck; the truth is counted over the whole lattice."""
    for regime, seed in (("weak", 1), ("medium", 2)):
        world, search, failing, _ = settled(regime, seed, 25_000)
        minimal = world.minimal_failures(0.8)
        lost = float(np.mean([any(one in failing for one in LATTICE.ancestors(node)) for node in minimal]))
        rates = dict(zip(NODES, rates_of(world, NODES), strict=True))
        rng = np.random.default_rng(seed)
        done = [
            audit_pruning(LATTICE, draw_panel(rates, rng, (12, 200, 300)), search, failing, PLAIN_VIEW, 0.8)
            for _ in range(5)
        ]
        found = [audit for audit in done if audit]
        bias = abs(float(np.mean([audit.missed for audit in found])) - lost)
        yield at_most(f"{regime}: bias of the share that was lost", bias, 0.08)
        covered = sum(audit.interval[0] <= lost <= audit.interval[1] for audit in found)
        yield at_least(f"{regime}: intervals of 5 that cover it", covered, 4)
        ends = [audit.minimal_interval for audit in found]
        covered = sum(low <= len(minimal) <= high for low, high in ends)
        yield at_least(f"{regime}: intervals of 5 that cover the number of failures", covered, 4)


def interactions() -> Iterator[Measurement]:
    entity, first, second = 0.95, 0.9, 0.85
    for images in (25, 60):
        for together in (1.0, 0.3):
            chances = [entity * first * second * together, entity * first, entity * second, entity]
            true = chances[1] * chances[2] / entity - chances[0]
            rng = np.random.default_rng(images)
            covered = 0
            for row in rng.binomial(images, chances, size=(600, 4)).tolist():
                own, *parents, alone = [(passes, images - passes) for passes in row]
                found = interaction(own, parents, alone)
                assert found is not None
                covered += found.interval[0] <= true <= found.interval[1]
            yield at_least(f"{images} images, factor {together:g}: intervals that cover", covered / 600, 0.93)


def wordings() -> Iterator[Measurement]:
    """The test of wordings, with few data (shuffled) and many (chi-square), where wordings are all alike."""
    for nodes, images in ((4, 4), (40, 10)):
        rng = np.random.default_rng(nodes)
        rates = special.expit(rng.normal(0, 1.5, (nodes, 1)))
        tries = np.full((nodes, 3), images)
        p_values = [same_in_all(list(rng.binomial(tries, rates)), list(tries)) for _ in range(300)]
        alarms = sum(value < 0.05 for value in p_values)
        yield few_of(f"{nodes} nodes, {images} images: false alarms at level .05", alarms, 300, 0.05)
