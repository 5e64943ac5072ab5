"""What is known of a photo, as clauses: light, place, crowding, text and numbers, from its caption. Pure.

Columns of the metadata with short values are clauses too. A photo without caption and columns has none: it
can be asked about, but no mode is narrowed by what it shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from failscape.spaces.ordinals import NUMBERS, Clause

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
LONGEST: Final = 24
"""A value of the metadata with more letters is no category."""

_FIGURES: Final = {str(number): word for number, word in enumerate(NUMBERS)}


def photo_features(captions: Iterable[str], details: Mapping[str, Any] | None = None) -> tuple[Clause, ...]:
    """Sorted clauses, one value for each name."""
    text = " ".join(captions).lower()
    found: dict[str, str] = {}
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
    return tuple(sorted((name, value) for name, value in found.items() if name and value))


def _plain(text: str) -> str:
    """Without the marks that patterns are written with."""
    return " ".join(re.sub(r"[|;=,]", " ", text.lower()).split())
