"""Captions and descriptions of scenes in plain English, all from the closed vocabulary in `wording`."""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from failscape.spaces.wording import with_article
from failscape.toybox.world.scenes import Attributes, Scene, Thing, relations
from failscape.toybox.world.vocab import ATTRIBUTES, COUNTS, DEFAULTS, MENTIONABLE
from failscape.toybox.world.wording import (
    ADJECTIVES,
    OPENINGS,
    PHRASES,
    STYLE_OPENINGS,
    noun,
)

Rng = np.random.Generator | None
_NUMBERS: Final = (*COUNTS, "five")


def caption(scene: Scene | Attributes, rng: Rng = None, mention: Collection[str] | None = None) -> str:
    """Say what a picture shows.

    Without `rng` the canonical wording is used, with it one of many. `mention` names the attributes to speak
    of; by default these are the ones that differ from their default. "natural" and "medium" are never spoken.
    """
    if isinstance(scene, Scene) and scene.kind == "layout":
        subject = _join([_things_phrase(group, rng) for group in _grouped(scene.things)])
        return _sentence(subject, _setting(scene, mention), rng)
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
    if mention is not None:
        return {name: value for name, value in values.items() if name in mention}
    return {name: value for name, value in values.items() if value != DEFAULTS[name]}


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
    if pattern == 3 and "time" in phrase:
        front = f"{phrase['time']}, "
        middle.remove(phrase["time"])
    else:
        front = ""
    return front + ", ".join([" ".join([subject, *middle]), *after])


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


def _join(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def describe(scene: Scene) -> str:
    """Describe a scene in several short sentences, every one of them true."""
    if scene.kind == "layout":
        return " ".join([*_layout_sentences(scene), *_setting_sentences(scene)])
    a = scene.attributes
    word, verb = noun(a.entity, a.count), "is" if a.count == "one" else "are"
    things = with_article(word) if a.count == "one" else f"{a.count} {word}"
    sentences = [f"there {verb} {things}."]
    sentences += [
        f"the {word} {verb} {value}." for value in (a.colour, a.size) if value not in DEFAULTS.values()
    ]
    sentences.append(f"the {word} {verb} {PHRASES['position'][a.position][0]}.")
    sentences.append(f"the {word} {verb} {PHRASES['place'][a.place][0]}.")
    return " ".join(sentences + _setting_sentences(scene)[1:])


def _setting_sentences(scene: Scene) -> list[str]:
    return [
        f"the picture is {PHRASES['place'][scene.place][0]}.",
        f"the picture is {PHRASES['time'][scene.time][0]}.",
        f"the picture is shown {PHRASES['style'][scene.style][0]}.",
    ]


def _layout_sentences(scene: Scene) -> list[str]:
    sentences = []
    for group in _grouped(scene.things):
        sentences.append(f"there {'is' if len(group) == 1 else 'are'} {_things_phrase(group, None)}.")
    counts = Counter(thing.entity for thing in scene.things)
    single = [thing for thing in scene.things if counts[thing.entity] == 1]
    for first, second in pairwise(single):
        for relation in relations(first, second):
            sentences.append(f"the {first.entity} is {relation} the {second.entity}.")
    return sentences
