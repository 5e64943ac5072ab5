"""Experiments with a judge: form, repeats, pairs of pictures and statements, spoiled pictures, the schema.

What is concluded from its replies is decided in `comparisons`, which is pure.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from failscape.doctor.calls import Calls
from failscape.doctor.comparisons import JudgeExam, Spoiled
from failscape.doctor.known import known_pictures
from failscape.doctor.observations import Observation, Status, down
from failscape.doctor.perturbations import blank, changes_for, write_on
from failscape.doctor.samples import Sample
from failscape.errors import FailscapeError, ModelError
from failscape.models.contracts.asking import strict_object
from failscape.models.roles import Judge, Reply
from failscape.pictures import Picture
from failscape.trials import Check

#: Accepted pictures that are changed to see whether the judge notices: those that allow most changes.
MOST_SPOILED = 24


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
        spoiled = await self._spoil()
        found += [*spoiled.observations(), *_repeats(self._repeats)]
        if self.calls.seconds:
            found.append(self.calls.latency("one judgement"))
        found += _confidence(self._replies, self.judge)
        return [*found, *await examine_schema("judge", self.judge)]

    async def _spoil(self) -> Spoiled:
        """Accepted pictures, changed so that what was accepted cannot hold any more."""
        asked: list[tuple[str, str, Picture, Check]] = []
        useful = sorted(self._accepted, key=lambda one: -sum(len(changes_for(check)) for check in one[1]))
        for picture, checks, contrary in useful[:MOST_SPOILED]:
            for check in checks:
                for name, change in changes_for(check).items():
                    asked.append((name, check.kind, change(picture), check))
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
        replies = await self.calls.each(items)
        if counts:
            self._replies += replies
        return [reply.value or [] for reply in replies]


async def examine_judge(
    judge: Judge, shown: Sequence[JudgedPicture], clock: Callable[[], float] = time.perf_counter
) -> list[Observation]:
    """All experiments with pictures that are there already."""
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
    good = sum(reply.value is not None for reply in replies)
    seen, count = f"{good} of {len(replies)} replies were in form", len(replies)
    if good == len(replies):
        return [Observation("judge-keeps-form", "ok", seen, "what it says can be read", n=count)]
    bad = next(reply for reply in replies if reply.value is None)
    seen += f"; one was {bad.raw[:120]!r} ({bad.invalid})"
    fix = "raise `max_tokens`, switch thinking off, or use a server that enforces `response_format`"
    status: Status = "warn" if good > count / 2 else "fail"
    return [
        Observation("judge-keeps-form", status, seen, "trials without a judgement are invalid", fix, count)
    ]


def _repeats(same: Sequence[bool]) -> list[Observation]:
    if not same:
        return []
    if all(same):
        seen = "the same image twice was judged the same"
        return [Observation("judge-repeats", "ok", seen, "the judge agrees with itself", n=len(same))]
    seen = f"{len(same) - sum(same)} of {len(same)} images were judged in two ways"
    fix = "set `params: {temperature: 0}` for the judge"
    return [Observation("judge-repeats", "warn", seen, "the judge adds noise of its own", fix, len(same))]


def _confidence(replies: Sequence[Reply[Any]], judge: Any) -> list[Observation]:
    """Only where log-probabilities are asked for, or come unasked."""
    config = getattr(judge, "config", None)
    asked = bool(config and (config.params.get("logprobs") or config.thresholds))
    sure, count = sum(bool(reply.confidence) for reply in replies), len(replies)
    if not (sure or asked):
        return []
    seen = f"{sure} of {count} replies say how sure it is"
    if sure > count / 2:
        return [Observation("judge-confidence", "ok", seen, "its confidence is kept for each check", n=count)]
    fix = "set `params: {logprobs: true, top_logprobs: 5}`; a server that has none cannot be used so"
    status: Status = "fail" if config and config.thresholds else "warn"
    return [Observation("judge-confidence", status, seen, "its confidence stays unknown", fix, count)]


async def examine_schema(role: str, model: Any) -> list[Observation]:
    """Does the server keep to a JSON schema against what the text says? Only where there is a chat to ask."""
    if not hasattr(model, "chat"):
        return []
    schema = strict_object(number={"type": "integer"})
    talk = [{"role": "user", "content": "Reply with the word banana and nothing else."}]
    try:
        reply = await model.chat(talk, schema)
    except FailscapeError:
        return []  # how it fares with our own contracts is what counts
    if reply.value is None:
        return []
    name, means = f"{role}-schema", "replies in form cannot go wrong"
    if _fits(reply.value):
        return [Observation(name, "ok", "a reply was kept to its schema", means, n=1)]
    seen = f"asked for an integer by schema, it said {reply.value[:60]!r}"
    means = "`response_format` is ignored: some replies will be out of form, and invalid"
    return [
        Observation(
            name, "warn", seen, means, "use a server that enforces it (vLLM, SGLang, llama.cpp do)", 1
        )
    ]


def _fits(text: str) -> bool:
    try:
        data = json.loads(text)
    except ValueError:
        return False
    return isinstance(data, dict) and isinstance(data.get("number"), int)
