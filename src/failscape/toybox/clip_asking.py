"""The grammar of questions about toybox clips: `questioner: {grammar: toybox-clips}`. Pure.

A sight's key says how its clip is made, as for pictures; `toy-world` draws it.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Final

import numpy as np
from PIL import Image

from failscape.clips import Clip
from failscape.errors import BadReply, ConfigError
from failscape.spaces.ordinals import MORE, MOST, NUMBERS, with_thresholds
from failscape.spaces.questions import ANY, Asked, Clause, FollowUp, Pattern, Sight, Sights, make_pattern
from failscape.toybox import world
from failscape.toybox.clip_forms import APART, BY_KEY, FORMS, MOST_APART, ClipForm, MadeClip, Slots
from failscape.toybox.clip_world import (
    FPS,
    Script,
    played_backwards,
    with_events_swapped,
    with_segment_cut,
)
from failscape.toybox.questions import words
from failscape.trials import Generate

VERSION: Final = "1"
CLIP: Final = "clip: "
BACKWARDS, SWAPPED, CUT = " (backwards)", " (swapped)", " (cut)"
#: A clause of one value in eight or so is met within this many tries, all but one time in a million.
_TRIES: Final = 120


class ClipGrammar:
    """Questions about what happens in a clip, each with one right answer."""

    exact = True
    digest = f"toybox-clips/{VERSION}"
    skills = tuple(dict.fromkeys(skill for form in FORMS for skill in form.skills))

    def __init__(self, sights: Sights | None = None, images: int = 1) -> None:
        if sights is not None:
            raise ConfigError(
                "the grammar toybox-clips draws its own clips", "use `images: {source: toybox}`"
            )
        if images != 1:
            raise ConfigError(
                f"toybox-clips asks about one clip, but `images_per_question` is {images}",
                "set `images_per_question: 1`",
            )

    def patterns(self) -> Sequence[Pattern]:
        return [make_pattern(form.key, form.skills) for form in FORMS]

    def pick(self, rng: random.Random, fresh: bool, skill: str = "") -> Sight:
        able = [form for form in FORMS if not skill or skill in form.skills] or list(FORMS)
        return _sight(f"{CLIP}{rng.choice(able).key} #{rng.getrandbits(40)}")

    def draft(self, pattern: Pattern, rng: random.Random, fresh: bool, like: str = "") -> Asked | None:
        number = rng.getrandbits(40)
        key = f"{CLIP}{pattern.text} #{number}"
        found = _made(pattern, number)
        if found is None:
            return None
        form, made = found
        wording = rng.randrange(len(form.wordings)) if fresh else 0
        said = make_pattern(form.key, form.skills, pattern.clauses)
        return Asked(
            said, form.worded(made.slots, wording), made.answer, _sight(key), _features(made), str(wording)
        )

    def read(self, text: str, sight: Sight, wanted: Pattern | None) -> Asked | None:
        parsed = parse_clip_question(text)
        if parsed is None:
            return None
        form, slots = parsed
        script = script_of(sight.key)
        names = {actor.entity for actor in script.actors}
        answer = form.see(script.scenes(), slots) if names.issuperset(slots.values()) else None
        if answer is None:
            return None
        features = _features(MadeClip(script, slots, answer))
        return Asked(make_pattern(form.key, form.skills), text, answer, sight, features, "free")

    def narrower(self, pattern: Pattern, rng: random.Random) -> list[Pattern]:
        named = {name for name, _ in pattern.clauses}
        found = [made for _ in range(3) if (made := _made(pattern, rng.getrandbits(40)))]
        clauses = {clause for _, made in found for clause in _features(made) if clause[0] not in named}
        return [pattern.with_clause(clause) for clause in sorted(clauses)]

    def simpler(self, pattern: Pattern) -> list[Pattern]:
        found = [pattern.without_clause(clause) for clause in pattern.clauses]
        if pattern.form == ANY and not pattern.clauses and len(pattern.skills) > 1:
            return [make_pattern(ANY, [skill]) for skill in pattern.skills]
        return [one for one in found if one != Pattern(ANY)]

    def tell(self, pattern: Pattern) -> tuple[str, Sequence[Clause]] | None:
        form = BY_KEY.get(pattern.form)
        return (form.told, pattern.clauses) if form else None

    def follow_up(self, asked: Asked, answer: str, rng: random.Random) -> FollowUp | None:
        return None


def _sight(key: str) -> Sight:
    return Sight(key, (Generate(key),))


def _features(made: MadeClip) -> tuple[Clause, ...]:
    about = [("thing", made.slots["thing"])] if "thing" in made.slots else []
    place = ("place", made.script.backdrop.place)
    return tuple(sorted({("answer", made.answer), place, *about, *made.facts}))


@lru_cache(maxsize=8192)
def _made(pattern: Pattern, number: int) -> tuple[ClipForm, MadeClip] | None:
    """A clip and a question of a pattern; None where none was met."""
    fits = [
        form for form in FORMS if pattern.form in (ANY, form.key) and set(pattern.skills) <= set(form.skills)
    ]
    if not fits:
        return None
    rng = np.random.default_rng(number)
    for _ in range(_TRIES):
        form = fits[int(rng.integers(len(fits)))]
        made = form.make(rng, _wishes(pattern, rng))
        if with_thresholds(_features(made)).issuperset(pattern.clauses):
            return form, made
    return None


def _wishes(pattern: Pattern, rng: np.random.Generator) -> Slots:
    """Values that a clip is made with from the start, so that rare clauses are met."""
    wishes = dict(pattern.clauses)
    sign, _, word = wishes.get(APART, "").rpartition(" ")
    if sign in (MORE, MOST) and word in NUMBERS:
        edge = NUMBERS.index(word)
        low, high = (edge + 1, MOST_APART) if sign == MORE else (1, edge)
        wishes[APART] = NUMBERS[int(rng.integers(low, high + 1))]
    return wishes


@lru_cache(maxsize=2048)
def script_of(key: str) -> Script:
    """The script behind a sight's key. Raises `BadReply` for a text that is no such key."""
    for ending, change in ((BACKWARDS, _backwards), (SWAPPED, _swapped), (CUT, _cut)):
        if key.endswith(ending):
            return change(_made_of(key.removesuffix(ending)))
    return _made_of(key).script


