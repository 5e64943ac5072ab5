"""What all contracts are made of: an instruction with slots, what is sent, what a reply is read as.

A contract is pure and stateless, and owns its instruction and its parser. Its `label` (name and version) is
part of a model's identity, so that replies to another wording are never mixed up. Change an instruction or
a parser: raise its version. `vision.py` matches the same `Instruction` that asks, so what contracts say and
what servers understand cannot drift apart.

Reading the answer of a reply never raises and never guesses. A reply gives an answer when it *is* that
answer: one JSON value with the keys that were asked for and no others. A fence, thoughts in tags that we
know, and the tags that some models put around an answer may stand around it. Nothing else may: words before
or after the JSON, or a key more, can take it back ("the image failed to load, default answer: …"), and no
list of phrases tells all those that do from those that do not.
"""

import ast
import io
import json
import re
import tokenize
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from failscape.models.contracts.declining import saw_no_picture

T = TypeVar("T")

#: Longer replies are rambling, beside their thoughts.
LONGEST = 20_000

#: Tags that models are known to put around their thoughts: how each opens and how it closes.
_THOUGHT_TAGS = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning", "seed:think")),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
)
_OPEN_THOUGHT = re.compile("|".join(re.escape(opening) for opening, _ in _THOUGHT_TAGS), re.IGNORECASE)
_CLOSED_THOUGHT = re.compile("|".join(re.escape(closing) for _, closing in _THOUGHT_TAGS), re.IGNORECASE)
_CLOSING_OF = {
    opening.lower(): re.compile(re.escape(closing), re.IGNORECASE) for opening, closing in _THOUGHT_TAGS
}
#: Tokens by which chat templates end a turn. Others may say anything, also that there was no picture.
_END_TOKENS = (
    *(
        f"<|{name}|>"
        for name in (
            "im_end",
            "end",
            "endoftext",
            "end_of_text",
            "end_of_turn",
            "eot",
            "eot_id",
            "eom_id",
            "eos",
            "return",
            "user",
            "observation",
            "END_OF_TURN_TOKEN",
        )
    ),
    "</s>",
    "<eos>",
    "<end_of_turn>",
)
_TAGGED = re.compile(r"<answer>(.*)</answer>|<\|begin_of_box\|>(.*)<\|end_of_box\|>", re.DOTALL)
#: A fence may name a language. Any other label (`error`, `example`) says what the answer is instead.
_FENCE = re.compile(
    r"```(?i:json[c5]?|javascript|js|python|py|text|txt|plaintext)?[ \t]*\n?((?:(?!```).)*)```", re.DOTALL
)

_PAIRS = {"[": "]", "{": "}"}
_OPENING = re.compile(r"[\[{]")
_DEEPEST = 20
_MOST_TRIES = 100


class NotGiven(Exception):
    """Why a reply gives no answer; what `read_answer` calls may raise it."""


def without_thoughts(text: str) -> str:
    """The reply but for its thoughts; of a thought that is not finished, only what stood before it."""
    after = _after_thoughts(text)
    before = text[: len(text) - len(after)]
    opened = _OPEN_THOUGHT.search(before)
    said = f"{before[: opened.start()]} {after}" if opened else after
    unfinished = _OPEN_THOUGHT.search(said)
    return (said[: unfinished.start()] if unfinished else said).strip()


def _after_thoughts(text: str) -> str:
    """What follows the last thought, also when its beginning was cut off."""
    return text[max((closed.end() for closed in _CLOSED_THOUGHT.finditer(text)), default=0) :]


def read_answer(text: str, decode: Callable[[Any], T | None], wanted: str) -> tuple[T | None, str]:
    """The answer that the reply is, as `decode` reads JSON; or `None`, and why there is no `wanted`.

    `decode` gets the whole value, and gives `None` for keys or items that were not asked for.
    """
    try:
        answer = decode(_bare_json(text))
    except NotGiven as reason:
        return None, f"the reply gives no {wanted}: {reason}"
    if answer is None:
        return None, f"the reply gives no {wanted}: its JSON is of another form"
    return answer, ""


def _bare_json(text: str) -> Any:
    """The JSON that the reply is, when nothing but thoughts, a fence or known tags stands around it."""
    thoughts, said = _split_thoughts(text)
    if saw_no_picture(thoughts[:LONGEST]) or saw_no_picture(thoughts[-LONGEST:]):
        raise NotGiven("its thoughts say that it saw no picture")
    if len(said) > LONGEST:
        raise NotGiven(f"it is longer than {LONGEST:,} characters")
    bare = _unwrapped(said)
    if bare[:1] in _PAIRS and (whole := literal(bare)) is not None:
        return whole
    raise NotGiven(_why_not_bare(bare))


