"""Words for nodes with two things: "an image of a red cow to the left of a blue car", and their checks.

Checks are per thing and per relation. They are put as statements to call true or false under every contract:
multiple choice asks for *the* colour of a picture, and a picture of two things has two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from failscape.spaces.corpus import Corpus, Entity
from failscape.spaces.lattice import Node
from failscape.spaces.pairs import NONE, PairCorpus
from failscape.spaces.wording import Pick, Wording, capitalised
from failscape.trials import Check

#: The second thing where nothing names it.
ANY_OBJECT = Entity("object", "", "")


def wording_of(corpus: Corpus) -> Wording:
    """The wording that fits a corpus, with one thing or with two."""
    return PairWording(corpus) if isinstance(corpus, PairCorpus) else Wording(corpus)


class PairWording(Wording):
    """Captions and checks for the nodes of a pair space. Nodes of one thing are worded as ever."""

    def __init__(self, corpus: PairCorpus) -> None:
        super().__init__(corpus)
        self._pairs = corpus
        self._ranks = [
            self._ranks[value if bound == NONE else bound] for value, bound in enumerate(corpus.bound_of)
        ]

    def _set_apart(self, picks: Sequence[Pick]) -> tuple[Sequence[Pick], str]:
        own = [pick for pick in picks if pick[0] < self._pairs.own]
        added = [pick for pick in picks if pick[0] >= self._pairs.own]
        if not added:
            return own, ""
        relations = [self.wordings[value][number] for value, number in added if self._is_relation(value)]
        joined = relations[0] if relations else "and"
        return own, f"{joined} {self._second(added)}"

    def _is_relation(self, value: int) -> bool:
        return self._pairs.relation_of(value) is not None

    def _thing_among(self, added: Iterable[int]) -> int:
        """The entity that is named as the second thing, else −1."""
        return max((self._pairs.thing_of[value] for value in added), default=NONE)

    def _second(self, added: Sequence[Pick]) -> str:
        """The second thing with its article and what is bound to it: "a blue car", "another object"."""
        bound = [
            (value, self.wordings[value][number])
            for value, number in added
            if self._pairs.bound_of[value] != NONE
        ]
        thing = self._thing_among(value for value, _ in added)
        if thing == NONE and not bound:
            return "another object"
        noun = self._noun_of(ANY_OBJECT) if thing == NONE else self._noun(thing, plural=False)
        return self._scene(noun, bound)[0]

    def checks(self, node: Node) -> tuple[Check, ...]:
        """One check for each thing, each of its attributes, and the relation, in the order of the values."""
        added = [value for value in node.values if value >= self._pairs.own]
        own = Node(node.entity, tuple(value for value in node.values if value < self._pairs.own))
        about_first = super().checks(own)
        if not added:
            return about_first
        plain = tuple(replace(one, choices=()) if _is_of_thing(one) else one for one in about_first)
        return (*plain, *(self._check(node.entity, value, added) for value in added))

    def _check(self, entity: int, value: int, added: Sequence[int]) -> Check:
        about = self._pairs.values[value]
        return Check(about.kind, about.name, capitalised(self._said(entity, value, added)))

    def _said(self, entity: int, value: int, added: Sequence[int]) -> str:
        """What must hold of the second thing, or between the two."""
        first = self._noun(entity, plural=False)
        thing = self._thing_among(added)
        second = None if thing == NONE else self._noun(thing, plural=False)
        bound = self._pairs.bound_of[value]
        if self._is_relation(value):
            other = "another object" if second is None else f"the {second.text}"
            return f"the {first.text} {first.verb} {self.wordings[value][0]} {other}."
        if bound == NONE and second is not None:
            shown = second.introduce(second.text)
            return f"beside the {first.text}, the image shows {shown} as an object of its own."
        if second is not None:
            return self.statement(thing, False, bound)
        return f"beside the {first.text}, the image shows {self._second([(value, 0)])}."


def _is_of_thing(check: Check) -> bool:
    """Whether a check is about the thing, not about the scene or the picture."""
    return check.kind == "entity" or check.kind.startswith("Base:")
