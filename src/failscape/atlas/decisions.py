"""Reads what judges decided, check by check: of one hunt, or of two hunts that judged the same images."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from failscape.atlas.records import images_of, understood
from failscape.atlas.store import Atlas
from failscape.trials import (
    Answer,
    Check,
    Decide,
    Edit,
    Facts,
    Generate,
    Probe,
    Recall,
    Show,
    Step,
    Verdict,
    Verify,
    steps_from_json,
)

_MANY = 512


class Decision(NamedTuple):
    """`answer` to check number `place` of a trial, about the picture with digest `image`."""

    trial: str
    subject: str
    place: int
    check: Check
    answer: bool
    image: str


class AnswerPair(NamedTuple):
    """What two judges said to the same check about the same picture."""

    subject: str
    check: Check
    first: bool
    second: bool


def decisions(atlas: Atlas, hunt_id: int) -> Iterator[Decision]:
    """Every decided check of a hunt and every verified answer, in the order recorded; open ones left out."""
    query = "SELECT key, subject, facts, plan FROM trials NOT INDEXED WHERE hunt = ? ORDER BY id"
    plans = Plans(atlas.query)
    for key, subject, text, plan in atlas.query(query, (hunt_id,)):
        with understood(f"trials {key!r}"):
            found = _decisions(key, subject, plans.get(plan), json.loads(text))
        yield from found


def pairs(atlas: Atlas, first: int, second: int) -> Iterator[AnswerPair]:
    """Checks that both hunts decided about the same picture in trials of the same key."""
    query = (
        "SELECT a.subject, a.facts, b.facts, a.plan FROM trials a NOT INDEXED"
        " JOIN trials b ON b.hunt = ? AND b.key = a.key AND b.plan = a.plan WHERE a.hunt = ? ORDER BY a.id"
    )
    plans = Plans(atlas.query)
    for subject, one, two, plan in atlas.query(query, (second, first)):
        with understood(f"trials of {subject!r}"):
            steps = plans.get(plan)
            here_there = [list(decided(steps, json.loads(text))) for text in (one, two)]
        for (_, check, here, image), (_, _, there, other) in zip(*here_there, strict=False):
            if here is not None and there is not None and image == other:
                yield AnswerPair(subject, check, here, there)


def probes_of(atlas: Atlas, hunt_id: int, but_for: int = 0) -> Iterator[tuple[Probe, bool]]:
    """What a hunt asked, in the order recorded, and whether its picture is kept.

    Keys that hunt `but_for` has are left out. Read page by page, so that writing can go on beside it.
    """
    query = (
        "SELECT id, key, subject, seed, facts, plan FROM trials t NOT INDEXED WHERE hunt = ? AND id > ?"
        " AND NOT EXISTS (SELECT 1 FROM trials n WHERE n.hunt = ? AND n.key = t.key) ORDER BY id LIMIT ?"
    )
    plans, last = Plans(atlas.query), 0
    while rows := list(atlas.query(query, (hunt_id, last, but_for, _MANY))):
        for number, key, subject, seed, text, plan in rows:
            with understood(f"trials {number!r}"):
                steps, last = plans.get(plan), number
                images = images_of(steps, json.loads(text))
            yield Probe(key, subject, steps, seed), bool(images) and has_image(atlas, images[-1])


class AskedTrial(NamedTuple):
    """What was asked, what was learnt, and the verdict: enough to ask the same again of another model."""

    probe: Probe
    facts: list[Facts]
    verdict: Verdict


def asked_trials(atlas: Atlas, hunt_id: int) -> Iterator[AskedTrial]:
    """Every trial of a hunt that tested something, in the order recorded, without its calls."""
    query = (
        "SELECT key, subject, seed, facts, plan, verdict FROM trials NOT INDEXED"
        " WHERE hunt = ? AND verdict IN ('pass', 'fail') ORDER BY id"
    )
    plans = Plans(atlas.query)
    for key, subject, seed, text, plan, verdict in atlas.query(query, (hunt_id,)):
        with understood(f"trials {key!r}"):
            probe = Probe(key, subject, plans.get(plan), seed)
            found = AskedTrial(probe, json.loads(text), Verdict(verdict))
        yield found


def plans_of(
    atlas: Atlas, hunt_id: int, subject: str, testing: tuple[type, ...], most: int = 64
) -> list[tuple[Step, ...]]:
    """The steps of a subject's trials, each once, in the order recorded: those that test something."""
    query = "SELECT plan FROM trials WHERE hunt = ? AND subject = ? GROUP BY plan ORDER BY min(id) LIMIT ?"
    plans = Plans(atlas.query)
    found = [plans.get(plan) for (plan,) in atlas.query(query, (hunt_id, subject, most))]
    return [steps for steps in found if any(isinstance(step, testing) for step in steps)]


