"""English for captions: articles, plurals, and how common kinds of attributes are worded.

A wording is a text with slots. `{thing}` is the noun with what is already said about it, `{things}` makes
it plural, `{scene}` is the noun with its article and place. Without any of the three it is a sentence.
"""

from __future__ import annotations

from typing import NamedTuple


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
    if word.startswith(_SAYS_AN):
        return True
    if word.startswith(_SAYS_A):
        return word.startswith(_SAYS_AN_AFTER_ALL)
    return word[:1] in "aeiou"


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
    if low.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
