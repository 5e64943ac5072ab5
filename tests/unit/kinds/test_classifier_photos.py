"""Hunting in a folder of photos, and comparing findings with photos."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from failscape.errors import ConfigError
from failscape.kinds.classifier.hunt import ClassifierHunt
from failscape.kinds.classifier.photos import PhotoHunt
from failscape.kinds.classifier.prompts import Template
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.kinds.classifier.tallies import LabelledPhoto, Target
from failscape.simulate.classifier_world import PlantedClassifier
from failscape.simulate.scoring import simulate
from failscape.spaces.corpus import load_corpus
from failscape.testing.hunt_suite import HuntSuite
from failscape.trials import Classify, Edit, Embed, Probe, Show, Trial, Verdict

CORPUS = load_corpus("toybox")
TARGETS = [Target("penguin", ("penguin",)), Target("cow", ("cow",))]


def album(count: int = 400) -> list[LabelledPhoto]:
    """Every fourth photo is at night; its digest tells everything."""
    found = []
    for number in range(count):
        night = number % 4 == 0
        mark = hashlib.blake2b(f"{number}".encode(), digest_size=8).hexdigest()
        said = ("it is at night.",) if night else ("it is in a meadow.",)
        found.append(LabelledPhoto(f"{'n' if night else 'd'}{mark}", number % 2, said))
    return found


def classify(probe: Probe) -> Trial:
    """Penguins at night are called owl eight times of ten; everything else is right 95 times of 100."""
    digest = next(step for step in probe.steps if isinstance(step, Show)).images[0]
    name = probe.subject.partition(";")[0]
    edited = any(isinstance(step, Edit) for step in probe.steps)
    luck = random.Random(f"{digest}{edited}").random()
    wrong = luck < (0.8 if (edited or digest[0] == "n") and name == "penguin" else 0.05)
    ranking = [["owl" if wrong else name, 0.9]]
    verdict = Verdict.FAIL if wrong else Verdict.PASS
    facts = [[digest], *([["x"]] * (len(probe.steps) - 2)), ranking]
    return Trial(probe.key, probe.subject, verdict, "", facts, probe.seed)


class TestPromises(HuntSuite):
    images = 400

    def make_hunt(self) -> PhotoHunt:
        return PhotoHunt(TARGETS, album(), CORPUS, ClassifierRules(round=50))

    def run(self, probe: Probe) -> Trial:
        return classify(probe)


class TestPromisesWithAnEditor(TestPromises):
    images = 460

    def make_hunt(self) -> PhotoHunt:
        return PhotoHunt(TARGETS, album(), CORPUS, ClassifierRules(round=50), edits=True)


def play(hunt: PhotoHunt, run: Callable[[Probe], Trial] = classify) -> None:
    while probes := hunt.ask(64):
        for probe in probes:
            hunt.tell(run(probe))


def test_what_came_with_the_folder_is_tested_on_all_photos() -> None:
    hunt = PhotoHunt(TARGETS, album(), CORPUS, ClassifierRules())
    play(hunt)
    (finding,) = hunt.findings()
    assert finding.subject == "penguin; Background: time=night"
    assert finding.title.startswith("Penguins at night are misclassified")
    assert "mostly as owl" in finding.title
    assert finding.trials == sum(photo.digest[0] == "n" for photo in album())
    assert "for other photos of penguins" in finding.title


def test_what_a_captioner_saw_is_suggested_by_one_half_and_tested_on_the_other() -> None:
    """Captions that are made during the hunt name the slice of the same photos; half of them decide."""
    said = {photo.digest: list(photo.captions) for photo in album()}

    def with_captions(probe: Probe) -> Trial:
        trial = classify(probe)
        facts = [trial.facts[0], said[trial.facts[0][0]], trial.facts[-1]]
        return Trial(trial.key, trial.subject, trial.verdict, trial.reason, facts, trial.seed)

    photos = [replace(photo, captions=()) for photo in album()]
    hunt = PhotoHunt(TARGETS, photos, CORPUS, ClassifierRules(), captions=True)
    play(hunt, with_captions)
    (finding,) = hunt.findings()
    assert finding.subject == "penguin; Background: time=night"
    decided = [photo for photo in photos if not photo.suggests and photo.digest[0] == "n"]
    assert finding.trials == len(decided)


def test_a_presence_check_that_errs_weakens_what_photos_prove() -> None:
    sure, unsure = (PhotoHunt(TARGETS, album(), CORPUS, ClassifierRules(slip=slip)) for slip in (0.0, 0.3))
    for hunt in (sure, unsure):
        play(hunt)
    (first,), (second,) = sure.findings(), unsure.findings()
    assert first.e_value is not None
    assert second.e_value is not None
    assert second.e_value < first.e_value
    assert second.interval[0] < first.interval[0]


def test_an_editor_shows_that_the_clause_is_the_cause() -> None:
    hunt = PhotoHunt(TARGETS, album(), CORPUS, ClassifierRules(), edits=True)
    play(hunt)
    (finding,) = hunt.findings()
    (toggle,) = finding.details.toggles
    assert toggle.pairs == 25
    assert toggle.caption.startswith("Change the picture so that it shows a penguin at night.")
    assert toggle.full_rate > 0.5 > toggle.rate
    assert "edited into other photos, it adds +" in finding.title
    assert finding.details.spurious == ("Background: time=night",)


def test_what_is_wrong_is_told_before_slices() -> None:
    hunt = PhotoHunt(TARGETS, album(), CORPUS, ClassifierRules())
    play(hunt)
    survey = hunt.survey()
    assert (survey.given, survey.photos) == (400, 400)
    assert survey.fails == sum(one.fails for one in survey.classes)
    first = survey.confusions[0]
    assert (first.true, first.said) == ("penguin", "owl")
    assert first.pictures
    assert survey.classes[0].name == "penguin"


def test_a_slice_with_too_few_photos_is_a_suspect_that_says_how_many_more() -> None:
    hunt = PhotoHunt(TARGETS, album(20), CORPUS, ClassifierRules())
    play(hunt)
    assert hunt.findings() == []
    suspect = hunt.suspects()[0]
    assert suspect.status == "suspect"
    assert "more photos like these would settle it" in suspect.title


def test_columns_of_the_metadata_are_slices_and_missing_cells_say_nothing() -> None:
    photos = [
        replace(one, captions=(), details={"time": "night" if one.digest[0] == "n" else None})
        for one in album()
    ]
    hunt = PhotoHunt(TARGETS, photos, None, ClassifierRules())
    play(hunt)
    assert [one.subject for one in hunt.findings()] == ["penguin; Metadata: time=night"]


def test_halves_depend_on_content_alone() -> None:
    share = sum(photo.suggests for photo in album()) / 400
    assert 0.4 < share < 0.6
    assert [photo.suggests for photo in album()] == [photo.suggests for photo in album()]


def test_a_folder_without_the_classes_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no photo has the label"):
        PhotoHunt(TARGETS, [], CORPUS, ClassifierRules())


def test_photos_show_whether_a_bug_is_real() -> None:
    world = PlantedClassifier(classes=2, bugs=1, seed=3, rates=(0.8, 0.9))
    bug = world.bugs[0]
    value = bug.values[0].partition("=")[2]
    label = world.names.index(bug.name)
    photos = [
        LabelledPhoto(
            world.draw(f"{bug.name}; {bug.values[0]}" if odd else bug.name, "photo", n), label, (said,)
        )
        for n in range(60)
        for odd, said in ((n % 2 == 0, f"it is {value}" if n % 2 == 0 else "it is there"),)
    ]
    template = Template("a photo of a {class}.")
    hunt = ClassifierHunt(world.targets(), template, world.corpus, ClassifierRules(seed=1), photos=photos)
    simulate(hunt, world, 6_000)
    found = next(one for one in hunt.findings() if one.subject == f"{bug.name}; {bug.values[0]}")
    real = found.details.real
    assert real.photos == 30
    assert real.rate > 0.6
    assert real.all_photos == 60


def test_matching_by_embedding_asks_for_texts_and_images() -> None:
    world = PlantedClassifier(classes=2, bugs=1, seed=3, rates=(0.8, 0.9))
    label = world.names.index(world.bugs[0].name)
    photos = [LabelledPhoto(world.draw(world.bugs[0].name, "photo", n), label) for n in range(5)]
    hunt = ClassifierHunt(
        world.targets(),
        Template("a photo of a {class}."),
        world.corpus,
        ClassifierRules(seed=1),
        photos=photos,
        match="embedding",
    )
    done = simulate(hunt, world, 3_000, keep=True)
    shown = [trial for trial in done.trials if "#p" in trial.key]
    assert len(shown) == 5
    assert any("#e0" in trial.key for trial in done.trials)
    assert Embed.role == "embedder"
    assert Classify.role == "classifier"
