"""Chat models of the Transformers library, run in this process, in all their roles.

A question is put as one chat with its pictures and the turns before it. Judge, captioner, verifier and
questioner are a contract (what to say, how to read the reply) each. Decoding is greedy unless params say
otherwise: a reply out of form would be the same again, so it is not asked for twice.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from failscape.config import ModelConfig
from failscape.errors import ConfigError, Permanent
from failscape.models.contracts.asking import Read, plain_answer
from failscape.models.contracts.vision import (
    CaptionerByContract,
    Consulted,
    JudgeByContract,
    Question,
    QuestionerByContract,
    VerifierByContract,
)
from failscape.models.in_process import WEIGHTS, TorchModel, device_of, dtype_of, one_line
from failscape.models.roles import Conversation, Identity, Reply, Usage
from failscape.pictures import Picture

BATCH = 8
LONGEST = 128
ROW_OF_ERRORS = 5
FETCHING = ("revision", "trust_remote_code")
LOADING = (*FETCHING, "attn_implementation", "device_map")
#: Params that are ours; all others go to `generate`.
OURS = (*LOADING, "device", "dtype", "chat_template", "chat_template_kwargs", "processor")
ONE_ANSWER = ("num_return_sequences", "return_dict_in_generate", "streamer")
Message = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Messages in full, those of the system too; texts only."""

    messages: tuple[Message, ...]
    images: tuple[Picture, ...] = ()


Talk = Conversation | Dialogue


