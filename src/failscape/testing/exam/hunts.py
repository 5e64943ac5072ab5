"""Whole hunts that sit the exam: their worlds are drawn at random, too. Pure but for the clock."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from enum import StrEnum

from failscape.kinds.classifier.hunt import ClassifierHunt
from failscape.kinds.classifier.prompts import Template
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.kinds.vlm.confirm import Confirmation, slots_for
from failscape.kinds.vlm.hunt import VlmHunt
from failscape.kinds.vlm.outcomes import QuestionLog
from failscape.kinds.vlm.planners import Planner, Rounds
from failscape.search.second_opinion import ScannedPattern, ScannedTrial, second_opinion, unaccounted
from failscape.simulate import questions
from failscape.simulate.classifier_world import PlantedClassifier
from failscape.simulate.scoring import simulate
from failscape.spaces.questions import ANY, Pattern
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.testing.exam.marks import SEEN_FAILURES, BugCost, WorldMark, provable_bugs
from failscape.trials import Probe, Status, Subject, Trial, Verdict

TEMPLATE = Template("a realistic photograph of a {class} ({superclass}).")
CLASSIFIER_MARGIN = 0.05
VLM_MARGIN = 0.2


class RecordingWorld:
    """A planted classifier that keeps what was asked for, and how it went."""

    def __init__(self, world: PlantedClassifier) -> None:
        self.world = world
        self.trials: list[ScannedTrial] = []

    def run(self, probe: Probe) -> Trial:
        trial = self.world.run(probe)
        subject = Subject.parse(probe.subject)
        if trial.verdict in (Verdict.PASS, Verdict.FAIL) and subject.name in self.world.names:
            failed = trial.verdict is Verdict.FAIL
            self.trials.append(ScannedTrial(subject.name, frozenset(subject.labels), failed))
        return trial


def sit_classifier(seed: int) -> WorldMark:
    """The classifier hunt against a planted classifier."""
    luck = random.Random(f"exam classifier {seed}")
    traits: dict[str, float] = {
        "classes": luck.choice([2, 4, 8, 12]),
        "bugs": luck.choice([0, 1, 2]),
        "pairs": luck.choice([0, 0, 1, 2]),
        "obeys": luck.choice([1.0, 1.0, 0.8, 0.5]),
        "plain": luck.choice([0.99, 0.95, 0.85]),
        "errs": luck.choice([0.0, 0.05]),
        "forgets": luck.choice([0.1, 0.4]),
        "omits": luck.choice([0, 0, 1]),
    }
    blind = luck.choice([None, None, 1.0])
    low = luck.choice([0.2, 0.35, 0.5])
    images = int(luck.choice([300, 800, 1_600]) * traits["classes"])
    world = PlantedClassifier(
        classes=int(traits["classes"]),
        bugs=int(traits["bugs"]),
        pairs=int(traits["pairs"]),
        seed=seed,
        rates=(low, 0.9),
        plain=traits["plain"],
        obeys=traits["obeys"],
        errs=traits["errs"],
        forgets=traits["forgets"],
        omits=bool(traits["omits"]),
        blind=blind,
    )
    rules = ClassifierRules(seed=seed, images=images, toggles=0, confirm=20, margin=CLASSIFIER_MARGIN)
    hunt = ClassifierHunt(world.targets(), TEMPLATE, world.corpus, rules, twice=True)
    recording = RecordingWorld(world)
    clock = time.process_time()
    simulate(hunt, recording, images, in_flight=256, shuffle=seed)  # type: ignore[arg-type]
    seconds = time.process_time() - clock
    planted = [ScannedPattern(bug.name, tuple(sorted(bug.values))) for bug in world.bugs]
    usual = {name: world.rate(name) for name in world.names}
    costs = [
        [BugCost(world.rate(bug.name, bug.values), usual[bug.name] + CLASSIFIER_MARGIN)] for bug in world.bugs
    ]
    provable = {planted[place] for place in provable_bugs(costs, images, CLASSIFIER_MARGIN)}
    claims = {_described(finding.subject) for finding in hunt.findings()}
    suspects = [_described(finding.subject) for finding in hunt.suspects()]
    false = [one for one in claims if world.effect(one.context, one.facts) <= CLASSIFIER_MARGIN]
    opinion = second_opinion(recording.trials, [*claims], suspects, margin=CLASSIFIER_MARGIN)
    told = [*claims, *suspects, *(one.pattern for one in unaccounted(opinion))]
    limits = {name: rate + CLASSIFIER_MARGIN for name, rate in usual.items()}
    noticeable = [one for one in planted if _has_many_failures(one, recording.trials, limits[one.context])]
    shown = {name: f"{value:g}" for name, value in traits.items()}
    return WorldMark(
        seed=seed,
        traits=shown | {"judge": "blind" if blind else "sees", "least rate": f"{low:.2f}"},
        planted=len(planted),
        provable=len(provable),
        named=len(claims.intersection(planted)),
        named_provable=len(claims & provable),
        claims=len(claims),
        false_claims=len(false),
        noticeable=len(noticeable),
        noticed=sum(_is_told(one, told) for one in noticeable),
        used=images,
        idle=0,
        seconds=seconds,
    )


def _described(subject: str) -> ScannedPattern:
    found = Subject.parse(subject)
    return ScannedPattern(found.name, tuple(sorted(found.labels)))


class VerifierHabit(StrEnum):
    """Who decides whether an answer is right."""

    EXACT = "exact"
    #: Calls right answers wrong, for some skills far more often; how often is known for each.
    KNOWN = "biased, known by skill"
    #: The same, where nobody knows and an auditor looks again.
    AUDITED = "biased, audited"
    #: The same, where nobody looks: nothing may be certified.
    UNKNOWN = "biased, unknown"


def _verifier_errors(habit: VerifierHabit, skills: Sequence[str], luck: random.Random) -> dict[str, float]:
    """Skill → how often the verifier calls a right answer wrong."""
    if habit is VerifierHabit.EXACT:
        return {}
    worst = luck.choice(skills)
    return {skill: luck.uniform(0.25, 0.5) if skill == worst else luck.uniform(0.0, 0.05) for skill in skills}


def sit_vlm(seed: int) -> WorldMark:
    """The vlm hunt, as `evolve` runs it, against a planted answerer.

    Claims are what is certified. A mode counts as named also where it is conditional on the verifier.
    """
    luck = random.Random(f"exam vlm {seed}")
    rich = luck.random() < 0.3
    modes = luck.choice([0, 2, 4, 6, 8])
    budget = luck.choice([200, 400, 600, 1_000])
    slips = luck.choice([0.0, 0.02, 0.05])
    verifier = luck.choice([*VerifierHabit])
    grammar = questions.rich_grammar() if rich else questions.PlantedGrammar()
    weak = questions.plant(seed, modes, grammar) if modes else {}
    errors = _verifier_errors(verifier, grammar.skills, luck)
    known = None
    if verifier is VerifierHabit.KNOWN:
        known = JudgeAccuracy.from_rates({skill: (1 - rate, 1.0) for skill, rate in errors.items()})
    answerer = questions.PlantedAnswerer(weak, slips=slips, seed=seed, alarms_on=errors)
    log = QuestionLog(shared=rich)
    confirmation = Confirmation(
        VLM_MARGIN,
        0.05,
        slots_for(120, budget),
        80,
        known,
        exact=verifier is VerifierHabit.EXACT,
        auditor=verifier is VerifierHabit.AUDITED,
    )
    planner = Planner(grammar, log, confirmation, Rounds(16).of(budget), seed)
    hunt = VlmHunt(grammar, log, confirmation, planner, budget)
    clock = time.process_time()
    questions.simulate(hunt, answerer)
    seconds = time.process_time() - clock
    planted = list(weak)
    costs = [[BugCost(weak[mode], 1 - confirmation.limit(mode))] for mode in planted]
    provable = {planted[place] for place in provable_bugs(costs, budget, VLM_MARGIN, plain=False)}
    found = hunt.findings()
    claims = {Pattern.parse(one.subject) for one in found}
    certified = [Pattern.parse(one.subject) for one in found if one.status is Status.CERTIFIED]
    false = [one for one in certified if answerer.true_rate(one, grammar, 1_000) <= VLM_MARGIN]
    suspects = [Pattern.parse(finding.subject) for finding in hunt.suspects()]
    outcomes = [one for one in log.outcomes if one.valid]
    trials = [ScannedTrial("", _facts(one.full), one.failed) for one in outcomes]
    listed = [_scanned(one) for one in (*claims, *suspects)]
    opinion = second_opinion(trials, listed, least_rate=VLM_MARGIN)
    told = [*listed, *(one.pattern for one in unaccounted(opinion))]
    noticeable = [one for one in map(_scanned, planted) if _has_many_failures(one, trials, VLM_MARGIN)]
    traits = {"grammar": "298 forms" if rich else "21 forms", "modes": str(modes), "questions": f"{budget:5}"}
    return WorldMark(
        seed=seed,
        traits=traits | {"slips": f"{slips:.2f}", "verifier": verifier.value},
        planted=len(planted),
        provable=len(provable),
        named=len(claims.intersection(planted)),
        named_provable=len(claims & provable),
        claims=len(certified),
        false_claims=len(false),
        noticeable=len(noticeable),
        noticed=sum(_is_told(one, told) for one in noticeable),
        used=log.asked,
        idle=max(0, budget - log.asked),
        seconds=seconds,
    )


def _facts(pattern: Pattern) -> frozenset[str]:
    clauses = {f"{name}={value}" for name, value in pattern.clauses}
    return frozenset({f"form {pattern.form}", *(f"skill {one}" for one in pattern.skills), *clauses})


def _scanned(mode: Pattern) -> ScannedPattern:
    """A mode as facts; a form implies its skills."""
    facts = _facts(mode)
    form = f"form {mode.form}"
    if mode.form == ANY:
        return ScannedPattern("", tuple(sorted(facts - {form})))
    return ScannedPattern("", tuple(sorted(one for one in facts if not one.startswith("skill "))))


def _has_many_failures(pattern: ScannedPattern, trials: Sequence[ScannedTrial], limit: float) -> bool:
    outcomes = [trial.failed for trial in trials if pattern.covers(trial)]
    return sum(outcomes) - limit * len(outcomes) >= SEEN_FAILURES


def _is_told(bug: ScannedPattern, told: Sequence[ScannedPattern]) -> bool:
    facts = set(bug.facts)
    return any(
        one.context in ("", bug.context) and (facts <= set(one.facts) or set(one.facts) <= facts)
        for one in told
    )
