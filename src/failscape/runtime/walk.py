"""Walks a probe through its steps: each step is one model call, or its reply remembered by the atlas.

A stage hands one item at a time to a model's role, gathering items into micro-batches where it pays. Most
HTTP models take one item a call and limit themselves in their pool; in-process models take many at once and
are called one batch at a time.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from failscape.atlas import Call, Recorded
from failscape.errors import BadReply, ModelError, Refused
from failscape.models.contracts.language import DefinitionContract, PolishContract, SkillsContract
from failscape.models.providers.exact import changed
from failscape.models.roles import PLAYED_AS, ROLES, AnswerToVerify, Conversation, Model, Reply, Turn, Usage
from failscape.pictures import Picture
from failscape.secrets import clean, clean_data
from failscape.trials import (
    Answer,
    Caption,
    Check,
    Classify,
    Consult,
    Decide,
    DefineSkill,
    Edit,
    Embed,
    ExpectChange,
    Facts,
    Generate,
    NameSkills,
    Probe,
    Propose,
    Recall,
    Reword,
    Show,
    Step,
    Trial,
    Verdict,
    Verify,
    VerifyAgain,
    derive_seed,
    reach_verdict,
)

T = TypeVar("T")
#: The arguments of one call; the role's method gets one list per argument.
Item = tuple[Any, ...]

Method = Callable[..., Awaitable[Sequence[Reply[Any]]]]
LLM = "llm"
LLM_STEPS = (Reword, Consult, NameSkills, DefineSkill)
#: Shared calls that a stage keeps: their replies are short texts.
REMEMBERED = 100_000


class Stage:
    """One role of one model, ready to be called item by item."""

    def __init__(self, role: str, model: Model) -> None:
        self.role = role
        self.model = model
        self.identity_digest = model.identity.digest
        self._method: Method = _chat_each(model) if role == LLM else getattr(model, _method(role))
        self._waiting: list[tuple[Item, asyncio.Future[Reply[Any]]]] = []
        self._workers: set[asyncio.Task[None]] = set()
        self._shared: dict[bytes, asyncio.Task[Any]] = {}
        self._delivered: set[bytes] = set()

    async def once(self, key: bytes, make: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, bool]:
        """What `make` gives, made once per key however many ask; and whether the caller gets it first.

        It is made to the end even when the one who asked first gives up: the others wait for it.
        """
        task = self._shared.get(key)
        if task is None:
            if len(self._shared) >= REMEMBERED:
                forgotten = next(iter(self._shared))
                del self._shared[forgotten]
                self._delivered.discard(forgotten)
            task = self._shared[key] = asyncio.create_task(make())
        try:
            made: T = await asyncio.shield(task)
        except Exception:
            self._shared.pop(key, None)
            raise
        first = key not in self._delivered
        self._delivered.add(key)
        return made, first

    async def call(self, item: Item) -> Reply[Any]:
        if self.model.batch == 1:
            return (await self._run([item]))[0]
        future: asyncio.Future[Reply[Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if len(self._workers) < self.model.parallel:
            worker = asyncio.create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
        return await future

    async def _work(self) -> None:
        await asyncio.sleep(0)  # let the probes that are ready in this very turn of the loop join
        while self._waiting:
            batch = self._waiting[: self.model.batch]
            del self._waiting[: len(batch)]
            await self._deliver([entry for entry in batch if not entry[1].done()])
        # Here and now: the task's own end comes a turn later, and an item that joins in between would find
        # a worker that no longer looks.
        self._workers -= {task for task in (asyncio.current_task(),) if task is not None}

    async def _deliver(self, batch: list[tuple[Item, asyncio.Future[Reply[Any]]]]) -> None:
        if not batch:
            return
        try:
            replies = await self._run([item for item, _ in batch])
        except BadReply as error:
            await self._deliver_singly(batch, error)
            return
        except BaseException as error:
            _settle(batch, error)
            if not isinstance(error, Exception):
                raise
            return
        for (_, future), reply in zip(batch, replies, strict=True):
            if not future.done():
                future.set_result(reply)

    async def _deliver_singly(
        self, batch: list[tuple[Item, asyncio.Future[Reply[Any]]]], error: Exception
    ) -> None:
        """One bad item must not spoil the others of its batch."""
        if len(batch) == 1:
            _settle(batch, error)
            return
        for entry in batch:
            await self._deliver([entry])

    async def _run(self, items: Sequence[Item]) -> Sequence[Reply[Any]]:
        columns = [list(column) for column in zip(*items, strict=True)]
        started = time.perf_counter()
        try:
            replies = await self._method(*columns)
        except (ModelError, asyncio.CancelledError):
            raise
        except Exception as error:
            identity = self.model.identity
            raise ModelError(
                f"the {self.role} ({identity.provider} {identity.model}) broke: {error!r}",
                "mend it and run again: what was recorded is kept",
            ) from error
        if len(replies) != len(items):
            raise BadReply(f"the {self.role} gave {len(replies)} replies to {len(items)} items")
        share = (time.perf_counter() - started) / len(items)
        return [reply if reply.usage.seconds else _timed(reply, share) for reply in replies]

    async def close(self) -> None:
        under_way = [*self._workers, *(task for task in self._shared.values() if not task.done())]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def _timed(reply: Reply[Any], seconds: float) -> Reply[Any]:
    """Models in this process do not know how long they took: time is what they cost."""
    return replace(reply, usage=replace(reply.usage, seconds=seconds))


def _method(role: str) -> str:
    return ROLES[PLAYED_AS.get(role, role)][1]


def _chat_each(model: Any) -> Method:
    """An llm takes one dialogue a call; this makes it look like the other roles."""

    async def chat_each(dialogues: Sequence[Any]) -> list[Reply[Any]]:
        return [await model.chat(dialogue) for dialogue in dialogues]

    return chat_each


def _settle(batch: Sequence[tuple[Item, asyncio.Future[Reply[Any]]]], error: BaseException) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error if isinstance(error, Exception) else asyncio.CancelledError())


class Team:
    """The models of a run, one stage per role, started and closed together."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self.models = dict(models)
        self.stages = {role: Stage(role, model) for role, model in models.items()}

    async def __aenter__(self) -> Team:
        started: list[Model] = []
        try:
            for model in self.models.values():
                await model.start()
                started.append(model)
        except BaseException:
            for model in started:
                await model.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for stage in self.stages.values():
            await stage.close()
        for model in self.models.values():
            await model.close()

    def stage(self, role: str) -> Stage:
        if role not in self.stages:
            raise ModelError(f"the hunt needs a {role}, but the config names none", f"add `{role}:` to it")
        return self.stages[role]


