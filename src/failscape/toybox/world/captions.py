"""Captions and descriptions of scenes in plain English, all from the closed vocabulary in `wording`."""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np

from failscape.spaces.wording import with_article
from failscape.toybox.world.scenes import Attributes, Scene, Thing, relations
from failscape.toybox.world.vocab import (
    ADJECTIVES,
    ATTRIBUTES,
    COUNTS,
    DEFAULTS,
    ENTITIES,
    MENTIONABLE,
    OPENINGS,
    PHRASES,
    PLURALS,
    STYLE_OPENINGS,
    noun,
    tokens,
)

Rng = np.random.Generator | None
_NUMBERS: Final = (*COUNTS, "five")


def caption(scene: Scene | Attributes, rng: Rng = None, mention: Collection[str] | None = None) -> str:
    """Say what a picture shows.

    Without `rng` the canonical wording is used, with it one of many. `mention` names the attributes to speak
    of; by default these are the ones that differ from their default. "natural" and "medium" are never spoken.
    """
    if isinstance(scene, Scene) and scene.kind == "layout":
        *parts, last = [_things_phrase(group, rng) for group in _grouped(scene.things)]
        return _sentence(f"{', '.join(parts)} and {last}" if parts else last, _setting(scene, mention), rng)
    attributes = scene.attributes if isinstance(scene, Scene) else scene
    said = mentioned(attributes, mention)
    return _sentence(_noun_phrase(attributes.entity, said, rng), said, rng)


def mentioned(attributes: Attributes, mention: Collection[str] | None = None) -> dict[str, str]:
    """Return the attribute values that a caption with this `mention` speaks of."""
    if mention is None:
        return attributes.special()
    if unknown := set(mention) - {"entity", *ATTRIBUTES}:
        raise ValueError(f"only attributes can be mentioned, but got {sorted(unknown)}")
    values = {name: str(getattr(attributes, name)) for name in ATTRIBUTES if name in mention}
    # More than one thing always shows in the noun, so the count cannot be left out.
    if attributes.count != DEFAULTS["count"]:
        values["count"] = attributes.count
    return {name: value for name, value in values.items() if value in MENTIONABLE[name]}


def _setting(scene: Scene, mention: Collection[str] | None) -> dict[str, str]:
    values = {"place": scene.place, "time": scene.time, "style": scene.style}
    said = [name for name, value in values.items() if value != DEFAULTS[name]] if mention is None else mention
    return {name: value for name, value in values.items() if name in said}


def _choose(options: Sequence[str], rng: Rng) -> str:
    return options[0] if rng is None else options[int(rng.integers(len(options)))]


def _noun_phrase(entity: str, said: dict[str, str], rng: Rng) -> str:
    count = said.get("count")
    words = [_choose(ADJECTIVES[name][said[name]], rng) for name in ("size", "colour") if name in said]
    phrase = " ".join([*words, noun(entity, count or "one")])
    return with_article(phrase) if count is None else f"{count} {phrase}"


def _sentence(subject: str, said: dict[str, str], rng: Rng) -> str:
    """Put the parts in order: subject, place, time, then position and style after commas."""
    phrase = {name: _choose(PHRASES[name][said[name]], rng) for name in PHRASES if name in said}
    pattern = 0 if rng is None else int(rng.integers(4))
    style = phrase.pop("style", None)
    if pattern in (1, 2) and "style" in said:
        subject, style = f"{STYLE_OPENINGS[said['style']]} {subject}", None
    elif pattern == 1:
        subject = f"{_choose(OPENINGS, rng)} {subject}"
    middle = [phrase[name] for name in ("place", "time") if name in phrase]
    after = [part for part in (phrase.get("position"), style) if part]
    if pattern == 2 and "position" in phrase:
        middle, after = [phrase["position"], *middle], [style] if style else []
    front = []
    if pattern == 3 and "time" in phrase:
        front = [phrase["time"]]
        middle.remove(phrase["time"])
    return ", ".join([*front, " ".join([subject, *middle]), *after])


def _grouped(things: Sequence[Thing]) -> list[list[Thing]]:
    groups: dict[tuple[str, str, str], list[Thing]] = {}
    for thing in things:
        groups.setdefault((thing.entity, thing.colour, thing.size), []).append(thing)
    return list(groups.values())


def _things_phrase(group: Sequence[Thing], rng: Rng) -> str:
    first = group[0]
    said = {"size": first.size} if first.size in MENTIONABLE["size"] else {}
    if first.colour != DEFAULTS["colour"]:
        said["colour"] = first.colour
    if len(group) > 1:
        said["count"] = _NUMBERS[len(group) - 1]
    return _noun_phrase(first.entity, said, rng)


def describe(scene: Scene) -> str:
    """Describe a scene in several short sentences, every one of them true."""
    if scene.kind == "layout":
        return " ".join([*_layout_sentences(scene), *_setting_sentences(scene)])
    a = scene.attributes
    word, verb = noun(a.entity, a.count), "is" if a.count == "one" else "are"
    things = with_article(word) if a.count == "one" else f"{a.count} {word}"
    looks = [value for value in (a.colour, a.size) if value not in DEFAULTS.values()]
    looks += [PHRASES["position"][a.position][0], PHRASES["place"][a.place][0]]
    said = [f"the {word} {verb} {value}." for value in looks]
    return " ".join([f"there {verb} {things}.", *said, *_setting_sentences(scene)[1:]])


def _setting_sentences(scene: Scene) -> list[str]:
    return [
        f"the picture is {PHRASES['place'][scene.place][0]}.",
        f"the picture is {PHRASES['time'][scene.time][0]}.",
        f"the picture is shown {PHRASES['style'][scene.style][0]}.",
    ]


def _layout_sentences(scene: Scene) -> list[str]:
    counts = Counter(thing.entity for thing in scene.things)
    single = [thing for thing in scene.things if counts[thing.entity] == 1]
    return [
        *(
            f"there {'is' if len(group) == 1 else 'are'} {_things_phrase(group, None)}."
            for group in _grouped(scene.things)
        ),
        *(
            f"the {first.entity} is {relation} the {second.entity}."
            for first, second in pairwise(single)
            for relation in relations(first, second)
        ),
    ]


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
    table |= {
        phrase: (kind, value)
        for kind, values in (*ADJECTIVES.items(), *PHRASES.items())
        for value, phrases in values.items()
        for phrase in phrases
    }
    table["five"] = ("count", "five")
    return {tuple(tokens(phrase)): meaning for phrase, meaning in table.items()}


def _meanings(text: str) -> list[_Meaning]:
    words = tokens(text)
    table, found, i = _phrases(), list[_Meaning](), 0
    longest = max(map(len, table))

    while i < len(words):
        for n in range(min(longest, len(words) - i), 0, -1):
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