class TransformersChat(Consulted, TorchModel):
    """An image-text-to-text model. A batch is padded on the left, so that it answers as one by one.

    `processor` stands in for the one that the model's folder holds.
    """

    files = (*WEIGHTS, "*.json", "*.jinja", "*.model", "merges.txt", "vocab.txt")

    def __init__(self, config: ModelConfig, processor: Any = None) -> None:
        refused = sorted(set(config.params) & set(ONE_ANSWER))
        if refused:
            raise ConfigError(
                f"transformers {self.role}s take no param {', '.join(refused)}", "one question, one answer"
            )
        super().__init__(config, BATCH)
        self._template = _read_template(config.params.get("chat_template"))
        if self._template:
            kept = {name: value for name, value in config.params.items() if name != "chat_template"}
            digest = hashlib.blake2b(self._template.encode(), digest_size=16).hexdigest()
            settings = {**self.identity.settings, "params": kept, "chat_template": digest}
            self.identity = Identity(self.role, "transformers", self.identity.model, settings)
        if label := self.contract_label(config):
            self.identity.settings["contract"] = label
        if config.image_max_side:
            self.identity.settings["image_max_side"] = config.image_max_side
        self.processor = processor
        self.model: Any = None
        self._worked = False
        #: Those in a row, since it last worked.
        self._errors: list[Exception] = []

    async def talk(self, talks: Sequence[Talk]) -> list[Reply[str]]:
        """What the model says to each, `batch` at a time."""
        replies: list[Reply[str]] = []
        for start in range(0, len(talks), self.batch):
            replies += await self.run(self._answer, list(talks[start : start + self.batch]))
        return replies

    async def consult(self, questions: Sequence[Question[T]]) -> list[Reply[T]]:
        """Show pictures, say what the contract says, read replies as the contract reads them."""
        replies = await self.talk([Conversation(tuple(one.images), one.ask.text) for one in questions])
        read = [_read(reply, one.read) for reply, one in zip(replies, questions, strict=True)]
        for reply in read:
            self.forms.note(Read(reply.value, reply.invalid))
        return read

    # Loading

    def load(self) -> None:
        import transformers

        transformers.utils.logging.disable_progress_bar()  # the run has its own
        params = self.config.params
        chosen = {name: params[name] for name in LOADING if name in params}
        about = {name: params[name] for name in FETCHING if name in params}
        dtype = dtype_of(params, "auto")
        try:
            if self.processor is None:
                self.processor = transformers.AutoProcessor.from_pretrained(
                    self.source, **about, **dict(params.get("processor") or {})
                )
            self._check_processor()
            model = self._kind(transformers).from_pretrained(self.source, **chosen, **dtype)
            self.model = (model if "device_map" in params else model.to(device_of(params))).eval()
        except ConfigError:
            raise
        except Exception as error:
            raise self._unusable(error) from error
        if not params.get("do_sample"):
            for name in ("temperature", "top_p", "top_k"):  # else it warns that greedy decoding ignores them
                setattr(self.model.generation_config, name, None)

    def _kind(self, transformers: Any) -> Any:
        return transformers.AutoModelForImageTextToText

    @property
    def tokenizer(self) -> Any:
        """The processor itself, where a model reads text only."""
        return getattr(self.processor, "tokenizer", self.processor)

    def _check_processor(self) -> None:
        if getattr(self.processor, "image_processor", None) is None:
            raise ConfigError(
                f"{self.source} has no image processor: it does not take pictures",
                "name a vision-language model, or save its processor beside it",
            )
        self._check_template()

    def _check_template(self) -> None:
        tokenizer = self.tokenizer
        self._template = (
            self._template
            or getattr(self.processor, "chat_template", None)
            or getattr(tokenizer, "chat_template", None)
            or ""
        )
        if not self._template:
            raise ConfigError(
                f"{self.source} has no chat template: how a chat is written for it is not known",
                "use the instruction-tuned model, put chat_template.jinja into its folder, "
                "or name such a file in `params.chat_template`",
            )
        tokenizer.padding_side = "left"  # padding on the right would stand between question and answer
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token

    # Answering

    def _answer(self, talks: list[Talk]) -> list[Reply[str]]:
        """With pictures and without are never in one batch: processors take all or none."""
        found: dict[int, Reply[str]] = {}
        for seen in (True, False):
            chosen = [number for number, talk in enumerate(talks) if bool(talk.images) == seen]
            if chosen:
                replies = self._try([talks[number] for number in chosen])
                found.update(zip(chosen, replies, strict=True))
        return [found[number] for number in range(len(talks))]

    def _try(self, talks: list[Talk]) -> list[Reply[str]]:
        """A batch that fails is tried one by one, so that one bad item spoils only itself.

        An error is the settings' fault, unless the model has worked before: then it is that item's.
        """
        if len(talks) > 1:
            with suppress(Exception):
                replies = self._generate(talks)
                self._worked, self._errors = True, []
                return replies
        replies = [self._alone(talk) for talk in talks]
        if self._errors and (not self._worked or len(self._errors) >= ROW_OF_ERRORS):
            fix = "check `params`; if memory is short, set a smaller `batch`"
            raise Permanent(_told(self.source, self._errors[-1]), fix) from self._errors[-1]
        return replies

    def _alone(self, talk: Talk) -> Reply[str]:
        try:
            [reply] = self._generate([talk])
        except Exception as error:
            self._errors.append(error)
            return Reply(None, _told(self.source, error))
        self._worked, self._errors = True, []
        return reply

    def _generate(self, talks: list[Talk]) -> list[Reply[str]]:
        import torch

        began = time.monotonic()
        inputs = self.inputs(talks)
        params = {name: value for name, value in self.config.params.items() if name not in OURS}
        tokenizer = self.tokenizer
        fixed = {"do_sample": False, "max_new_tokens": LONGEST}
        asked = inputs.get("input_ids")  # none where a captioner is shown pictures without a word
        if asked is not None:
            fixed["pad_token_id"] = tokenizer.pad_token_id
        with torch.no_grad():
            out = self.model.generate(**inputs, **{**fixed, **params})
        written = out if asked is None else out[:, asked.shape[1] :]
        texts = tokenizer.batch_decode(written, skip_special_tokens=True)
        read = [0] * len(talks) if asked is None else inputs["attention_mask"].sum(dim=1).tolist()
        said = (written != tokenizer.pad_token_id).sum(dim=1).tolist()
        seconds = (time.monotonic() - began) / len(talks)
        return [
            _read(Reply(None, "", text, Usage(1, seconds, int(before), int(after))), plain_answer)
            for text, before, after in zip(texts, read, said, strict=True)
        ]

    def inputs(self, talks: Sequence[Talk]) -> Any:
        """Tensors of a batch, on the model's device and in its type."""
        options = dict(self.config.params.get("chat_template_kwargs") or {})
        texts = [
            self.processor.apply_chat_template(
                messages_of(talk),
                chat_template=self._template,
                tokenize=False,
                add_generation_prompt=True,
                **options,
            )
            for talk in talks
        ]
        pictures = [[self._shown(picture) for picture in talk.images] for talk in talks]
        begin = self.tokenizer.bos_token
        twice = {"add_special_tokens": False} if begin and texts[0].startswith(begin) else {}
        shown = {"images": pictures} if any(pictures) else {}
        found = self.processor(text=texts, **shown, return_tensors="pt", padding=True, **twice)
        found.pop("token_type_ids", None)
        return {name: self._placed(value) for name, value in found.items()}

    def _placed(self, value: Any) -> Any:
        if not hasattr(value, "to"):
            return value
        device, dtype = self.model.device, self.model.dtype
        return value.to(device, dtype) if value.is_floating_point() else value.to(device)

    def _shown(self, picture: Picture) -> Any:
        image = picture.image.convert("RGB")
        side = self.config.image_max_side
        if side and max(image.size) > side:
            image.thumbnail((side, side))
        return image