FindCall = Callable[[bytes], Call | None]
#: The arguments of a call as plain values: two equal requests to one model are one call.
Request = tuple[Any, ...]

LoadPicture = Callable[[str], Picture]
TESTING_STEPS = (Decide, Classify, Verify)


class Walk:
    """One probe on its way. `calls` holds what is finished, so that an interrupted walk loses nothing."""

    def __init__(self, probe: Probe, team: Team, load: LoadPicture, find_call: FindCall | None) -> None:
        self.probe = probe
        self.calls: list[Call] = []
        self._team = team
        self._load = load
        self._find_call = find_call
        self._images: list[Picture] = []
        self._history: list[Turn] = []
        self._reworded = ""

    async def run(self) -> Recorded:
        started, clock = time.time(), time.perf_counter()
        trial = await self._trial()
        return Recorded(self.probe, trial, tuple(self.calls), started, time.perf_counter() - clock)

    async def _trial(self) -> Trial:
        probe, facts = self.probe, list[Facts]()
        verdict, reason = Verdict.NONE, ""
        for position, step in enumerate(probe.steps):
            match step:
                case Show(images):
                    self._images.extend(map(self._load, images))
                    facts.append(list(images))
                case Recall(turns):
                    self._history.extend(turns)
                    facts.append([list(turn) for turn in turns])
                case ExpectChange():
                    facts.append(changed(step.before, self._history[-1][1], step.change))
                    verdict, reason = reach_verdict(probe.steps, facts)
                case _:
                    call = await self._call(position, step)
                    facts.append(call.facts)
                    if call.invalid:
                        verdict, reason = Verdict.INVALID, f"{step.role}: {call.invalid}"
                        break
                    if isinstance(step, TESTING_STEPS):
                        verdict, reason = reach_verdict(probe.steps, facts)
                        if verdict is Verdict.INVALID:
                            break
        return Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed)

    async def _call(self, position: int, step: Step) -> Call:
        stage = self._team.stage(step.role)
        item, request = self._request(position, step)
        # Requests are tuples of plain values, whose `repr` is the same in every session.
        text = f"{stage.identity_digest}{request!r}"
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        call = self._find_call(key) if self._find_call else None
        if call is None:
            call = await self._share_call(key, stage, step, item)
        self.calls.append(call)
        self._remember(step, call)
        return call

    async def _share_call(self, key: bytes, stage: Stage, step: Step, item: Item) -> Call:
        """Tries of a node run side by side: all are drawn from the same reworded prompt, paid for once."""
        if not isinstance(step, Reword):
            return await self._make_call(key, stage, step, item)
        call, first = await stage.once(key, lambda: self._make_call(key, stage, step, item))
        return call if first else replace(call, cached=True)

    async def _make_call(self, key: bytes, stage: Stage, step: Step, item: Item) -> Call:
        """A reply that cannot be used makes the trial invalid; it is no reason to stop the run."""
        clock, facts, identity = time.perf_counter(), None, stage.model.identity
        try:
            reply = await (_embed_each(stage, item) if isinstance(step, Embed) else stage.call(item))
            facts = None if reply.invalid else facts_of(step, reply.value)
        except (BadReply, Refused) as error:
            usage = Usage(max(error.requests, 1), time.perf_counter() - clock)
            reply = Reply(None, error.message, "", usage)
        if isinstance(step, LLM_STEPS):  # out of form, it costs nothing but itself
            facts, reply = _heard(step, reply), replace(reply, invalid="")
        picture = reply.value if isinstance(reply.value, Picture) else None
        # Before the hunt is told and before the atlas: what is told later must be what is told now.
        said = facts if picture is not None else clean_data(facts)
        return Call(
            key,
            step.role,
            identity,
            said,
            clean(reply.invalid),
            clean(reply.raw),
            reply.usage,
            picture,
            confidence=reply.confidence,
        )

    def _remember(self, step: Step, call: Call) -> None:
        if call.invalid:
            return
        match step:
            case Generate():
                self._images.append(call.picture or self._load(call.facts))
                self._reworded = ""
            case Edit():  # what comes next sees the picture as it is now
                self._images[-1:] = [call.picture or self._load(call.facts)]
            case Reword():
                self._reworded = call.facts[0]
            case Answer(question):
                self._history.append((question, call.facts))

    def _request(self, position: int, step: Step) -> tuple[Item, Request]:
        """The arguments of the call, and the same as plain values."""
        if isinstance(step, LLM_STEPS):
            return _text_request(step, self.probe.seed)
        if isinstance(step, Generate | Edit):
            return self._picture_request(position, step)
        return self._question_request(step)

    def _picture_request(self, position: int, step: Generate | Edit) -> tuple[Item, Request]:
        """What is asked of a model that makes pictures."""
        if isinstance(step, Edit):
            image = self._images[-1]
            seed = self.probe.seed
            return (image, step.instruction, seed), (image.digest, step.instruction, seed)
        drawn = sum(isinstance(earlier, Generate) for earlier in self.probe.steps[:position])
        seed = derive_seed(self.probe.seed, drawn) if drawn else self.probe.seed
        prompt = self._reworded or step.prompt
        return (prompt, seed), (prompt, seed)

    def _question_request(self, step: Step) -> tuple[Item, Request]:
        """What is asked of a model that looks at pictures."""
        images = tuple(self._images)
        shown = tuple([picture.digest for picture in images])
        history = tuple(self._history)
        match step:
            case Decide(checks):
                return (images[-1], checks), (shown[-1], _checks_text(checks))
            case Classify() | Caption():
                return (images[-1],), (shown[-1],)
            case Answer(question):
                return (Conversation(images, question, history),), (shown, question, history, self.probe.seed)
            case Verify(truth) | VerifyAgain(truth):
                (question, answer), earlier_turns = history[-1], history[:-1]
                claim = AnswerToVerify(images, question, answer, earlier_turns, truth)
                return (claim,), (shown, question, answer, earlier_turns, truth, self.probe.seed)
            case Propose(guidance, count):
                return (images, guidance, count), (shown, guidance, count, self.probe.seed)
            case Embed(texts):
                return texts or images, (texts or shown,)
            case _:
                raise AssertionError("bringing in what is stored calls no model")


