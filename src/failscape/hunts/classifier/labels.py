"""The classes that are hunted: their names, the labels that count as right, their superclasses."""

from __future__ import annotations

from dataclasses import dataclass

from failscape.trials import Check


@dataclass(frozen=True, slots=True)
class Target:
    """One class. `accept` are the labels that count as right, `aim` the wrong one of the targeted mode.

    `others` are classes of the same superclass, as distractors for judges that are given choices.
    """

    name: str
    accept: tuple[str, ...]
    superclass: str = ""
    aim: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def presence(self) -> Check:
        """The gate that every image has to pass: is the class visible at all?"""
        from failscape.spaces.wording import capitalised, with_article

        statement = f"{capitalised(with_article(self.name))} is visible in the image."
        return Check("entity", self.name, statement, self.others, gate=True)
