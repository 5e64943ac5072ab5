"""What a language model is asked: how plausible phrases are, what skills a question takes, to mend a prompt.

A mended prompt must say the same: nothing that the prompt names may be lost, and little may be added. Else it
stays as it is, and the reason is kept.
"""

import random
from collections.abc import Sequence
from typing import Any, ClassVar

from failscape.models.contracts.asking import (
    Ask,
    Instruction,
    Read,
    json_values,
    list_in,
    read_answer,
    strict_object,
    without_thoughts,
)
from failscape.models.roles import Reply
from failscape.spaces.corpus.census import SMALL_WORDS
from failscape.stats.texts import words_of

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


#: The best score.
MOST = 10


class PlausibilityContract:
    """Phrases in, one whole number from 0 to 10 for each out."""

    label: ClassVar[str] = "plausibility/3"
    instruction: ClassVar[Instruction] = Instruction(
        "Each of these phrases may become the content of a picture. Say for each how much sense it makes, "
        "as a whole number from 0 to 10:\n"
        "0: the words do not fit together, nobody could say what the picture must show;\n"
        "5: unusual or fantastic, but it is clear what the picture must show;\n"
        "10: ordinary.\n\n"
        "[[phrases]]\n\n"
        'Reply with JSON only: an object whose "scores" is a list of [[count]] whole numbers, '
        'in the order of the phrases: {"scores": [number, …]}.'
    )

    def ask(self, phrases: Sequence[str], vote: int) -> Ask:
        shown = [phrases[place] for place in self.order(phrases, vote)]
        lines = "\n".join(f"{number}. {phrase}" for number, phrase in enumerate(shown, 1))
        count = len(phrases)
        score = {"type": "integer", "minimum": 0, "maximum": MOST}
        scores = {"type": "array", "items": score, "minItems": count, "maxItems": count}
        return Ask(self.instruction.fill(phrases=lines, count=count), strict_object(scores=scores))

    def order(self, phrases: Sequence[str], vote: int) -> list[int]:
        """In which order the phrases are shown; the first vote sees them as they are."""
        places = list(range(len(phrases)))
        if vote:
            random.Random(f"{vote}/{'/'.join(phrases)}").shuffle(places)
        return places

    def read(self, text: str, phrases: Sequence[str], vote: int) -> Read[list[int]]:
        """Scores in the order of `phrases`."""
        count = len(phrases)
        wanted = f"list of {count} whole numbers from 0 to {MOST}"
        found, invalid = read_answer(text, lambda value: list_in(value, "scores", count, _is_score), wanted)

        if found is None:
            return Read(None, invalid)
        shown = dict(zip(self.order(phrases, vote), found, strict=True))
        return Read([shown[place] for place in range(count)])


def _is_score(item: Any) -> bool:
    return isinstance(item, int) and not isinstance(item, bool) and 0 <= item <= MOST


MOST_LONGER = 1.6
MOST_MORE_WORDS = 4
#: Letters at the end of a word that may change: "cats" for "cat", "striped" for "stripes".
ENDING = 2


class PolishContract:
    """A prompt in, the same prompt in better English out."""

    label: ClassVar[str] = "polish/2"
    instruction: ClassVar[Instruction] = Instruction(
        "Mend the grammar and the flow of this prompt for a text-to-image model. Keep its meaning exactly: "
        "keep every thing, number and attribute that it names, with the same words for them; add nothing, "
        "leave nothing out. If it is fine, repeat it.\n\n"
        "Prompt: [[text]]\n\n"
        "Reply with the prompt only."
    )

    def messages(self, text: str) -> list[dict[str, Any]]:
        return [{"role": "user", "content": self.instruction.fill(text=text)}]

    def read(self, reply: Reply[str], text: str) -> tuple[str, str]:
        """The prompt to use, and why it is still `text`; without a reason it is the polished one."""
        if reply.invalid or reply.value is None:
            return text, reply.invalid or "the reply is empty"
        polished = " ".join(_bare(without_thoughts(reply.value)).split())
        reason = _unfaithful(polished, text)
        return (text, reason) if reason else (polished, "")


def _bare(text: str) -> str:
    """Without the label and the quotes that models like to put around."""
    text = text.strip()
    if text.lower().startswith("prompt:"):
        text = text[len("prompt:") :].strip()
    if len(text) > 1 and text[0] in "\"'“`" and text[-1] in "\"'”`":
        text = text[1:-1].strip()
    return text


def _unfaithful(polished: str, text: str) -> str:
    said, wanted = words_of(polished), words_of(text)
    if not said:
        return "the reply is empty"
    if len(said) > MOST_LONGER * len(wanted) + MOST_MORE_WORDS:
        return "the reply is much longer"
    for word in wanted:
        stem = word[: max(3, len(word) - ENDING)]
        if word not in SMALL_WORDS and not any(other.startswith(stem) for other in said):
            return "the reply leaves out a word of the prompt"
    return ""
