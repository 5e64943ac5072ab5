"""The classifier hunt: what every hunt promises, and what it finds in planted classifiers."""

from __future__ import annotations

from typing import Any

import pytest

from failscape.errors import ConfigError
from failscape.kinds.classifier.hunt import ClassifierHunt
from failscape.kinds.classifier.prompts import Template, clause_of
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.simulate.classifier_world import PlantedClassifier
from failscape.simulate.scoring import simulate
from failscape.spaces.wording import with_article
from failscape.testing.hunt_suite import HuntSuite
from failscape.trials import Caption, Classify, Decide, Generate, Probe, Trial, Verdict

TEMPLATE = Template("a realistic photograph of a {class} ({superclass}).")


def hunt_of(world: PlantedClassifier, with_corpus: bool = True, **changes: Any) -> ClassifierHunt:
    helpers = {name: changes.pop(name) for name in ("captions", "asks", "twice", "sees") if name in changes}
    rules = ClassifierRules(**{"seed": world.seed, "images": 4_000, **changes})
    return ClassifierHunt(world.targets(), TEMPLATE, world.corpus if with_corpus else None, rules, **helpers)


class TestPromises(HuntSuite):
    images = 1_500
    world = PlantedClassifier(classes=3, bugs=2, seed=2)

    def make_hunt(self) -> ClassifierHunt:
        return hunt_of(self.world, round=40, baseline=20, images=1_450, asks=True, twice=True, confirm=20)

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
    hunt = hunt_of(world, with_corpus=False, baseline=150, images=12_000)
    simulate(hunt, world, 12_000)
    assert hunt.findings()
    for finding in hunt.findings():
        assert finding.details.source in ("captions", "search", "a shorter sentence")
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
    assert sum(state.base.absent for state in hunt.record.classes) > 50


@pytest.mark.parametrize("baseline", [8, 50])
def test_a_class_that_cannot_be_drawn_is_skipped_and_said_so(baseline: int) -> None:
    names = PlantedClassifier(classes=4, seed=6).names
    world = PlantedClassifier(classes=4, seed=6, undrawable=names[:1])
    hunt = hunt_of(world, baseline=baseline)
    simulate(hunt, world, 20_000)
    assert hunt.done
    assert "images show it" in hunt.record.classes[0].skip
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
    rules = ClassifierRules(seed=1, images=300, confirm=20, toggles=0)
    hunt = ClassifierHunt(world.targets(), TEMPLATE, world.corpus, rules)
    simulate(hunt, world, 300)
    claimed = {finding.subject for finding in hunt.findings()}
    suspects = hunt.suspects()
    assert suspects
    for one in suspects:
        assert one.status == "suspect"
        assert one.subject not in claimed
        assert one.details.missing
        assert one.counted == ("search",)
    assert any("more images of it would prove it" in one.details.missing for one in suspects)


def test_what_became_of_written_descriptions_is_said() -> None:
    world = PlantedClassifier(classes=2, bugs=1, seed=4, rates=(0.2, 0.2), base=(1, 60))
    value = next(one for one in world.corpus.values if one.label == world.bugs[0].values[0])
    rules = ClassifierRules(seed=1, images=300, confirm=20, toggles=0)
    hunt = ClassifierHunt(
        world.targets(), TEMPLATE, None, rules, captions=False, always={0: [clause_of(value)]}
    )
    simulate(hunt, world, 300)
    assert hunt.done
    (test,) = hunt.record.tests.values()
    seen = f"{test.counts.fails} of {test.counts.valid} pictures failed in its test"
    assert test.counts.valid
    assert any(f"(as you wrote): {seen}" in line for line in hunt.survey().notes)


def test_a_judge_that_says_yes_to_everything_excuses_no_failure() -> None:
    world = PlantedClassifier(classes=3, bugs=2, seed=4, rates=(0.5, 0.9))

    def agreeing(probe: Probe) -> Trial:
        trial = world.run(probe)
        facts = [
            [True] * len(step.checks) if isinstance(step, Decide) else fact
            for step, fact in zip(probe.steps, trial.facts, strict=False)
        ]
        return Trial(trial.key, trial.subject, trial.verdict, trial.reason, facts, trial.seed)

    hunt = hunt_of(world, twice=True)
    while probes := hunt.ask(64):
        for probe in probes:
            hunt.tell(agreeing(probe))
    assert len(hunt.findings()) >= 5
    assert not hunt.excused()
    assert any(line.startswith("no failure is excused") for line in hunt.notices())


def test_a_judge_that_sees_excuses_failures_with_both_objects() -> None:
    world = PlantedClassifier(classes=3, bugs=2, seed=4, rates=(0.5, 0.9), beside=0.9)
    hunt = hunt_of(world, twice=True)
    simulate(hunt, world, 4_000)
    assert len(hunt.excused()) > 50


def test_a_hunt_of_one_class_asks_about_a_thing_of_the_corpus() -> None:
    world = PlantedClassifier(classes=2, bugs=1, seed=4)
    rules = ClassifierRules(seed=1, images=300)
    hunt = ClassifierHunt(world.targets()[:1], TEMPLATE, world.corpus, rules, twice=True)
    probe = hunt.ask(1)[0]
    control = probe.steps[1].checks[-1]
    assert control.note
    assert control.kind == "entity"
    assert control.value != probe.subject


def test_a_bug_of_all_classes_is_told_as_one() -> None:
    world = PlantedClassifier(classes=3, bugs=1, seed=4, rates=(0.8, 0.9))
    value = world.bugs[0].values
    world.bugs = [bug._replace(values=value) for bug in world.bugs]
    hunt = hunt_of(world)
    simulate(hunt, world, 4_000)
    assert any("a bug of 3 of 3 classes examined" in habit.sentence for habit in hunt.survey().habits)


def test_captions_that_never_repeat_add_no_facts() -> None:
    world = PlantedClassifier(classes=2, bugs=1, seed=4, rates=(0.5, 0.9))
    number = 0

    def rambling(probe: Probe) -> Trial:
        nonlocal number
        trial = world.run(probe)
        if not isinstance(probe.steps[-1], Caption):
            return trial
        number += 1
        facts = [trial.facts[0], [f"it is beside the curious object {number}"]]
        return Trial(trial.key, trial.subject, trial.verdict, trial.reason, facts, trial.seed)

    hunt = hunt_of(world, images=1_500)
    known = len(hunt.search.space)
    while probes := hunt.ask(64):
        for probe in probes:
            hunt.tell(rambling(probe))
    assert number > 50
    assert len(hunt.search.space) == known
