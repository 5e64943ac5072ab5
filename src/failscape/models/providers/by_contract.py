"""Judge, captioner, verifier and questioner: contracts that are put to a chat model, whoever runs it.

What is asked and what becomes of the replies is said here once; a chat model says how it is consulted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from failscape.config import ModelConfig
from failscape.models.contracts.asking import Ask, Read
from failscape.models.contracts.judge import Confidence, Decisions, Token, by_thresholds, judge_contract
from failscape.models.contracts.vision import (
    CaptionContract,
    Decided,
    ProposeContract,
    VerifyContract,
    verification_of,
)
from failscape.models.roles import AnswerToVerify, Reply, Usage, Verification
from failscape.pictures import Picture
from failscape.trials import Check

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """What is shown and said, and how the reply is read; `weigh` tells how sure the model is of it."""

    images: Sequence[Picture]
    ask: Ask
    read: Callable[[str], Read[T]]
    weigh: Callable[[Sequence[Token]], Confidence] | None = None


class Consulted:
    """A chat model. `contract` names the instruction that its role puts, as part of its identity."""

    config: ModelConfig
    contract = ""

    def contract_label(self, config: ModelConfig) -> str:
        return self.contract

    async def consult(self, questions: Sequence[Question[T]]) -> list[Reply[T]]:
        """One reply per question, in order."""
        raise NotImplementedError


class JudgeByContract(Consulted):
    role = "judge"

    def contract_label(self, config: ModelConfig) -> str:
        return judge_contract(config.contract).label

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[Decisions]]:
        rows = [(image, row) for image, row in zip(images, checks, strict=True) if row]
        decided = iter(await self.consult([self._question(*row) for row in rows]))
        nothing: Reply[Decisions] = Reply([], usage=Usage(requests=0))
        return [
            by_thresholds(next(decided), row, self.config.thresholds) if row else nothing for row in checks
        ]

    def _question(self, image: Picture, checks: Sequence[Check]) -> Question[Decisions]:
        contract, salt = judge_contract(self.config.contract), image.digest
        return Question(
            (image,),
            contract.ask(checks, salt),
            lambda text: contract.read(text, checks, salt),
            lambda tokens: contract.weigh(tokens, checks, salt),
        )


class CaptionerByContract(Consulted):
    role = "captioner"
    contract = CaptionContract.label

    async def caption(self, images: Sequence[Picture]) -> list[Reply[list[str]]]:
        contract = CaptionContract()
        return await self.consult([Question((image,), contract.ask(), contract.read) for image in images])


class VerifierByContract(Consulted):
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
            elif not reply.value.holds:
                why = f"not a valid question: {reply.value.reason}"
                found[number] = Reply(Verification(False, None, why), raw=reply.raw, usage=reply.usage)
        left = [number for number in range(len(answers)) if number not in found]
        asks = [contract.ask_right(answers[number]) for number in left]
        for number, reply in zip(left, await self._decide(answers, left, asks, "right"), strict=True):
            before, raw = spent.get(number, (Usage(requests=0), ""))
            value = None if reply.value is None else verification_of(reply.value)
            found[number] = Reply(value, reply.invalid, f"{raw}\n{reply.raw}".strip(), before + reply.usage)
        return [found[number] for number in range(len(answers))]

    async def _decide(
        self, answers: Sequence[AnswerToVerify], which: Sequence[int], asks: Sequence[Ask], key: str
    ) -> list[Reply[Decided]]:
        read = partial(VerifyContract().read, key=key)
        pairs = zip(which, asks, strict=True)
        return await self.consult([Question(answers[number].images, ask, read) for number, ask in pairs])


class QuestionerByContract(Consulted):
    """Proposes by prompt alone; it does not learn."""

    role = "questioner"
    contract = ProposeContract.label

    async def propose(
        self, images: Sequence[tuple[Picture, ...]], guidance: Sequence[str], counts: Sequence[int]
    ) -> list[Reply[list[str]]]:
        contract = ProposeContract()
        return await self.consult(
            [
                Question(shown, contract.ask(words, count), partial(contract.read, count=count))
                for shown, words, count in zip(images, guidance, counts, strict=True)
            ]
        )
