"""The ceiling for a questioner that reads captions: what it could reach if it knew toy-vlm's failure rates.

The ideal policy knows how often each form of question is valid, given what a caption tells, and how often
toy-vlm then fails. For each picture it asks the form with the most expected failures per written question.
A second policy asks each picture's forms in proportion to that: less often right, but less narrow.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from failscape.kinds.vlm.config import TrainingConfig
from failscape.kinds.vlm.confirm import spread
from failscape.spaces.questions import Sight
from failscape.toybox.asking import SKILLS_OF, ToyGrammar, scenes_of
from failscape.toybox.question_sampling import draw_slots
from failscape.toybox.questions import BASIC, BY_KEY, word_question
from failscape.toybox.vlm import ToyVlm
from failscape.toybox.world import render

PICTURES = 400
PER_FORM = 3
POSITIONAL = ("relation", "hop thing", "hop colour", "hop size")
"""Forms whose validity a caption does not tell, but for the number of things: it hides where they are."""


class Look(NamedTuple):
    """What came of questions of one form on one picture: written, valid, failed."""

    written: int
    valid: int
    failed: int


class Seen(NamedTuple):
    """One picture: how many things it shows, and what came of every form."""

    things: int
    looks: dict[str, Look]


def drawn(pictures: int = PICTURES) -> list[Sight]:
    """Pictures that are drawn as lessons without a named skill draw them."""
    rng, grammar = random.Random("ideal"), ToyGrammar()
    return [grammar.pick(rng, False) for _ in range(pictures)]


def of_the_last_quarter(seed: int, steps: int) -> list[Sight]:
    """The very pictures that a run without named skills asks about in its last quarter."""
    grammar, training = ToyGrammar(), TrainingConfig(named=0.0)
    found = []
    for number in range(steps - steps // 4, steps):
        rng = random.Random(f"{seed}/lesson/{number}")
        for _ in range(training.pictures):
            rng.random()  # whether a skill is named
            found.append(grammar.pick(rng, False))
    return found


def look_at(sights: Sequence[Sight]) -> list[Seen]:
    """Every form on each of these pictures."""
    target, found = ToyVlm(), []
    for number, sight in enumerate(sights):
        scene = scenes_of(sight.key)[0]
        draws = np.random.default_rng(number)
        asked = [
            (form.key, slots, form.solve(scene, slots))
            for form in BASIC
            for slots in (draw_slots(draws, scene, form.key) for _ in range(PER_FORM))
        ]
        valid = [(key, word_question(BY_KEY[key], slots), truth) for key, slots, truth in asked if truth]
        picture = np.asarray(render(scene))
        answers = target.answer(np.stack([picture] * len(valid)), [text for _, text, _ in valid])
        tally: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for key, _, _ in asked:
            tally[key][0] += 1
        for (key, _, truth), answer in zip(valid, answers, strict=True):
            tally[key][1] += 1
            tally[key][2] += answer != truth
        looks = {key: Look(*counts) for key, counts in tally.items()}
        found.append(Seen(len(scene.things), looks))
    return found


def ideal(seeds: Sequence[int] = (), steps: int = 0) -> str:
    """The ceiling over many pictures; with seeds, also on those of the last quarter of each one's run."""
    seen = look_at(drawn())
    keys = [form.key for form in BASIC]
    totals = {key: _total(seen, key) for key in keys}
    rates = {key: look.failed / max(1, look.valid) for key, look in totals.items()}
    lines = [
        "| policy | failed, of valid | of written | entropy of failing skills | commonest failing form |"
    ]
    lines.append("|---|---|---|---|---|")
    lines.append(_line("ideal", seen, rates, True))
    lines.append(_line("ideal, forms in proportion", seen, rates, False))
    for seed in seeds:
        own = look_at(of_the_last_quarter(seed, steps))
        lines.append(_line(f"ideal, last quarter of seed {seed}", own, rates, True))
    lines += ["", "| form | valid, of written | failed, of valid |", "|---|---|---|"]
    for key in sorted(keys, key=lambda key: -rates[key]):
        look = totals[key]
        lines.append(f"| {key} | {100 * look.valid / look.written:.0f} % | {100 * rates[key]:.1f} % |")
    return "\n".join(lines)


def _total(seen: list[Seen], key: str) -> Look:
    return Look(*(sum(one.looks[key][at] for one in seen) for at in range(3)))


def _line(name: str, seen: list[Seen], rates: dict[str, float], greedy: bool) -> str:
    chance = {
        (key, things): look.valid / max(1, look.written)
        for key in POSITIONAL
        for things in {one.things for one in seen}
        for look in [_total([one for one in seen if one.things == things], key)]
    }
    written = valid = 0.0
    failures: dict[str, float] = defaultdict(float)
    for one in seen:
        hopes = {
            key: rate * (chance[key, one.things] if key in POSITIONAL else bool(one.looks[key].valid))
            for key, rate in rates.items()
        }
        best = max(hopes, key=lambda key: hopes[key])
        total = sum(hopes.values())
        for key, hope in hopes.items():
            share = float(key == best) if greedy else hope / total
            look = one.looks[key]
            written += share
            valid += share * look.valid / look.written
            failures[key] += share * look.failed / look.written
    failed = sum(failures.values())
    skills = Counter({skill: 0 for key in failures for skill in SKILLS_OF[key]})
    for key, number in failures.items():
        skills.update(dict.fromkeys(SKILLS_OF[key], round(1e6 * number)))
    return (
        f"| {name} | {100 * failed / valid:.1f} % | {100 * failed / written:.1f} % | {spread(skills):.2f} | "
        f"{100 * max(failures.values()) / failed:.0f} % |"
    )
