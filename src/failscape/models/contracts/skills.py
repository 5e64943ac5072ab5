"""How a language model is asked for the primitive skills of a question, and to define a skill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from failscape.models.contracts.asking import Instruction, Read, strict_object
from failscape.models.contracts.parsing import json_values

LONGEST_DEFINITION = 200


class SkillsContract:
    """A question in, one to five short names out, lower case. `known` are names to use where they fit."""

    label: ClassVar[str] = "skills/3"
    most: ClassVar[int] = 5
    instruction: ClassVar[Instruction] = Instruction(
        "Question about a picture: [[question]]\n\n"
        "Name the primitive visual skills that it takes to answer it: one to five names of one to three "
        "words, the most general that fit, no explanation. Use these names where they fit, and others only "
        "where none does: [[known]].\n\n"
        'Reply with JSON only: {"skills": ["…"]}.'
    )
    schema: ClassVar[dict[str, Any]] = strict_object(
        skills={"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 5}
    )

    def messages(self, question: str, known: Sequence[str] = ()) -> list[dict[str, str]]:
        named = ", ".join(known) or "counting, colour, relation, reading text, comparison, negation"
        return [{"role": "user", "content": self.instruction.fill(question=question, known=named)}]

    def read(self, text: str) -> Read[list[str]]:
        for value in json_values(text):
            inner = value.get("skills") if isinstance(value, dict) else value
            if isinstance(inner, list) and inner and all(isinstance(item, str) for item in inner):
                names = [" ".join(item.lower().split())[:40] for item in inner]
                kept = list(dict.fromkeys(name for name in names if name))[: self.most]
                if kept:
                    return Read(kept)
        return Read(None, "the model named no skills")


class DefinitionContract:
    """A skill and some questions in; a definition out, and by it which of the questions take the skill."""

    label: ClassVar[str] = "definition/1"
    instruction: ClassVar[Instruction] = Instruction(
        "A visual skill is called: [[name]]\n\nQuestions about pictures:\n[[questions]]\n\n"
        "Define the skill in one sentence. Then say for each question, in order, whether it takes this skill "
        "to answer it.\n\n"
        'Reply with JSON only: {"definition": "…", "takes": [true or false, …]}.'
    )
    schema: ClassVar[dict[str, Any]] = strict_object(
        definition={"type": "string"}, takes={"type": "array", "items": {"type": "boolean"}}
    )

    def messages(self, name: str, questions: Sequence[str]) -> list[dict[str, str]]:
        listed = "\n".join(f"{number}. {text}" for number, text in enumerate(questions, 1))
        return [{"role": "user", "content": self.instruction.fill(name=name, questions=listed)}]

    def read(self, text: str, questions: int) -> Read[tuple[str, list[bool]]]:
        for value in json_values(text):
            if not isinstance(value, dict) or not isinstance(value.get("definition"), str):
                continue
            takes = value.get("takes")
            if (
                isinstance(takes, list)
                and len(takes) == questions
                and all(isinstance(one, bool) for one in takes)
            ):
                return Read((" ".join(value["definition"].split())[:LONGEST_DEFINITION], takes))
        return Read(None, "the model did not define the skill in form")
