"""The signatures of user code, role by role: how our lists become its arguments, its results our replies.

Nothing is called here. Results of a wrong kind become a `BadReply`; `python.py` adds the right signature.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from failscape.errors import BadReply
from failscape.models.contracts.asking import sentences_of
from failscape.models.roles import METHODS, AnswerToVerify, Conversation, Reply, Verification
from failscape.models.transport.encoding import picture_from_bytes
from failscape.picture_limits import DEFAULT_LIMITS, PictureLimits
from failscape.pictures import Picture

Columns = Sequence[Sequence[Any]]
#: Arguments of one call, and how many items it answers.
Call = tuple[tuple[Any, ...], int]


class Signature(NamedTuple):
    """How user code of a role is called; where `many` is not said, it always takes lists."""

    arity: int
    single: str
    many: str = ""


SIGNATURES = {
    "generator": Signature(
        2,
        "f(prompt: str, seeds: list[int]) -> one image per seed (PIL, uint8 array or bytes)",
        "f(prompts: list[str], seeds: list[int]) -> one image per prompt (PIL, uint8 array or bytes)",
    ),
    "editor": Signature(
        3,
        "f(image: PIL image, instruction: str, seed: int) -> the changed image (PIL, uint8 array or bytes)",
        "f(images: list, instructions: list[str], seeds: list[int]) -> one image each",
    ),
    "judge": Signature(
        2,
        "f(image: PIL image, checks: list[Check]) -> one bool (or None) per check",
        "f(images: list, checks: list[list[Check]]) -> one list of bools per image",
    ),
    "classifier": Signature(1, "f(images: list of PIL images) -> a list of (label, score) per image"),
    "captioner": Signature(
        1,
        "f(image: PIL image) -> str, or a list of sentences",
        "f(images: list) -> one str or list of sentences per image",
    ),
    "answerer": Signature(
        2,
        "f(images: list of PIL images, question: str[, history: list of (question, answer)]) -> str",
        "f(images: list of lists, questions: list[str][, histories: list]) -> one str per question",
    ),
    "verifier": Signature(
        3,
        "f(images: list of PIL images, question: str, answer: str) -> (valid, right), (valid, right, why) "
        "or (valid, right, why, right answer)",
        "f(images: list of lists, questions: list[str], answers: list[str]) -> one (valid, right) each",
    ),
    "questioner": Signature(
        3,
        "f(images: list of PIL images, guidance: str, n: int) -> a list of questions",
        "f(images: list of lists, guidance: list[str], n: list[int]) -> one list of questions each",
    ),
    "embedder": Signature(1, "f(items: list of str or PIL images) -> an array with one row per item"),
    "llm": Signature(
        1,
        "f(messages: list of {role, content}) -> str",
        "f(dialogues: list of lists of {role, content}) -> one str each",
    ),
}


class CallShape:
    """How code of a role is called and what it gives. `batched` code takes a list per argument.

    `raw` is for an object that has the role's own method: it gets what the runtime gives, untouched.
    """

    def __init__(self, role: str, batched: bool = False, history: bool = False, raw: bool = False) -> None:
        self.role = role
        self.arity, self.single, self.many = SIGNATURES[role]
        self.batched = batched or raw or not self.many
        self.history = history
        self.raw = raw
        self.limits = DEFAULT_LIMITS

    @property
    def signature(self) -> str:
        if self.raw:
            return f"`{METHODS[self.role]}` of failscape.models.roles: one reply per item"
        return self.many if self.batched and self.many else self.single

    def calls(self, columns: Columns) -> Iterator[Call]:
        """Item by item, or all at once; neighbours of a generator with the same prompt go in one call."""
        count = len(columns[0])
        if self.raw and count:
            yield tuple(columns), count
        elif self.batched and count:
            rows = [self._arguments(*row) for row in zip(*columns, strict=True)]
            yield tuple(list(column) for column in zip(*rows, strict=True)), count
        elif not self.batched and self.role == "generator":
            for prompt, pairs in groupby(zip(*columns, strict=True), key=itemgetter(0)):
                seeds = [seed for _, seed in pairs]
                yield (prompt, seeds), len(seeds)
        elif not self.batched:
            for row in zip(*columns, strict=True):
                yield self._arguments(*row), 1

    def _arguments(self, *row: Any) -> tuple[Any, ...]:
        """What the code gets for one item."""
        if self.role == "judge":
            return _shown(row[0]), list(row[1])
        if self.role == "answerer":
            talk: Conversation = row[0]
            plain = ([image.image for image in talk.images], talk.question)
            return (*plain, list(talk.history)) if self.history else plain
        if self.role == "verifier":
            claim: AnswerToVerify = row[0]
            return [image.image for image in claim.images], claim.question, claim.answer
        return tuple(_shown(value) for value in row)

    def replies(self, returned: Any, count: int, arguments: tuple[Any, ...]) -> list[Reply[Any]]:
        if self.batched:
            values = _listed(returned, count)
            rows = [tuple(column[at] for column in arguments) for at in range(count)]
        elif self.role == "generator":
            alone = count == 1 and isinstance(returned, Image.Image | bytes | Picture)
            values, rows = [returned] if alone else _listed(returned, count), [arguments] * count
        else:
            values, rows = [returned], [arguments]
        return [self._reply(value, row) for value, row in zip(values, rows, strict=True)]

    def _reply(self, value: Any, row: tuple[Any, ...]) -> Reply[Any]:
        if isinstance(value, Reply):
            return value
        if self.role in ("generator", "editor"):
            return Reply(to_picture(value, self.limits))
        return Reply(_READERS[self.role](value, row))


def to_picture(value: Any, limits: PictureLimits = DEFAULT_LIMITS) -> Picture:
    """A picture from what people's code returns."""
    if isinstance(value, Picture):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return picture_from_bytes(bytes(value), limits)
    if isinstance(value, Image.Image):
        limits.check_size(*value.size)
        return Picture.from_image(value if value.mode in ("RGB", "L", "RGBA", "P") else value.convert("RGB"))
    pixels = isinstance(value, np.ndarray) and (value.ndim == 2 or value.shape[2:] in ((3,), (4,)))
    if pixels and value.dtype == np.uint8:
        return Picture.from_array(value)
    raise BadReply(f"returned {_kind(value)} in place of an image")


