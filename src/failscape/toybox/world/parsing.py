"""Reads a caption back into what it mentions. Forgiving about word order, singular and plural."""

from functools import cache
from typing import Any, Final

from failscape.toybox.world.vocab import ENTITIES, PLURALS
from failscape.toybox.world.wording import ADJECTIVES, PHRASES, STYLE_OPENINGS, tokens

_Meaning = tuple[str, str]
#: Single words that are enough to know a value, for captions worded by others.
_SHORTHAND: Final[dict[str, _Meaning]] = {
    "meadow": ("place", "meadow"),
    "beach": ("place", "beach"),
    "snow": ("place", "snow"),
    "snowy": ("place", "snow"),
    "desert": ("place", "desert"),
    "ocean": ("place", "ocean"),
    "forest": ("place", "forest"),
    "city": ("place", "city"),
    "space": ("place", "space"),
    "brick wall": ("place", "brick wall"),
    "studio": ("place", "studio"),
    "daylight": ("time", "day"),
    "sunset": ("time", "sunset"),
    "night": ("time", "night"),
    "rain": ("time", "rain"),
    "rainy": ("time", "rain"),
    "fog": ("time", "fog"),
    "foggy": ("time", "fog"),
    "sketch": ("style", "sketch"),
    "sepia": ("style", "sepia"),
    "blurred": ("style", "blurred"),
    "pixelated": ("style", "pixelated"),
    "framed": ("style", "framed"),
    "left": ("position", "left"),
    "right": ("position", "right"),
    "top": ("position", "top"),
    "bottom": ("position", "bottom"),
    "centre": ("position", "centre"),
    "center": ("position", "centre"),
}


@cache
def _phrases() -> dict[tuple[str, ...], _Meaning]:
    table: dict[str, _Meaning] = dict(_SHORTHAND)
    table |= {name: ("entity", name) for name in ENTITIES}
    table |= {plural: ("entity", name) for name, plural in PLURALS.items()}
    table |= {opening: ("style", style) for style, opening in STYLE_OPENINGS.items()}
    for kind, values in (*ADJECTIVES.items(), *PHRASES.items()):
        table |= {phrase: (kind, value) for value, phrases in values.items() for phrase in phrases}
    table["five"] = ("count", "five")
    return {tuple(tokens(phrase)): meaning for phrase, meaning in table.items()}


@cache
def _longest() -> int:
    return max(len(phrase) for phrase in _phrases())


def _meanings(text: str) -> list[_Meaning]:
    words = tokens(text)
    table, found, i = _phrases(), list[_Meaning](), 0
    while i < len(words):
        for n in range(min(_longest(), len(words) - i), 0, -1):
            meaning = table.get(tuple(words[i : i + n]))
            if meaning is not None:
                found.append(meaning)
                i += n
                break
        else:
            i += 1
    return found


def parse_caption(text: str) -> dict[str, Any]:
    """Return the mentioned attributes (name -> value) of a caption.

    A caption about one kind of thing gives {"entity": ..., "colour": ..., ...}. A caption about several gives
    {"things": [{"entity": ...}, ...]} with place, time and style beside it. Other words are skipped.
    """
    things: list[dict[str, str]] = []
    pending: dict[str, str] = {}
    setting: dict[str, str] = {}
    for kind, value in _meanings(text):
        if kind == "entity":
            things.append({"entity": value, **pending})
            pending = {}
        elif kind in ADJECTIVES:
            pending[kind] = value
        else:
            setting[kind] = value
    if things and pending:
        things[-1] = {**pending, **things[-1]}
    if len(things) > 1:
        return {"things": things, **setting}
    return {**(things[0] if things else pending), **setting}
