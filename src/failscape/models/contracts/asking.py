"""What all contracts are made of: an instruction with slots, what is sent, what a reply is read as.

A contract is pure and stateless, and owns its instruction and its parser. Its `label` (name and version) is
part of a model's identity, so that replies to another wording are never mixed up. Change an instruction or a
parser: raise its version. `recognise.py` matches the same `Instruction` that asks, so what contracts say and
what servers understand cannot drift apart.
"""

import re
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from failscape.models.contracts.parsing import without_thoughts

T = TypeVar("T")

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
