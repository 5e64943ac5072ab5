"""What a questioner is asked: to write questions about images."""

from __future__ import annotations

from typing import ClassVar

from failscape.models.contracts.asking import Ask, Instruction, Read, strict_object
from failscape.models.contracts.parsing import json_values, lines_of

_EACH_QUESTION = (
    "Each is one single, objective question that can be answered from the image alone, in a few "
    "words, and has one right answer.\n\n"
    'Reply with JSON only: {"questions": ["…"]}.'
)


class ProposeContract:
    """Images and guidance in, questions out."""

    label: ClassVar[str] = "propose/2"
    instruction: ClassVar[Instruction] = Instruction("Write [[count]] about the image.\n" + _EACH_QUESTION)
    guided: ClassVar[Instruction] = Instruction(
        "Write [[count]] about the image, following this guidance: [[guidance]].\n" + _EACH_QUESTION
    )

    def ask(self, guidance: str, count: int) -> Ask:
        instruction = self.guided if guidance else self.instruction
        many = f"{count} different question{'s' if count > 1 else ''}"
        text = instruction.fill(count=many, guidance=guidance)
        questions = {"type": "array", "items": {"type": "string"}, "minItems": count, "maxItems": count}
        return Ask(text, strict_object(questions=questions))

    def read(self, text: str, count: int) -> Read[list[str]]:
        """At most `count` different questions; fewer are better than none."""
        questions: list[str] = []
        for value in json_values(text):
            inner = value.get("questions") if isinstance(value, dict) else value
            if isinstance(inner, list) and all(isinstance(item, str) for item in inner):
                questions += inner
        if not questions:
            questions = [line for line in lines_of(text) if line.endswith("?")]
        kept = list(dict.fromkeys(question.strip() for question in questions if question.strip()))[:count]
        return Read(kept) if kept else Read(None, "the questioner proposed no question")