def answer_text(text: str) -> str:
    """The part of a reply that `read_answer` reads, letter by letter; "" where it ends inside a thought."""
    try:
        return _unwrapped(_split_thoughts(text)[1])
    except NotGiven:
        return ""


def _why_not_bare(said: str) -> str:
    if not said:
        return "it is empty"
    if not _OPENING.search(said):
        return "it holds no JSON"
    if said[0] not in _PAIRS:
        return "words stand before its JSON"
    if said[-1] not in _PAIRS.values():
        return "words follow its JSON, or it breaks off"
    return "it is not one JSON value"


def _split_thoughts(text: str) -> tuple[str, str]:
    """The thoughts that the reply begins with, and all that follows them. Each tag is closed by its own.

    Some chat templates put the opening tag into the prompt: then the reply begins inside a thought.
    """
    closed, opened = _CLOSED_THOUGHT.search(text), _OPEN_THOUGHT.search(text)
    at = 0
    if closed and (opened is None or closed.start() < opened.start()):
        at = closed.end()
    while (opening := _OPEN_THOUGHT.match(text, _past_blanks(text, at))) is not None:
        closing = _CLOSING_OF[opening.group().lower()].search(text, opening.end())
        if closing is None:
            raise NotGiven("it ends in the middle of a thought")
        at = closing.end()
    return text[:at], text[at:]


def _past_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _unwrapped(said: str) -> str:
    """What is left without end tokens, a full stop, and tags or a fence around all of it."""
    said = _without_end_tokens(said).lstrip()
    for pattern in (_TAGGED, _FENCE):
        if found := pattern.fullmatch(said):
            said = next(group for group in found.groups() if group is not None).strip()
    return said.rstrip(".。").rstrip()


def _without_end_tokens(said: str) -> str:
    """From the end on, token by token: a pattern would try each blank of a long run as the first one."""
    end = len(said)
    while True:
        end = _before_blanks(said, end)
        token = next((one for one in _END_TOKENS if said.endswith(one, 0, end)), "")
        if not token:
            return said[:end]
        end -= len(token)


def _before_blanks(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def json_values(text: str) -> Iterator[Any]:
    """Every outermost list or object in the reply, in order; for lists of ideas, where none is a verdict."""
    text = without_thoughts(text)[-LONGEST:]
    if text[-1:] in ("]", "}") and (whole := _whole(text)) is not None:  # nearly all replies of good servers
        yield whole
        return
    for _, _, value in _spans(text):
        yield value


def _spans(text: str) -> Iterator[tuple[int, int, Any]]:
    """Start, end and value of each outermost list or object; python style (`[True, None]`) counts too."""
    position = 0
    for _ in range(_MOST_TRIES):  # a reply full of open brackets must not cost seconds
        opening = _OPENING.search(text, position)
        if opening is None:
            return
        start = opening.start()
        position = start + 1
        end = _closing(text, start)
        value = literal(text[start:end]) if end else None
        if value is not None:
            yield start, end, value
            position = end


def _whole(text: str) -> list[Any] | dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list | dict) else None


def _closing(text: str, start: int) -> int:
    """Where the bracket opened at `start` is closed (one past it); 0 when it never is."""
    awaited: list[str] = []
    position = start
    while position < len(text):
        letter = text[position]
        if letter == '"':
            position = _end_of_string(text, position)
            continue
        if letter in _PAIRS:
            awaited.append(_PAIRS[letter])
            if len(awaited) > _DEEPEST:
                return 0
        elif letter in "]}":
            if awaited.pop() != letter:
                return 0
            if not awaited:
                return position + 1
        position += 1
    return 0


def _end_of_string(text: str, start: int) -> int:
    """One past the quotation mark that ends the string begun at `start`; past the text when none does."""
    position = start + 1
    while position < len(text) and text[position] != '"':
        position += 2 if text[position] == "\\" else 1
    return position + 1


def replies_as_text(replies: Sequence[str]) -> str:
    """What several models, or one model in several calls, said: as an atlas keeps it for one step."""
    return json.dumps(list(replies), ensure_ascii=False)


def replies_in_text(text: str) -> list[str]:
    """What `replies_as_text` wrote; empty where the text is of another form."""
    try:
        said = json.loads(text)
    except ValueError:
        return []
    return said if isinstance(said, list) and all(isinstance(one, str) for one in said) else []


def contract_name(label: object) -> str:
    """`boolean` of the label `boolean/3`: what a contract is called, whatever its version."""
    return str(label).partition("/")[0]


