"""What the doctor has drawn, and which statements hold of it and which cannot. Pure.

Samples come in pairs of the same kinds of attributes and of different values, so that one's checks can be
put to the other's picture.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from failscape.spaces.lattice import Lattice, Node
from failscape.spaces.prompt_list import ListedPrompt, PromptList
from failscape.spaces.wording import Wording
from failscape.trials import Check

#: Kinds of attributes that are examined: those that most nodes have, at least one of each family.
MOST_KINDS = 8


@dataclass(frozen=True, slots=True)
class Sample:
    """Something to draw, and what must then hold. `contrary` asks for other values of the same kinds."""

    prompt: str
    checks: tuple[Check, ...]
    contrary: tuple[Check, ...] = ()


class Samples:
    """Prompts of one lattice, in an order fixed by the seed."""

    def __init__(self, lattice: Lattice, seed: int = 0) -> None:
        self._lattice = lattice
        self._wording = Wording(lattice.corpus)
        self._luck = random.Random(f"doctor/{seed}")
        self.kinds = chosen_kinds(lattice)
        self._entities = self._spread_entities()

    def pair(self, kinds: Sequence[str]) -> tuple[Sample, Sample] | None:
        """Two samples that differ in entity and in the value of every kind; `None` where there are none."""
        for _ in range(30):
            first, second = self._node(kinds), self._node(kinds)
            if first and second and self._far_apart(first, second):
                return self._sample(first, second), self._sample(second, first)
        return self.pair(()) if kinds else None

    def plain(self, count: int) -> list[Sample]:
        """Entities alone, as far apart as the space allows."""
        nodes = [Node(entity) for entity in self._entities[:count]]
        return [self._sample(node, nodes[place - 1]) for place, node in enumerate(nodes)]

    def _node(self, kinds: Sequence[str]) -> Node | None:
        lattice, corpus = self._lattice, self._lattice.corpus
        entity = self._luck.choice(self._entities)
        values: list[int] = []
        for kind in kinds[: lattice.depth]:
            group = [v for v in corpus.sub_categories[kind] if lattice.plausible[entity] >> v & 1]
            if not group:
                return None
            values.append(self._luck.choice(group))
        node = Node(entity, tuple(sorted(values)))
        return node if node in lattice else None

    def _far_apart(self, first: Node, second: Node) -> bool:
        corpus = self._lattice.corpus
        one, other = corpus.entities[first.entity], corpus.entities[second.entity]
        apart = one.sub_class != other.sub_class or len({e.sub_class for e in corpus.entities}) == 1
        return first.entity != second.entity and apart and not set(first.values) & set(second.values)

    def _sample(self, node: Node, other: Node) -> Sample:
        """`contrary`: the other's entity, and on the same entity other values of each kind."""
        checks, wording, corpus = self._wording.checks(node), self._wording, self._lattice.corpus
        swapped = {corpus.values[value].kind: value for value in other.values}
        contrary = [wording.checks(Node(other.entity))[0]]
        for value in node.values:
            against = swapped.get(corpus.values[value].kind, value)
            contrary.append(wording.checks(Node(node.entity, (against,)))[1])
        return Sample(wording.caption(node), checks, tuple(contrary))

    def _spread_entities(self) -> list[int]:
        """One of each class, then of each sub-class, then the rest."""
        corpus, chosen = self._lattice.corpus, dict[int, None]()
        for attribute in ("upper_class", "sub_class", "name"):
            seen: set[str] = set()
            for index in self._lattice.entities:
                group = str(getattr(corpus.entities[index], attribute))
                if group not in seen:
                    seen.add(group)
                    chosen.setdefault(index)
        return list(chosen)


class ListedSamples:
    """Prompts of a list, those with other tags first. What holds of another prompt's picture is not known for
    sure, so contrary checks are those of a prompt that shares none with it."""

    def __init__(self, prompts: PromptList, seed: int = 0) -> None:
        chosen = list({one.tags: one for one in reversed(prompts.prompts)}.values())[::-1]
        others = [one for one in prompts.prompts if one not in chosen]
        self._prompts = [*chosen, *others]
        self._luck = random.Random(f"doctor/{seed}")
        self.kinds: list[str] = []

    def plain(self, count: int) -> list[Sample]:
        found = self._prompts[:count]
        return [self._sample(one, found[place - 1]) for place, one in enumerate(found)]

    def pair(self, kinds: Sequence[str]) -> tuple[Sample, Sample] | None:
        for _ in range(30):
            first, second = self._luck.choice(self._prompts), self._luck.choice(self._prompts)
            if not set(first.checks) & set(second.checks):
                return self._sample(first, second), self._sample(second, first)
        return None

    @staticmethod
    def _sample(prompt: ListedPrompt, other: ListedPrompt) -> Sample:
        return Sample(prompt.text, prompt.checks, tuple(c for c in other.checks if c not in prompt.checks))


def chosen_kinds(lattice: Lattice) -> list[str]:
    """Kinds with two or more values that can be asked for, the commonest of each family in turn."""
    corpus, counts = lattice.corpus, dict[str, int]()
    for kind, group in corpus.sub_categories.items():
        plausible = [sum(lattice.plausible[e] >> v & 1 for e in lattice.entities) for v in group]
        if lattice.depth and sum(number > 0 for number in plausible) >= 2:
            counts[kind] = sum(plausible)
    families: dict[str, list[str]] = {}
    for kind in sorted(counts, key=lambda kind: -counts[kind]):
        families.setdefault(kind.partition(":")[0], []).append(kind)
    return list(_in_turn(list(families.values())))[:MOST_KINDS]


def _in_turn(groups: list[list[str]]) -> Iterator[str]:
    for place in range(max(map(len, groups), default=0)):
        yield from (group[place] for group in groups if place < len(group))
