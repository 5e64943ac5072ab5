"""What all contracts are made of: an instruction with slots, what is sent, what a reply is read as.

A contract is pure and stateless, and owns its instruction and its parser. Its `label` (name and version) is
part of a model's identity, so that replies to another wording are never mixed up. Change an instruction or
a parser: raise its version. `vision.py` matches the same `Instruction` that asks, so what contracts say and
what servers understand cannot drift apart.

Finding the answer that a reply gives as JSON never raises and never guesses. A reply gives an answer when
it is JSON, or ends in it. JSON further up is none: it may be an example, a draft, an echo of the
instruction or words that the picture shows, and what follows may take it back. A fence, thoughts, and the
tags that models put around their answer are taken off first.
"""

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

#: Longer replies are rambling; what counts is at their end.
LONGEST = 20_000

_OPEN_THOUGHT = re.compile(r"<(?:think|thinking|thought|reasoning)>|◁think▷|\[THINK\]", re.IGNORECASE)
_CLOSED_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>|◁/think▷|\[/THINK\]", re.IGNORECASE)
_END_TOKENS = re.compile(r"(?:\s|<\|(?!end_of_box)[\w-]*\|>|</s>|<eos>|<end_of_turn>)+\Z")
_TAGGED = re.compile(r"<answer>(.*)</answer>\Z|<\|begin_of_box\|>(.*)<\|end_of_box\|>\Z", re.DOTALL)
_FENCE = re.compile(r"```[\w-]*[ \t]*\n?((?:(?!```).)*?)\s*```\Z", re.DOTALL)

_PAIRS = {"[": "]", "{": "}"}
_OPENING = re.compile(r"[\[{]")
_DEEPEST = 20
_MOST_TRIES = 100

#: Words of those who do not decide, in the languages that judges have been seen to fall into.
_DECLINES = re.compile(
    r"\b(?:can ?not|can[’']?t|unable to|not able to|impossible to)\s+(?:\w+\s+)?"
    r"(?:determine|decide|tell|judge|assess|evaluate|verify|answer|respond|assist|help|process|access|view"
    r"|open|see (?:the|this|any|an) (?:image|picture|photo))"
    r"|\b(?:do|does|did)(?: not|n[’']?t) know\b|\bnot (?:sure|certain)\b"
    r"|\bno (?:image|picture) (?:was|is|has)\b"
    r"|\bnicht (?:sicher|entscheiden|beurteilen|beantworten|erkennen)\b|\bweiß (?:es )?nicht\b"
    r"|\bne (?:peux|sais|suis)\b[^.\n]{0,20}\bpas\b|\bno (?:puedo|sé|estoy segur)"
    r"|\bnão (?:posso|consigo|sei)\b|\bnon (?:posso|so|riesco)\b|\bне (?:могу|знаю|уверен)"
    r"|无法|不能(?:确定|判断|回答)|不知道|不确定"
    r"|できません|わかりません|分かりません|알 수 없|할 수 없|모르겠",
    re.IGNORECASE,
)

_EXAMPLE = re.compile(
    r"(?:\bexample|\bsuch as\b|\bfor instance\b|\be\.g\.|\bz\. ?B\.|\bexemple\b|\bejemplo\b"
    r"|例如|例えば|たとえば)[^\n]{0,80}\Z",
    re.IGNORECASE,
)
#: What a lead-in that ends in a colon must hold: "The sign says: …" announces no answer.
_ANSWER_WORDS = re.compile(
    r"\b(?:answers?|json|reply|response|results?|output|verdict|decisions?|judge?ments?|evaluation|final"
    r"|here|sure|therefore|so|thus"
    r"|antwort|ergebnis|réponse|respuesta|resposta|risposta|ответ)\b|答案|回答|结果|答え|결과|정답|답",
    re.IGNORECASE,
)