class TransformersAnswerer(TransformersChat):
    """The question as it is, without instructions of ours: the target is to be seen as users see it."""

    role = "answerer"

    async def answer(self, conversations: Sequence[Conversation]) -> list[Reply[str]]:
        return await self.talk(conversations)


def messages_of(talk: Talk) -> list[Message]:
    """The chat so far. Pictures come first, in the first turn, as most models were trained."""
    if isinstance(talk, Dialogue):
        return list(talk.messages)
    questions = [question for question, _ in talk.history] + [talk.question]
    messages = [_said("user", questions[0], len(talk.images))]
    for (_, answer), following in zip(talk.history, questions[1:], strict=True):
        messages += [_said("assistant", answer), _said("user", following)]
    return messages


def _said(role: str, text: str, pictures: int = 0) -> Message:
    parts: list[Message] = [{"type": "image"} for _ in range(pictures)]
    return {"role": role, "content": [*parts, {"type": "text", "text": text}]}


def _told(source: str, error: Exception) -> str:
    return f"{source} failed: {type(error).__name__}: {one_line(error)}"


def _read(reply: Reply[str], read: Callable[[str], Read[T]]) -> Reply[T]:
    if reply.invalid:
        return Reply(None, reply.invalid, reply.raw, reply.usage)
    outcome = read(reply.raw)
    return Reply(outcome.value, outcome.invalid, reply.raw, reply.usage)


def _read_template(named: Any) -> str:
    """A template is written out in the config, or is in a file."""
    if not named:
        return ""
    text = str(named)
    if "{%" in text or "{{" in text:
        return text
    try:
        return Path(text).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"`params.chat_template` {text!r} cannot be read: {error.strerror}", "name a .jinja file"
        ) from error


class TransformersJudge(JudgeByContract, TransformersChat): ...


class TransformersCaptioner(CaptionerByContract, TransformersChat):
    """A chat model, or one without a chat template, which describes pictures unasked (BLIP, GIT)."""

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


class TransformersVerifier(VerifierByContract, TransformersChat): ...


class TransformersQuestioner(QuestionerByContract, TransformersChat): ...


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


CHAT_ROLES: tuple[type[TransformersChat], ...] = (
    TransformersAnswerer,
    TransformersJudge,
    TransformersCaptioner,
    TransformersVerifier,
    TransformersQuestioner,
    TransformersLlm,
)