def literal(text: str) -> Any:
    """The list or object that the text is, in JSON or python style; `None` for all else, or a key twice."""
    try:
        value = _DECODER.decode(text)
    except (RecursionError, _KeyTwice):
        return None
    except ValueError:
        value = _python_literal(text) if _PYTHON.search(text) else None
    return value if isinstance(value, list | dict) else None


class _KeyTwice(Exception):
    """Two values for one key: nobody can say which one is meant."""


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _KeyTwice
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_each_key_once)
_PYTHON = re.compile("True|False|None|'")


def _python_literal(text: str) -> Any:
    """The value in python style. A comment may take it back, as words beside it may, so it must hold none."""
    try:
        if _has_comment(text):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a model's odd back-slash is no warning to our user
            tree = ast.parse(text, mode="eval")
            for node in ast.walk(tree):
                if isinstance(node, ast.Dict):
                    keys = [ast.literal_eval(key) for key in node.keys if key is not None]
                    if len(set(keys)) < len(node.keys):
                        return None
            return ast.literal_eval(tree)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _has_comment(text: str) -> bool:
    """Raises `SyntaxError` where the text is no python."""
    try:
        return any(
            token.type == tokenize.COMMENT for token in tokenize.generate_tokens(io.StringIO(text).readline)
        )
    except tokenize.TokenError as error:
        raise SyntaxError(str(error)) from error


def list_in(value: Any, key: str, count: int, fits: Callable[[Any], bool]) -> list[Any] | None:
    """The list that a value is, or holds under its only `key`, if it has `count` items and all of them fit.

    A key beside it may say anything, also that the picture could not be loaded.
    """
    inner = value.get(key) if isinstance(value, dict) and len(value) == 1 else value
    right = isinstance(inner, list) and len(inner) == count > 0 and all(map(fits, inner))
    return inner if right else None


def lines_of(text: str) -> list[str]:
    """The lines of a reply without bullets, numbers, fences and quotes around them."""
    bullet = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.):])\s+")
    lines = [bullet.sub("", line).strip().strip('"').strip() for line in without_thoughts(text).splitlines()]
    return [line for line in lines if line and not line.startswith("```")]


_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+|(?<=[。！？])\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|st|prof|vs|approx|no|fig|e\.g|i\.e|etc)|\b[A-Za-z])\.\Z", re.IGNORECASE
)
#: Further back none begins. A line such as "a. a. a. …" would else be searched from its start each time.
_LONGEST_ABBREVIATION = len("approx.")


def sentences_of(text: str) -> list[str]:
    """The sentences of a text: split at line ends and behind full stops that end no abbreviation."""
    found: list[str] = []
    for line in text.splitlines():
        start = 0
        for end in _SENTENCE_END.finditer(line):
            nearby = max(start, end.start() - _LONGEST_ABBREVIATION)
            if not _ABBREVIATION.search(line, nearby, end.start()):
                found.append(line[start : end.end()].strip())
                start = end.end()
        found.append(line[start:].strip())
    return [sentence for sentence in found if any(letter.isalnum() for letter in sentence)]


_SLOT = re.compile(r"\[\[(\w+)\]\]")


class Instruction:
    """A text with slots such as `[[question]]`. A slot takes any text, also none and several lines."""

    def __init__(self, text: str) -> None:
        parts = _SLOT.split(text)
        self._fixed = parts[::2]
        self._slots = parts[1::2]
        slots = [f"(?P<{name}>.*?)" for name in self._slots]
        pattern = "".join(
            re.escape(fixed) + slot for fixed, slot in zip(self._fixed, [*slots, ""], strict=True)
        )
        self._pattern = re.compile(pattern, re.DOTALL)

    def fill(self, **values: object) -> str:
        written = [fixed + str(values[name]) for fixed, name in zip(self._fixed, self._slots, strict=False)]
        return "".join([*written, self._fixed[-1]])

    def match(self, text: str) -> dict[str, str] | None:
        """What stands in the slots when the text is this instruction filled in, else `None`."""
        text = text.strip()
        if any(fixed.strip() not in text for fixed in self._fixed):  # cheap, and nearly always enough
            return None
        found = self._pattern.fullmatch(text)
        return found.groupdict() if found else None


@dataclass(frozen=True, slots=True)
class Ask:
    """What to say to the model, and the JSON schema of the reply (`None`: free text)."""

    text: str
    schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    """What a reply says; `invalid` tells why it says nothing."""

    value: T | None
    invalid: str = ""


def strict_object(**properties: Any) -> dict[str, Any]:
    """A strict JSON schema: strict servers want an object at the root and every key required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def plain_answer(text: str) -> Read[str]:
    """A free answer, without the thoughts before it."""
    answer = without_thoughts(text)
    return Read(answer) if answer else Read(None, "the reply is empty")
