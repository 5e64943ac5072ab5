"""Two things in one picture: a corpus with a second thing and relations added, and the lattice over it.

A node of a pair space is still an entity with attribute values. The entity is the first thing. Three sorts of
values are added to those of the corpus:

- `Relation: is=left of`: how the first thing stands to the second;
- `Second: thing=car`: what the second thing is;
- `Second: colour=blue`: an attribute bound to the second thing.

So `cow; Base: colour=red; Relation: is=left of; Second: thing=car` asks for a red cow to the left of a car.
Without `Second: thing`, the second thing is any object: "a red cow to the left of another object". Every
subset of a node's values is therefore a node, and the subjects of nodes with one thing are what they were.

Leaving out the first thing is the one step that is no subset: what is said of the second thing is then said
of it alone. `Reflection` finds that node, so that "a cow and a guitar" is minimal only if "a guitar" passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from failscape.errors import ConfigError, suggest
from failscape.spaces.corpus import Corpus, Value
from failscape.spaces.lattice import Lattice, Node, NodeCounts
from failscape.spaces.wording import phrasing_of

RELATION_FAMILY = "Relation"
SECOND_FAMILY = "Second"
PAIR_FAMILIES = (RELATION_FAMILY, SECOND_FAMILY)

#: The kinds of the values that are added. Attributes of the second thing are `Second: colour` and the like.
RELATION_KIND = f"{RELATION_FAMILY}: is"
SECOND_THING_KIND = f"{SECOND_FAMILY}: thing"

#: A node as plain numbers: the place of its entity among those of the lattice, then its values.
Key = tuple[int, ...]

NONE = -1


@dataclass(frozen=True, slots=True)
class ThingRelation:
    """How the first thing can stand to the second.

    Attributes:
        phrases: What stands between the two things in a caption; the first is canonical.
        inverse: The relation of the second thing to the first, where there is a word for it.
        settles: Attributes that it says something about, so that they cannot be asked for beside it.
    """

    phrases: tuple[str, ...]
    inverse: str = ""
    settles: tuple[str, ...] = ()


RELATIONS: dict[str, ThingRelation] = {
    "left of": ThingRelation(("to the left of", "on the left side of"), "right of"),
    "right of": ThingRelation(("to the right of", "on the right side of"), "left of"),
    "above": ThingRelation(("above",), "below"),
    "below": ThingRelation(("below",), "above"),
    "in front of": ThingRelation(("in front of",), "behind"),
    "behind": ThingRelation(("behind",), "in front of"),
    "on": ThingRelation(("on top of", "standing on"), "under"),
    "under": ThingRelation(("under", "underneath"), "on"),
    "inside": ThingRelation(("inside",)),
    "holding": ThingRelation(("holding",)),
    "larger than": ThingRelation(("larger than", "bigger than"), "smaller than", ("size",)),
    "smaller than": ThingRelation(("smaller than",), "larger than", ("size",)),
    "same colour as": ThingRelation(("of the same colour as",), "same colour as", ("colour", "color")),
}

#: Relations that any two things can stand in.
USUAL_RELATIONS = ("left of", "right of", "above", "below", "in front of", "larger than", "same colour as")


@dataclass(frozen=True, eq=False)
class PairCorpus(Corpus):
    """A corpus with the values of a second thing. Those of the corpus itself keep their numbers.

    Attributes:
        own: How many values the corpus itself has.
        thing_of: By value, the entity that it names as the second thing, else −1.
        bound_of: By value, the value of the corpus that it binds to the second thing, else −1.
    """

    own: int
    thing_of: tuple[int, ...]
    bound_of: tuple[int, ...]

    def relation_of(self, value: int) -> ThingRelation | None:
        """The relation that a value stands for."""
        about = self.values[value]
        return RELATIONS[about.name] if about.kind == RELATION_KIND else None


def pair_corpus(
    corpus: Corpus, entities: Sequence[int], families: Sequence[str], relations: Sequence[str]
) -> PairCorpus:
    """The corpus with second things and relations.

    Args:
        corpus: What can be asked of one thing.
        entities: The entities that may be second things.
        families: The families of the space. Attributes of `Base` are bound to the second thing, too.
        relations: Names of relations, of `RELATIONS`.

    Raises:
        ConfigError: A relation is unknown, or there are fewer than two entities.
    """
    for name in relations:
        if name not in RELATIONS:
            raise ConfigError(f"there is no relation {name!r}", suggest(name, RELATIONS))
    if len(entities) < 2:
        raise ConfigError(
            f"`space.pairs` needs two or more entities, but {len(entities)} is chosen",
            "name more of them in space.entities",
        )
    counted = _counted_kinds(corpus)
    usual = [value for value in range(len(corpus.values)) if corpus.values[value].kind not in counted]
    bound = [value for value in usual if "Base" in families and _can_bind(corpus, value)]
    values = [
        *(Value(name, RELATION_FAMILY, "is", RELATIONS[name].phrases) for name in dict.fromkeys(relations)),
        *(Value(corpus.entities[entity].name, SECOND_FAMILY, "thing", ("{value}",)) for entity in entities),
        *(_bound_value(corpus, value) for value in bound),
    ]
    own = len(corpus.values)
    before_things = own + len(values) - len(entities) - len(bound)
    thing_of = [NONE] * before_things + list(entities) + [NONE] * len(bound)
    bound_of = [NONE] * (before_things + len(entities)) + bound
    made = PairCorpus(
        corpus.name,
        corpus.entities,
        (*corpus.values, *values),
        _allowed(corpus, thing_of),
        np.zeros((len(thing_of), len(thing_of)), dtype=np.bool_),
        corpus.sample,
        own,
        tuple(thing_of),
        tuple(bound_of),
    )
    _exclude(made, corpus)
    return made


def _counted_kinds(corpus: Corpus) -> set[str]:
    """Sub-categories that say how many there are: a scene of two things has one of each."""
    return {value.kind for value in corpus.values if "{things}" in _canonical(value)}


def _canonical(value: Value) -> str:
    wordings = value.wordings or phrasing_of(value.family, value.sub_category, value.name).wordings
    return wordings[0]


def _can_bind(corpus: Corpus, value: int) -> bool:
    """Only what can be said within a noun phrase: "a blue car"."""
    return corpus.values[value].family == "Base" and bool(_phrase_wordings(corpus.values[value]))


def _phrase_wordings(value: Value) -> tuple[str, ...]:
    wordings = value.wordings or phrasing_of(value.family, value.sub_category, value.name).wordings
    return tuple(text for text in wordings if "{thing}" in text)


def _bound_value(corpus: Corpus, value: int) -> Value:
    about = corpus.values[value]
    return Value(about.name, SECOND_FAMILY, about.sub_category, _phrase_wordings(about))


def _allowed(corpus: Corpus, thing_of: Sequence[int]) -> NDArray[np.bool_]:
    """Two things of one kind are a matter of counting, not of pairs."""
    added = len(thing_of) - len(corpus.values)
    allowed = np.hstack([corpus.allowed, np.ones((len(corpus.entities), added), dtype=np.bool_)])
    for value, entity in enumerate(thing_of):
        if entity != NONE:
            allowed[entity, value] = False
    return allowed


def _exclude(made: PairCorpus, corpus: Corpus) -> None:
    """Fill in which values exclude each other."""
    conflicts = made.conflicts
    conflicts[: made.own, : made.own] = corpus.conflicts
    about_pairs = np.arange(len(made.values)) >= made.own
    counted = _counted_kinds(corpus)
    for value in range(made.own):
        about = made.values[value]
        if about.kind in counted or _is_said_of_the_thing(about):
            conflicts[value, about_pairs] = True
    for value in range(made.own, len(made.values)):
        for other in range(value + 1, len(made.values)):
            conflicts[value, other] = _exclude_each_other(made, corpus, value, other)
        relation = made.relation_of(value)
        if relation is not None:
            conflicts[value, : made.own] |= _settled_by(made, relation)
    np.copyto(conflicts, conflicts | conflicts.T)


def _is_said_of_the_thing(value: Value) -> bool:
    """Whether something about the scene or the picture is worded as if there were one thing in it."""
    return value.family != "Base" and "{thing}" in _canonical(value)


def _settled_by(made: PairCorpus, relation: ThingRelation) -> NDArray[np.bool_]:
    """Values of the first thing that a comparison would contradict. Its colour may be said: the second
    thing then has to have it, too."""
    compared = [name for name in relation.settles if name not in ("colour", "color")]
    return np.array([value.sub_category.lower() in compared for value in made.values[: made.own]], np.bool_)


def _exclude_each_other(made: PairCorpus, corpus: Corpus, value: int, other: int) -> bool:
    """Of two added values, the first of which stands before the other."""
    bound = made.bound_of[other]
    if bound == NONE:
        return False
    entity, bound_before = made.thing_of[value], made.bound_of[value]
    relation = made.relation_of(value)
    if entity != NONE:
        return not corpus.allowed[entity, bound]
    if bound_before != NONE:
        return bool(corpus.conflicts[bound_before, bound])
    return relation is not None and made.values[other].sub_category.lower() in relation.settles


class Reflection:
    """What is left of a node without its first thing: the second thing alone, and what is said of it.

    A relation is kept where it has a word for the other direction: without its first thing, "a cow to the
    left of a car" asks for a car to the right of something.
    """

    def __init__(self, corpus: PairCorpus, entities: Sequence[int]) -> None:
        places = {entity: place for place, entity in enumerate(entities)}
        inverse = {name: relation.inverse for name, relation in RELATIONS.items()}
        number = {value.name: at for at, value in enumerate(corpus.values) if value.kind == RELATION_KIND}
        #: By value: the place of the entity that it names as the second thing, else −1.
        self.places = np.array([places.get(entity, NONE) for entity in corpus.thing_of], dtype=np.int64)
        #: By value: the value that says the same of the second thing alone, else −1.
        self.values = np.array(corpus.bound_of, dtype=np.int64)
        for name, value in number.items():
            self.values[value] = number.get(inverse[name], NONE)
        self._place_of = self.places.tolist()
        self._value_of = self.values.tolist()

    def of(self, key: Key) -> Key | None:
        """The node without its first thing; `None` where the second is any object."""
        place = max((self._place_of[value] for value in key[1:]), default=NONE)
        if place == NONE:
            return None
        kept = sorted(self._value_of[value] for value in key[1:] if self._value_of[value] != NONE)
        return (place, *kept)


class PairLattice(Lattice):
    """Nodes of one thing, and of two things with a relation and attributes bound to each."""

    corpus: PairCorpus

    @cached_property
    def reflection(self) -> Reflection:
        return Reflection(self.corpus, self.entities)

    @cached_property
    def with_two_things(self) -> int:
        """How many nodes ask for more than one thing."""
        about_pairs = range(self.corpus.own, len(self.corpus.values))
        counts = NodeCounts(self)
        of_one_thing = (counts.without(about_pairs, layer).sum() for layer in range(self.depth + 1))
        return len(self) - int(sum(of_one_thing))

    def parents(self, node: Node) -> list[Node]:
        """The nodes with one value less, and the second thing alone where that is one step away."""
        found = super().parents(node)
        alone = self.without_first(node)
        if alone is not None and len(alone.values) == len(node.values) - 1:
            found.append(alone)
        return found

    def ancestors(self, node: Node) -> list[Node]:
        found = super().ancestors(node)
        alone = self.without_first(node)
        if alone is not None:
            found += [*super().ancestors(alone), alone]
        return found

    def without_first(self, node: Node) -> Node | None:
        """The second thing alone with what is said of it; `None` where nothing names it."""
        key = self.reflection.of((self._position[node.entity], *node.values))
        return None if key is None else Node(self.entities[key[0]], key[1:])


def pair_lattice(
    corpus: Corpus,
    entities: str | Sequence[str],
    families: Sequence[str],
    depth: int,
    relations: Sequence[str] = USUAL_RELATIONS,
) -> PairLattice:
    """The lattice of one and two things over the chosen entities and families of a corpus."""
    chosen = Lattice(corpus, entities, families, depth=0).entities
    made = pair_corpus(corpus, chosen, families, relations)
    return PairLattice(made, entities, (*families, *PAIR_FAMILIES), depth)
