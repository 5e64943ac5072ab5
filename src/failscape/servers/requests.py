"""How the requests of a server are read: JSON, images in base64, the messages of a chat.

What is wrong with a request is said in words. Serves nothing by itself.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from failscape.models.roles import Conversation
from failscape.pictures import Picture

#: Characters of a prompt or a question.
LONGEST_TEXT = 20_000


class RequestError(Exception):
    """The request cannot be served; the client gets `status` and a sentence that says why."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


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
        picture = Picture(base64.b64decode(text.rpartition(",")[2], validate=True))
    except (binascii.Error, ValueError) as error:
        raise RequestError("the image is not base64") from error
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