def _text_request(step: Reword | Consult | NameSkills | DefineSkill, seed: int) -> tuple[Item, Request]:
    """What is asked of a language model: no picture is sent."""
    match step:
        case Reword(text):
            contract = PolishContract()
            return (contract.messages(text),), (contract.label, text)
        case Consult(question):
            return ([{"role": "user", "content": question}],), ("consult", question, seed)
        case NameSkills(question, known):
            skills = SkillsContract()
            return (skills.messages(question, known),), (skills.label, question, known)
        case DefineSkill(name, questions):
            definition = DefinitionContract()
            return (definition.messages(name, questions),), (definition.label, name, questions)


def _heard(step: Reword | Consult | NameSkills | DefineSkill, reply: Reply[Any]) -> Facts:
    """What a language model said, as facts that a hunt can use whatever it was."""
    text = "" if reply.invalid else str(reply.value)
    if isinstance(step, Consult):
        return text
    if isinstance(step, NameSkills):
        return SkillsContract().read(text).value or []
    if isinstance(step, DefineSkill):
        return list(DefinitionContract().read(text, len(step.questions)).value or ("", []))
    return list(PolishContract().read(reply, step.text))


async def _embed_each(stage: Stage, item: Item) -> Reply[Any]:
    """Embeds every member of an item by itself, so that a model can batch them with those of other walks."""
    replies = await asyncio.gather(*(stage.call((member,)) for member in item))
    bad = next((reply.invalid for reply in replies if reply.invalid), "")
    requests = sum(reply.usage.requests for reply in replies)
    seconds = sum(reply.usage.seconds for reply in replies)
    cost = sum(reply.usage.cost for reply in replies)
    return Reply([reply.value for reply in replies], bad, "", Usage(requests, seconds, cost=cost))


def facts_of(step: Step, value: Any) -> Facts:
    """A reply's value as plain JSON, whatever kind of numbers a model likes. Raises `BadReply`."""
    match step:
        case Generate() | Edit():
            return value.digest
        case Decide(checks):
            if len(value) != len(checks):
                raise BadReply(f"{len(value)} decisions for {len(checks)} checks")
            return [None if holds is None else bool(holds) for holds in value]
        case Classify():
            return [[str(label), float(score)] for label, score in value]
        case Verify() | VerifyAgain():
            said = [value.valid, value.right, value.reason]
            if value.answer:
                return [*said, value.agreement, value.answer, value.answer_share]
            return said if value.agreement == 1 else [*said, value.agreement]
        case Embed():
            return [[float(number) for number in vector] for vector in value]
        case _:
            return value


@lru_cache(maxsize=4096)
def _checks_text(checks: tuple[Check, ...]) -> str:
    return repr([(check.kind, check.value, check.statement, check.choices) for check in checks])
