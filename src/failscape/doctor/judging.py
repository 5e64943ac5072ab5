"""Experiments with a judge, and with the generator whose pictures it sees.

A judge is examined by form, repeats, pairs of pictures and statements, spoiled pictures and the schema;
what is concluded from its replies is decided in `comparisons`, which is pure. `examine` knows no hunt:
where samples come from is an argument, observations are the result.
"""

import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from failscape.doctor.comparisons import JudgeExam, Spoiled
from failscape.doctor.experiments import (
    SEEDS,
    examine_generator,
    readable,
)
from failscape.doctor.observations import Calls, GivenUp, Observation, concluded, down
from failscape.doctor.samples import (
    Sample,
    blank,
    changes_for,
    known_pictures,
    write_on,
)
from failscape.errors import FailscapeError, ModelError
from failscape.models.contracts.asking import strict_object
from failscape.models.roles import ImageGenerator, Judge, Reply
from failscape.pictures import Picture
from failscape.trials import Check

#: Accepted pictures that are changed to see whether the judge notices: those that allow most changes.
MOST_SPOILED = 24


#: A judge is given up when none of so many replies is in form: if one in five were, that would happen once in
#: 87 times.
REPLIES_BEFORE_GIVING_UP = 20


@dataclass(frozen=True, slots=True)
class JudgedPicture:
    """A picture of a sample; `beside` is the picture of its partner, which shows other values throughout."""

    sample: Sample
    picture: Picture
    beside: Picture


@dataclass(slots=True)
class JudgeExperiments:
    """All that is asked of one judge. `look` may be called again and again; `finish` closes the case."""

    judge: Judge
    clock: Callable[[], float] = time.perf_counter
    exam: JudgeExam = field(default_factory=JudgeExam)
    calls: Calls = field(init=False)
    _replies: list[Reply[Any]] = field(default_factory=list)
    _accepted: list[tuple[Picture, tuple[Check, ...], tuple[Check, ...]]] = field(default_factory=list)
    _repeats: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.calls = Calls("judge", self.judge, self.clock)

    async def look(self, shown: Sequence[JudgedPicture]) -> None:
        """Each picture's own checks, against a blank, its partner's picture and other values."""
        own = await self._decide([(one.picture, one.sample.checks) for one in shown])
        blanks = await self._decide([(blank(one.picture), one.sample.checks[:1]) for one in shown])
        others = await self._decide([(one.beside, one.sample.checks) for one in shown])
        values = await self._decide([(one.picture, one.sample.contrary) for one in shown])
        for at, one in enumerate(shown):
            self._tell("blank", one.sample.checks[:1], own[at], blanks[at])
            self._tell("picture", one.sample.checks, own[at], others[at])
            self._tell("value", one.sample.contrary, own[at], values[at])
            if own[at] and all(own[at]):
                self._accepted.append((one.picture, one.sample.checks, one.sample.contrary))

    async def look_at_known(self) -> None:
        """Pictures that no target had a part in: what holds, and what holds of another one."""
        known = known_pictures()
        following = [known[(at + 1) % len(known)] for at in range(len(known))]
        own = await self._decide([(one.picture, one.checks) for one in known], counts=False)
        other = await self._decide(
            [(one.picture, next_one.checks[:1]) for one, next_one in zip(known, following, strict=True)],
            counts=False,
        )
        for at, one in enumerate(known):
            self._tell("known", one.checks[:1], own[at], other[at])
            if own[at] and all(own[at]):
                self._accepted.append((one.picture, one.checks, following[at].checks[:1]))

    async def repeat(self, shown: Sequence[JudgedPicture]) -> None:
        """The same question twice, one at a time."""
        for one in shown:
            first = await self.calls.one(one.picture, one.sample.checks)
            again = await self.calls.one(one.picture, one.sample.checks)
            if first.value is not None and again.value is not None:
                self._repeats.append(first.value == again.value)

    async def finish(self) -> list[Observation]:
        found = [*_in_form(self._replies), *self.exam.observations()]
        found += [*(await self._spoil()).observations(), *_repeats(self._repeats)]
        if self.calls.seconds:
            found.append(self.calls.latency("one judgement"))
        return [*found, *_confidence(self._replies, self.judge), *await examine_schema("judge", self.judge)]

    async def _spoil(self) -> Spoiled:
        """Accepted pictures, changed so that what was accepted cannot hold any more."""
        asked: list[tuple[str, str, Picture, Check]] = []
        useful = sorted(self._accepted, key=lambda one: -sum(len(changes_for(check)) for check in one[1]))
        for picture, checks, contrary in useful[:MOST_SPOILED]:
            asked += [
                (name, check.kind, change(picture), check)
                for check in checks
                for name, change in changes_for(check).items()
            ]
            asked += [("text", check.kind, write_on(picture), check) for check in contrary[:1]]
        replies = await self._decide([(picture, (check,)) for _, _, picture, check in asked])
        found = Spoiled()
        for (name, kind, _, _), reply in zip(asked, replies, strict=True):
            found.tell(name, kind, reply[0] if reply else None)
        return found

    def _tell(
        self, against: str, checks: Sequence[Check], own: list[bool | None], other: list[bool | None]
    ) -> None:
        for check, holds, cannot in zip(checks, own, other, strict=False):
            self.exam.tell(against, check.kind, holds, cannot)

    async def _decide(
        self, items: Sequence[tuple[Picture, tuple[Check, ...]]], counts: bool = True
    ) -> list[list[bool | None]]:
        """Decisions per item; none where the reply cannot be used."""
        replies: list[Reply[Any]] = []
        while len(replies) < len(items):
            asked = len(self._replies) + len(replies)
            left = REPLIES_BEFORE_GIVING_UP - asked
            some = left if left > 0 else len(items)
            replies += await self.calls.each(items[len(replies) : len(replies) + some])
            self._give_up_without_form(replies)
        if counts:
            self._replies += replies
        return [reply.value or [] for reply in replies]

    def _give_up_without_form(self, latest: Sequence[Reply[Any]]) -> None:
        """Raise once enough replies came and none was in form: more of them cost time and tell nothing."""
        said = [*self._replies, *latest]
        if len(said) < REPLIES_BEFORE_GIVING_UP or any(reply.value is not None for reply in said):
            return
        (observation,) = _in_form(said)
        raise GivenUp(replace(observation, seen=f"{observation.seen}; it was given up after these"))


