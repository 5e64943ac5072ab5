"""How a language model is asked whether attribute values make sense for an entity: many in one question.

The order of the phrases differs from vote to vote, so that a habit of the model (the first ones are fine)
does not add up.

How a language model is asked to mend the English of a prompt, and when its reply is not used.

The reply must say the same: nothing that the prompt names may be lost, and little may be added. Else the
prompt stays as it is, and the reason is kept.

The contract by which a language model names the primitive skills that a question takes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar

from failscape.models.contracts.contracts import Ask, Read
from failscape.models.contracts.parsing import Instruction, json_values, without_thoughts
from failscape.models.roles import Reply
from failscape.spaces.corpus.census import SMALL_WORDS
from failscape.spaces.mentions import words_of

MOST = 10
"""The best score."""


class PlausibilityContract:
    """Phrases in, one whole number from 0 to 10 for each out."""

    label: ClassVar[str] = "plausibility/1"
    instruction: ClassVar[Instruction] = Instruction(
        "Each of these phrases may become the content of a picture. Say for each how much sense it makes, "
        "as a whole number from 0 to 10:\n"
        "0: the words do not fit together, nobody could say what the picture must show;\n"
        "5: unusual or fantastic, but it is clear what the picture must show;\n"
        "10: ordinary.\n\n"
        "[[phrases]]\n\n"
        'Reply with JSON only: an object whose "scores" is a list of [[count]] whole numbers, '
        'in the order of the phrases, such as {"scores": [10, 0]}.'
    )

    def ask(self, phrases: Sequence[str], vote: int) -> Ask:
        shown = [phrases[place] for place in self.order(phrases, vote)]
        lines = "\n".join(f"{number}. {phrase}" for number, phrase in enumerate(shown, 1))
        count = len(phrases)
        score = {"type": "integer", "minimum": 0, "maximum": MOST}
        scores = {"type": "array", "items": score, "minItems": count, "maxItems": count}
        schema = {
            "type": "object",
            "properties": {"scores": scores},
            "required": ["scores"],
            "additionalProperties": False,
        }
        return Ask(self.instruction.fill(phrases=lines, count=count), schema)

    def order(self, phrases: Sequence[str], vote: int) -> list[int]:
        """In which order the phrases are shown; the first vote sees them as they are."""
        places = list(range(len(phrases)))
        if vote:
            random.Random(f"{vote}/{'/'.join(phrases)}").shuffle(places)
        return places

    def read(self, text: str, phrases: Sequence[str], vote: int) -> Read[list[int]]:
        """Scores in the order of `phrases`."""
        found = [scores for value in json_values(text) if (scores := _scores(value, len(phrases)))]
        if not found:
            return Read(None, f"the reply holds no list of {len(phrases)} whole numbers from 0 to {MOST}")
        if any(other != found[0] for other in found):
            return Read(None, "the reply holds several lists that differ")
        scores = [0] * len(phrases)
        for place, score in zip(self.order(phrases, vote), found[0], strict=True):
            scores[place] = score
        return Read(scores)


def _scores(value: Any, count: int) -> list[int] | None:
    if isinstance(value, dict):
        value = value.get("scores")
    if not isinstance(value, list) or len(value) != count:
        return None
    whole = [isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= MOST for one in value]
    return value if all(whole) else None


MOST_LONGER = 1.6
MOST_MORE_WORDS = 4
ENDING = 2
"""Letters at the end of a word that may change: "cats" for "cat", "striped" for "stripes"."""


class PolishContract:
    """A prompt in, the same prompt in better English out."""

    label: ClassVar[str] = "polish/1"
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


class SkillsContract:
    """A question in, one to five short names out, lower case."""

    label: ClassVar[str] = "skills/1"
    most: ClassVar[int] = 5
    instruction: ClassVar[Instruction] = Instruction(
        "Question about a picture: [[question]]\n\n"
        "Name the primitive visual skills that it takes to answer it, such as counting, colour, relation, "
        "reading text, comparison or negation: one to five names of one to three words, the most general "
        "that fit, no explanation.\n\n"
        'Reply with JSON only: {"skills": ["…"]}.'
    )
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "skills": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 5}
        },
        "required": ["skills"],
        "additionalProperties": False,
    }

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
