"""How good the map's numbers are on planted worlds: failure mass and audit against the truth.

    python -m benchmarks.map

Starter corpus (41,227 nodes); panels of 20, 150 and 300 nodes by layer (audit: 30, 300, 500), 4 images each.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from failscape.kinds.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.kinds.t2i.survey.assemble import GROUPS, failure_masses, groups_of
from failscape.kinds.t2i.survey.audit import audit_pruning
from failscape.kinds.t2i.survey.judge_view import JudgeView, TriedCounts
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Lattice, Node, Wording, load_corpus

LATTICE = Lattice(load_corpus("starter"), depth=2)
NODES = [list(LATTICE.nodes(layer)) for layer in range(3)]
IMAGES = 4
REPEATS = 100
AUDITS = 12


def true_rates(world: PlantedWorld) -> dict[Node, float]:
    return {
        node: float(rate)
        for nodes in NODES
        for node, rate in zip(nodes, world.landscape.rates(nodes), strict=True)
    }


def draw_panel(
    rates: dict[Node, float], sizes: tuple[int, ...], rng: np.random.Generator
) -> dict[Node, TriedCounts]:
    nodes = sorted({node for layer, size in enumerate(sizes) for node in LATTICE.sample(layer, size, rng)})
    passes = rng.binomial(IMAGES, [rates[node] for node in nodes])
    return {node: TriedCounts(int(p), IMAGES - int(p)) for node, p in zip(nodes, passes, strict=True)}


def measure_mass(assisted: bool) -> None:
    rates = true_rates(PlantedWorld(LATTICE, "medium", seed=2))
    members = defaultdict(list)
    for node, rate in rates.items():
        for group in groups_of(LATTICE, node):
            members[group].append(1 - rate)
    truth = {group: float(np.mean(found)) for group, found in members.items()}
    rng, rows = np.random.default_rng(0), defaultdict(list)
    predict = (lambda nodes: 0.05 + 0.8 * np.array([rates[node] for node in nodes])) if assisted else None
    for repeat in range(REPEATS):
        panel = draw_panel(rates, (20, 150, 300), rng)
        for mass in failure_masses(LATTICE, panel, predict=predict, seed=repeat):
            true, (low, high) = truth[mass.group, mass.name], mass.interval
            rows[mass.group].append((low <= true <= high, high - low, mass.rate - true))
    print(f"\nfailure mass, {'with' if assisted else 'without'} predictions, {REPEATS} panels")
    print(f"{'group':10} {'covered':>8} {'width':>7} {'bias':>8}")
    for group in GROUPS:
        covered, width, bias = np.mean(rows[group], axis=0)
        print(f"{group:10} {covered:8.1%} {width:7.3f} {bias:+8.4f}")


def measure_audit(regime: str, seed: int) -> None:
    world = PlantedWorld(LATTICE, regime, seed=seed)
    hunt = FailureAtlasHunt(LATTICE, Wording(LATTICE.corpus))
    passes, fails = defaultdict(int), defaultdict(int)
    for trial in simulate(hunt, world, 100_000, keep=True).trials:
        (passes if trial.verdict == "pass" else fails)[trial.subject] += 1
    search = {LATTICE.parse(name): TriedCounts(passes[name], fails[name]) for name in {*passes, *fails}}
    failing = {node for node, counts in search.items() if counts.images == 25 and counts.passes < 20}
    minimal = world.minimal_failures(0.8)
    lost = float(np.mean([any(one in failing for one in LATTICE.ancestors(node)) for node in minimal]))
    rates, rng, found = true_rates(world), np.random.default_rng(seed), []
    for _ in range(AUDITS):
        panel = draw_panel(rates, (30, 300, 500), rng)
        audit = audit_pruning(LATTICE, panel, search, failing, JudgeView(LATTICE), 0.8)
        assert audit is not None
        low, high = audit.interval
        found.append((audit.missed, low <= lost <= high, audit.minimal))
    missed, covered, number = np.mean(found, axis=0)
    print(f"{regime:8} {lost:7.1%} {missed:9.1%} {covered:8.0%} {len(minimal):8,} {number:9,.0f}")


if __name__ == "__main__":
    measure_mass(assisted=False)
    measure_mass(assisted=True)
    print(f"\naudit of the FailureAtlas rule (25 images, 100,000 in all), mean of {AUDITS} panels")
    print(f"{'world':8} {'missed':>7} {'estimate':>9} {'covered':>8} {'minimal':>8} {'estimate':>9}")
    for regime in ("weak", "medium", "strong"):
        for seed in (2, 3):
            measure_audit(regime, seed)
