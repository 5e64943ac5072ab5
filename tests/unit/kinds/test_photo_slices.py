"""Slices of photos: across classes, of two facts and of one class, tested together on all photos."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from failscape.kinds.classifier.page import notes
from failscape.kinds.classifier.photos import PhotoHunt
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.kinds.classifier.slices import metadata_facts
from failscape.kinds.classifier.tallies import LabelledPhoto, Target
from failscape.trials import Probe, Trial, Verdict

NAMES = ("cat", "dog", "horse", "sheep", "truck", "boat")
TARGETS = [Target(name, (name,)) for name in NAMES]
SIZES, LIGHTS = ("small", "medium", "large"), ("dark", "bright")

#: How often a photo of a class with such metadata fails.
FailureRate = Callable[[str, Mapping[str, Any]], float]


def album(count: int, seed: int = 0) -> list[LabelledPhoto]:
    luck = random.Random(f"album/{seed}")
    found = []
    for number in range(count):
        digest = hashlib.blake2b(f"{seed}/{number}".encode(), digest_size=8).hexdigest()
        details = {"size": luck.choice(SIZES), "light": luck.choice(LIGHTS)}
        found.append(LabelledPhoto(digest, number % len(NAMES), (), details))
    return found


def classified(photos: list[LabelledPhoto], rate: FailureRate, seed: int = 0, **settings: Any) -> PhotoHunt:
    hunt = PhotoHunt(TARGETS, photos, None, ClassifierRules(), **settings)
    tell(hunt, photos, rate, seed)
    return hunt


def tell(
    hunt: PhotoHunt, photos: list[LabelledPhoto], rate: FailureRate, seed: int = 0, most: int = 10**9
) -> None:
    told = 0
    while told < most and (probes := hunt.ask(min(64, most - told))):
        for probe in probes:
            told += 1
            hunt.tell(outcome(probe, photos, rate, seed))


def outcome(probe: Probe, photos: list[LabelledPhoto], rate: FailureRate, seed: int) -> Trial:
    photo = photos[int(probe.key.rpartition("#p")[2])]
    chance = rate(probe.subject, photo.details)
    failed = random.Random(f"{seed}/{photo.digest}").random() < chance
    facts = [[photo.digest], [["other" if failed else probe.subject, 0.9]]]
    return Trial(probe.key, probe.subject, Verdict.FAIL if failed else Verdict.PASS, "", facts, 0)


def test_a_fact_that_matters_everywhere_is_told_across_classes() -> None:
    hunt = classified(album(600), lambda name, facts: 0.8 if facts["size"] == "small" else 0.3)
    (finding,) = hunt.findings()
    assert finding.subject == "all classes; Metadata: size=small"
    assert finding.status == "certified"
    assert finding.title.startswith("Photos whose size is small are misclassified")
    assert "it holds for " in finding.title
    holding = {row.name for row in finding.details.classes if row.holds}
    assert len(holding) >= 4
    assert finding.trials == sum(one.details["size"] == "small" for one in album(600))
    assert finding.failures == sum(row.fails for row in finding.details.classes)
    said = " ".join(notes(finding))
    assert all(f"{name} (" in said for name in NAMES)


def test_a_finding_across_classes_names_those_that_it_does_not_hold_for() -> None:
    spared = {"truck", "boat"}

    def rate(name: str, facts: Mapping[str, Any]) -> float:
        return 0.9 if facts["size"] == "small" and name not in spared else 0.1

    finding = next(one for one in classified(album(900), rate).findings() if "all classes" in one.subject)
    assert {row.name for row in finding.details.classes if row.proven} == set(NAMES) - spared
    assert {row.name for row in finding.details.classes if not row.holds} == spared
    assert "No clear sign of it in: " in " ".join(notes(finding))


def test_what_one_class_alone_explains_is_told_of_that_class() -> None:
    hunt = classified(
        album(900), lambda name, facts: 0.95 if name == "cat" and facts["size"] == "small" else 0.1
    )
    assert [one.subject for one in hunt.findings()] == ["cat; Metadata: size=small"]


def test_two_facts_are_told_where_they_fail_more_than_either_alone() -> None:
    def rate(name: str, facts: Mapping[str, Any]) -> float:
        return 0.9 if facts == {"size": "small", "light": "dark"} else 0.1

    subjects = [one.subject for one in classified(album(900), rate).findings()]
    assert "all classes; Metadata: light=dark; Metadata: size=small" in subjects


def test_a_hard_class_that_is_often_dark_does_not_make_darkness_a_cause() -> None:
    """Each class is compared with itself: 90 % of cats fail in any light, and most cats are dark."""
    photos = [
        replace(one, details={"light": "dark" if (one.label == 0) != (at % 10 == 0) else "bright"})
        for at, one in enumerate(album(1_200))
    ]
    hunt = classified(photos, lambda name, facts: 0.9 if name == "cat" else 0.1)
    assert hunt.findings() == []


def test_where_nothing_matters_hardly_ever_anything_is_claimed() -> None:
    """At a level of 5 % ten of 200 may claim something; 18 or more would happen once in 100 times."""
    photos = album(300)
    wrong = sum(bool(classified(photos, lambda *_: 0.4, seed).findings()) for seed in range(200))
    assert wrong < 18


def test_nothing_is_claimed_before_all_photos_are_classified() -> None:
    photos = album(600)
    hunt = PhotoHunt(TARGETS, photos, None, ClassifierRules(round=50))
    tell(hunt, photos, lambda name, facts: 0.9 if facts["size"] == "small" else 0.1, most=500)
    assert hunt.findings() == []
    assert hunt.progress().findings == 0
    suspect = hunt.suspects()[0]
    assert suspect.subject == "all classes; Metadata: size=small"
    assert "not classified yet" in suspect.details.missing


def test_pictures_that_look_alike_are_a_suspect_until_somebody_names_them() -> None:
    """A cluster fails, and no fact tells it apart: it has pictures, and no claim."""
    photos = [replace(one, label=at % 2, details={}) for at, one in enumerate(album(400))]
    odd = {one.digest for at, one in enumerate(photos) if at % 5 == 0}
    hunt = PhotoHunt(TARGETS[:2], photos, None, ClassifierRules(), vectors=True)
    while probes := hunt.ask(64):
        for probe in probes:
            trial = outcome(probe, photos, lambda *_: 0.05, 0)
            digest = trial.facts[0][0]
            wrong = digest in odd
            vector = [5.0 if wrong else 0.0, float(int(digest, 16) % 7) / 7]
            ranking = [["other" if wrong else probe.subject, 0.9]]
            verdict = Verdict.FAIL if wrong else Verdict.PASS
            hunt.tell(Trial(probe.key, probe.subject, verdict, "", [[digest], [vector], ranking], 0))
    assert hunt.findings() == []
    suspect = hunt.suspects()[0]
    assert "pictures that look alike" in suspect.title
    assert "no name that could be tested on new photos" in suspect.details.missing
    assert set(suspect.details.photos) <= odd


def test_lists_are_facts_each_and_numbers_that_hardly_repeat_are_quarters() -> None:
    rows = [{"tags": ["wet", "old"], "area": number / 7} for number in range(100)]
    facts = metadata_facts(rows)
    assert [one.label for one in facts[0]] == [
        "Metadata: area=0 to 3.54",
        "Metadata: tags=wet",
        "Metadata: tags=old",
    ]
    assert facts[-1][0].value == "10.6 to 14.1"
    assert len({row[0].value for row in facts}) == 4
