"""The classifier hunt: what every hunt promises, and what it finds in planted classifiers."""

from __future__ import annotations

from typing import Any

import pytest

from failscape.errors import ConfigError
from failscape.hunts.classifier.hunt import ClassifierHunt
from failscape.hunts.classifier.prompts import Template, clause_of
from failscape.hunts.classifier.settings import ClassifierRules
from failscape.spaces.wording import with_article
from failscape.testing.hunt_suite import HuntSuite
from failscape.testing.planted_classifier import PlantedClassifier
from failscape.testing.scoring import simulate
from failscape.trials import Caption, Classify, Decide, Generate, Probe, Trial, Verdict

TEMPLATE = Template("a realistic photograph of a {class} ({superclass}).")


def hunt_of(world: PlantedClassifier, with_corpus: bool = True, **changes: Any) -> ClassifierHunt:
    helpers = {name: changes.pop(name) for name in ("captions", "vectors", "asks") if name in changes}
    rules = ClassifierRules(**{"seed": world.seed, "images": 4_000, **changes})
    return ClassifierHunt(world.targets(), TEMPLATE, world.corpus if with_corpus else None, rules, **helpers)


class TestPromises(HuntSuite):
    images = 1_500
    world = PlantedClassifier(classes=3, bugs=2, seed=2)

    def make_hunt(self) -> ClassifierHunt:
        return hunt_of(self.world, round=40, baseline=20, images=1_450, vectors=True, asks=True, confirm=20)

    def run(self, probe: Probe) -> Trial:
        return self.world.run(probe)


def test_planted_bugs_are_found_named_and_explained() -> None:
    world = PlantedClassifier(classes=6, bugs=2, seed=4, rates=(0.5, 0.9))
    hunt = hunt_of(world, images=9_000)
    simulate(hunt, world, 20_000)
    found = {tuple(finding.subject.split("; ")) for finding in hunt.findings()}
    planted = {(bug.name, *bug.values) for bug in world.bugs}
    assert hunt.done
    assert found <= planted
    assert len(found) >= 0.9 * len(planted)
    for finding in hunt.findings():
        name, value = finding.subject.split("; ")
        truth = world.rate(name, [value])
        assert finding.details.confirmed
        without = next(toggle for toggle in finding.details.toggles if toggle.what == "without")
        assert without.effect == pytest.approx(truth - world.rate(name), abs=0.35)
        assert finding.interval[0] - 0.15 < truth < finding.interval[1] + 0.15


def test_a_sound_classifier_has_no_findings() -> None:
    world = PlantedClassifier(classes=6, bugs=0, seed=1)
    hunt = hunt_of(world)
    simulate(hunt, world, 15_000)
    assert hunt.done
    assert hunt.findings() == []


def test_captions_find_what_no_corpus_lists() -> None:
    """Without a corpus, only what captions of failures have in common is tried."""
    world = PlantedClassifier(classes=4, bugs=1, seed=3, rates=(0.8, 0.95), plain=0.3)
    hunt = hunt_of(world, with_corpus=False, vectors=True, baseline=150, images=12_000)
    simulate(hunt, world, 12_000)
    assert hunt.findings()
    for finding in hunt.findings():
        assert finding.details.source in ("captions", "minimise")
        name, _, said = finding.subject.partition("; ")
        assert any(bug.values[0].partition("=")[2] in said for bug in world.bugs if bug.name == name)


def test_discovery_images_are_no_evidence() -> None:
    """Baseline, looks, tests and final block share no seeds, and fresh images are never captioned."""
    world = PlantedClassifier(classes=3, bugs=2, seed=5)
    hunt = hunt_of(world)
    done = simulate(hunt, world, 6_000, keep=True)
    uses: dict[str, set[int]] = {"b": set(), "look": set(), "race": set(), "f": set()}
    shown = set()
    drawn: dict[str, str] = {}
    for trial in done.trials:
        mark = trial.key.rpartition("#")[2]
        if mark[0] == "c":
            shown.add(trial.facts[0][0])
            continue
        uses[mark[0] if mark[0] in "bf" else "look" if mark[0] in "wk" else "race"].add(trial.seed)
        drawn[trial.facts[0]] = mark
    assert uses["f"]
    assert not uses["b"] & uses["race"]
    assert not uses["b"] & uses["f"]
    assert not uses["race"] & uses["f"]
    assert not uses["look"] & (uses["race"] | uses["f"] | uses["b"])
    assert shown
    assert not any(drawn[image].startswith("f") for image in shown)


def test_an_image_without_the_object_is_no_bug() -> None:
    world = PlantedClassifier(classes=3, bugs=0, seed=1, absent=0.5)
    hunt = hunt_of(world)
    done = simulate(hunt, world, 6_000, keep=True)
    assert hunt.findings() == []
    reasons = {trial.reason for trial in done.trials if trial.verdict is Verdict.INVALID}
    assert all(reason.startswith("not shown") for reason in reasons)
    assert sum(state.base.absent for state in hunt.arena.classes) > 50


