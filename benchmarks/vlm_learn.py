"""Does a questioner that learns by worth find more failures than one that imitates, and as broadly?

    python -m benchmarks.vlm_learn --world toybox --seeds 8 --first 9000
    python -m benchmarks.vlm_learn --world planted --seeds 8 --first 9000
    python -m benchmarks.vlm_learn --world toybox --permuted --seeds 8 --first 9000
    python -m benchmarks.vlm_learn --world toybox --sweep --seeds 8 --first 9000

`toybox`: 822 forms of question on 160 pictures, each form once on each picture, answered by toy-vlm-parts;
the answers are made once and kept in a file. A question is a form on a picture that is drawn at random, as a
questioner of the paper meets them, so that many drafts are invalid. Such drafts are thrown away and count as
written, but do not reach the target. `planted`: answerers that fail at known kinds, where all is valid.

All arms write the same number of questions. `constant`, `ideal` and `ideal without repeats` know the true
failure rates: the best question again and again; the best form on each picture; and the best forms, none
twice in a round. `--permuted` gives each form the failures of another one: an order of skills that remains
comes from the questioner and not from the target.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.vlm.training.policy import PolicySettings, QuestionPolicy, Vector
from failscape.kinds.vlm.training.worth import Graded
from failscape.simulate.questions import PlantedAnswerer, plant, rich_grammar
from failscape.spaces.questions import Pattern, make_pattern
from failscape.toybox.asking import PartsGrammar, scenes_of
from failscape.toybox.networks import MODELS
from failscape.toybox.provider import VLM_OF_PARTS
from failscape.toybox.question_sampling import draw_slots
from failscape.toybox.questions import BY_KEY, normal_answer, word_question
from failscape.toybox.vlm import ToyVlm
from failscape.toybox.world import render

PICTURES = 160
ROUND = 64
QUARTERS, ROUNDS_IN_QUARTER = 4, 7
WINDOWS = 8
INVALID, PASSED, FAILED = 0, 1, 2

Table = NDArray[np.int8]


@dataclass(frozen=True)
class World:
    """`table` has the outcome of every kind of question (row) on every picture (column)."""

    kinds: tuple[Pattern, ...]
    table: Table

    @property
    def yields(self) -> Vector:
        """Failures per written question of each kind."""
        return np.asarray((self.table == FAILED).mean(axis=1), np.float64)

    def permuted(self, seed: int) -> World:
        """Each kind has the outcomes of another one."""
        order = np.random.default_rng(seed).permutation(len(self.kinds))
        return replace(self, table=self.table[order])


def toybox_world(file: Path) -> World:
    """Made once; a second or two for five pictures."""
    kinds = tuple(PartsGrammar().patterns())
    if file.exists():
        return World(kinds, np.load(file, allow_pickle=False))
    grammar, target, chance = PartsGrammar(), ToyVlm(MODELS / f"{VLM_OF_PARTS}.onnx"), random.Random("learn")
    table = np.zeros((len(kinds), PICTURES), np.int8)
    for column in range(PICTURES):
        scene = scenes_of(grammar.pick(chance, False).key)[0]
        draws = np.random.default_rng(column)
        asked = []
        for row, kind in enumerate(kinds):
            form = BY_KEY[kind.form]
            slots = draw_slots(draws, scene, form.key)
            truth = form.solve(scene, slots)
            if truth is not None:
                asked.append((row, word_question(form, slots), truth))
        picture = np.stack([np.asarray(render(scene))] * len(asked))
        answers = target.answer(picture, [text for _, text, _ in asked])
        for (row, _, truth), answer in zip(asked, answers, strict=True):
            table[row, column] = PASSED if normal_answer(answer) == truth else FAILED
    file.parent.mkdir(parents=True, exist_ok=True)
    np.save(file, table)
    return World(kinds, table)


def planted_world(seed: int) -> World:
    """Six weak spots in 298 forms; all questions are valid."""
    grammar = rich_grammar()
    answerer = PlantedAnswerer(plant(seed, 6, grammar), seed=seed)
    chance = random.Random(f"planted {seed}")
    kinds = tuple(grammar.patterns())
    table = np.full((len(kinds), PICTURES), PASSED, np.int8)
    for row, kind in enumerate(kinds):
        for column in range(PICTURES):
            asked = grammar.draft(kind, chance, False)
            rate = answerer.rate(make_pattern(kind.form, kind.skills, asked.features))
            if chance.random() < rate:
                table[row, column] = FAILED
    return World(kinds, table)


class Arm(Protocol):
    """Who chooses what to ask about a picture."""

    def pick(self, column: int, rng: random.Random) -> tuple[int, float]: ...

    def hear(self, row: int, log_chance: float, outcome: int) -> None: ...

    def end_round(self, number: int) -> None: ...


class Policy:
    """A policy that learns after each round; `imitates`: only to write more of what failed.

    `rounds`: after how many it learns. Imitation without replay learns once, when a quarter was written.
    """

    def __init__(self, world: World, settings: PolicySettings, rounds: range, imitates: bool = False) -> None:
        made = Imitation if imitates else QuestionPolicy
        self._policy = made(world.kinds, settings)
        self._numbers = {kind: at for at, kind in enumerate(world.kinds)}
        self._world = world
        self._rounds = rounds

    def pick(self, column: int, rng: random.Random) -> tuple[int, float]:
        kind, log_chance = self._policy.choose(rng)
        return self._numbers[kind], log_chance

    def hear(self, row: int, log_chance: float, outcome: int) -> None:
        kind = self._world.kinds[row]
        graded = Graded(kind.skills, outcome != INVALID, outcome == FAILED)
        self._policy.note(graded, kind, log_chance)

    def end_round(self, number: int) -> None:
        if number in self._rounds:
            self._policy.learn()


class Imitation(QuestionPolicy):
    """The same policy, trained to make the questions that failed likely, as fine-tuning on them does."""

    def _slope(self, kinds: NDArray[np.int64], written: Vector, worths: Vector) -> Vector:
        failed = np.array([question.failed for question, _, _ in self._graded], float)
        if not failed.any():
            return np.zeros(len(self.kinds))
        chances = np.exp(self._log_chances)
        moved = self._log_chances - self._start
        slope = np.bincount(kinds, failed / failed.sum(), len(self.kinds)) - chances
        return np.asarray(slope - self._settings.pull * chances * (moved - chances @ moved), np.float64)


class Knowing:
    """Knows how often each kind fails, and asks the best one that its rule allows."""

    def __init__(self, world: World, how: str) -> None:
        self._world = world
        self._how = how
        self._order = np.argsort(-world.yields, kind="stable")
        self._at = 0

    def pick(self, column: int, rng: random.Random) -> tuple[int, float]:
        if self._how == "constant":
            return int(self._order[0]), 0.0
        if self._how == "ideal":
            valid = self._world.table[:, column] != INVALID
            return int(np.argmax(np.where(valid, self._world.yields, -1.0))), 0.0
        self._at += 1
        return int(self._order[self._at - 1]), 0.0

    def hear(self, row: int, log_chance: float, outcome: int) -> None:
        return

    def end_round(self, number: int) -> None:
        self._at = 0


NEVER, ONCE, ALWAYS = range(0), range(ROUNDS_IN_QUARTER - 1, ROUNDS_IN_QUARTER), range(1_000)


def arms(world: World, settings: PolicySettings) -> dict[str, Arm]:
    after = range(ROUNDS_IN_QUARTER - 1, 1_000)
    once = replace(settings, updates=settings.updates * ROUNDS_IN_QUARTER)
    return {
        "zero-shot": Policy(world, settings, NEVER),
        "imitation": Policy(world, once, ONCE, imitates=True),
        "imitation + replay": Policy(world, settings, after, imitates=True),
        "learn": Policy(world, settings, ALWAYS),
        "learn, repeats paid in full": Policy(world, replace(settings, repeats=0.0), ALWAYS),
        "constant best question": Knowing(world, "constant"),
        "ideal without repeats": Knowing(world, "without repeats"),
        "ideal": Knowing(world, "ideal"),
    }


class Written(NamedTuple):
    row: int
    outcome: int


def run(arm: Arm, world: World, seed: int) -> list[Written]:
    rng = random.Random(f"learn {seed}")
    found = []
    for number in range(QUARTERS * ROUNDS_IN_QUARTER):
        heard = []
        for _ in range(ROUND):
            column = rng.randrange(world.table.shape[1])
            row, log_chance = arm.pick(column, rng)
            outcome = int(world.table[row, column])
            heard.append((row, log_chance, outcome))
            found.append(Written(row, outcome))
        for one in heard:
            arm.hear(*one)
        arm.end_round(number)
    return found


class Figures(NamedTuple):
    """Of one run. Rates by quarter are of written questions; `late` is the last quarter."""

    quarters: tuple[float, ...]
    of_calls_late: float
    valid_late: float
    skills: int
    combinations: int
    failing: int
    failing_late: int
    depth: tuple[float, ...]
    largest_late: float


def figures(world: World, written: Sequence[Written]) -> Figures:
    size = ROUND * ROUNDS_IN_QUARTER
    quarters = [written[at * size : (at + 1) * size] for at in range(QUARTERS)]
    late = quarters[-1]
    valid = [one for one in late if one.outcome != INVALID]
    failures = Counter(world.kinds[one.row].form for one in late if one.outcome == FAILED)
    window = len(written) // WINDOWS
    asked = [world.kinds[one.row] for one in written if one.outcome != INVALID]
    return Figures(
        tuple(sum(one.outcome == FAILED for one in part) / size for part in quarters),
        failures.total() / max(1, len(valid)),
        len(valid) / size,
        len({skill for kind in asked for skill in kind.skills}),
        len({kind.skills for kind in asked}),
        _failing(world, written),
        _failing(world, late),
        tuple(
            float(np.mean([len(world.kinds[one.row].skills) for one in written[at : at + window]]))
            for at in range(0, len(written), window)
        ),
        max(failures.values(), default=0) / max(1, failures.total()),
    )


def _failing(world: World, written: Sequence[Written]) -> int:
    return len({world.kinds[one.row].skills for one in written if one.outcome == FAILED})


def peaks(world: World, written: Sequence[Written]) -> tuple[float, float]:
    """The window (from 1) with the most questions of one skill, and that with the most of three or more."""
    window = len(written) // WINDOWS
    counts = np.zeros((WINDOWS, 2))
    for at, one in enumerate(written):
        skills = world.kinds[one.row].skills
        if len(skills) == 1 or len(skills) >= 3:
            counts[min(at // window, WINDOWS - 1), int(len(skills) >= 3)] += 1
    return float(counts[:, 0].argmax() + 1), float(counts[:, 1].argmax() + 1)


def _mean(values: Sequence[float], show: str) -> str:
    return show.format(float(np.mean(values)))


def line(name: str, rows: Sequence[Figures]) -> str:
    by_quarter = ", ".join(
        _mean([100 * row.quarters[at] for row in rows], "{:.0f}") for at in range(QUARTERS)
    )
    cells = [
        f"{by_quarter} %",
        _mean([100 * row.of_calls_late for row in rows], "{:.0f} %"),
        _mean([100 * row.valid_late for row in rows], "{:.0f} %"),
        _mean([row.skills for row in rows], "{:.0f}"),
        _mean([row.combinations for row in rows], "{:.0f}"),
        _mean([row.failing for row in rows], "{:.0f}"),
        _mean([row.failing_late for row in rows], "{:.0f}"),
        _mean([100 * row.largest_late for row in rows], "{:.0f} %"),
        " → ".join(_mean([row.depth[at] for row in rows], "{:.1f}") for at in (0, WINDOWS - 1)),
    ]
    return f"| {name} | {' | '.join(cells)} |"


HEAD = (
    "| arm | failed of written, by quarter | of target calls, 4th | valid, 4th | skills | combinations | "
    "failing combinations | in the 4th | commonest failing form, 4th | skills a question, 1st → 8th window |"
)


def compare(chosen: argparse.Namespace, settings: PolicySettings, only: Sequence[str] = ()) -> None:
    found: dict[str, list[Figures]] = {}
    order: dict[str, list[tuple[float, float]]] = {}
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        world = toybox_world(chosen.table) if chosen.world == "toybox" else planted_world(seed)
        world = world.permuted(seed) if chosen.permuted else world
        for name, arm in arms(world, settings).items():
            if not only or name in only:
                written = run(arm, world, seed)
                found.setdefault(name, []).append(figures(world, written))
                order.setdefault(name, []).append(peaks(world, written))
    for name, rows in found.items():
        print(line(name, rows), flush=True)
    if "imitation + replay" not in found:
        return
    for other in ("imitation + replay", "imitation"):
        wins = [
            (mine.quarters[-1] / max(1e-9, theirs.quarters[-1]), mine.failing / max(1, theirs.failing))
            for mine, theirs in zip(found["learn"], found[other], strict=True)
        ]
        told = ", ".join(f"{rate:.2f}× ({breadth:.2f}×)" for rate, breadth in wins)
        print(f"\nlearn against {other}, failures of the 4th quarter (failing combinations), by seed: {told}")
    for name in ("zero-shot", "imitation + replay", "learn", "learn, repeats paid in full"):
        first = sum(basic < compound for basic, compound in order[name])
        print(f"peak window of basic and compound, {name}: {order[name]}; basic first in {first}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", default="toybox", choices=["toybox", "planted"])
    parser.add_argument("--permuted", action="store_true")
    parser.add_argument("--sweep", action="store_true", help="the arm `learn` with every setting changed")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--table", type=Path, default=Path("runs/vlm-learn.npy"))
    chosen = parser.parse_args()
    print(HEAD)
    print("|---" * (HEAD.count("|") - 1) + "|")
    usual = PolicySettings()
    if not chosen.sweep:
        compare(chosen, usual)
        return
    changes: dict[str, Sequence[float]] = {
        "updates": (3, 12, 48),
        "rate": (0.1, 0.3, 1.0),
        "most_weight": (1.0, 2.0, 8.0),
        "pull": (0.0, 0.02, 0.2),
        "repeats": (0.0, 0.1, 0.3, 1.0),
    }
    for name, values in changes.items():
        for value in values:
            print(f"{name} = {value}:")
            compare(chosen, replace(usual, **{name: type(getattr(usual, name))(value)}), ["learn"])


if __name__ == "__main__":
    main()
