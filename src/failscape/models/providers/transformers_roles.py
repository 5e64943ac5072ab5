"""The roles that a chat model of the Transformers library plays under a contract: judge, captioner, verifier,
questioner, and a plain llm.

Each is a contract (what to say, how to read the reply) on top of `TransformersChat`. Decoding is greedy: a
reply out of form would be the same again, so it is not asked for twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.models.contracts.asking import Ask, Read, plain_answer
from failscape.models.contracts.caption import CaptionContract
from failscape.models.contracts.judge import Decisions, judge_contract
from failscape.models.contracts.propose import ProposeContract
from failscape.models.contracts.verify import Decided, VerifyContract, verification_of
from failscape.models.providers.transformers_chat import Dialogue, Message, Talk, TransformersChat
from failscape.models.roles import AnswerToVerify, Conversation, Reply, Usage, Verification
from failscape.pictures import Picture
from failscape.trials import Check

T = TypeVar("T")
Reader = Callable[[str], Read[T]]


class Consulted(TransformersChat):
    """Shows pictures, says what a contract says, reads replies as the contract reads them."""

    async def consult(
        self, shown: Sequence[tuple[Picture, ...]], asks: Sequence[Ask], readers: Sequence[Reader[T]]
    ) -> list[Reply[T]]:
        talks = [Conversation(images, ask.text) for images, ask in zip(shown, asks, strict=True)]
        replies = await self.talk(talks)
        return [_read(reply, read) for reply, read in zip(replies, readers, strict=True)]


def _read(reply: Reply[str], read: Reader[T]) -> Reply[T]:
    if reply.invalid:
        return Reply(None, reply.invalid, reply.raw, reply.usage)
    outcome = read(reply.raw)
    return Reply(outcome.value, outcome.invalid, reply.raw, reply.usage)


class TransformersJudge(Consulted):
    role = "judge"

    def __init__(self, config: ModelConfig, processor: Any = None) -> None:
        self._contract = judge_contract(config.contract)
        self.contract = self._contract.label
        super().__init__(config, processor)

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[Decisions]]:
        rows = [(image, row) for image, row in zip(images, checks, strict=True) if row]
        decided = iter(
            await self.consult(
                [(image,) for image, _ in rows],
                [self._contract.ask(row, image.digest) for image, row in rows],
                [self._reader(row, image.digest) for image, row in rows],
            )
        )
        nothing: Reply[Decisions] = Reply([], usage=Usage(requests=0))
        return [next(decided) if row else nothing for row in checks]

    def _reader(self, checks: Sequence[Check], salt: str) -> Reader[Decisions]:
        return lambda text: self._contract.read(text, checks, salt)


class TransformersCaptioner(Consulted):
    """A chat model, or one without a chat template, which describes pictures unasked (BLIP, GIT)."""

    role = "captioner"
    contract = CaptionContract.label

    async def caption(self, images: Sequence[Picture]) -> list[Reply[list[str]]]:
        contract = CaptionContract()
        asks, readers = [contract.ask()] * len(images), [contract.read] * len(images)
        return await self.consult([(image,) for image in images], asks, readers)

    def _check_template(self) -> None:
        try:
            super()._check_template()
        except ConfigError:
            self._template = ""

    def inputs(self, talks: Sequence[Talk]) -> Any:
        if self._template:
            return super().inputs(talks)
        pictures = [self._shown(talk.images[0]) for talk in talks]
        found = self.processor(images=pictures, return_tensors="pt")
        return {"pixel_values": self._placed(found["pixel_values"])}


class TransformersVerifier(Consulted):
    """Asks whether a question is valid, unless its answer is known; then whether the answer is right."""

    role = "verifier"
    contract = VerifyContract.label

    async def verify(self, answers: Sequence[AnswerToVerify]) -> list[Reply[Verification]]:
        contract, found = VerifyContract(), dict[int, Reply[Verification]]()
        spent: dict[int, tuple[Usage, str]] = {}
        asked = [number for number, given in enumerate(answers) if not given.truth]
        asks = [contract.ask_valid(answers[number]) for number in asked]
        for number, reply in zip(asked, await self._decide(answers, asked, asks, "valid"), strict=True):
            spent[number] = (reply.usage, reply.raw)
            if reply.value is None:
                found[number] = Reply(None, reply.invalid, reply.raw, reply.usage)
            elif not reply.value[0]:
                why = f"not a valid question: {reply.value[1]}"
                found[number] = Reply(Verification(False, None, why), raw=reply.raw, usage=reply.usage)
        left = [number for number in range(len(answers)) if number not in found]
        asks = [contract.ask_right(answers[number]) for number in left]
        for number, reply in zip(left, await self._decide(answers, left, asks, "right"), strict=True):
            before, raw = spent.get(number, (Usage(requests=0), ""))
            value = None if reply.value is None else verification_of(reply.value)
            raw = f"{raw}\n{reply.raw}".strip()
            found[number] = Reply(value, reply.invalid, raw, before + reply.usage)
        return [found[number] for number in range(len(answers))]

    async def _decide(
        self, answers: Sequence[AnswerToVerify], which: Sequence[int], asks: Sequence[Ask], key: str
    ) -> list[Reply[Decided]]:
        def read(text: str) -> Read[Decided]:
            return VerifyContract().read(text, key)

        return await self.consult([answers[number].images for number in which], asks, [read] * len(which))


class TransformersQuestioner(Consulted):
    """Proposes by prompt alone; it does not learn."""

    role = "questioner"
    contract = ProposeContract.label

    async def propose(
        self, images: Sequence[tuple[Picture, ...]], guidance: Sequence[str], counts: Sequence[int]
    ) -> list[Reply[list[str]]]:
        contract = ProposeContract()
        asks = [contract.ask(words, count) for words, count in zip(guidance, counts, strict=True)]
        return await self.consult(list(images), asks, [_questions(contract, count) for count in counts])


def _questions(contract: ProposeContract, count: int) -> Reader[list[str]]:
    return lambda text: contract.read(text, count)


class TransformersLlm(TransformersChat):
    """Plain text in and out: any causal language model with a chat template. A schema is not enforced."""

    role = "llm"

    def __init__(self, config: ModelConfig, processor: Any = None) -> None:
        super().__init__(config, processor)
        self.batch = 1

    async def chat(self, messages: Sequence[Message], schema: dict[str, Any] | None = None) -> Reply[str]:
        plain = [{"role": message["role"], "content": _text(message)} for message in messages]
        (reply,) = await self.talk([Dialogue(tuple(plain))])
        return _read(reply, plain_answer)

    def _kind(self, transformers: Any) -> Any:
        return transformers.AutoModelForCausalLM

    def _check_processor(self) -> None:
        self._check_template()


def _text(message: Message) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content if part.get("type") == "text")
