"""Words for nodes: the caption that is sent to the target and the checks that are put to the judge.

Each value has one or more wordings; the first is canonical. A wording is a text with slots. `{thing}` is the
noun with what is already said about it, `{things}` makes it plural, `{scene}` is the noun with its article
and place. Without any of the three it is a sentence. Everything is deterministic and pure. `Understanding` is
the way back: which node a caption asks for, and which check a statement makes, as far as `Wording` says it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

from failscape.spaces.corpus import Corpus, Entity
from failscape.spaces.lattice import Node
from failscape.trials import Check


class Phrasing(NamedTuple):
    """How values of one kind of sub-category are worded when the corpus does not say.

    `rank` orders adjectives: a low rank stands further from the noun ("two small red wooden chairs").
    """

    rank: int
    wordings: tuple[str, ...]
    statement: str


_IS_VALUE = "{the thing} {is} {value}."
# A sentence of its own reads well whatever else is said; "a cat that is red by a wall" does not.
_QUALITY = ("{value} {thing}", _IS_VALUE)

PHRASINGS: dict[str, Phrasing] = {
    "count": Phrasing(0, ("{value} {things}",), "There are exactly {value} {things} in the image."),
    "size": Phrasing(20, _QUALITY, _IS_VALUE),
    "age": Phrasing(25, _QUALITY, _IS_VALUE),
    "condition": Phrasing(27, _QUALITY, _IS_VALUE),
    "shape": Phrasing(30, _QUALITY, _IS_VALUE),
    "texture": Phrasing(33, _QUALITY, _IS_VALUE),
    "colour": Phrasing(40, (*_QUALITY, "The colour of {the thing} is {value}."), _IS_VALUE),
    "pattern": Phrasing(45, _QUALITY, _IS_VALUE),
    "material": Phrasing(
        50,
        ("{thing} made of {value}", "{the thing} {is} made of {value}."),
        "{the thing} {is} made of {value}.",
    ),
    # Below material: what stands after the noun is joined in the order of rank, highest first, and
    # "a cat made of glass running" reads better than "a cat running made of glass".
    "action": Phrasing(48, ("{thing} {value}", _IS_VALUE), _IS_VALUE),
}

_ALIASES = {
    "color": "colour",
    "number": "count",
    "quantity": "count",
    "state": "condition",
    "pose": "action",
    "surface": "texture",
}

UNKNOWN_RANK = 35


_ONE = Phrasing(0, ("{value} {thing}",), "There is exactly {value} {thing} in the image.")


def phrasing_of(family: str, sub_category: str, value: str = "") -> Phrasing:
    """What is known about a sub-category by its name, else a plain sentence about it."""
    name = sub_category.lower()
    if family == "Base":
        single = name[:-1] if name.endswith("s") and not name.endswith("ss") else name
        known = PHRASINGS.get(_ALIASES.get(single, single))
        if known:
            return _ONE if known.rank == 0 and value.lower() in ("one", "1") else known
        return Phrasing(UNKNOWN_RANK, (f"The {name} of {{the thing}} is {{value}}.",), "")
    about = name.split("/")[0]
    return Phrasing(UNKNOWN_RANK, (f"The {family.lower()} {about} is {{value}}.",), "")


_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DETERMINERS = frozenset(("a", "an", "the", "some", "several", "many", "few", "no", *_NUMBERS))
_SAYS_AN = ("hour", "honest", "heir", "honour", "honor", "x-ray", "8", "11", "18")
_SAYS_A = ("uni", "use", "usu", "uti", "ura", "uku", "eu", "ewe", "one", "once", "u-", "ouija")
_SAYS_AN_AFTER_ALL = ("unin", "unim", "unid")
_IRREGULAR = {
    "man": "men",
    "woman": "women",
    "person": "people",
    "child": "children",
    "mouse": "mice",
    "goose": "geese",
    "tooth": "teeth",
    "foot": "feet",
    "ox": "oxen",
    "cactus": "cacti",
    "leaf": "leaves",
    "loaf": "loaves",
    "knife": "knives",
    "wolf": "wolves",
    "shelf": "shelves",
    "scarf": "scarves",
    "calf": "calves",
    "potato": "potatoes",
    "tomato": "tomatoes",
    "mango": "mangoes",
}
_COMPOUND_ENDINGS = ("man", "child", "mouse", "tooth", "foot")
_NOT_COMPOUND = frozenset(("human", "shaman", "talisman", "caiman", "ottoman", "german", "roman"))
_SAME = frozenset(
    ("sheep", "deer", "fish", "salmon", "moose", "bison", "shrimp", "squid", "aircraft", "scissors")
)


def with_article(phrase: str) -> str:
    """`an apple`, `a unicorn`, `an hour`; phrases that count or point already stay as they are."""
    first = phrase.split(" ", 1)[0].lower()
    if first in _DETERMINERS or first.isdigit():
        return phrase
    return f"{'an' if _starts_with_vowel_sound(first) else 'a'} {phrase}"


def _starts_with_vowel_sound(word: str) -> bool:
    odd = word.startswith(_SAYS_A) and not word.startswith(_SAYS_AN_AFTER_ALL)
    return word.startswith(_SAYS_AN) or (word[:1] in "aeiou" and not odd)


def plural_of(noun: str) -> str:
    """The plural of the last word of a noun; an entity of a corpus may state its own."""
    before, space, last = noun.rpartition(" ")
    return f"{before}{space}{_plural_word(last)}"


def _plural_word(word: str) -> str:
    low = word.lower()
    if low in _SAME:
        return word
    if low in _IRREGULAR:
        return word[:1] + _IRREGULAR[low][1:]
    for ending in _COMPOUND_ENDINGS:
        if low.endswith(ending) and low not in _NOT_COMPOUND:
            return word[: -len(ending)] + _IRREGULAR[ending]
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if low.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


#: How a caption starts when no value brings its own ("a pencil sketch of {scene}").
HEADS = ("an image of {scene}", "a picture of {scene}", "{scene}")

#: Enough to see whether a failure belongs to the concept or to one way of saying it.
MOST_VARIANTS = 12

#: Distractors per check. Six options keep a guessing judge at 17 %, and few judges mix them up.
MOST_CHOICES = 5

#: A value and the number of its wording.
Pick = tuple[int, int]


class Wording:
    """Captions and checks for the nodes of one corpus."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        phrasings = [phrasing_of(value.family, value.sub_category, value.name) for value in corpus.values]
        pairs = list(zip(corpus.values, phrasings, strict=True))
        self.wordings = [value.wordings or phrasing.wordings for value, phrasing in pairs]
        self.statements = [
            value.statement or ("" if value.wordings else phrasing.statement) for value, phrasing in pairs
        ]
        self._ranks = [phrasing.rank for phrasing in phrasings]
        self._entity_checks: dict[tuple[int, bool], Check] = {}

    def caption(self, node: Node, variant: int = 0) -> str:
        """The prompt for a node; `variant` 0 is canonical. Beyond `variants(node)` they repeat."""
        if variant:
            captions = self.captions(node)
            return captions[variant % len(captions)]
        return self._rotated(node, 0)

    def captions(self, node: Node) -> tuple[str, ...]:
        """All variants of a node's caption, the canonical one first.

        Start and values take their next wording at the same time, so that few variants show them all.
        """
        lengths = [len(HEADS), *(len(self.wordings[value]) for value in node.values)]
        rounds = min(math.lcm(*lengths), MOST_VARIANTS)
        return tuple(dict.fromkeys(self._rotated(node, variant) for variant in range(rounds)))

    def variants(self, node: Node) -> int:
        """How many captions a node has that differ."""
        return len(self.captions(node))

    def _rotated(self, node: Node, variant: int) -> str:
        picks = [(value, variant % len(self.wordings[value])) for value in node.values]
        return self.compose(node.entity, picks, variant % len(HEADS))

    def compose(self, entity: int, picks: Sequence[Pick], head: int = 0) -> str:
        """A caption from an entity and chosen wordings."""
        own, beside = self._set_apart(picks)
        texts = [(value, self.wordings[value][number]) for value, number in own]
        noun = self._noun(entity, plural=any("{things}" in text for _, text in texts))
        scene, sentences = self._scene(noun, texts, beside)
        if not any(_is_head(text) for _, text in texts):
            scene = HEADS[head].replace("{scene}", scene)
        return " ".join((f"{capitalised(scene)}.", *(capitalised(sentence) for sentence in sentences)))

    def _set_apart(self, picks: Sequence[Pick]) -> tuple[Sequence[Pick], str]:
        """What is said of the thing, and in words what stands beside it: nothing where there is one thing."""
        return picks, ""

    def _scene(
        self, noun: _Noun, texts: Sequence[tuple[int, str]], beside: str = ""
    ) -> tuple[str, list[str]]:
        """Adjectives join the noun from the inside out, then the article, then what surrounds it."""
        about_thing = [each for each in texts if "{thing}" in each[1] or "{things}" in each[1]]
        phrase = noun.text
        for value, text in sorted(about_thing, key=lambda each: -self._ranks[each[0]]):
            phrase = self._fill(text, value, noun, phrase)
        scene = f"{noun.introduce(phrase)} {beside}".rstrip()
        around = [each for each in texts if "{scene}" in each[1]]
        for value, text in sorted(around, key=lambda each: _is_head(each[1])):
            scene = self._fill(text, value, noun, scene)
        rest = [each for each in texts if each not in about_thing and each not in around]
        return scene, [self._fill(text, value, noun, "") for value, text in rest]

    def _fill(self, text: str, value: int, noun: _Noun, inner: str) -> str:
        name = self.corpus.values[value].name
        word = name.lower() if self._title_case else name
        text = text.replace("{value}", word).replace("{a value}", with_article(word))
        text = text.replace("{is}", noun.verb).replace("{the thing}", f"the {noun.text}")
        return text.replace("{thing}", inner).replace("{things}", inner).replace("{scene}", inner)

    def checks(self, node: Node) -> tuple[Check, ...]:
        """One check for the entity, then one per value, each with distractors of its own kind."""
        corpus, entity = self.corpus, node.entity
        plural = any("{things}" in self.wordings[value][0] for value in node.values)
        checks = [self._entity_check(entity, plural)]
        for value in node.values:
            about = corpus.values[value]
            choices = tuple(corpus.values[other].name for other in self._distractors(entity, value))
            checks.append(Check(about.kind, about.name, self.statement(entity, plural, value), choices))
        return tuple(checks)

    def _entity_check(self, entity: int, plural: bool) -> Check:
        """Many nodes have the same."""
        if (entity, plural) not in self._entity_checks:
            name = self.corpus.entities[entity].name
            choices = tuple(self.corpus.entities[other].name for other in self._other_entities(entity))
            check = Check("entity", name, self.statement(entity, plural), choices)
            self._entity_checks[entity, plural] = check
        return self._entity_checks[entity, plural]

    def statement(self, entity: int, plural: bool, value: int | None = None) -> str:
        """What a check says of an entity (`plural`: of several of them), or of one of its values."""
        noun = self._noun(entity, plural)
        if value is None:
            return f"The image shows {noun.introduce(noun.text)}."
        if self.statements[value]:
            return capitalised(self._fill(self.statements[value], value, noun, noun.text))
        text = self.wordings[value][0]
        scene, sentences = self._scene(noun, [(value, text)])
        if sentences:
            return capitalised(sentences[0])
        return f"The image {'is' if _is_head(text) else 'shows'} {scene}."

    def _distractors(self, entity: int, value: int) -> list[int]:
        """Other values of the sub-category, those plausible for the entity first."""
        others = _after(self.corpus.sub_categories[self.corpus.values[value].kind], value)
        allowed = self.corpus.allowed[entity]
        return sorted(others, key=lambda other: not allowed[other])[:MOST_CHOICES]

    def _other_entities(self, entity: int) -> list[int]:
        """Entities of the same sub-class, then of the same class, then any."""
        home = self.corpus.entities[entity]
        by_nearness = (
            self._members[home.upper_class, home.sub_class],
            self._members[home.upper_class, ""],
            range(len(self.corpus.entities)),
        )
        found: dict[int, None] = {}
        for members in by_nearness:
            found.update(dict.fromkeys(_after(members, entity)))
            if len(found) >= MOST_CHOICES:
                break
        return list(found)[:MOST_CHOICES]

    @cached_property
    def _members(self) -> dict[tuple[str, str], list[int]]:
        members: dict[tuple[str, str], list[int]] = {}
        for index, entity in enumerate(self.corpus.entities):
            members.setdefault((entity.upper_class, entity.sub_class), []).append(index)
            members.setdefault((entity.upper_class, ""), []).append(index)
        return members

    @cached_property
    def _title_case(self) -> bool:
        """FailureAtlas writes its names in title case; captions then put them in lower case."""
        return all(entity.name[:1].isupper() for entity in self.corpus.entities)

    def _noun(self, entity: int, plural: bool) -> _Noun:
        return self._noun_of(self.corpus.entities[entity], plural)

    def _noun_of(self, entity: Entity, plural: bool = False) -> _Noun:
        return _Noun(entity, plural, self._title_case)


