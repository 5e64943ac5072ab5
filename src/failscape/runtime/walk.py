"""Walks a probe through its steps: each step is one model call, or its reply remembered by the atlas."""

import asyncio
import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from failscape.atlas import Call, Recorded
from failscape.errors import BadReply, Refused
from failscape.models.contracts.language import DefinitionContract, PolishContract, SkillsContract
from failscape.models.providers.exact import changed
from failscape.models.roles import AnswerToVerify, Conversation, Reply, Turn, Usage
from failscape.pictures import Picture
from failscape.runtime.stages import Item, Stage, Team
from failscape.secrets import clean, clean_data
from failscape.trials import (
    Answer,
    Caption,
    Check,
    Classify,
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
            if isinstance(step, Show):
                self._images.extend(self._load(digest) for digest in step.images)
                facts.append(list(step.images))
                continue
            if isinstance(step, Recall):
                self._history.extend(step.turns)
                facts.append([list(turn) for turn in step.turns])
                continue
            if isinstance(step, ExpectChange):
                facts.append(changed(step.before, self._history[-1][1], step.change))
                verdict, reason = reach_verdict(probe.steps, facts)
                continue
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
        if isinstance(step, Reword | NameSkills | DefineSkill):  # out of form, it costs nothing but itself
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
        if isinstance(step, Generate):
            self._images.append(call.picture or self._load(call.facts))
            self._reworded = ""
        elif isinstance(step, Edit):  # what comes next sees the picture as it is now
            self._images[-1:] = [call.picture or self._load(call.facts)]
        elif isinstance(step, Reword):
            self._reworded = call.facts[0]
        elif isinstance(step, Answer):
            self._history.append((step.question, call.facts))

    def _request(self, position: int, step: Step) -> tuple[Item, Request]:
        """The arguments of the call, and the same as plain values."""
        images = tuple(self._images)
        shown = tuple([picture.digest for picture in images])
        history = tuple(self._history)
        match step:
            case Generate(prompt):
                drawn = sum(isinstance(earlier, Generate) for earlier in self.probe.steps[:position])
                seed = derive_seed(self.probe.seed, drawn) if drawn else self.probe.seed
                prompt = self._reworded or prompt
                return (prompt, seed), (prompt, seed)
            case Edit(instruction):
                seed = self.probe.seed
                return (images[-1], instruction, seed), (shown[-1], instruction, seed)
            case Reword(text):
                contract = PolishContract()
                return (contract.messages(text),), (contract.label, text)
            case NameSkills(question, known):
                skills = SkillsContract()
                return (skills.messages(question, known),), (skills.label, question, known)
            case DefineSkill(name, questions):
                definition = DefinitionContract()
                return (definition.messages(name, questions),), (definition.label, name, questions)
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
            case Show() | Recall() | ExpectChange():
                raise AssertionError("bringing in what is stored calls no model")


def _heard(step: Reword | NameSkills | DefineSkill, reply: Reply[Any]) -> Facts:
    """What a language model said, as facts that a hunt can use whatever it was."""
    text = "" if reply.invalid else str(reply.value)
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