class _NotGiven(Exception):
    """Why a reply gives no answer."""


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
    """The answer that the reply gives, as `decode` reads JSON; or `None`, and why there is no `wanted`."""
    try:
        value, others = _final_json(text)
    except _NotGiven as reason:
        return None, f"the reply gives no {wanted}: {reason}"
    answer = decode(value)
    if answer is None:
        return None, f"the reply gives no {wanted}: its JSON is of another form"
    if any(found is not None and found != answer for found in map(decode, others)):
        return None, f"the reply gives no {wanted}: it holds several that differ"
    return answer, ""


def _final_json(text: str) -> tuple[Any, list[Any]]:
    """The JSON that the reply is or ends in, and all JSON before it."""
    said = _after_thoughts(text)
    if _OPEN_THOUGHT.search(said):
        raise _NotGiven("it ends in the middle of a thought")
    said = _unwrapped(said)
    if said[:1] in _PAIRS and (whole := literal(said)) is not None:  # nearly all replies of good servers
        return whole, []
    if said[-1:] not in _PAIRS.values():
        raise _NotGiven("words follow its JSON" if _OPENING.search(said) else "it holds no JSON")
    spans = list(_spans(said))
    if not spans or spans[-1][1] != len(said):
        raise _NotGiven("its JSON is not whole")
    start, _, value = spans[-1]
    _check_lead(said[:start])
    return value, [found for _, _, found in spans[:-1]]


def _unwrapped(said: str) -> str:
    """The end of a reply without end tokens, a full stop, and tags or a fence around what it ends in."""
    said = _END_TOKENS.sub("", said[-LONGEST:]).strip()
    for pattern in (_TAGGED, _FENCE):
        if found := pattern.search(said):
            inner = next(group for group in found.groups() if group is not None)
            said = f"{said[: found.start()].rstrip()}\n{inner}".strip()
    return said.rstrip(".。").rstrip()


def _check_lead(lead: str) -> None:
    """Words before the JSON must not take it back, call it an example, or lead to something else."""
    if _is_open(lead):
        raise _NotGiven("its JSON is not whole")
    if _DECLINES.search(lead):
        raise _NotGiven("it says that it does not decide")
    last = lead.rstrip(" \t\n*_")[-200:]
    if _EXAMPLE.search(last):
        raise _NotGiven("its JSON is an example")
    if last.endswith((":", "：")):
        if not _ANSWER_WORDS.search(re.split(r"[.!?。\n]", last.rstrip(":： *_"))[-1]):
            raise _NotGiven("its JSON is not announced as the answer")
    elif last and not lead.rstrip(" \t*_").endswith("\n"):
        raise _NotGiven("its JSON is in the middle of a sentence")


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


def _is_open(text: str) -> bool:
    """Whether a bracket of the text waits for its end: what follows is inside something that breaks off."""
    depth = 0
    for letter in text:
        if letter in "[{":
            depth += 1
        elif letter in "]}" and depth:
            depth -= 1
    return depth > 0


def _closing(text: str, start: int) -> int:
    """Where the bracket opened at `start` is closed (one past it); 0 when it never is."""
    awaited: list[str] = []
    quote = ""
    position = start
    while position < len(text):
        letter = text[position]
        if quote:
            if letter == "\\":
                position += 1
            elif letter == quote:
                quote = ""
        elif letter == '"':
            quote = letter
        elif letter in _PAIRS:
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
    try:
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


def list_in(value: Any, key: str, count: int, fits: Callable[[Any], bool]) -> list[Any] | None:
    """The list that a value is, or holds under `key`, if it has `count` items and all of them fit."""
    inner = value.get(key) if isinstance(value, dict) else value
    right = isinstance(inner, list) and len(inner) == count > 0 and all(map(fits, inner))
    return inner if right else None


def lines_of(text: str) -> list[str]:
    """The lines of a reply without bullets, numbers, fences and quotes around them."""
    bullet = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.):])\s+")
    lines = [bullet.sub("", line).strip().strip('"').strip() for line in without_thoughts(text).splitlines()]
    return [line for line in lines if line and not line.startswith("```")]


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
