"""The signatures of user code, role by role: how our lists become its arguments, its results our replies.

Nothing is called here. Results of a wrong kind become a `BadReply`; `python.py` adds the right signature.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from failscape.errors import BadReply
from failscape.models.roles import ROLES, Conversation, Reply, Verification
from failscape.models.transport.encoding import picture_from_bytes
from failscape.picture_limits import DEFAULT_LIMITS, PictureLimits
from failscape.pictures import Picture

Columns = Sequence[Sequence[Any]]
#: Arguments of one call, and how many items it answers.
Call = tuple[tuple[Any, ...], int]

METHODS = {**{role: method for role, (_, method) in ROLES.items()}, "llm": "chat"}


class CallShape:
    """One role's signature. `batched` code (some roles always) takes a list per argument and returns a list.

    `raw` is for an object that has the role's own method: it gets what the runtime gives, untouched.
    """

    role: ClassVar[str]
    single: ClassVar[str]
    many: ClassVar[str]
    arity: ClassVar[int]

    def __init__(self, batched: bool = False, history: bool = False, raw: bool = False) -> None:
        self.batched = batched or raw or self.single == self.many
        self.history = history
        self.raw = raw
        self.limits = DEFAULT_LIMITS

    @property
    def signature(self) -> str:
        if self.raw:
            return f"`{METHODS[self.role]}` of failscape.models.roles: one reply per item"
        return self.many if self.batched else self.single

    def calls(self, columns: Columns) -> Iterator[Call]:
        count = len(columns[0])
        if self.batched:
            if count:
                yield self.arguments_of_all(columns), count
        else:
            for row in zip(*columns, strict=True):
                yield self.arguments(*row), 1

    def arguments(self, *row: Any) -> tuple[Any, ...]:
        """What the code gets for one item."""
        return tuple(_shown(value) for value in row)

    def arguments_of_all(self, columns: Columns) -> tuple[Any, ...]:
        if self.raw:
            return tuple(columns)
        rows = [self.arguments(*row) for row in zip(*columns, strict=True)]
        return tuple(list(column) for column in zip(*rows, strict=True))

    def replies(self, returned: Any, count: int, arguments: tuple[Any, ...]) -> list[Reply[Any]]:
        values = _listed(returned, count) if self.batched else [returned]
        rows = [tuple(column[i] for column in arguments) if self.batched else arguments for i in range(count)]
        return [self.reply(value, row) for value, row in zip(values, rows, strict=True)]

    def reply(self, value: Any, row: tuple[Any, ...]) -> Reply[Any]:
        return value if isinstance(value, Reply) else Reply(self.value(value, row))

    def value(self, value: Any, row: tuple[Any, ...]) -> Any:
        raise NotImplementedError


class GeneratorShape(CallShape):
    role = "generator"
    single = "f(prompt: str, seeds: list[int]) -> one image per seed (PIL, uint8 array or bytes)"
    many = "f(prompts: list[str], seeds: list[int]) -> one image per prompt (PIL, uint8 array or bytes)"
    arity = 2

    def calls(self, columns: Columns) -> Iterator[Call]:
        """Neighbours with the same prompt go in one call."""
        if self.batched:
            yield from super().calls(columns)
            return
        prompts, seeds = columns
        start = 0
        for stop in range(1, len(prompts) + 1):
            if stop == len(prompts) or prompts[stop] != prompts[start]:
                yield (prompts[start], list(seeds[start:stop])), stop - start
                start = stop

    def replies(self, returned: Any, count: int, arguments: tuple[Any, ...]) -> list[Reply[Any]]:
        if not self.batched and count == 1 and isinstance(returned, Image.Image | bytes | Picture):
            returned = [returned]
        return [self.reply(value, ()) for value in _listed(returned, count)]

    def value(self, value: Any, row: tuple[Any, ...]) -> Picture:
        return to_picture(value, self.limits)


class EditorShape(CallShape):
    role = "editor"
    single = (
        "f(image: PIL image, instruction: str, seed: int) -> the changed image (PIL, uint8 array or bytes)"
    )
    many = "f(images: list, instructions: list[str], seeds: list[int]) -> one image each"
    arity = 3

    def value(self, value: Any, row: tuple[Any, ...]) -> Picture:
        return to_picture(value, self.limits)


class JudgeShape(CallShape):
    role = "judge"
    single = "f(image: PIL image, checks: list[Check]) -> one bool (or None) per check"
    many = "f(images: list, checks: list[list[Check]]) -> one list of bools per image"
    arity = 2

    def arguments(self, *row: Any) -> tuple[Any, ...]:
        return _shown(row[0]), list(row[1])

    def value(self, value: Any, row: tuple[Any, ...]) -> list[bool | None]:
        return [_bool(item) for item in _listed(value, len(row[1]))]


class ClassifierShape(CallShape):
    role = "classifier"
    single = many = "f(images: list of PIL images) -> a list of (label, score) per image"
    arity = 1

    def value(self, value: Any, row: tuple[Any, ...]) -> list[tuple[str, float]]:
        if isinstance(value, dict):
            value = list(value.items())
        if not isinstance(value, list | tuple):
            raise BadReply(f"returned {_kind(value)} for an image")
        return sorted((_label(item) for item in value), key=lambda pair: -pair[1])


class CaptionerShape(CallShape):
    role = "captioner"
    single = "f(image: PIL image) -> str, or a list of sentences"
    many = "f(images: list) -> one str or list of sentences per image"
    arity = 1

    def value(self, value: Any, row: tuple[Any, ...]) -> list[str]:
        lines = value.splitlines() if isinstance(value, str) else [_str(item) for item in _listed(value)]
        sentences = [line.strip() for line in lines if line.strip()]
        if not sentences:
            raise BadReply("returned an empty caption")
        return sentences


class AnswererShape(CallShape):
    role = "answerer"
    single = "f(images: list of PIL images, question: str[, history: list of (question, answer)]) -> str"
    many = "f(images: list of lists, questions: list[str][, histories: list]) -> one str per question"
    arity = 2

    def arguments(self, *row: Any) -> tuple[Any, ...]:
        talk: Conversation = row[0]
        images = [image.image for image in talk.images]
        plain = (images, talk.question)
        return (*plain, list(talk.history)) if self.history else plain

    def value(self, value: Any, row: tuple[Any, ...]) -> str:
        if not _str(value).strip():
            raise BadReply("returned an empty answer")
        return _str(value)


class VerifierShape(CallShape):
    role = "verifier"
    single = (
        "f(images: list of PIL images, question: str, answer: str) -> (valid, right), (valid, right, why) "
        "or (valid, right, why, right answer)"
    )
    many = "f(images: list of lists, questions: list[str], answers: list[str]) -> one (valid, right) each"
    arity = 3

    def arguments(self, *row: Any) -> tuple[Any, ...]:
        claim = row[0]
        return [image.image for image in claim.images], claim.question, claim.answer

    def value(self, value: Any, row: tuple[Any, ...]) -> Verification:
        if isinstance(value, Verification):
            return value
        parts = _listed(value)
        if len(parts) not in (2, 3, 4):
            raise BadReply(f"returned {len(parts)} parts")
        why, answer = [str(part or "") for part in (*parts[2:], "", "")][:2]
        return Verification(_bool(parts[0]), _bool(parts[1]), why, answer=answer)


class QuestionerShape(CallShape):
    role = "questioner"
    single = "f(images: list of PIL images, guidance: str, n: int) -> a list of questions"
    many = "f(images: list of lists, guidance: list[str], n: list[int]) -> one list of questions each"
    arity = 3

    def value(self, value: Any, row: tuple[Any, ...]) -> list[str]:
        return [_str(item) for item in _listed(value)][: row[2]]


class EmbedderShape(CallShape):
    role = "embedder"
    single = many = "f(items: list of str or PIL images) -> an array with one row per item"
    arity = 1

    def value(self, value: Any, row: tuple[Any, ...]) -> list[float]:
        try:
            vector = np.asarray(value, dtype=float)
        except (TypeError, ValueError) as error:
            raise BadReply(f"returned {_kind(value)} in place of a row of numbers") from error
        if vector.ndim != 1 or not np.isfinite(vector).all():
            raise BadReply("returned a row that is no list of finite numbers")
        return [float(number) for number in vector]


class LlmShape(CallShape):
    role = "llm"
    single = "f(messages: list of {role, content}) -> str"
    many = "f(dialogues: list of lists of {role, content}) -> one str each"
    arity = 1

    def value(self, value: Any, row: tuple[Any, ...]) -> str:
        return _str(value)


SHAPES: dict[str, type[CallShape]] = {
    shape.role: shape
    for shape in (
        GeneratorShape,
        EditorShape,
        JudgeShape,
        ClassifierShape,
        CaptionerShape,
        AnswererShape,
        VerifierShape,
        QuestionerShape,
        EmbedderShape,
        LlmShape,
    )
}


def to_picture(value: Any, limits: PictureLimits = DEFAULT_LIMITS) -> Picture:
    """A picture from what people's code returns."""
    if isinstance(value, Picture):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return picture_from_bytes(bytes(value), limits)
    if isinstance(value, Image.Image):
        limits.check_size(*value.size)
        return Picture.from_image(value if value.mode in ("RGB", "L", "RGBA", "P") else value.convert("RGB"))
    if isinstance(value, np.ndarray) and value.dtype == np.uint8 and _is_pixels(value):
        return Picture.from_array(value)
    raise BadReply(f"returned {_kind(value)} in place of an image")


def _is_pixels(array: Any) -> bool:
    return bool(array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4)))


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
