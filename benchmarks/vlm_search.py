"""Does `evolve` certify more modes than zero-shot, with the same number of questions?

    python -m benchmarks.vlm_search --world small --modes 4,6,8 --questions 200,300 --seeds 8
    python -m benchmarks.vlm_search --world toybox --questions 1000 --seeds 8

`zero-shot` is the product's strategy of that name: questions by chance, while leads are weighed, tested and
named as by `evolve`. In two stages nothing is weighed before half of the questions are spent.

Planted answerers fail at known kinds of question, so that false and exact modes can be counted: 21 forms in
the small world, 298 in the rich one, where some modes are pairs of skills. In the toybox the target is
toy-vlm; right answers are known there, which modes there are is not.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from typing import NamedTuple

import numpy as np

from failscape.kinds.vlm.build import MANY_FORMS
from failscape.kinds.vlm.confirm import Confirmation, slots_for
from failscape.kinds.vlm.hunt import VlmHunt
from failscape.kinds.vlm.items import Item
from failscape.kinds.vlm.outcomes import QuestionLog
from failscape.kinds.vlm.planners import Planner, Rounds, ZeroShotPlanner
from failscape.kinds.vlm.purposes import CONFIRMATION, FIRST_LOOK, SEARCH
from failscape.simulate.questions import (
    PlantedAnswerer,
    PlantedGrammar,
    plant,
    rich_grammar,
    simulate,
)
from failscape.spaces.questions import Pattern, explains
from failscape.toybox.asking import PartsGrammar, scene_of
from failscape.toybox.networks import MODELS
from failscape.toybox.provider import VLM_OF_PARTS
from failscape.toybox.questions import normal_answer
from failscape.toybox.vlm import ToyVlm
from failscape.toybox.world import render
from failscape.trials import Answer, Generate, Probe, Trial, Verify, reach_verdict


class TwoStages(ZeroShotPlanner):
    """As papers run it: half of the questions are drawn without a look at any answer, then failures are
    grouped once, by the same weighing, and the groups are put to the test with the other half."""

    def _plan(self, number: int, left: int) -> list[Item]:
        self._all = max(getattr(self, "_all", 0), left)
        if 2 * left > self._all:
            rng = random.Random(f"{self._seed}/{number}")
            return self._searching(number, rng, min(self._rounds.size, left - self._all // 2), 0)
        return super()._plan(number, left)

    def _open_slots(self) -> None:
        if not self._confirmation.slots:
            super()._open_slots()


class Told(Planner):
    """A ceiling for any search: looks as `evolve` does, but is told which planted mode a failure is of, and
    puts just that to the test. Nothing is spent on telling explanations apart, or on names."""

    planted: frozenset[Pattern] = frozenset()

    def _open_slots(self) -> None:
        failed = [one.full for one in self._ledger.outcomes if one.failed]
        for pattern in sorted(p for p in self.planted if any(explains(p, one) for one in failed)):
            self._confirmation.open(pattern, "told")

    def _to_look_at(self) -> list[Pattern]:
        return []


class Oracle(Told):
    """Knows all planted modes before the first question, and only proves them."""

    def _open_slots(self) -> None:
        for pattern in sorted(self.planted):
            self._confirmation.open(pattern, "known")

    def _room_to_confirm(self, room: int, left: int) -> int:
        return room

    def _searching(self, number: int, rng: random.Random, room: int, first: int) -> list[Item]:
        return []


ARMS: dict[str, type[Planner]] = {
    "evolve": Planner,
    "zero-shot": ZeroShotPlanner,
    "zero-shot in two stages": TwoStages,
    "told what each failure is of": Told,
    "knows all modes": Oracle,
}
MARGIN = 0.2
PURPOSES = (SEARCH.name, FIRST_LOOK.name, CONFIRMATION.name)


class Row(NamedTuple):
    """What one hunt found; `exact` and `false` only where modes are planted."""

    certified: int
    listed: int
    exact: int
    false: int
    skills: int
    combinations: int
    failing: int
    calls: Counter[str]


class ToyAnswerer:
    """toy-vlm answers, the grammar's truth decides."""

    def __init__(self) -> None:
        self._model = ToyVlm(MODELS / f"{VLM_OF_PARTS}.onnx")

    def run(self, probe: Probe) -> Trial:
        facts: list[object] = []
        for step in probe.steps:
            if isinstance(step, Generate):
                self._picture = np.asarray(render(scene_of(step.prompt)))[None]
                facts.append(step.prompt)
            elif isinstance(step, Answer):
                facts.append(self._model.answer(self._picture, [step.question])[0])
            elif isinstance(step, Verify):
                right = normal_answer(str(facts[-1])) == step.truth
                facts.append([True, right, "" if right else f"the right answer is {step.truth}"])
        verdict, reason = reach_verdict(probe.steps, facts)
        return Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed)


