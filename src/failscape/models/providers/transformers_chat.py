"""Vision-language models of the Transformers library as targets of vlm hunts, run in this process.

The question is put as it is, as one chat with its pictures and the turns before it. Decoding is greedy unless
params say otherwise. Needs the extra `transformers`; torch is imported when the model starts, not before.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from failscape.config import ModelConfig
from failscape.errors import ConfigError, Permanent
from failscape.models.contracts.asking import plain_answer
from failscape.models.providers.transformers import WEIGHTS, TransformersModel, device_of, dtype_of, one_line
from failscape.models.roles import Conversation, Identity, Reply, Usage
from failscape.pictures import Picture

BATCH = 8
LONGEST = 128
ROW_OF_ERRORS = 5
FETCHING = ("revision", "trust_remote_code")
LOADING = (*FETCHING, "attn_implementation", "device_map")
OURS = (*LOADING, "device", "dtype", "chat_template", "chat_template_kwargs", "processor")
"""Params that are ours; all others go to `generate`."""
ONE_ANSWER = ("num_return_sequences", "return_dict_in_generate", "streamer")
Message = dict[str, Any]


class TransformersAnswerer(TransformersModel):
    """An image-text-to-text model. A batch is padded on the left, so that it answers as one by one.

    `processor` stands in for the one that the model's folder holds.
    """

    role = "answerer"
    files = (*WEIGHTS, "*.json", "*.jinja", "*.model", "merges.txt", "vocab.txt")

    def __init__(self, config: ModelConfig, processor: Any = None) -> None:
        refused = sorted(set(config.params) & set(ONE_ANSWER))
        if refused:
            raise ConfigError(
                f"transformers answerers take no param {', '.join(refused)}", "one question, one answer"
            )
        super().__init__(config, BATCH)
        self._template = _read_template(config.params.get("chat_template"))
        if self._template:
            kept = {name: value for name, value in config.params.items() if name != "chat_template"}
            digest = hashlib.blake2b(self._template.encode(), digest_size=16).hexdigest()
            settings = {**self.identity.settings, "params": kept, "chat_template": digest}
            self.identity = Identity(self.role, "transformers", self.identity.model, settings)
        if config.image_max_side:
            self.identity.settings["image_max_side"] = config.image_max_side
        self.processor = processor
        self.model: Any = None
        self._worked = False
        self._errors: list[Exception] = []
        """Those in a row, since it last worked."""

    async def answer(self, conversations: Sequence[Conversation]) -> list[Reply[str]]:
        return await self._run(self._answer, list(conversations)) if conversations else []

    # Loading

    def _load(self) -> None:
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
            model = transformers.AutoModelForImageTextToText.from_pretrained(self.source, **chosen, **dtype)
            self.model = (model if "device_map" in params else model.to(device_of(params))).eval()
        except ConfigError:
            raise
        except Exception as error:
            raise self._unusable(error) from error
        if not params.get("do_sample"):
            for name in ("temperature", "top_p", "top_k"):  # else it warns that greedy decoding ignores them
                setattr(self.model.generation_config, name, None)

    def _check_processor(self) -> None:
        if getattr(self.processor, "image_processor", None) is None:
            raise ConfigError(
                f"{self.source} has no image processor: it does not take pictures",
                "name a vision-language model, or save its processor beside it",
            )
        tokenizer = self.processor.tokenizer
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

    def _answer(self, conversations: list[Conversation]) -> list[Reply[str]]:
        """With pictures and without are never in one batch: processors take all or none."""
        found: dict[int, Reply[str]] = {}
        for seen in (True, False):
            chosen = [number for number, talk in enumerate(conversations) if bool(talk.images) == seen]
            if chosen:
                replies = self._try([conversations[number] for number in chosen])
                found.update(zip(chosen, replies, strict=True))
        return [found[number] for number in range(len(conversations))]

    def _try(self, talks: list[Conversation]) -> list[Reply[str]]:
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

    def _alone(self, talk: Conversation) -> Reply[str]:
        try:
            [reply] = self._generate([talk])
        except Exception as error:
            self._errors.append(error)
            return Reply(None, _told(self.source, error))
        self._worked, self._errors = True, []
        return reply

    def _generate(self, talks: list[Conversation]) -> list[Reply[str]]:
        import torch

        began = time.monotonic()
        inputs = self.inputs(talks)
        params = {name: value for name, value in self.config.params.items() if name not in OURS}
        tokenizer = self.processor.tokenizer
        fixed = {"do_sample": False, "max_new_tokens": LONGEST, "pad_token_id": tokenizer.pad_token_id}
        with torch.no_grad():
            out = self.model.generate(**inputs, **{**fixed, **params})
        written = out[:, inputs["input_ids"].shape[1] :]
        texts = tokenizer.batch_decode(written, skip_special_tokens=True)
        read = inputs["attention_mask"].sum(dim=1).tolist()
        said = (written != tokenizer.pad_token_id).sum(dim=1).tolist()
        seconds = (time.monotonic() - began) / len(talks)
        return [
            _reply(text, Usage(1, seconds, int(before), int(after)))
            for text, before, after in zip(texts, read, said, strict=True)
        ]

    def inputs(self, talks: Sequence[Conversation]) -> Any:
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
        begin = self.processor.tokenizer.bos_token
        twice = {"add_special_tokens": False} if begin and texts[0].startswith(begin) else {}
        found = self.processor(
            text=texts, images=pictures if any(pictures) else None, return_tensors="pt", padding=True, **twice
        )
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


def messages_of(talk: Conversation) -> list[Message]:
    """The chat so far. Pictures come first, in the first turn, as most models were trained."""
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


def _reply(text: str, usage: Usage) -> Reply[str]:
    read = plain_answer(text)
    return Reply(read.value, read.invalid, text, usage)


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
