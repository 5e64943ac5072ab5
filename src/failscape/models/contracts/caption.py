"""What a captioner is asked: an image in a few short sentences."""

from __future__ import annotations

import re
from typing import ClassVar

from failscape.models.contracts.asking import Ask, Instruction, Read
from failscape.models.contracts.parsing import lines_of


class CaptionContract:
    """An image in, a few short sentences out."""

    label: ClassVar[str] = "caption/2"
    most: ClassVar[int] = 12
    instruction: ClassVar[Instruction] = Instruction(
        "Describe the image in three to six short sentences, one per line: the main thing, how it looks, "
        "what it does, what is around it, the background, and the style of the picture. "
        "Say only what can be seen. No introduction."
    )

    def ask(self) -> Ask:
        return Ask(self.instruction.fill())

    def read(self, text: str) -> Read[list[str]]:
        sentences = [
            sentence.strip()
            for line in lines_of(text)
            for sentence in re.split(r"(?<=[.!?])\s+", line)
            if any(letter.isalnum() for letter in sentence)
        ]
        if not sentences:
            return Read(None, "the captioner said nothing")
        return Read([sentence[:300] for sentence in sentences[: self.most]])
