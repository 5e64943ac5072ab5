"""What a server offers, what draws behind one of images, and how requests are read: JSON, images in base64,
the messages of a chat. What is wrong with a request is said in words.

A new kind of model sub-classes `ImageBackend`; `docs/servers.md` shows one on a screen. The server does the
rest: requests, batches, queue, metrics.
"""

import asyncio
import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import web

from failscape.models.providers.diffusers import BatchLimit, DiffusersPipeline
from failscape.models.roles import (
    Answerer,
    Captioner,
    Classifier,
    Conversation,
    Embedder,
    ImageEditor,
    ImageGenerator,
    Judge,
    Model,
    Questioner,
    Verifier,
)
from failscape.pictures import Picture
from failscape.spaces.wording import Understanding

#: Characters of a prompt or a question.
LONGEST_TEXT = 20_000


class RequestError(Exception):
    """The request cannot be served; the client gets `status` and a sentence that says why."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


#: Seconds until the body of a request must be there: 64 MiB take 50 s over 10 Mbit/s.
BODY_SECONDS = 60.0

#: The content type of a form with files, which only the route for edits takes.
FORM = "multipart/form-data"

#: Bytes of bodies that are being received at one time, over all requests.
BODIES_AT_ONCE = 512 * 2**20


class BodyGate:
    """Counts the bytes of bodies that are being received; a request that does not say how many, as `most`."""

    def __init__(self, most: int, room: int = BODIES_AT_ONCE, seconds: float = BODY_SECONDS) -> None:
        self._most = most
        self._room = room
        self._seconds = seconds
        self.held = 0

    async def receive(self, request: web.Request) -> None:
        """Receives the body, which aiohttp keeps with its request from now on."""
        if not request.can_read_body:
            return
        length = request.content_length
        share = self._most if length is None else min(length, self._most)
        if self.held + share > self._room:
            raise RequestError("too many large requests are being received: try again later", 503)
        self.held += share
        try:
            await asyncio.wait_for(_keep_body(request), self._seconds)
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()  # what it has sent so far is dropped with it
            raise RequestError(f"the body was not there after {self._seconds:g} s", 408) from None
        finally:
            self.held -= share


async def _keep_body(request: web.Request) -> None:
    """A form can only be read from the connection, so it is parsed here; other bodies are kept as bytes."""
    if request.content_type != FORM:
        await request.read()
        return
    try:
        await request.post()
    except (ValueError, LookupError, AssertionError, RuntimeError) as error:
        raise RequestError(f"the body is not a form ({error})") from error


async def read_json(request: web.Request) -> dict[str, Any]:
    try:
        text = (await request.read()).decode(request.charset or "utf-8")
    except LookupError:
        raise RequestError(f"the charset {request.charset!r} is not known: send UTF-8", 415) from None
    except UnicodeDecodeError as error:
        raise RequestError(f"the body is not text ({error})") from error
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the body is not JSON ({error})") from error
    if not isinstance(body, dict):
        raise RequestError("the body must be a JSON object")
    return body


def read_texts(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise RequestError(f"`{name}` must be a list of texts")
    if name != "images":
        for text in value:
            check_length(text, name)
    return value


def check_length(text: str, name: str) -> None:
    """Long before this a model stops reading; a text without end would only hold the others up."""
    if len(text) > LONGEST_TEXT:
        raise RequestError(f"`{name}` has {len(text):,} characters, at most {LONGEST_TEXT:,} are taken", 413)


def read_picture(text: str) -> Picture:
    """An encoded image in base64, with or without the head of a data URI."""
    try:
        data = base64.b64decode(text.rpartition(",")[2], validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError("the image is not base64") from error
    return checked_picture(data)


def checked_picture(data: bytes) -> Picture:
    """The picture in the bytes of an image file."""
    picture = Picture(data)
    if not picture.format:
        raise RequestError("the image is in no known format: send PNG, JPEG or WEBP")
    picture.check()
    return picture


def read_conversation(messages: Any) -> Conversation:
    """The last question, all images, and what was asked and answered before. System messages are left out."""
    pictures: list[Picture] = []
    turns: list[tuple[str, str]] = []
    speaker = ""
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, dict):
            raise RequestError("each of `messages` must be an object with `role` and `content`")
        speaker = message.get("role") or "user"
        text = _read_content(message.get("content"), pictures)
        check_length(text, "messages")
        if speaker == "user":
            turns.append((text, ""))
        elif speaker == "assistant" and turns:
            turns[-1] = (turns[-1][0], text)
    if not turns or speaker == "assistant":
        raise RequestError("`messages` must end with a question of the user")
    return Conversation(tuple(pictures), turns[-1][0], tuple(turns[:-1]))


def _read_content(content: Any, pictures: list[Picture]) -> str:
    """The text of one message; its images are added to `pictures`."""
    if content is None or isinstance(content, str):
        return content or ""
    texts: list[str] = []
    for part in content if isinstance(content, list) else []:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text":
            texts.append(str(part.get("text") or ""))
        elif kind == "image_url":
            given = part.get("image_url")
            url = given.get("url") if isinstance(given, dict) else given
            if not isinstance(url, str) or not url.startswith("data:") or "," not in url:
                raise RequestError("`image_url.url` must be a data URI")
            pictures.append(read_picture(url))

        else:
            raise RequestError("parts of a message must be of type `text` or `image_url`")
    return "\n".join(texts)


#: What our models honour, or what cannot change what they say: they do not sample.
CHAT_FIELDS = frozenset(
    [
        "model",
        "messages",
        "response_format",
        "user",
        "n",
        "stream",
        "chat_template_kwargs",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "seed",
        "max_tokens",
        "max_completion_tokens",
        "logprobs",
        "top_logprobs",
    ]
)


def check_chat(body: Mapping[str, Any]) -> None:
    for name, value in body.items():
        if name not in CHAT_FIELDS and value is not None:
            raise RequestError(f"`{name}` is not supported here")
    if body.get("n") not in (None, 1):
        raise RequestError("`n` must be 1: there is one answer")
    if body.get("stream"):
        raise RequestError("`stream` is not supported here")


T = TypeVar("T")
#: What a request may say beside prompt and seed: width, height, steps, guidance, negative_prompt.
Settings = Mapping[str, Any]

#: A picture, or why there is none for this one prompt.
Drawing = Picture | RequestError


class ImageBackend:
    """Give it `load` and `draw`; both are called in one thread of its own, never at the same time.

    `fields` are the settings that it honours; requests with others are refused. `batch` is the most pictures
    of one call. An error that says "out of memory" halves it.
    """

    name = "model"
    batch = 1
    workers = 1
    fields: frozenset[str] = frozenset()
    limit = BatchLimit(1)
    _thread: ThreadPoolExecutor | None = None

    def load(self) -> None:
        """Load the weights. The server answers 503 until this returns."""

    def check(self, settings: Settings) -> None:
        """Raise `RequestError` for values that cannot be honoured."""

    def draw(self, prompts: Sequence[str], seeds: Sequence[int], settings: Settings) -> Sequence[Drawing]:
        """One picture per prompt and seed. All of one call share the settings."""
        raise NotImplementedError

    # What the server calls

    async def start(self) -> None:
        self.limit = BatchLimit(self.batch)
        self._thread = ThreadPoolExecutor(1, f"failscape-{self.name}")
        await self._run(self.load)

    async def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def paint(
        self, prompts: Sequence[str], seeds: Sequence[int], settings: Settings
    ) -> Sequence[Drawing]:
        rows = list(zip(prompts, seeds, strict=True))

        def some(rows: Sequence[tuple[str, int]]) -> Sequence[Drawing]:
            prompts, seeds = zip(*rows, strict=True)
            return self.draw(prompts, seeds, settings)

        return await self._run(lambda: self.limit.run(some, rows))

    async def _run(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)


class RoleBackend(ImageBackend):
    """Any model that plays the role `generator`. It has no settings; `size` is the one its pictures have."""

    def __init__(self, model: ImageGenerator, name: str, size: tuple[int, int] | None = None) -> None:
        self.name = name
        self.batch = model.batch
        # A model that takes one item a call limits itself.
        self.workers = 1 if model.batch > 1 else 64
        self.fields = frozenset(("width", "height")) if size else frozenset()
        self._model, self._size = model, size

    def check(self, settings: Settings) -> None:
        if self._size and settings and (settings["width"], settings["height"]) != self._size:
            width, height = self._size
            raise RequestError(f"{self.name} draws pictures of {width}x{height} only")

    async def start(self) -> None:
        self.limit = BatchLimit(self.batch)
        await self._model.start()

    async def close(self) -> None:
        await self._model.close()

    async def paint(
        self, prompts: Sequence[str], seeds: Sequence[int], settings: Settings
    ) -> Sequence[Drawing]:
        replies = await self._model.generate(prompts, seeds)
        return [
            RequestError(reply.invalid or "the model gave no picture") if reply.value is None else reply.value
            for reply in replies
        ]


#: What a setting is called in diffusers, where it has another name.
CALLED = {"steps": "num_inference_steps", "guidance": "guidance_scale"}


class DiffusersBackend(ImageBackend):
    """Any text-to-image pipeline of the Diffusers library. A request may say otherwise than `params`."""

    def __init__(self, name: str, source: str, params: Mapping[str, Any], batch: int) -> None:
        self.name = name
        self.batch = batch
        self._pipeline = DiffusersPipeline(source, params)

    def load(self) -> None:
        self._pipeline.load()
        known = {"width", "height", "negative_prompt", *CALLED}
        self.fields = frozenset(name for name in known if CALLED.get(name, name) in self._pipeline.accepts)

    def check(self, settings: Settings) -> None:
        for name in ("width", "height"):
            if settings.get(name, 8) % 8:
                raise RequestError(f"`size` must be whole multiples of 8, but {name} is {settings[name]}")

    def draw(self, prompts: Sequence[str], seeds: Sequence[int], settings: Settings) -> Sequence[Drawing]:
        call = {CALLED.get(name, name): value for name, value in settings.items()}
        drawn = self._pipeline.draw(prompts, seeds, call)
        return [RequestError(one) if isinstance(one, str) else Picture.from_image(one) for one in drawn]


@dataclass(frozen=True)
class Served:
    """The models of a server; a role that is `None` is not offered.

    `understanding` turns a judge's instruction back into checks. Requests choose among `classifiers` by name;
    the first one answers those that name none. All other models are told apart by what is asked.
    `backend` draws in place of a `generator` where requests may choose size, steps and so on; `size` is the
    one size of a generator's and an editor's pictures, where they have one. At most `queue` pictures wait;
    the first of a batch waits `linger` seconds, so that others can join it. Bodies have to be there after
    `body_seconds`, and those that are being received have `bodies_at_once` bytes together.
    """

    generator: ImageGenerator | None = None
    judge: Judge | None = None
    understanding: Understanding | None = None
    name: str = "failscape"
    captioner: Captioner | None = None
    answerer: Answerer | None = None
    verifier: Verifier | None = None
    questioner: Questioner | None = None
    embedder: Embedder | None = None
    editor: ImageEditor | None = None
    classifiers: Mapping[str, Classifier] = field(default_factory=dict)
    backend: ImageBackend | None = None
    size: tuple[int, int] | None = None
    queue: int = 512
    linger: float = 0.0
    bodies_at_once: int = BODIES_AT_ONCE
    body_seconds: float = BODY_SECONDS

    def image_backend(self) -> ImageBackend | None:
        """What draws; a generator is put behind one."""
        if self.backend is None and self.generator is not None:
            return RoleBackend(self.generator, self.name, self.size)
        return self.backend

    def models(self) -> list[Model]:
        """All models beside the one that draws, to be started and closed."""
        chat = list(self.chat_roles().values())
        others: list[Model | None] = [self.embedder, self.editor, *self.classifiers.values()]
        return [*(model for model in others if model is not None), *chat]

    def chat_roles(self) -> dict[str, Model]:
        """Role → model, of those that are reached by chat."""
        roles: dict[str, Model | None] = {
            "judge": self.judge if self.understanding is not None else None,
            "captioner": self.captioner,
            "answerer": self.answerer,
            "verifier": self.verifier,
            "questioner": self.questioner,
        }
        return {role: model for role, model in roles.items() if model is not None}

    def offers(self) -> list[str]:
        """What there is, in words: for the line that a server prints when it is ready."""
        chat = self.chat_roles()
        lines = {
            "images": self.image_backend() is not None,
            "edits": self.editor is not None,
            f"chat ({', '.join(chat)})": bool(chat),
            "embeddings": self.embedder is not None,
            f"classify ({', '.join(self.classifiers)})": bool(self.classifiers),
        }
        return [line for line, is_offered in lines.items() if is_offered]
