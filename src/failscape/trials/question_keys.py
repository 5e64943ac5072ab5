"""Keys of question hunts: which round and place planned a question, and what was done for it.

`q3.7` is the eighth item of the fourth round, `q3.7.0` its first question. What else is done for an item or a
question has a mark behind it: `q3.7?` writes the questions, `q3.7.0>` is the next turn of the talk. These
keys have no subject and no purpose letter: the hunt says what each trial was for. Stored keys never change.
"""

from enum import StrEnum

_FIRST_LETTER = "q"
_BETWEEN = "."


class QuestionStep(StrEnum):
    """What a trial does for an item or a question, as the mark behind its key."""

    WRITING = "?"
    EMBEDDING = "~"
    #: The second picture of a minimal pair.
    SECOND_PICTURE = "="
    NEXT_TURN = ">"
    AUDIT = "!"
    AUDIT_AGAIN = "!!"

    def of(self, key: str) -> str:
        """The key of this step for the item or question of `key`."""
        return f"{key}{self.value}"

    def is_last_of(self, key: str) -> bool:
        return key.endswith(self.value)

    def without(self, key: str) -> str:
        """The key that the step was done for, however often: `q3.7.0` for `q3.7.0>>`."""
        while key.endswith(self.value):
            key = key.removesuffix(self.value)
        return key


def key_of_item(number: int, place: int) -> str:
    """The key of an item: its round, and its place there."""
    return f"{_FIRST_LETTER}{number}{_BETWEEN}{place}"


def key_of_errand(what: str, name: object) -> str:
    """The key of something that a hunt finds out for itself: `qskill.counting`."""
    return f"{_FIRST_LETTER}{what}{_BETWEEN}{name}"


def key_of_question(item: str, number: int) -> str:
    """The key of the `number`-th question of an item."""
    return f"{item}{_BETWEEN}{number}"


def key_of_gate_question(place: int) -> str:
    """The key of a question that a gate asks again. It is no key of a hunt's own, so that it never counts."""
    return f"0{_BETWEEN}{place}"


def number_of_question(key: str) -> int:
    """The place of a question in its item; -1 for what is done for the item as a whole."""
    number = key.rpartition(_BETWEEN)[2].rstrip("".join(QuestionStep))
    return int(number) if number.isdigit() else -1


def is_turn_of(key: str, question: str) -> bool:
    """Whether a key is of a later turn of the talk that begins with `question`."""
    return key.startswith(QuestionStep.NEXT_TURN.of(question))


def is_question_key(key: str) -> bool:
    """Whether a question hunt of this version planned it."""
    return key.startswith(_FIRST_LETTER) and _BETWEEN in key


def is_early_question_key(key: str) -> bool:
    """Whether a question hunt of version 0.1 planned it: those keys begin with a number."""
    return key[:1].isdigit()
