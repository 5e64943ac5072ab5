"""How a language model is asked to mend the English of a prompt, and when its reply is not used.

The reply must say the same: nothing that the prompt names may be lost, and little may be added. Else the
prompt stays as it is, and the reason is kept.
"""

from __future__ import annotations

from typing import Any, ClassVar

from failscape.models.contracts.asking import Instruction
from failscape.models.contracts.parsing import without_thoughts
from failscape.models.roles import Reply
from failscape.spaces.corpus.census import SMALL_WORDS
from failscape.spaces.mentions import words_of

MOST_LONGER = 1.6
MOST_MORE_WORDS = 4
ENDING = 2
"""Letters at the end of a word that may change: "cats" for "cat", "striped" for "stripes"."""


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