def has_image(atlas: Atlas, digest: str) -> bool:
    """Whether the atlas keeps the picture."""
    return next(atlas.query("SELECT 1 FROM images WHERE digest = ?", (digest,)), None) is not None


def _decisions(key: str, subject: str, steps: tuple[Step, ...], facts: list[Facts]) -> list[Decision]:
    return [
        Decision(key, subject, place, check, answer, image)
        for place, check, answer, image in (*decided(steps, facts), *verified(steps, facts))
        if answer is not None
    ]


def decided(steps: tuple[Step, ...], facts: list[Facts]) -> Iterator[tuple[int, Check, bool | None, str]]:
    """(place, check, answer, image) of each check that was put to the judge."""
    image, place = "", 0
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Generate | Edit) and isinstance(fact, str):
            image = fact
        elif isinstance(step, Show) and fact:
            image = str(fact[-1])
        elif isinstance(step, Decide) and fact is not None:
            for check, answer in zip(step.checks, fact, strict=False):
                yield place, check, answer, image
                place += 1


#: The one kind of check that a verifier makes: is this answer right?
ANSWER = "answer"

#: How the statement begins about a later turn of a talk: what counts is whether it stands by that.
EARLIER = "After it had said"


def verified(steps: tuple[Step, ...], facts: list[Facts]) -> Iterator[tuple[int, Check, bool | None, str]]:
    """(place, check, answer, image) of each answer whose question the verifier found valid."""
    image = next(reversed(images_of(steps, facts)), "")
    asked, said, before, place = "", "", "", 0
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Recall):
            question, answer = step.turns[0]
            before = f"{EARLIER} “{answer}” to “{question}”: "
        elif isinstance(step, Answer):
            asked, said = step.question, str(fact)
        elif isinstance(step, Verify) and isinstance(fact, list) and fact and fact[0]:
            statement = f"{before}Asked “{asked}”, it answered “{said}”."
            yield place, Check(ANSWER, said, statement), fact[1], image
            place += 1


def decision_of(atlas: Atlas, hunt_id: int, trial: str, place: int) -> Decision | None:
    """One decision of a trial, by its key and place."""
    query = "SELECT subject, facts, plan FROM trials WHERE hunt = ? AND key = ?"
    for subject, facts, plan in atlas.query(query, (hunt_id, trial)):
        with understood(f"trials {trial!r}"):
            found = _decisions(trial, subject, Plans(atlas.query).get(plan), json.loads(facts))
        return next((one for one in found if one.place == place), None)
    return None


class Plans:
    """Steps by number. Many trials share few plans, and reading one anew each time is slow."""

    def __init__(self, query: Callable[[str, tuple[int]], Iterable[tuple[Any, ...]]]) -> None:
        self._query = query
        self._known: dict[int, tuple[Step, ...]] = {}

    def get(self, number: int) -> tuple[Step, ...]:
        steps = self._known.get(number)
        if steps is None:
            if len(self._known) >= 8192:
                self._known.clear()
            with understood(f"plans {number!r}"):
                ((text,),) = self._query("SELECT steps FROM plans WHERE id = ?", (number,))
                steps = self._known[number] = steps_from_json(text)
        return steps