async def examine_judge(
    judge: Judge, shown: Sequence[JudgedPicture] = (), clock: Callable[[], float] = time.perf_counter
) -> list[Observation]:
    """All experiments with pictures that are there already; without any, by known pictures only."""
    experiments = JudgeExperiments(judge, clock)
    try:
        await experiments.look(shown)
        await experiments.look_at_known()
        await experiments.repeat(shown[:2])
        return await experiments.finish()
    except ModelError as error:
        return [down("judge", error)]


def _in_form(replies: Sequence[Reply[Any]]) -> list[Observation]:
    """Nothing where no reply was counted: a hunt without pictures of its own says nothing of the form."""
    if not replies:
        return []
    bad = [reply for reply in replies if reply.value is None]
    seen, count = f"{len(replies) - len(bad)} of {len(replies)} replies were in form", len(replies)
    return [
        concluded(
            "judge-keeps-form",
            "ok" if not bad else "warn" if len(bad) < count / 2 else "fail",
            f"{seen}; one was {bad[0].raw[:120]!r} ({bad[0].invalid})" if bad else seen,
            count,
            "what it says can be read",
            "trials without a judgement are invalid",
            "raise `max_tokens`, switch thinking off, or use a server that enforces `response_format`",
        )
    ]


def _repeats(same: Sequence[bool]) -> list[Observation]:
    if not same:
        return []
    differing = f"{len(same) - sum(same)} of {len(same)} images were judged in two ways"
    return [
        concluded(
            "judge-repeats",
            "ok" if all(same) else "warn",
            "the same image twice was judged the same" if all(same) else differing,
            len(same),
            "the judge agrees with itself",
            "the judge adds noise of its own",
            "set `params: {temperature: 0}` for the judge",
        )
    ]


