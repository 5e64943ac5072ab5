"""A planted answerer: which kinds of questions it gets wrong, and how often, is known exactly. Pure.

`PlantedGrammar` makes questions in plain symbols about pictures that need not be drawn; `PlantedAnswerer`
runs probes at full speed. True failure rates of any pattern follow from the weak spots.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from failscape.kinds.vlm.confirm import Confirmation
from failscape.kinds.vlm.hunt import VlmHunt
from failscape.kinds.vlm.outcomes import QuestionLog
from failscape.kinds.vlm.planners import Planner, Rounds
from failscape.search.protocol import Hunt
from failscape.simulate.luck import luck_of
from failscape.spaces.ordinals import with_thresholds
from failscape.spaces.questions import (
    ANY,
    CONSISTENCY,
    THEN,
    Asked,
    Clause,
    FollowUp,
    Pattern,
    Sight,
    Sights,
    explains,
    make_pattern,
)
from failscape.trials import (
    Answer,
    Edit,
    ExpectChange,
    Generate,
    Probe,
    QuestionStep,
    Trial,
    Verdict,
    Verify,
    VerifyAgain,
    reach_verdict,
)

SKILLS: tuple[str, ...] = ("colour", "counting", "relation", "negation", "place", "reading text")
VALUES: dict[str, tuple[str, ...]] = {
    "thing": tuple(f"thing{number}" for number in range(12)),
    "number": ("one", "two", "three", "four", "five"),
    "light": ("day", "night", "dusk"),
    "answer": ("yes", "no"),
}
WORDINGS = ("is it so that", "tell me whether", "would you say that")


MANY_SKILLS: tuple[str, ...] = (
    *SKILLS,
    *("size", "position", "comparison", "existence", "texture", "order in time"),
)


class PlantedGrammar:
    """Every skill, and every combination of up to `most`, is a form; every question has one value of every
    clause."""

    exact = True

    def __init__(
        self,
        sights: Sights | None = None,
        images: int = 1,
        skills: tuple[str, ...] = SKILLS,
        most: int = 2,
    ) -> None:
        self.skills = skills
        self.digest = f"planted/1/{images}"
        sizes = range(1, most + 1)
        self._forms = [make_pattern("+".join(some), some) for n in sizes for some in combinations(skills, n)]

    def patterns(self) -> Sequence[Pattern]:
        return self._forms

    def pick(self, rng: random.Random, fresh: bool, skill: str = "") -> Sight:
        name = f"planted {rng.getrandbits(40)}"
        return Sight(name, (Generate(name),), (name,))

    def draft(self, pattern: Pattern, rng: random.Random, fresh: bool, like: str = "") -> Asked:
        form = self._form_of(pattern, rng)
        wanted = dict(pattern.clauses)
        clauses = {name: rng.choice(_fitting(name, wanted.get(name))) for name in VALUES}
        wording = rng.randrange(len(WORDINGS)) if fresh else 0
        number = rng.getrandbits(40)
        said = "; ".join(f"{name}={value}" for name, value in sorted(clauses.items()))
        text = f"{WORDINGS[wording]} {form.form}: {said} #{number}?"
        own = make_pattern(form.form, form.skills, pattern.clauses)
        sight = Sight(f"planted {number}", (Generate(f"planted {number}"),))
        return Asked(own, text, clauses["answer"], sight, tuple(sorted(clauses.items())), str(wording))

    def _form_of(self, pattern: Pattern, rng: random.Random) -> Pattern:
        form = pattern.form.partition(THEN)[0]
        if form != ANY:
            return make_pattern(form, form.split("+"))
        return rng.choice([one for one in self._forms if set(pattern.skills) <= set(one.skills)])

    def read(self, text: str, sight: Sight, wanted: Pattern | None) -> Asked | None:
        found = parse(text)
        if found is None:
            return None
        form, clauses = found
        pattern = make_pattern(form, form.split("+"))
        return Asked(pattern, text, dict(clauses).get("answer", ""), sight, clauses, "free")

    def narrower(self, pattern: Pattern, rng: random.Random) -> list[Pattern]:
        named = {name for name, _ in pattern.clauses}
        return [
            pattern.with_clause((name, value))
            for name, values in VALUES.items()
            if name not in named
            for value in values
        ]

    def simpler(self, pattern: Pattern) -> list[Pattern]:
        if pattern.second_turn:
            first = pattern.form.partition(THEN)[0]
            return [make_pattern(first, first.split("+"), pattern.clauses)]
        found = [pattern.without_clause(clause) for clause in pattern.clauses]
        if pattern.clauses and pattern.form != ANY and "answer" not in dict(pattern.clauses):
            found.append(make_pattern(ANY, (), pattern.clauses))
        if not pattern.clauses and pattern.form != ANY and len(pattern.skills) > 1:
            some = combinations(pattern.skills, len(pattern.skills) - 1)
            found = [make_pattern("+".join(one), one) for one in some]
        elif not pattern.clauses and len(pattern.skills) > 1:
            found = [make_pattern(ANY, [skill]) for skill in pattern.skills]
        return [one for one in found if one != Pattern(ANY)]

    def follow_up(self, asked: Asked, answer: str, rng: random.Random) -> FollowUp | None:
        if answer not in ("yes", "no"):
            return None
        pattern = make_pattern(f"{asked.pattern.form}{THEN}again", [*asked.pattern.skills, CONSISTENCY])
        return FollowUp(pattern, f"again, {asked.text}", answer)


def _fitting(name: str, wanted: str | None) -> Sequence[str]:
    """The values of a clause that meet what is wanted of it: a value, a threshold, or anything."""
    values = VALUES[name]
    return [one for one in values if wanted is None or (name, wanted) in with_thresholds([(name, one)])]


def parse(text: str) -> tuple[str, tuple[Clause, ...]] | None:
    """The form and the clauses of a planted question."""
    body = next((text.partition(words)[2] for words in WORDINGS if words in text), "")
    form, colon, rest = body.strip().partition(": ")
    if not colon:
        return None
    pairs = [part.partition("=") for part in rest.partition(" #")[0].split("; ")]
    return form, tuple(sorted((name, value) for name, _, value in pairs))


@dataclass(frozen=True)
class PlantedAnswerer:
    """`weak` maps patterns to failure rates; everything else fails at rate `slips`.

    The verifier calls a wrong answer right with probability `misses`, a right one wrong with `alarms`. A
    share `refusals` of answers is empty: invalid.
    """

    weak: Mapping[Pattern, float]
    slips: float = 0.02
    seed: int = 0
    misses: float = 0.0
    alarms: float = 0.0
    refusals: float = 0.0
    contradicts: Mapping[str, float] = field(default_factory=dict)
    #: Skill → how often the verifier calls a right answer to such a question wrong.
    alarms_on: Mapping[str, float] = field(default_factory=dict)
    auditor_errs: float = 0.0
    #: How a later turn begins → how often another answer than the first is given to it.
    gives_in: Mapping[str, float] = field(default_factory=dict)
    #: A word of the question → how often a changed picture gets the same answer as before.
    unmoved: Mapping[str, float] = field(default_factory=dict)

    def rate(self, pattern: Pattern) -> float:
        """How often a question of exactly these skills and clauses is answered wrongly."""
        found = [rate for weak, rate in self.weak.items() if weak.covers(pattern)]
        return max(found, default=self.slips)

    def true_rate(self, pattern: Pattern, grammar: PlantedGrammar, draws: int = 4_000) -> float:
        """The failure rate over questions as the grammar draws them; within 2 % of it for 4,000 draws."""
        rng = random.Random(f"truth {pattern.text}")
        asked = [grammar.draft(pattern, rng, True) for _ in range(draws)]
        own = [make_pattern(one.pattern.form, one.pattern.skills, one.features) for one in asked]
        return sum(self.rate(one) for one in own) / draws

    def run(self, probe: Probe) -> Trial:
        """The outcome of a probe; the same probe always has the same outcome."""
        facts: list[object] = []
        for step in probe.steps:
            if isinstance(step, Generate):
                facts.append(step.prompt)
            elif isinstance(step, Edit):
                facts.append(f"{facts[-1]}+{step.instruction}")
            elif isinstance(step, ExpectChange):
                facts.append([True, facts[-1] != step.before, f"although {step.change}"])
            elif isinstance(step, Answer) and parse(step.question) is None:
                facts.append(self.look(step.question, probe.key))
            elif isinstance(step, Answer):
                answer = self.answer(step.question, probe.key)
                if answer is None:
                    return Trial(
                        probe.key,
                        probe.subject,
                        Verdict.INVALID,
                        "answerer: the reply is empty",
                        [*facts, None],
                    )
                facts.append(answer)
            elif isinstance(step, VerifyAgain):
                turns: list[list[str]] = facts[-1]  # type: ignore[assignment]
                errs = self._luck("audit", probe.key) < self.auditor_errs
                facts.append([True, (turns[-1][1] == step.truth) != errs, ""])
            elif isinstance(step, Verify):
                asked = next(one.question for one in probe.steps if isinstance(one, Answer))
                facts.append(self.verify(str(facts[-1]), step.truth, probe.key, asked))
            else:
                facts.append(
                    [list(turn) for turn in getattr(step, "turns", ())] or list(getattr(step, "images", ()))
                )
        verdict, reason = reach_verdict(probe.steps, facts)
        return Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed)

    def answer(self, question: str, key: str) -> str | None:
        found = parse(question)
        if found is None or self._luck("refuse", key) < self.refusals:
            return None
        form, clauses = found
        truth = dict(clauses)["answer"]
        again = self.contradicts.get(form, 0.0) if question.startswith("again") else 0.0
        again = max([again, *(rate for words, rate in self.gives_in.items() if question.startswith(words))])
        rate = self.rate(make_pattern(form, form.split("+"), clauses))
        # The second turn repeats what the first said, but where it contradicts itself.
        key = QuestionStep.NEXT_TURN.without(key)
        wrong = self._luck("answer", key) < rate
        if again and self._luck(f"again{question[:12]}", key) < again:
            wrong = not wrong
        return truth if not wrong else {"yes": "no", "no": "yes"}[truth]

    def look(self, question: str, key: str) -> str:
        """The answer to half of a minimal pair."""
        rate = max((rate for word, rate in self.unmoved.items() if word in question), default=0.0)
        moved = self._luck("moved", QuestionStep.SECOND_PICTURE.without(key)) >= rate
        return "another" if QuestionStep.SECOND_PICTURE.is_last_of(key) and moved else "one"

    def verify(self, answer: str, truth: str, key: str, asked: str = "") -> list[object]:
        right = answer == truth
        form = (parse(asked) or ("", ()))[0]
        alarms = max([self.alarms_on[s] for s in form.split("+") if s in self.alarms_on] or [self.alarms])
        slip = alarms if right else self.misses
        if self._luck("verify", key) < slip:
            right = not right
        return [True, right, "" if right else f"the right answer is {truth}"]

    def _luck(self, what: str, key: str) -> float:
        return luck_of(f"{self.seed}/{what}/{key}")


def rich_grammar() -> PlantedGrammar:
    """298 forms: 12 skills, alone, in twos and in threes."""
    return PlantedGrammar(skills=MANY_SKILLS, most=3)


def plant(seed: int, modes: int = 6, grammar: PlantedGrammar | None = None) -> dict[Pattern, float]:
    """Random weak spots, from skills to narrow ones: one per form at most, none explained by another.

    Where forms share skills by the hundred, some weak spots are pairs of skills, whatever the form.
    """
    rng = random.Random(f"plant {seed}")
    grammar, found = grammar or PlantedGrammar(), dict[Pattern, float]()
    rich = len(grammar.patterns()) > 100
    while len(found) < modes:
        kind = rng.random()
        base = rng.choice(grammar.patterns())
        if rich and kind < 0.4:
            pattern = make_pattern(ANY, rng.sample(grammar.skills, 2))
        elif kind < (0.55 if rich else 0.3):
            pattern = base
        elif kind < 0.8:
            name = rng.choice(("number", "light", "answer"))
            pattern = base.with_clause((name, rng.choice(VALUES[name])))
        else:
            pattern = make_pattern(ANY, (), [("thing", rng.choice(VALUES["thing"]))])
        clash = any(
            (one.form == pattern.form and not (rich and pattern.form == ANY))
            or explains(one, pattern)
            or explains(pattern, one)
            for one in found
        )
        if not clash:
            found[pattern] = rng.uniform(0.6, 0.95)
    return found


def simulate(hunt: object, answerer: PlantedAnswerer, in_flight: int = 64) -> int:
    """Run a hunt to its end; returns how many probes there were."""
    flying: list[Probe] = []
    done = 0
    while True:
        flying += hunt.ask(in_flight - len(flying))  # type: ignore[attr-defined]
        if not flying:
            return done
        hunt.tell(answerer.run(flying.pop(0)))  # type: ignore[attr-defined]
        done += 1


def planted_hunt(seed: int = 0, questions: int = 1600) -> Hunt:
    """A vlm hunt over the planted grammar, as `evolve` runs it."""
    grammar, ledger = PlantedGrammar(), QuestionLog()
    confirmation = Confirmation(margin=0.2, fdr=0.05, modes=120, most=80)
    planner = Planner(grammar, ledger, confirmation, Rounds(), seed)
    return VlmHunt(grammar, ledger, confirmation, planner, questions)