class _Noun:
    """An entity's noun in the number that a caption needs."""

    def __init__(self, entity: Entity, plural: bool, lower: bool) -> None:
        name = entity.name.lower() if lower else entity.name
        many = entity.plural.lower() if lower else entity.plural
        self.text = (many or plural_of(name)) if plural else name
        self.article = "" if plural else entity.article
        self.verb = "are" if plural or (entity.article == "" and entity.plural == entity.name) else "is"

    def introduce(self, phrase: str) -> str:
        return with_article(phrase) if self.article == "a" else f"{self.article} {phrase}".strip()


def _is_head(text: str) -> bool:
    return "{scene}" in text and not text.startswith("{scene}")


def _after(group: Sequence[int], member: int) -> list[int]:
    """The others of a group, starting after `member`, so that distractors differ from value to value."""
    place = group.index(member)
    return [*group[place + 1 :], *group[:place]]


_SLOT = re.compile(r"\{[^}]*\}")
_CACHE_SIZE = 100_000

Parts = tuple[str, ...]


class Understanding:
    """Reads captions and statements of one corpus. Answers are remembered, up to a limit."""

    def __init__(self, wording: Wording) -> None:
        self._wording = wording
        self._corpus = wording.corpus
        remembered = lru_cache(maxsize=_CACHE_SIZE)
        self._node = remembered(lambda caption: next(self._matching_nodes(caption), None))
        self._check = remembered(lambda statement: next(self._matching_checks(statement), None))

    def node(self, caption: str) -> Node | None:
        """The node whose caption this is, in any of its wordings; `None` when there is none."""
        return self._node(caption)

    def check(self, statement: str) -> Check | None:
        """The kind and value that a statement is about."""
        return self._check(statement)

    def kind(self, name: str) -> str | None:
        """The sub-category's full name, whatever its case."""
        return self._kinds.get(name.lower())

    @cached_property
    def _kinds(self) -> dict[str, str]:
        return {kind.lower(): kind for kind in self._corpus.sub_categories}

    def _matching_nodes(self, caption: str) -> Iterator[Node]:
        text = caption.lower()
        by_kind: dict[str, list[Pick]] = {}
        for value, number, parts in self._wording_parts:
            if all(part in text for part in parts):
                by_kind.setdefault(self._corpus.values[value].kind, []).append((value, number))
        # Longer captions are explained by more values, so sets are tried from the largest down.
        choices = sorted(
            product(*([*picks, None] for picks in by_kind.values())), key=lambda one: one.count(None)
        )
        for entity in self._entities_in(text):
            for choice in choices:
                picks = sorted(pick for pick in choice if pick is not None)
                if any(self._wording.compose(entity, picks, head) == caption for head in range(len(HEADS))):
                    yield Node(entity, tuple(value for value, _ in picks))

    def _matching_checks(self, statement: str) -> Iterator[Check]:
        text, corpus, say = statement.lower(), self._corpus, self._wording.statement
        values = [
            value for value, parts in enumerate(self._statement_parts) if all(part in text for part in parts)
        ]
        # Statements about the background or the style may name no entity: then any will do.
        for entity in (*self._entities_in(text), 0):
            for plural in (False, True):
                if say(entity, plural) == statement:
                    yield Check("entity", corpus.entities[entity].name, statement)
                for value in values:
                    if say(entity, plural, value) == statement:
                        yield Check(corpus.values[value].kind, corpus.values[value].name, statement)

    @cached_property
    def _wording_parts(self) -> list[tuple[int, int, Parts]]:
        return [
            (value, number, self._parts(value, text))
            for value, texts in enumerate(self._wording.wordings)
            for number, text in enumerate(texts)
        ]

    @cached_property
    def _statement_parts(self) -> list[Parts]:
        wordings, statements = self._wording.wordings, self._wording.statements
        return [self._parts(value, text or wordings[value][0]) for value, text in enumerate(statements)]

    def _parts(self, value: int, text: str) -> Parts:
        """What stays of a wording whatever fills its slots, in lower case."""
        name = self._corpus.values[value].name
        full = text.replace("{value}", name).replace("{a value}", with_article(name))
        return tuple(part.strip().lower() for part in _SLOT.split(full) if part.strip())

    def _entities_in(self, text: str) -> list[int]:
        """Entities named in the text, longest names first."""
        found = [index for index, names in enumerate(self._entity_names) if any(n in text for n in names)]
        return sorted(found, key=lambda index: -len(self._corpus.entities[index].name))

    @cached_property
    def _entity_names(self) -> list[tuple[str, str]]:
        return [
            (entity.name.lower(), (entity.plural or plural_of(entity.name)).lower())
            for entity in self._corpus.entities
        ]