@pytest.mark.parametrize("baseline", [8, 50])
def test_a_class_that_cannot_be_drawn_is_skipped_and_said_so(baseline: int) -> None:
    names = PlantedClassifier(classes=4, seed=6).names
    world = PlantedClassifier(classes=4, seed=6, undrawable=names[:1])
    hunt = hunt_of(world, baseline=baseline)
    simulate(hunt, world, 20_000)
    assert hunt.done
    assert "images show it" in hunt.arena.classes[0].skip
    assert not any(finding.subject.startswith(names[0]) for finding in hunt.findings())
    assert hunt.findings()


def test_a_leaky_presence_check_makes_intervals_wider_and_claims_rarer() -> None:
    """The judge lets every fifth empty picture pass, and half of all pictures are empty."""
    world = PlantedClassifier(classes=3, bugs=2, seed=8, absent=0.5, slip=0.2)
    naive, careful = hunt_of(world), hunt_of(world, slip=0.2, sensitivity=1.0)
    simulate(naive, world, 4_000)
    simulate(careful, world, 4_000)
    both = {f.subject: f for f in naive.findings()}, {f.subject: f for f in careful.findings()}
    assert both[0]
    assert len(both[1]) <= len(both[0])
    for subject in both[0].keys() & both[1].keys():
        assert both[1][subject].interval[0] < both[0][subject].interval[0]


def test_what_a_probe_does() -> None:
    world = PlantedClassifier(classes=2, seed=0)
    probe = hunt_of(world).ask(1)[0]
    kinds = [type(step) for step in probe.steps]
    assert kinds == [Generate, Decide, Classify]
    assert probe.steps[1].checks[0].gate
    assert probe.steps[0].prompt == f"a realistic photograph of {with_article(probe.subject)} (thing)."


def test_only_failures_are_captioned_with_passes_beside_them() -> None:
    world = PlantedClassifier(classes=2, bugs=3, seed=1, plain=0.2)
    hunt = hunt_of(world)
    done = simulate(hunt, world, 3_000, keep=True)
    captions = [trial for trial in done.trials if "#c" in trial.key]
    assert captions
    assert all(trial.verdict is Verdict.NONE for trial in captions)
    silent = hunt_of(world, captions=False)
    done = simulate(silent, world, 3_000, keep=True)
    assert not any("#c" in trial.key for trial in done.trials)
    assert Caption.role == "captioner"


def test_trials_of_other_classes_are_refused() -> None:
    world = PlantedClassifier(classes=2, seed=0)
    with pytest.raises(ConfigError, match="does not know"):
        hunt_of(world).tell(Trial("unicorn#b0", "unicorn", Verdict.PASS))


def test_no_classes_is_an_error() -> None:
    with pytest.raises(ConfigError, match="at least one class"):
        ClassifierHunt([], TEMPLATE, None, ClassifierRules())


def test_what_is_not_proven_is_a_suspect_that_says_what_is_missing() -> None:
    """A bug of 12 points over the margin, and too few images to prove it."""
    world = PlantedClassifier(classes=2, bugs=2, seed=4, rates=(0.25, 0.3), plain=0.95)
    rules = ClassifierRules(seed=1, images=1_200, confirm=20, toggles=0)
    hunt = ClassifierHunt(world.targets(), TEMPLATE, world.corpus, rules)
    simulate(hunt, world, 1_200)
    claimed = {finding.subject for finding in hunt.findings()}
    suspects = hunt.suspects()
    assert suspects
    for one in suspects:
        assert one.status == "suspect"
        assert one.subject not in claimed
        assert "more images of it would prove it" in one.details.missing
        assert one.counted == ("search",)


def test_what_became_of_written_descriptions_is_said_and_a_cap_that_stopped_them_named() -> None:
    world = PlantedClassifier(classes=2, bugs=1, seed=4, rates=(0.2, 0.2), base=(1, 60))
    value = next(one for one in world.corpus.values if one.label == world.bugs[0].values[0])
    rules = ClassifierRules(seed=1, images=2_000, most_images=24)
    written = {0: [clause_of(value)]}
    hunt = ClassifierHunt(world.targets(), TEMPLATE, None, rules, always=written)
    simulate(hunt, world, 2_000)
    assert hunt.done
    (end,) = hunt.notices()
    assert "not proven in the 24 images that one may take (`search.most_images`): 1" in end
    assert any(f"(as you wrote): {seen_in(hunt)}, not proven" in line for line in hunt.survey().notes)


def test_a_test_goes_on_beyond_its_share_where_nothing_else_is_left() -> None:
    world = PlantedClassifier(classes=2, bugs=1, seed=4, rates=(0.13, 0.13), base=(1, 60))
    value = next(one for one in world.corpus.values if one.label == world.bugs[0].values[0])
    rules = ClassifierRules(seed=1, images=2_000, confirm=20, toggles=0)
    hunt = ClassifierHunt(world.targets(), TEMPLATE, None, rules, always={0: [clause_of(value)]})
    simulate(hunt, world, 2_000)
    assert max(arm.counts.drawn for arm in hunt.arena.arms.values()) > rules.most_in_test
    assert hunt.findings() or (hunt.arena.left or 0) < 100


def seen_in(hunt: ClassifierHunt) -> str:
    (arm,) = [one for one in hunt.arena.arms.values() if one.tested]
    return f"{arm.counts.fails} of {arm.counts.valid} pictures failed in its test"
