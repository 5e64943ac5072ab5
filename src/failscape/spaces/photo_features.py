"""What is known of a photo, as clauses: light, place, crowding, text and numbers, from its caption. Pure.

Columns of the metadata with short values are clauses too, and what a judge sees in a photo. A photo without
any of these can be asked about, but no mode is narrowed by what it shows.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from failscape.spaces.ordinals import NUMBERS, Clause
from failscape.trials import Check, without_question_separators

WORDS: Final[dict[str, dict[str, str]]] = {
    "light": {
        "night": r"night|dark|midnight|moonlit",
        "dusk": r"dusk|dawn|sunset|sunrise|twilight",
        "day": r"daylight|sunny|daytime|noon|bright",
    },
    "setting": {
        "indoors": r"indoor|indoors|room|kitchen|office|bedroom|bathroom|restaurant|shop|store",
        "outdoors": r"outdoor|outdoors|street|beach|park|field|forest|mountain|sea|road|garden|snow",
    },
    "crowding": {"crowded": r"crowd|crowded|group|many|several|dozens|full of", "one": r"single|alone|lone"},
    "text": {"yes": r"sign|signs|text|label|written|poster|billboard|words|letters"},
    "people": {"yes": r"man|woman|people|person|child|children|boy|girl|men|women|crowd"},
}
_STATEMENTS: Final = {
    ("light", "night"): "It is night in the picture.",
    ("light", "dusk"): "The picture was taken at dawn or dusk.",
    ("light", "day"): "The picture was taken in daylight.",
    ("setting", "indoors"): "The picture was taken indoors.",
    ("setting", "outdoors"): "The picture was taken outdoors.",
    ("crowding", "crowded"): "The picture is crowded: it shows more than five things or people.",
    ("crowding", "one"): "The picture shows just one thing or person.",
    ("text", "yes"): "There is readable text in the picture.",
    ("people", "yes"): "There is a person in the picture.",
}
#: What a judge is asked of a photo, to know its clauses.
LOOKS_FOR: Final = tuple(
    Check(name, value, statement, note=True) for (name, value), statement in _STATEMENTS.items()
)

#: A word is a thing worth a clause if at least so many captions name it, and at most this share of them.
LEAST_SHOWN, MOST_SHARE = 3, 0.6

_NO_THINGS: Final = frozenset(
    [
        "a",
        "an",
        "the",
        "and",
        "or",
        "of",
        "in",
        "on",
        "at",
        "to",
        "with",
        "by",
        "for",
        "from",
        "is",
        "are",
        "was",
        "were",
        "be",
        "it",
        "its",
        "this",
        "that",
        "there",
        "his",
        "her",
        "their",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "some",
        "many",
        "several",
        "few",
        "very",
        "near",
        "next",
        "front",
        "behind",
        "beside",
        "top",
        "side",
        "picture",
        "photo",
        "image",
        "view",
        "background",
        "foreground",
        "large",
        "small",
        "big",
        "little",
        "old",
        "young",
        "new",
        "white",
        "black",
        "red",
        "green",
        "blue",
        "yellow",
        "brown",
        "grey",
        "gray",
        "standing",
        "sitting",
        "holding",
        "looking",
        "wearing",
        "walking",
        "while",
        "into",
        "over",
        "under",
        "above",
        "below",
        "between",
        "through",
        "other",
        "others",
        "another",
        "one",
        "it's",
        "has",
        "have",
    ]
)
#: A value of the metadata with more letters is no category.
LONGEST: Final = 24

_FIGURES: Final = {str(number): word for number, word in enumerate(NUMBERS)}


def common_things(captions: Sequence[str]) -> frozenset[str]:
    """Words that enough captions name, and not nearly all: what a picture may show or not."""
    counts = Counter(word for caption in captions for word in set(_words(caption)))
    most = MOST_SHARE * len(captions)
    return frozenset(word for word, number in counts.items() if LEAST_SHOWN <= number <= most)


def _words(caption: str) -> list[str]:
    found = [word for word in re.findall(r"[a-z]{3,}", caption.lower()) if word not in _NO_THINGS]
    return [word[:-1] if word.endswith("s") and not word.endswith("ss") else word for word in found]


def seen_features(seen: Sequence[bool | None]) -> tuple[Clause, ...]:
    """The clauses of a photo from what a judge said to `LOOKS_FOR`; the first that holds of each name."""
    found: dict[str, str] = {}
    for check, holds in zip(LOOKS_FOR, seen, strict=False):
        if holds:
            found.setdefault(check.kind, check.value)
    return tuple(found.items())


def photo_features(
    captions: Iterable[str],
    details: Mapping[str, Any] | None = None,
    things: frozenset[str] = frozenset(),
    seen: Iterable[Clause] = (),
) -> tuple[Clause, ...]:
    """Sorted clauses: one value for each name, but one `shows` for each of the `things` named.

    `seen` is what a judge saw: it stands before what the words of a caption seem to say.
    """
    text = " ".join(captions).lower()
    found: dict[str, str] = dict(seen)
    for name, values in WORDS.items():
        for value, words in values.items():
            if re.search(rf"\b(?:{words})\b", text):
                found.setdefault(name, value)
    numbers = [_FIGURES.get(word, word) for word in re.findall(r"\b[a-z]+\b|\b\d+\b", text)]
    counted = [word for word in numbers if word in NUMBERS[2:]]
    if counted:
        found["number"] = max(counted, key=NUMBERS.index)
    for name, value in (details or {}).items():
        if isinstance(value, str | bool | int) and 0 < len(str(value)) <= LONGEST:
            found.setdefault(_plain(str(name)), _plain(str(value)))
    shown = {("shows", word) for word in _words(text) if word in things}
    return tuple(sorted(shown | {(name, value) for name, value in found.items() if name and value}))


def _plain(text: str) -> str:
    """Without the marks that patterns are written with."""
    return without_question_separators(text.lower())
