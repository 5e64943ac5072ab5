"""How a language model is asked for the primitive skills that a question takes."""

from __future__ import annotations

from typing import Any, ClassVar

from failscape.models.contracts.asking import Instruction, Read, strict_object
from failscape.models.contracts.parsing import json_values


class SkillsContract:
    """A question in, one to five short names out, lower case."""

    label: ClassVar[str] = "skills/2"
    most: ClassVar[int] = 5
    instruction: ClassVar[Instruction] = Instruction(
        "Question about a picture: [[question]]\n\n"
        "Name the primitive visual skills that it takes to answer it, such as counting, colour, relation, "
        "reading text, comparison or negation: one to five names of one to three words, the most general "
        "that fit, no explanation.\n\n"
        'Reply with JSON only: {"skills": ["…"]}.'
    )
    schema: ClassVar[dict[str, Any]] = strict_object(
        skills={"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 5}
    )

    def messages(self, question: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": self.instruction.fill(question=question)}]

    def read(self, text: str) -> Read[list[str]]:
        for value in json_values(text):
            inner = value.get("skills") if isinstance(value, dict) else value
            if isinstance(inner, list) and inner and all(isinstance(item, str) for item in inner):
                names = [" ".join(item.lower().split())[:40] for item in inner]
                kept = list(dict.fromkeys(name for name in names if name))[: self.most]
                if kept:
                    return Read(kept)
        return Read(None, "the model named no skills")