def _made_of(key: str) -> MadeClip:
    text, _, number = key.removeprefix(CLIP).rpartition(" #")
    found = _made(Pattern.parse(text), int(number)) if number.isdigit() and text else None
    if found is None:
        raise BadReply(f"toy-world draws clips by number, such as {CLIP}motion #7, but got {key!r}")
    return found[1]


def _backwards(made: MadeClip) -> Script:
    return played_backwards(made.script)


def _swapped(made: MadeClip) -> Script:
    return with_events_swapped(made.script, made.slots["thing"], made.slots["other"])


def _cut(made: MadeClip) -> Script:
    return with_segment_cut(made.script, made.script.actors[0].entity)


#: Form → how its clip is changed so that the right answer changes.
TWINS: Final[dict[str, str]] = {
    "motion": BACKWARDS,
    "colour before": BACKWARDS,
    "colour after": BACKWARDS,
    "appears first": SWAPPED,
    "disappears first": SWAPPED,
    "count over time": CUT,
}


def twin_of(asked: Asked) -> Asked | None:
    """The same question about the same clip with one thing changed in time, and another right answer.

    Played backwards, two events swapped, or one segment cut: a minimal pair over time. None for forms that
    have no such change.
    """
    ending = TWINS.get(asked.pattern.form)
    if ending is None:
        return None
    sight = _sight(asked.sight.key + ending)
    form, slots = parse_clip_question(asked.text) or (BY_KEY[asked.pattern.form], {})
    truth = form.see(script_of(sight.key).scenes(), slots)
    return None if truth is None else replace(asked, sight=sight, truth=truth)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], ClipForm], ...]:
    names = "|".join(sorted(world.ENTITIES, key=len, reverse=True))
    table = []
    for form in FORMS:
        for wording in form.wordings:
            plain = " ".join(words(wording.replace("{thing}", "aathing").replace("{other}", "aaother")))
            text = plain.replace("aathing", f"(?P<thing>{names})").replace("aaother", f"(?P<other>{names})")
            table.append((re.compile(text), form))
    return tuple(table)


def parse_clip_question(text: str) -> tuple[ClipForm, Slots] | None:
    """Understand a question about a clip, or return None if the grammar does not have it."""
    plain = " ".join(words(text))
    for pattern, form in _patterns():
        if match := pattern.fullmatch(plain):
            return form, match.groupdict()
    return None


def draw_clip(key: str) -> Clip:
    """The clip of a key, with the key as its note."""
    scenes = script_of(key).scenes()
    return Clip.from_frames((Image.fromarray(world.render(scene)) for scene in scenes), FPS, key)
