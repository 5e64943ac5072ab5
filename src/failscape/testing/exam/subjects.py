"""What can sit the exam: a name → a function that draws a world from a seed, plays it, and marks it. Pure.

Add a hunt by adding a function here: it draws its world from the seed alone, and returns a `WorldMark`.
"""

from __future__ import annotations

from collections.abc import Callable

from failscape.search.second_opinion import ScannedPattern, second_opinion, unaccounted
from failscape.testing.exam.hunts import sit_classifier, sit_vlm
from failscape.testing.exam.marks import SEEN_FAILURES, BugCost, WorldMark, provable_bugs
from failscape.testing.exam.players import ExamPaper, play_patterns
from failscape.testing.exam.worlds import Facts, PatternWorld, WorldTraits, draw_traits

ExamSubject = Callable[[int], WorldMark]


def sit_patterns(seed: int) -> WorldMark:
    """The pattern search in a world of contexts and facts."""
    world = PatternWorld(draw_traits(seed), seed)
    return mark_of(world, play_patterns(world))


SUBJECTS: dict[str, ExamSubject] = {
    "patterns": sit_patterns,
    "classifier": sit_classifier,
    "vlm": sit_vlm,
}


def mark_of(world: PatternWorld, paper: ExamPaper) -> WorldMark:
    """Compare what was claimed with what is planted."""
    planted = [(bug.context, bug.facts) for bug in world.bugs]
    limits = {context: world.limit(context) for context in world.contexts}
    costs = [_ways_to_prove(world, bug, limits[bug[0]]) for bug in planted]
    provable = {
        planted[place]
        for place in provable_bugs(costs, world.traits.budget, world.margin, plain=not world.traits.complete)
    }
    claims = set(paper.claims)
    false = sum(_is_false(world, claim, limits[claim[0]], claim in paper.only_shown) for claim in claims)
    noticeable, noticed = _noticed(world, paper)
    return WorldMark(
        seed=world.seed,
        traits=traits_for_tables(world.traits),
        planted=len(planted),
        provable=len(provable),
        named=len(claims.intersection(planted)),
        named_provable=len(claims & provable),
        claims=len(claims),
        false_claims=false,
        noticeable=noticeable,
        noticed=noticed,
        used=paper.used,
        idle=world.traits.budget - paper.used,
        seconds=paper.seconds,
    )


def _ways_to_prove(world: PatternWorld, bug: tuple[str, Facts], limit: float) -> list[BugCost]:
    """By all trials that ask for the bug, and by those in which the judge sees all of it."""
    usable, rate = world.judged_rate(*bug)
    return [BugCost(world.true_rate(*bug), limit), BugCost(rate, limit, max(usable, 1e-6))]


def _is_false(world: PatternWorld, claim: tuple[str, Facts], limit: float, only_shown: bool) -> bool:
    """A claim is false if its true rate is not above its limit. Close calls are looked at more closely."""
    rate = world.true_rate(*claim, draws=400, only_shown=only_shown)
    if rate > limit + 0.1:
        return False
    return world.true_rate(*claim, draws=8_000, only_shown=only_shown) <= limit


def _noticed(world: PatternWorld, paper: ExamPaper) -> tuple[int, int]:
    """Bugs with many more recorded failures than usual, and how many of them are listed in some way."""
    listed = [ScannedPattern(*one) for one in (*paper.claims, *paper.suspects)]
    if world.traits.complete:
        opinion = second_opinion(paper.trials, listed, least_rate=world.margin)
    else:
        opinion = second_opinion(paper.trials, listed, margin=world.margin)
    told = [*listed, *(one.pattern for one in unaccounted(opinion))]
    noticeable = noticed = 0
    for bug in world.bugs:
        facts = set(bug.facts)
        outcomes = [
            trial.failed for trial in paper.trials if trial.context == bug.context and trial.facts >= facts
        ]
        if sum(outcomes) - world.limit(bug.context) * len(outcomes) >= SEEN_FAILURES:
            noticeable += 1
            noticed += any(
                one.context in ("", bug.context) and (facts <= set(one.facts) or set(one.facts) <= facts)
                for one in told
            )
    return noticeable, noticed


def traits_for_tables(traits: WorldTraits) -> dict[str, str]:
    """Traits in a few steps each."""
    return {
        "problem": "questions" if traits.complete else "pictures",
        "contexts": _step(traits.contexts, (1, 4, 12, 40)),
        "facts": _step(traits.facts, (30, 70, 140)),
        "largest bug": f"{traits.largest_bug} facts",
        "least excess": f"{traits.least_excess:.2f}",
        "usual rate": f"{traits.usual_rate:.2f}",
        "generator obeys": f"{traits.obeys:.2f}",
        "facts unasked": f"{traits.unasked:.2f}",
        "correlated facts": "yes" if traits.correlated else "no",
        "unlisted facts": "yes" if traits.unlisted else "no",
        "general bugs": "yes" if traits.general else "no",
        "judge": str(traits.judge),
        "captioner": str(traits.captioner),
        "budget a context": _step(traits.budget // traits.contexts, (400, 1_000, 4_000, 20_000)),
    }


def _step(value: int, steps: tuple[int, ...]) -> str:
    """The first step that a number does not exceed."""
    for step in steps:
        if value <= step:
            return f"up to {step:6,}"
    return f"above {steps[-1]:6,}"