def _shown(value: Any) -> Any:
    """Pictures go to user code as PIL images, also inside tuples."""
    if isinstance(value, Picture):
        return value.image
    if isinstance(value, tuple) and value and all(isinstance(item, Picture) for item in value):
        return [item.image for item in value]
    return value


def _listed(value: Any, count: int | None = None) -> list[Any]:
    if (
        isinstance(value, str | bytes | dict)
        or not hasattr(value, "__len__")
        or not hasattr(value, "__iter__")
    ):
        raise BadReply(f"returned {_kind(value)} in place of a list")
    items = list(value)
    if count is not None and len(items) != count:
        raise BadReply(f"returned {len(items)} results for {count}")
    return items


def _bool(value: Any) -> bool | None:
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    raise BadReply(f"returned {_kind(value)} in place of a bool")


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise BadReply(f"returned {_kind(value)} in place of a str")
    return value


def _label(item: Any) -> tuple[str, float]:
    try:
        label, score = item
        pair = (_str(label), float(score))
    except (TypeError, ValueError) as error:
        raise BadReply(f"returned {_kind(item)} in place of (label, score)") from error
    if not np.isfinite(pair[1]):
        raise BadReply(f"returned the score {score} for {label!r}")
    return pair


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return f"{type(value).__name__} {str(value)[:40]!r}" if value is not None else "None"


def _ranking(value: Any, row: tuple[Any, ...]) -> list[tuple[str, float]]:
    if isinstance(value, dict):
        value = list(value.items())
    if not isinstance(value, list | tuple):
        raise BadReply(f"returned {_kind(value)} for an image")
    return sorted((_label(item) for item in value), key=lambda pair: -pair[1])


def _caption(value: Any, row: tuple[Any, ...]) -> list[str]:
    """A list is taken as it is; one text is split into its sentences, each of which is a fact by itself."""
    if isinstance(value, str):
        sentences = sentences_of(value)
    else:
        sentences = [line for item in _listed(value) if (line := _str(item).strip())]
    if not sentences:
        raise BadReply("returned an empty caption")
    return sentences


def _answer(value: Any, row: tuple[Any, ...]) -> str:
    if not _str(value).strip():
        raise BadReply("returned an empty answer")
    return _str(value)


def _verification(value: Any, row: tuple[Any, ...]) -> Verification:
    if isinstance(value, Verification):
        return value
    parts = _listed(value)
    if len(parts) not in (2, 3, 4):
        raise BadReply(f"returned {len(parts)} parts")
    why, answer = [str(part or "") for part in (*parts[2:], "", "")][:2]
    return Verification(_bool(parts[0]), _bool(parts[1]), why, answer=answer)


def _vector(value: Any, row: tuple[Any, ...]) -> list[float]:
    try:
        vector = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise BadReply(f"returned {_kind(value)} in place of a row of numbers") from error
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise BadReply("returned a row that is no list of finite numbers")
    return [float(number) for number in vector]


#: What the code returned for one item, and what it was given → the value of a reply.
_READERS: dict[str, Callable[[Any, tuple[Any, ...]], Any]] = {
    "judge": lambda value, row: [_bool(item) for item in _listed(value, len(row[1]))],
    "classifier": _ranking,
    "captioner": _caption,
    "answerer": _answer,
    "verifier": _verification,
    "questioner": lambda value, row: [_str(item) for item in _listed(value)][: row[2]],
    "embedder": _vector,
    "llm": lambda value, row: _str(value),
}