def hunted(world: str, arm: str, modes: int, questions: int, seed: int, size: int) -> Row:
    grammars = {"small": PlantedGrammar, "rich": rich_grammar, "toybox": PartsGrammar}
    grammar = grammars[world]()
    log = QuestionLog(shared=len(grammar.patterns()) >= MANY_FORMS)
    confirmation = Confirmation(MARGIN, 0.05, slots_for(120, questions), 80)
    planner = ARMS[arm](grammar, log, confirmation, Rounds(size).of(questions), seed)
    hunt = VlmHunt(grammar, log, confirmation, planner, questions)
    weak = plant(seed, modes, grammar) if isinstance(grammar, PlantedGrammar) else {}
    if isinstance(planner, Told):
        planner.planted = frozenset(weak)
    simulate(hunt, PlantedAnswerer(weak, seed=seed) if weak else ToyAnswerer())  # type: ignore[arg-type]
    certified = confirmation.certified()
    listed = {Pattern.parse(finding.subject) for finding in hunt.findings()}
    false = 0
    if isinstance(grammar, PlantedGrammar):
        truth = PlantedAnswerer(weak, seed=seed)
        false = sum(truth.true_rate(pattern, grammar, 400) <= MARGIN for pattern in certified)
    valid = [one for one in log.outcomes if one.valid]
    return Row(
        len(certified),
        len(listed),
        len(listed & weak.keys()),
        false,
        len({skill for one in valid for skill in one.pattern.skills}),
        len({one.pattern.skills for one in valid}),
        len({one.pattern.skills for one in valid if one.failed}),
        Counter(one.purpose.name for one in log.outcomes if one.key),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", default="small", choices=["small", "rich", "toybox"])
    parser.add_argument("--modes", default="6")
    parser.add_argument("--questions", default="200,300")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=300)
    parser.add_argument("--round", type=int, default=16)
    chosen = parser.parse_args()
    arms = [arm for arm in ARMS if chosen.world != "toybox" or not issubclass(ARMS[arm], Told)]
    names = [*Row._fields[:-1], "per 1,000 calls", "search / look / confirm", "seconds"]
    print(f"| modes × seeds | questions | arm | {' | '.join(names)} |")
    print("|---" * (len(names) + 3) + "|")
    for modes in map(int, chosen.modes.split(",")):
        for questions in map(int, chosen.questions.split(",")):
            for arm in arms:
                clock = time.process_time()
                seeds = range(chosen.first, chosen.first + chosen.seeds)
                rows = [hunted(chosen.world, arm, modes, questions, seed, chosen.round) for seed in seeds]
                calls: Counter[str] = sum((row.calls for row in rows), Counter())
                cells: list[float] = [sum(row[at] for row in rows) for at in range(4)]  # type: ignore[misc]
                cells += [round(float(np.mean([row[at] for row in rows])), 1) for at in range(4, 7)]  # type: ignore[arg-type]
                cells.append(round(1000 * cells[0] / calls.total(), 1))
                spent = " / ".join(str(calls[name]) for name in PURPOSES)
                many = f"{modes} × {chosen.seeds}" if chosen.world != "toybox" else f"? × {chosen.seeds}"
                seconds = f"{time.process_time() - clock:.0f}"
                print(
                    f"| {many} | {questions} | {arm} | {' | '.join(map(str, [*cells, spent, seconds]))} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
