"""A planted classifier: pictures with known attributes, a classifier with known bugs, and everything between.

It plays generator, presence judge, classifier, captioner and embedder for pure simulation (`simulate`).
Everything follows from its seed, the prompt's subject and the image's seed. No I/O, no pictures.
"""

import itertools
import json
import random
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from failscape.kinds.classifier.prompts import SAID
from failscape.kinds.classifier.tallies import Target
from failscape.simulate.luck import luck_of
from failscape.spaces.corpus import Corpus, load_corpus
from failscape.spaces.mentions import ENTITY, Mentions
from failscape.trials import (
    Caption,
    Check,
    Classify,
    Consult,
    Decide,
    Embed,
    Facts,
    Generate,
    Probe,
    Show,
    Step,
    Subject,
    Trial,
    Verdict,
    parse_label,
    reach_verdict,
    value_label,
)


class Bug(NamedTuple):
    """Images of class `name` that show all of `values` (labels) fail at `rate`, mostly as `wrong`."""

    name: str
    values: tuple[str, ...]
    rate: float
    wrong: str


class PlantedClassifier:
    """`bugs` per class are planted on single values, `pairs` of them on two values at once.

    `plain` is how often an attribute that is not asked for is missing from a picture. `absent` is how often
    the object is, `slip` how often the presence judge does not notice, `errs` how often it errs on what is
    there. A clause is drawn with the chance `obeys`. The captioner `omits` the values of bugs, or forgets a
    share of all. In a share `beside` of failures the wrong label's object is there too. `undrawable` classes
    never appear. `along`: pairs of labels of which the second comes with the first. A judge that is `blind`
    says yes to clauses with that chance, whatever is there.
    """

    def __init__(
        self,
        classes: int = 12,
        bugs: int = 2,
        pairs: int = 0,
        seed: int = 0,
        corpus: str = "toybox",
        rates: tuple[float, float] = (0.3, 0.9),
        plain: float = 0.75,
        absent: float = 0.03,
        slip: float = 0.0,
        forgets: float = 0.2,
        undrawable: Sequence[str] = (),
        obeys: float = 1.0,
        errs: float = 0.0,
        omits: bool = False,
        beside: float = 0.0,
        along: Sequence[tuple[str, str]] = (),
        base: tuple[float, float] = (1.2, 40.0),
        blind: float | None = None,
    ) -> None:
        self.corpus: Corpus = load_corpus(corpus)
        self.seed = seed
        self.plain, self.absent, self.slip, self.forgets = plain, absent, slip, forgets
        self.undrawable = frozenset(undrawable)
        self.obeys, self.errs, self.omits, self.beside = obeys, errs, omits, beside
        self.along = dict(along)
        self.blind = blind
        luck = random.Random(f"planted classifier {seed}")
        names = [entity.name for entity in self.corpus.entities]
        self.names = sorted(luck.sample(names, classes))
        self.base = {name: luck.betavariate(*base) for name in self.names}
        self.kinds = dict(self.corpus.sub_categories)
        self.bugs = [bug for name in self.names for bug in self._plant(luck, name, bugs, pairs, rates)]
        self._causes = {(bug.name, value) for bug in self.bugs for value in bug.values}
        self._mentions = Mentions(self.corpus)

    def _plant(
        self, luck: random.Random, name: str, bugs: int, pairs: int, rates: tuple[float, float]
    ) -> list[Bug]:
        entity, others = self.corpus.find_entity(name), [other for other in self.names if other != name]
        options = [at for at in range(len(self.corpus.values)) if self.corpus.allowed[entity, at]]
        singles = luck.sample(options, bugs)
        chosen: list[tuple[int, ...]] = [(value,) for value in singles]
        free = [at for at in options if at not in singles]
        while len(chosen) < bugs + pairs:
            pair = tuple(sorted(luck.sample(free, 2)))
            kinds = {self.corpus.values[at].kind for at in pair}
            if len(kinds) == 2 and not self.corpus.conflicts[pair[0], pair[1]]:
                chosen.append(pair)
        labels = [tuple(self.corpus.values[at].label for at in values) for values in chosen]
        return [Bug(name, values, luck.uniform(*rates), luck.choice(others)) for values in labels]

    # Truth

    def targets(self) -> list[Target]:
        return [Target(name, (name,), "thing") for name in self.names]

    def rate(self, name: str, values: Sequence[str] = ()) -> float:
        """The true failure rate of pictures of a class that were asked to show `values`. Exact."""
        mine = [bug for bug in self.bugs if bug.name == name]
        kinds = {parse_label(label).kind for bug in mine for label in bug.values}
        fixed = {parse_label(label).kind: label for label in values}
        free = sorted(kinds - fixed.keys())
        total = 0.0
        for combination in itertools.product(*(self._options(kind) for kind in free)):
            shown = {label for label, _ in combination} | set(fixed.values())
            chance = 1.0
            for _, share in combination:
                chance *= share
            total += chance * self._fails(name, shown)
        return total

    def effect(self, name: str, values: Sequence[str]) -> float:
        return self.rate(name, values) - self.rate(name)

    def _options(self, kind: str) -> list[tuple[str, float]]:
        labels = [self.corpus.values[at].label for at in self.kinds[kind]]
        share = (1 - self.plain) / len(labels)
        return [("", self.plain), *((label, share) for label in labels)]

    def _fails(self, name: str, shown: set[str]) -> float:
        rates = [bug.rate for bug in self.bugs if bug.name == name and shown.issuperset(bug.values)]
        return max([self.base[name], *rates])

    # Outcomes

    def run(self, probe: Probe) -> Trial:
        facts: list[Facts] = []
        for step in probe.steps:
            facts.append(self._fact(step, probe, facts))
            verdict, reason = reach_verdict(probe.steps, facts)
            if verdict is Verdict.INVALID:
                break
        return Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed)

    def _fact(self, step: Step, probe: Probe, facts: list[Facts]) -> Facts:
        match step:
            case Generate(prompt):
                return self.draw(probe.subject, prompt, probe.seed)
            case Show(images):
                return list(images)
            case Decide(checks):
                return [self._sees(_image(facts), check) for check in checks]
            case Classify():
                return self._classified(_image(facts))
            case Caption():
                return self._caption(_image(facts))
            case Embed(texts):
                return [self._text_vector(text) for text in texts] or [self._vector(_image(facts))]
            case Consult():
                return "it is in the rain\nit is upside down"
            case _:
                raise AssertionError(f"a classifier hunt has no {type(step).__name__}")

    def draw(self, subject: str, prompt: str, seed: int) -> str:
        """A picture as text: all that the other models see."""
        parsed = Subject.parse(subject)
        name = parsed.name
        luck = random.Random(f"{self.seed}|{prompt}|{seed}")
        asked = {one.kind: one.value for one in parsed.values}
        for kind, at in self._mentions.find(asked.pop(SAID, "")):
            if kind != ENTITY:
                asked.setdefault(kind, self.corpus.values[at].name)
        shown = {value_label(kind, value) for kind, value in asked.items() if luck.random() < self.obeys}
        shown |= {self.along[label] for label in shown if label in self.along}
        for kind in self.kinds:
            if kind not in asked and luck.random() >= self.plain:
                shown.add(self.corpus.values[luck.choice(self.kinds[kind])].label)
        gone = name in self.undrawable or luck.random() < self.absent
        return json.dumps([name, sorted(shown), gone, luck.getrandbits(32)])

    def _sees(self, image: str, check: Check) -> bool | None:
        name, shown, gone, grain = json.loads(image)
        if check.kind == "entity" and check.value == name:
            return _luck(grain, "judge") < self.slip if gone else _luck(grain, "judge") >= self.errs
        if check.kind == "entity":
            # The object that makes the classifier err may be in the picture; no other one is.
            is_taken_for = self._classified(image)[0][0] == check.value
            return is_taken_for and _luck(grain, "beside") < self.beside
        label = value_label(check.kind, check.value)
        if check.kind == SAID:
            return None
        if self.blind is not None:
            return _luck(grain, f"judge {label}") < self.blind
        return (label in shown) != (_luck(grain, f"judge {label}") < self.errs)

    def _classified(self, image: str) -> list[list[Any]]:
        name, shown, gone, grain = json.loads(image)
        mine = [bug for bug in self.bugs if bug.name == name and set(shown).issuperset(bug.values)]
        if not gone and _luck(grain, "classifier") >= self._fails(name, set(shown)):
            return [[name, 0.9], [self.names[0], 0.1]]
        wrong = max(mine, key=lambda bug: bug.rate).wrong if mine and _luck(grain, "label") < 0.8 else ""
        others = [other for other in self.names if other != name]
        return [[wrong or others[int(_luck(grain, "other") * len(others))], 0.8], [name, 0.2]]

    def _caption(self, image: str) -> list[str]:
        name, shown, _, grain = json.loads(image)
        told = [label for label in shown if _luck(grain, label) >= self.forgets]
        told = [label for label in told if not (self.omits and (name, label) in self._causes)]
        return [f"there is a {name}.", *(f"the {name} is {parse_label(label).value}." for label in told)]

    def _vector(self, image: str) -> list[float]:
        _, shown, _, grain = json.loads(image)
        luck = random.Random(grain)
        return [float(label in shown) + 0.1 * luck.random() for label in self._labels]

    def _text_vector(self, text: str) -> list[float]:
        named = {at for kind, at in self._mentions.find(text) if kind != ENTITY}
        return [float(at in named) for at in range(len(self.corpus.values))]

    @cached_property
    def _labels(self) -> list[str]:
        return [value.label for value in self.corpus.values]


def _image(facts: list[Facts]) -> str:
    first = facts[0]
    return str(first[0] if isinstance(first, list) else first)


def _luck(grain: int, purpose: str) -> float:
    return luck_of(f"{grain}|{purpose}")
