"""What captioner, questioner and verifier are asked about images; what an instruction of ours asks for,
recognised from its text; and the roles that a chat model plays by putting contracts, whoever runs it.

Model servers use `recognise` to tell which role a chat request wants. It knows only what our contracts say:
any other text is none of ours, and left to the server. What is asked and what becomes of the replies is
said here once; a chat model says how it is consulted.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from failscape.config import ModelConfig
from failscape.models.contracts.asking import (
    Ask,
    Instruction,
    NotGiven,
    Read,
    json_values,
    lines_of,
    read_answer,
    replies_as_text,
    sentences_of,
    strict_object,
    without_thoughts,
)
from failscape.models.contracts.declining import declines, saw_no_picture
from failscape.models.contracts.judge import (
    ABOUT_ENTITY,
    ABOUT_KIND,
    BooleanContract,
    ChoiceContract,
    Confidence,
    Decisions,
    Token,
    by_thresholds,
    judge_contract,
)
from failscape.models.roles import AnswerToVerify, Reply, Turn, Usage, Verification
from failscape.pictures import Picture
from failscape.trials import Check

_EACH_QUESTION = (
    "Each is one single, objective question that can be answered from the image alone, in a few "
    "words, and has one right answer.\n\n"
    'Reply with JSON only: {"questions": ["…"]}.'
)


class ProposeContract:
    """Images and guidance in, questions out."""

    label: ClassVar[str] = "propose/2"
    instruction: ClassVar[Instruction] = Instruction("Write [[count]] about the image.\n" + _EACH_QUESTION)
    guided: ClassVar[Instruction] = Instruction(
        "Write [[count]] about the image, following this guidance: [[guidance]].\n" + _EACH_QUESTION
    )

    def ask(self, guidance: str, count: int) -> Ask:
        instruction = self.guided if guidance else self.instruction
        many = f"{count} different question{'s' if count > 1 else ''}"
        text = instruction.fill(count=many, guidance=guidance)
        questions = {"type": "array", "items": {"type": "string"}, "minItems": count, "maxItems": count}
        return Ask(text, strict_object(questions=questions))

    def read(self, text: str, count: int) -> Read[list[str]]:
        """At most `count` different questions; fewer are better than none."""
        questions: list[str] = []
        for value in json_values(text):
            inner = value.get("questions") if isinstance(value, dict) else value
            if isinstance(inner, list) and all(isinstance(item, str) for item in inner):
                questions += inner
        if not questions:
            questions = [line for line in lines_of(text) if line.endswith("?")]
        kept = list(dict.fromkeys(question.strip() for question in questions if question.strip()))[:count]
        return Read(kept) if kept else Read(None, "the questioner proposed no question")


class CaptionContract:
    """An image in, a few short sentences out."""

    label: ClassVar[str] = "caption/3"
    most: ClassVar[int] = 12
    instruction: ClassVar[Instruction] = Instruction(
        "Describe the image in three to six short sentences, one per line: the main thing, how it looks, "
        "what it does, what is around it, the background, and the style of the picture. "
        "Say only what can be seen. No introduction."
    )

    def ask(self) -> Ask:
        return Ask(self.instruction.fill())

    def read(self, text: str) -> Read[list[str]]:
        """The sentences without what is said around them. Words that describe no picture are no caption."""
        said = without_thoughts(text)
        if reason := _no_caption(said):
            return Read(None, f"the reply is no caption: {reason}")
        sentences = [
            sentence
            for line in lines_of(said)
            if not line.endswith((":", "："))
            for sentence in sentences_of(line)
            if not _AROUND_A_CAPTION.match(sentence)
        ]
        if not sentences:
            return Read(None, "the captioner said nothing")
        return Read([sentence[:300] for sentence in sentences[: self.most]])


#: What chat models say before and after what they were asked for.
_AROUND_A_CAPTION = re.compile(
    r"(?:sure|certainly|of course|okay|absolutely)[\s,!.]*\Z"
    r"|(?:let me know|feel free|would you like|i hope this|is there anything|if you (?:need|want|have))\b",
    re.IGNORECASE,
)
#: Tags, data and stack traces: a text out of form, whatever it was meant to be.
_MARKUP = re.compile(r"</?[A-Za-z!][\w:-]*[^<>\n]{0,200}>|<\||\|>|^\s*[\[{]|^Traceback |◁|▷", re.MULTILINE)

#: What servers and proxies say in place of a model.
_ERROR = re.compile(
    r"\W*(?:(?:error|exception|warning|http)\b[^.]{0,40}[:\d]"
    r"|(?:[45]\d\d\W+)?(?:internal server error|bad gateway|service unavailable|gateway time-?out"
    r"|too many requests|rate limit|quota exceeded|unauthorized|forbidden)\b)",
    re.IGNORECASE,
)
_NO_WORDS = re.compile(
    r"\W*(?:null|nil|none|n/?a|nan|undefined|unknown|unavailable|empty|caption|description"
    r"|(?:image |picture |photo )?description (?:is )?(?:un|not )available)\W*",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\W*(?:(?:could|can|would) you |please )(?:please )?(?:upload|provide|attach|share|send|resend)\b",
    re.IGNORECASE,
)


def _no_caption(said: str) -> str:
    """Why the words describe no picture; `""` where nothing speaks against it."""
    if declines(said):
        return "it declines, or saw no picture"
    if _MARKUP.search(said):
        return "it holds tags or data"
    if _ERROR.match(said):
        return "it tells of an error"
    if _NO_WORDS.fullmatch(said):
        return "it says nothing"
    if _REQUEST.match(said):
        return "it asks for the picture"
    return ""


_IS_RIGHT = (
    "Answer to be checked: [[answer]]\n\n"
    "Is the answer right? First work out the right answer from the image. Other words for the same "
    "thing are right; an answer that avoids the question is not.\n\n"
)
_SAY_WHY = 'Reply with JSON only: {"reason": "one sentence", "right": true or false}.'
_SAY_ANSWER = (
    'Reply with JSON only: {"reason": "one sentence", "answer": "the right answer, as short as it can be", '
    '"right": true or false}.'
)
_TEXT = {"type": "string"}
#: A right answer is a word or a few; what is longer is a speech, and no truth to train on.
LONGEST_ANSWER = 200


class Decided(NamedTuple):
    """What a verifier said of one thing. `answer` is the right one, where it was asked for that."""

    holds: bool
    reason: str
    answer: str = ""


class VerifyContract:
    """Two steps: is the question valid (the answer is not shown), then is the answer right. Both say why."""

    label: ClassVar[str] = "verify/4"
    about_valid: ClassVar[Instruction] = Instruction(
        "[[told]]Question about the image: [[question]]\n\n"
        "Is this a valid question? It is valid when it is one single question, is objective, can be "
        "answered from the image alone, has one right answer, and does not assume things that the image "
        "does not show.\n\n"
        'Reply with JSON only: {"reason": "one sentence", "valid": true or false}.'
    )
    about_right: ClassVar[Instruction] = Instruction(
        "[[told]]Question about the image: [[question]]\n" + _IS_RIGHT + _SAY_ANSWER
    )
    about_right_known: ClassVar[Instruction] = Instruction(
        "[[told]]Question about the image: [[question]]\nThe right answer is known: [[truth]]\n"
        + _IS_RIGHT
        + _SAY_WHY
    )

    def ask_valid(self, given: AnswerToVerify) -> Ask:
        text = self.about_valid.fill(told=_told(given.history), question=given.question)
        return Ask(text, strict_object(reason=_TEXT, valid={"type": "boolean"}))

    def ask_right(self, given: AnswerToVerify) -> Ask:
        instruction = self.about_right_known if given.truth else self.about_right
        text = instruction.fill(
            told=_told(given.history), question=given.question, truth=given.truth, answer=given.answer
        )
        more = {} if given.truth else {"answer": _TEXT}
        return Ask(text, strict_object(reason=_TEXT, **more, right={"type": "boolean"}))

    def read(self, text: str, key: str) -> Read[Decided]:
        """The boolean under `key` (`valid` or `right`), the reason, and the right answer where it says it."""
        return Read(*read_answer(text, lambda value: _decision(value, key), f"word on whether it is {key}"))


def verification_of(right: Decided) -> Verification:
    """Of a valid question: what was said of its answer."""
    return Verification(True, right.holds, right.reason, answer=right.answer)


def _decision(value: Any, key: str) -> Decided | None:
    """Only what was asked for, and only where the reason does not take it back."""
    # A model may say more than this question asks, in the words of the verifier's other question.
    known = {"reason", "answer", "valid", "right"}
    if not isinstance(value, dict) or not isinstance(value.get(key), bool) or set(value) - known:
        return None
    if key == "right" and value.get("valid") is False:
        return None  # it takes the question itself back
    texts = [value.get("reason", ""), value.get("answer") or ""]
    if not all(isinstance(text, str) for text in texts):
        return None
    reason, answer = (text.strip() for text in texts)
    # A question may well be called invalid because nobody can tell from the picture.
    is_invalid_question = key == "valid" and not value[key]
    if saw_no_picture(reason) or (declines(reason) and not is_invalid_question):
        raise NotGiven("its reason says that it does not decide")
    return Decided(value[key], reason[:500], answer if len(answer) <= LONGEST_ANSWER else "")


def _told(history: Sequence[Turn]) -> str:
    if not history:
        return ""
    turns = "\n".join(f"Q: {question}\nA: {answer}" for question, answer in history)
    return f"The conversation so far:\n{turns}\n\n"


_STATEMENT = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
_QUESTION = re.compile(r"^(q\d+)\. (.+)$((?:\n +[A-Z]\. .+$)+)", re.MULTILINE)
_OPTION = re.compile(r"^ +([A-Z])\. (.+)$", re.MULTILINE)
_TURN = re.compile(r"^Q: (.*?)\nA: (.*?)(?=\nQ: |\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class StatementsAsked:
    """Contract `boolean`: is each of these true of the image?"""

    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChoiceAsked:
    """One question of contract `choice`. `kind` is its sub-category; `None`: the text is a statement."""

    name: str
    text: str
    options: dict[str, str]

    @property
    def kind(self) -> str | None:
        if self.text == ABOUT_ENTITY:
            return "entity"
        slots = ABOUT_KIND.match(self.text)
        return slots["kind"].replace(" — ", ": ") if slots else None


@dataclass(frozen=True, slots=True)
class ChoicesAsked:
    """Contract `choice`: which option fits?"""

    questions: tuple[ChoiceAsked, ...]


@dataclass(frozen=True, slots=True)
class DescriptionAsked:
    """Contract `caption`: what does the image show?"""


@dataclass(frozen=True, slots=True)
class VerificationAsked:
    """Contract `verify`: is the question valid, or is the answer right? `truth` is empty when unknown."""

    wanted: Literal["valid", "right"]
    question: str
    answer: str = ""
    history: tuple[Turn, ...] = ()
    truth: str = ""


@dataclass(frozen=True, slots=True)
class QuestionsAsked:
    """Contract `propose`: write questions."""

    guidance: str
    count: int


Recognised = StatementsAsked | ChoicesAsked | DescriptionAsked | VerificationAsked | QuestionsAsked


def recognise(text: str) -> Recognised | None:
    """What the text asks for, when it is an instruction of one of our contracts."""
    if slots := BooleanContract.instruction.match(text):
        return StatementsAsked(tuple(_STATEMENT.findall(slots["statements"])))
    if slots := ChoiceContract.instruction.match(text):
        found = _QUESTION.findall(slots["questions"])
        return ChoicesAsked(
            tuple(ChoiceAsked(name, asked, dict(_OPTION.findall(rest))) for name, asked, rest in found)
        )
    if CaptionContract.instruction.match(text) is not None:
        return DescriptionAsked()
    return _recognise_verify(text) or _recognise_propose(text)


def _recognise_verify(text: str) -> VerificationAsked | None:
    if slots := VerifyContract.about_valid.match(text):
        return VerificationAsked("valid", slots["question"], history=_history(slots["told"]))
    # A known truth first: the open form would take its line for a part of the question.
    slots = VerifyContract.about_right_known.match(text) or VerifyContract.about_right.match(text)
    if not slots:
        return None
    history = _history(slots["told"])
    return VerificationAsked("right", slots["question"], slots["answer"], history, slots.get("truth", ""))


def _recognise_propose(text: str) -> QuestionsAsked | None:
    slots = ProposeContract.guided.match(text) or ProposeContract.instruction.match(text)
    number = re.match(r"\d+", slots["count"]) if slots else None
    return QuestionsAsked(slots.get("guidance", ""), int(number[0])) if slots and number else None


def _history(told: str) -> tuple[Turn, ...]:
    return tuple((question, answer) for question, answer in _TURN.findall(told.rstrip("\n")))


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """What is shown and said, and how the reply is read; `weigh` tells how sure the model is of it."""

    images: Sequence[Picture]
    ask: Ask
    read: Callable[[str], Read[T]]
    weigh: Callable[[Sequence[Token]], Confidence] | None = None


class FormCounts:
    """How many replies of a model could be read in the form that was asked for, and how many could not."""

    def __init__(self) -> None:
        self.replies = 0
        self.odd = 0
        self.last_odd = ""

    def note(self, read: Read[Any]) -> None:
        self.replies += 1
        if read.value is None:
            self.odd += 1
            self.last_odd = read.invalid


class Consulted:
    """A chat model. `contract` names the instruction that its role puts, as part of its identity."""

    config: ModelConfig
    contract = ""

    @cached_property
    def forms(self) -> FormCounts:
        """Every reply counts, also the first of two where the model was asked again."""
        return FormCounts()

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
            before, first = spent.get(number, (Usage(requests=0), None))
            value = None if reply.value is None else verification_of(reply.value)
            raw = reply.raw if first is None else replies_as_text([first, reply.raw])
            found[number] = Reply(value, reply.invalid, raw, before + reply.usage)
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
