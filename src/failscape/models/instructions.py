"""An instruction with slots: filled in to ask a model, matched to find out what somebody asks.

One text serves both ways, so what our contracts say and what our servers recognise cannot drift apart.
"""

from __future__ import annotations

import re

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
