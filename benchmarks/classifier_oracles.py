"""Worlds for the classifier benchmark: planted classifiers, and the toy classifiers on rendered pictures.

An oracle runs any probe of a classifier hunt without a runtime, and knows (or measures) true failure rates.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.classifier.prompts import Clause, Template, clause_of, describe
from failscape.kinds.classifier.settings import stream_seed
from failscape.kinds.classifier.tallies import Target
from failscape.simulate.classifier_world import PlantedClassifier
from failscape.spaces.corpus import Corpus, load_corpus
from failscape.toybox.eyes import Eyes
from failscape.toybox.networks import ToyClassifier
from failscape.toybox.renderer import draw
from failscape.trials import (
    Caption,
    Check,
    Classify,
    Decide,
    Embed,
    Facts,
    Generate,
    Probe,
    Show,
    Trial,
    reach_verdict,
)

CLEAR = 0.25
TEMPLATE = Template("a realistic photograph of a {class} ({superclass}).")


class Oracle:
    """`run` gives the trials of probes. `effect` is by how much a description truly exceeds its class."""

    corpus: Corpus
    targets: list[Target]

    def run(self, probes: Sequence[Probe]) -> list[Trial]:
        raise NotImplementedError

    def effect(self, name: str, labels: Sequence[str]) -> float:
        raise NotImplementedError

    def bugs(self, least: float) -> set[tuple[str, ...]]:
        """Single-value descriptions (class, label) with at least this effect."""
        raise NotImplementedError

    def text_vector(self, clause: Clause) -> NDArray[np.float64]:
        raise NotImplementedError

    @cached_property
    def clauses(self) -> list[Clause]:
        return [clause_of(value) for value in self.corpus.values]

    def probe(self, target: Target, clauses: Sequence[Clause], stream: str, number: int) -> Probe:
        description = describe(0, clauses)
        subject = "; ".join([target.name, *(clause.label for clause in description.clauses)])
        prompt = TEMPLATE.prompt(target.name, target.superclass, description.clauses)
        steps = (Generate(prompt), Decide((target.presence(),)), Classify(target.accept))
        return Probe(f"{subject}#{stream}{number}", subject, steps, stream_seed(0, stream + subject, number))

    def look(self, name: str, digests: Sequence[str]) -> list[tuple[list[str], list[float]]]:
        """Captions and vectors of images."""
        see = (Caption(), Embed())
        trials = self.run([Probe(f"{digest}#c", name, (Show((digest,)), *see)) for digest in digests])
        return [(list(trial.facts[1]), list(trial.facts[2][0])) for trial in trials]


class PlantedOracle(Oracle):
    def __init__(self, planted: PlantedClassifier) -> None:
        self.planted = planted
        self.corpus = planted.corpus
        self.targets = planted.targets()

    def run(self, probes: Sequence[Probe]) -> list[Trial]:
        return [self.planted.run(probe) for probe in probes]

    def effect(self, name: str, labels: Sequence[str]) -> float:
        known = [label for label in labels if not label.startswith("Said=")]
        return self.planted.effect(name, known)

    def bugs(self, least: float) -> set[tuple[str, ...]]:
        found = {(bug.name, *bug.values) for bug in self.planted.bugs}
        return {bug for bug in found if self.planted.effect(bug[0], bug[1:]) >= least}

    def text_vector(self, clause: Clause) -> NDArray[np.float64]:
        return np.array([float(value.label == clause.label) for value in self.corpus.values])


class ToyOracle(Oracle):
    """One of the toy classifiers, the renderer, and toy-eyes. Truth is measured on fresh pictures:

    `fresh` for every claim (three times as many for a class), `screen` for every class and value.
    """

    def __init__(self, name: str = "cnn", fresh: int = 300, screen: int = 60) -> None:
        self.corpus = load_corpus("toybox")
        self.net, self.eyes = ToyClassifier(name), Eyes()
        self.fresh, self.screen = fresh, screen
        self.targets = [Target(entity.name, (entity.name,), "thing") for entity in self.corpus.entities]
        self._rates: dict[tuple[str, ...], float] = {}
        self._values = {value.label: clause_of(value) for value in self.corpus.values}

    def run(self, probes: Sequence[Probe]) -> list[Trial]:
        """Pictures are drawn one by one and looked at together."""
        pixels = np.stack([self._pixels(probe) for probe in probes])
        labels, seen, captions = self._seen(probes, pixels)
        found = []
        for at, probe in enumerate(probes):
            facts: list[Facts] = []
            for step in probe.steps:
                if isinstance(step, Generate):
                    facts.append(json.dumps([step.prompt, probe.seed]))
                elif isinstance(step, Show):
                    facts.append(list(step.images))
                elif isinstance(step, Classify):
                    facts.append([[label, score] for label, score in labels[at]])
                elif isinstance(step, Caption):
                    facts.append(captions[at])
                elif isinstance(step, Embed):
                    facts.append([seen[at]])
                else:
                    assert isinstance(step, Decide)
                    facts.append([_is_drawn(check, probe.subject) for check in step.checks])
            verdict, reason = reach_verdict(probe.steps, facts)
            found.append(Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed))
        return found

    def _seen(self, probes: Sequence[Probe], pixels: NDArray[np.uint8]) -> tuple[Any, Any, Any]:
        steps = {type(step) for probe in probes for step in probe.steps}
        labels = self.net.classify(pixels, 3) if Classify in steps else []
        captions = self.eyes.captions(pixels) if Caption in steps else []
        if Embed not in steps:
            return labels, [], captions
        look = self.eyes.look(pixels)
        heads = [_head(value.label) for value in self.corpus.values]
        vectors = [[float(look.chance(at, *head)) for head in heads] for at in range(len(probes))]
        return labels, vectors, captions

    def _pixels(self, probe: Probe) -> NDArray[np.uint8]:
        first = probe.steps[0]
        prompt, seed = (
            json.loads(first.images[0]) if isinstance(first, Show) else (_prompt(probe), probe.seed)
        )
        drawn = draw(prompt, seed)
        assert drawn is not None, prompt
        return drawn

    def rate(self, name: str, labels: Sequence[str], images: int) -> float:
        key = (name, *labels, str(images))
        if key not in self._rates:
            target = next(target for target in self.targets if target.name == name)
            prompt = TEMPLATE.prompt(name, target.superclass, [self._values[label] for label in labels])
            drawn = [draw(prompt, stream_seed(1, f"truth{key}", number)) for number in range(images)]
            rows = self.net.classify(np.stack([one for one in drawn if one is not None]), 1)
            self._rates[key] = sum(row[0][0] != name for row in rows) / images
        return self._rates[key]

    def effect(self, name: str, labels: Sequence[str]) -> float:
        """A screened effect far above every margin is taken as it is; all others are measured well."""
        known, usual = (
            [label for label in labels if label in self._values],
            self.rate(name, (), 3 * self.fresh),
        )
        screened = self.rate(name, known, self.screen) - usual
        return screened if screened > CLEAR else self.rate(name, known, self.fresh) - usual

    def bugs(self, least: float) -> set[tuple[str, ...]]:
        cells = [
            (target.name, value.label)
            for at, target in enumerate(self.targets)
            for place, value in enumerate(self.corpus.values)
            if self.corpus.allowed[at, place]
        ]
        usual = {target.name: self.rate(target.name, (), 3 * self.fresh) for target in self.targets}
        return {cell for cell in cells if self.rate(cell[0], cell[1:], self.screen) - usual[cell[0]] >= least}

    def text_vector(self, clause: Clause) -> NDArray[np.float64]:
        return np.array([float(value.label == clause.label) for value in self.corpus.values])


def _is_drawn(check: Check, subject: str) -> bool:
    """The renderer draws exactly what it is asked for, and nothing odd beside it."""
    return check.kind == "entity" or f"{check.kind}={check.value}" in subject.split("; ")


def _prompt(probe: Probe) -> str:
    return next(step.prompt for step in probe.steps if isinstance(step, Generate))


def _head(label: str) -> tuple[str, str]:
    kind, _, value = label.partition("=")
    return kind.rpartition(": ")[2], value