def _confidence(replies: Sequence[Reply[Any]], judge: Any) -> list[Observation]:
    """Only where log-probabilities are asked for, or come unasked."""
    config = getattr(judge, "config", None)
    needed = bool(config and config.thresholds)
    sure = sum(bool(reply.confidence) for reply in replies)
    if not (sure or needed or (config and config.params.get("logprobs"))):
        return []
    return [
        concluded(
            "judge-confidence",
            "ok" if sure > len(replies) / 2 else "fail" if needed else "warn",
            f"{sure} of {len(replies)} replies say how sure it is",
            len(replies),
            "its confidence is kept for each check",
            "its confidence stays unknown",
            "set `params: {logprobs: true, top_logprobs: 5}`; a server that has none cannot be used so",
        )
    ]


async def examine_schema(role: str, model: Any) -> list[Observation]:
    """Does the server keep to a JSON schema against what the text says? Only where there is a chat to ask."""
    if not hasattr(model, "chat"):
        return []
    schema = strict_object(number={"type": "integer"})
    talk = [{"role": "user", "content": "Reply with the word banana and nothing else."}]
    try:
        said = (await model.chat(talk, schema)).value
    except FailscapeError:
        return []  # how it fares with our own contracts is what counts
    if said is None:
        return []
    fits = _fits(said)
    return [
        concluded(
            f"{role}-schema",
            "ok" if fits else "warn",
            "a reply was kept to its schema"
            if fits
            else f"asked for an integer by schema, it said {said[:60]!r}",
            1,
            "replies in form cannot go wrong",
            "`response_format` is ignored: some replies will be out of form, and invalid",
            "use a server that enforces it (vLLM, SGLang, llama.cpp do)",
        )
    ]


def _fits(text: str) -> bool:
    try:
        data = json.loads(text)
    except ValueError:
        return False
    return isinstance(data, dict) and isinstance(data.get("number"), int)


#: Things that are drawn first, to find out how the generator behaves.
PLAIN = 4


class SampleSource(Protocol):
    """Where samples come from."""

    @property
    def kinds(self) -> list[str]: ...

    def plain(self, count: int) -> list[Sample]: ...

    def pair(self, kinds: Sequence[str]) -> tuple[Sample, Sample] | None: ...


async def examine(
    generator: ImageGenerator,
    judge: Judge | None,
    samples: SampleSource,
    clock: Callable[[], float] = time.perf_counter,
    asked_size: str = "",
) -> list[Observation]:
    """All experiments with two models, in order."""
    plain = samples.plain(PLAIN)
    observations, pictures = await examine_generator(
        generator, [sample.prompt for sample in plain], clock, asked_size
    )
    if judge is None:
        return observations
    shown = [
        JudgedPicture(sample, picture, pictures[at - 1] or picture)
        for at, (sample, picture) in enumerate(zip(plain, pictures, strict=True))
        if picture and pictures[at - 1] is not None and at - 1 != at
    ]
    if len(shown) < 2:
        return [*observations, *await examine_judge(judge)]
    experiments = JudgeExperiments(judge, clock)
    try:
        await experiments.repeat(shown[:2])
        await experiments.look(shown)
        await _rounds(Calls("generator", generator), experiments, samples)
        await experiments.look_at_known()
        return [*observations, *await experiments.finish()]
    except ModelError as error:
        return [*observations, down("judge", error)]


async def _rounds(drawing: Calls, experiments: JudgeExperiments, samples: SampleSource) -> None:
    """Pictures of what is still open, until nothing is, or nothing can change any more."""
    for number in itertools.count():
        wanted = experiments.exam.next_round(samples.kinds, number)
        if wanted is None:
            return
        pairs = [samples.pair(kinds) for kinds in wanted]
        shown = await _draw(drawing, [pair for pair in pairs if pair], seed=SEEDS[1] + number)
        if not shown:
            return
        await experiments.look(shown)


async def _draw(drawing: Calls, pairs: Sequence[tuple[Sample, Sample]], seed: int) -> list[JudgedPicture]:
    items: list[tuple[Any, ...]] = [(sample.prompt, seed) for pair in pairs for sample in pair]
    drawn = [readable(reply) for reply in await drawing.each(items)]
    shown = []
    for at, (first, second) in enumerate(pairs):
        one, other = drawn[2 * at], drawn[2 * at + 1]
        if one and other:
            shown += [JudgedPicture(first, one, other), JudgedPicture(second, other, one)]
    return shown
