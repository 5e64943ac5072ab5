"""What the classifier hunt promises, measured over many planted classifiers."""

from __future__ import annotations

import pytest

from failscape.hunts.classifier.hunt import ClassifierHunt
from failscape.hunts.classifier.prompts import Template
from failscape.hunts.classifier.settings import ClassifierRules
from failscape.testing.planted_classifier import PlantedClassifier
from failscape.testing.scoring import simulate

TEMPLATE = Template("a realistic photograph of a {class} ({superclass}).")
SEEDS = 20


def hunted(world: PlantedClassifier, images: int, **rules: float) -> ClassifierHunt:
    settings = ClassifierRules(seed=world.seed, images=images, toggles=0, confirm=20, **rules)  # type: ignore
    hunt = ClassifierHunt(world.targets(), TEMPLATE, world.corpus, settings, vectors=True)
    simulate(hunt, world, images, in_flight=256, shuffle=world.seed)
    return hunt


@pytest.fixture(scope="module")
def runs() -> list[tuple[PlantedClassifier, set[tuple[str, ...]]]]:
    found = []
    for seed in range(SEEDS):
        world = PlantedClassifier(classes=3, bugs=2, seed=seed, plain=0.9)
        hunt = hunted(world, 4_000)
        found.append((world, {tuple(finding.subject.split("; ")) for finding in hunt.findings()}))
    return found


def test_at_most_five_percent_of_claims_are_false(
    runs: list[tuple[PlantedClassifier, set[tuple[str, ...]]]],
) -> None:
    shares = []
    for world, claims in runs:
        false = [claim for claim in claims if world.effect(claim[0], claim[1:]) <= 0.05]
        shares.append(len(false) / max(1, len(claims)))
    assert sum(shares) / len(shares) <= 0.05


def test_nine_in_ten_large_bugs_are_found_and_named(
    runs: list[tuple[PlantedClassifier, set[tuple[str, ...]]]],
) -> None:
    large, named = 0, 0
    for world, claims in runs:
        bugs = {(bug.name, *bug.values) for bug in world.bugs if world.effect(bug.name, bug.values) >= 0.2}
        large += len(bugs)
        named += len(bugs & claims)
    assert large > 100
    assert named >= 0.9 * large


def test_effects_just_below_the_margin_are_not_claimed() -> None:
    """The hardest nulls: every planted excess is real, but too small."""
    claims = 0
    for seed in range(8):
        world = PlantedClassifier(classes=3, bugs=6, seed=seed, rates=(0.12, 0.15), plain=0.95)
        hunt = hunted(world, 4_000, margin=0.14)
        claims += len(hunt.findings())
    assert claims <= 1


def test_an_unusable_presence_check_does_not_fake_bugs() -> None:
    """One picture in four is empty, the judge lets a third of those pass, and the hunt was told so."""
    claims = 0
    for seed in range(5):
        world = PlantedClassifier(classes=3, bugs=0, seed=seed, absent=0.25, slip=0.33)
        hunt = hunted(world, 3_000, slip=0.33)
        claims += len(hunt.findings())
    assert claims <= 1


def named(world: PlantedClassifier, hunt: ClassifierHunt) -> int:
    planted = {"; ".join([bug.name, *sorted(bug.values)]) for bug in world.bugs}
    return len(planted & {finding.subject for finding in hunt.findings()})


def test_pairs_are_found_only_if_the_hunt_goes_on() -> None:
    """Two facts at once: one pass over the values hardly shows them, the rest of the budget does."""
    whole, cut, planted = 0, 0, 0
    for seed in range(4):
        world = PlantedClassifier(classes=3, bugs=0, pairs=3, seed=seed, rates=(0.5, 0.9), plain=0.95)
        planted += len(world.bugs)
        whole += named(world, hunted(world, 4_500))
        cut += named(world, hunted(world, 4_500, rounds=1))
    assert whole >= 0.6 * planted
    assert cut <= 0.7 * whole


def test_clauses_that_are_not_obeyed_do_not_hide_a_bug() -> None:
    """The generator obeys two clauses of five; the judge sees which. Ignoring it, effects are small."""
    seeing, blind, planted = 0, 0, 0
    for seed in range(4):
        world = PlantedClassifier(classes=3, bugs=3, seed=seed, rates=(0.35, 0.45), plain=0.97, obeys=0.4)
        planted += len(world.bugs)
        for sees in (True, False):
            settings = ClassifierRules(seed=seed, images=6_000, toggles=0, confirm=20)
            hunt = ClassifierHunt(world.targets(), TEMPLATE, world.corpus, settings, sees=sees)
            simulate(hunt, world, 6_000, in_flight=256)
            if sees:
                seeing += named(world, hunt)
            else:
                blind += named(world, hunt)
    assert seeing >= 0.6 * planted
    assert blind <= 0.7 * seeing


@pytest.mark.parametrize("comes_along_is_the_cause", [True, False])
def test_what_comes_along_is_told_apart_or_said_not_to_be(comes_along_is_the_cause: bool) -> None:
    """Whoever asks for one attribute gets another too; either may be what the classifier fails on."""
    world = PlantedClassifier(classes=2, bugs=1, seed=6, rates=(0.7, 0.8), plain=0.99, forgets=0.1)
    bug = world.bugs[0]
    cause = bug.values[0]
    kind = cause.partition("=")[0]
    other = next(
        value.label
        for value in world.corpus.values
        if value.kind.startswith("Background") and value.kind != kind
    )
    asked, along = (other, cause) if comes_along_is_the_cause else (cause, other)
    world.along = {asked: along}
    rules = ClassifierRules(seed=2, images=2_000, confirm=40, toggles=40)
    hunt = ClassifierHunt(world.targets(), TEMPLATE, world.corpus, rules)
    simulate(hunt, world, 2_000)
    found = {finding.subject: finding for finding in hunt.findings()}
    told = found[f"{bug.name}; {asked}"]
    beside = [toggle for toggle in told.details.toggles if toggle.what == "beside"]
    assert [toggle.instead for toggle in beside] == [along.partition("=")[2]]
    if comes_along_is_the_cause:
        assert told.details.together == (along.partition("=")[2],)
        assert "is the cause" not in told.title
    else:
        assert told.details.together == ()
        assert "is the cause" in told.title
