"""What a vlm config can prove: how many questions a mode takes, and simulated hunts on planted answerers."""

import math

from failscape.kinds.vlm.build import forewarn
from failscape.kinds.vlm.config import VlmConfig
from failscape.kinds.vlm.confirm import Confirmation, slots_for
from failscape.kinds.vlm.hunt import VlmHunt
from failscape.kinds.vlm.outcomes import QuestionLog
from failscape.kinds.vlm.planners import Planner, Rounds
from failscape.planning.foresight import (
    QUICK,
    QUICK_WORLDS,
    Foresight,
    Part,
    Proposal,
    SimulationEffort,
    expected,
    worlds_for,
)
from failscape.simulate.questions import PlantedAnswerer, PlantedGrammar, plant, simulate
from failscape.stats.evalues import log_e_value
from failscape.stats.judging.accuracy import JudgeAccuracy

WEAK_SPOTS = {"few": 3, "some": 6, "many": 12}
#: Questions of one simulated hunt: what more of them bring, these show.
MOST_SIMULATED = 3000

#: Questions of a quick plan for each sort of answerer: a simulated one takes .7 ms, three sorts some 5 s.
QUICK_QUESTIONS = 2400


def foresee(
    config: VlmConfig, accuracy: JudgeAccuracy | None = None, effort: SimulationEffort = QUICK
) -> Foresight:
    """Simulates a search without training over a planted grammar of 21 forms."""
    questions, confirm = config.questions, config.confirm
    tests = slots_for(confirm.modes, questions)
    most = MOST_SIMULATED if effort.precise else QUICK_QUESTIONS // QUICK_WORLDS
    if effort.precise:
        seeds = range(effort.worlds or worlds_for(questions))
    else:
        seeds = range(effort.quick_worlds(QUICK_QUESTIONS, questions))
    expectations = []
    for name, spots in WEAK_SPOTS.items():
        parts = [Part(1, found(config, spots, seed, most)) for seed in seeds]
        about = f"{spots} weak spots among 21 forms of question"
        one = expected(name, about, parts, 1)
        one = one.up_to(spots) if most < questions else one
        expectations.append(one.at_most(tests))
    warnings = forewarn(config, accuracy)
    simulated = f"simulated with {most:,} questions; more of them find what is rarer"
    if effort.precise and questions > most:
        warnings.append(simulated)
    needed = math.log(tests / confirm.fdr)
    fails = next(n for n in range(1, 500) if float(log_e_value(0, n, 1 - confirm.margin)) >= needed)
    proves = (
        f"a mode is a kind of question that fails more than {confirm.margin:.0%} of the time; one that "
        f"always fails is proven by {fails} fresh questions, at most {confirm.most} are spent on one",
    )
    space = (f"{questions:,} questions in all, {tests} modes put to the test at most",)
    proposals: tuple[Proposal, ...] = ()
    if expectations[1].low < 1:
        proposals = (Proposal("questions=2000", "enough for modes to be found and confirmed"),)
    requests = {
        "answerer": questions,
        "verifier": 2 * questions * config.verifications,
        "generator": questions if config.images.generator else 0,
        "questioner": questions if config.questioner.writer != "grammar" else 0,
    }
    basis = f"{simulated} (`--precise` simulates up to {MOST_SIMULATED:,}, in minutes)"
    return Foresight(
        space,
        proves,
        tuple(expectations),
        questions,
        requests,
        1,
        tuple(warnings),
        proposals,
        basis if questions > most and not effort.precise else "",
    )


def found(config: VlmConfig, spots: int, seed: int, most: int = MOST_SIMULATED) -> int:
    confirm, grammar, log = config.confirm, PlantedGrammar(), QuestionLog()
    questions = min(config.questions, most)
    tests = slots_for(confirm.modes, questions)
    confirmation = Confirmation(margin=confirm.margin, fdr=confirm.fdr, modes=tests, most=confirm.most)
    rounds = Rounds(config.questioner.round, confirm.share).of(questions)
    planner = Planner(grammar, log, confirmation, rounds, seed)
    hunt = VlmHunt(grammar, log, confirmation, planner, questions)
    simulate(hunt, PlantedAnswerer(plant(seed, spots), seed=seed), config.runtime.in_flight)
    return len(hunt.findings())
