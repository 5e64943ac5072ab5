"""Questions that a model writes: patterns are combinations of skills, and a draft says what is wanted.

Nobody knows the right answers here: a verifier decides. The skills and their families serve every hunt's
taxonomy too.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence
from itertools import combinations

from failscape.errors import ConfigError
from failscape.spaces.albums import Album, Photo
from failscape.spaces.questions import (
    ANY,
    CONSISTENCY,
    Asked,
    Draft,
    FollowUp,
    Pattern,
    Sight,
    Sights,
    make_pattern,
)
from failscape.trials import Generate, Show

FAMILIES: dict[str, tuple[str, ...]] = {
    "seeing": ("existence", "recognising objects", "colour", "size", "material", "texture", "fine detail"),
    "quantity": ("counting", "comparison", "reading measures"),
    "space": ("relation", "position", "depth and distance", "viewpoint", "orientation", "two-hop"),
    "scene": ("place", "weather and time of day", "occlusion", "reflection and shadow"),
    "people and action": ("action", "pose and gesture", "gaze", "emotion"),
    "text": ("reading text", "charts and signs"),
    "reasoning": ("negation", "conjunction", "odd one out", "cause and effect", "order in time", CONSISTENCY),
    "several pictures": ("two pictures", "spot the difference"),
}
"""Meta-skill → primitive skills."""

_LATER = {*FAMILIES["several pictures"], CONSISTENCY}
SKILLS = tuple(skill for skills in FAMILIES.values() for skill in skills if skill not in _LATER)
"""What a questioner is asked for unless the config names other skills."""

FAMILY_OF = {skill: family for family, skills in FAMILIES.items() for skill in skills}
OTHER = "other"


def family_of(skill: str) -> str:
    return FAMILY_OF.get(skill, OTHER)


class AlbumSights:
    """Photos of an album, in two parts that never mix: one to search with, one to confirm with."""

    def __init__(self, album: Album, fresh_share: float, images: int = 1) -> None:
        photos = sorted(album.photos, key=lambda photo: photo.digest)
        cut = round(len(photos) * (1 - fresh_share))
        self._parts = {False: photos[:cut], True: photos[cut:]}
        self._images = images
        if len(self._parts[False]) < images or len(self._parts[True]) < images:
            raise ConfigError(
                f"{album.source} has {len(photos)} photos: too few to search and to confirm on fresh ones",
                f"give at least {2 * images}",
            )

    def pick(self, rng: random.Random, fresh: bool, skill: str = "") -> Sight:
        return sight_of(rng.sample(self._parts[fresh], self._images))


def sight_of(photos: Sequence[Photo]) -> Sight:
    key = "+".join(photo.digest for photo in photos)
    captions = tuple(caption for photo in photos for caption in photo.captions[:1])
    return Sight(key, (Show(tuple(photo.digest for photo in photos)),), captions)


class DrawnSights:
    """Pictures that a generator draws from prompts. The seed of the probe makes each one new."""

    def __init__(self, prompts: Sequence[str], fresh_share: float, images: int = 1) -> None:
        self._prompts = tuple(prompts)
        self._images = images

    def pick(self, rng: random.Random, fresh: bool, skill: str = "") -> Sight:
        chosen = [rng.choice(self._prompts) for _ in range(self._images)]
        return Sight(f"{chosen}/{rng.getrandbits(40)}", tuple(map(Generate, chosen)), tuple(chosen))


class SkillGrammar:
    """Drafts for a questioner. `images` is how many pictures a question is about."""

    exact = False

    def __init__(self, sights: Sights, skills: Sequence[str] = (), images: int = 1) -> None:
        extra = FAMILIES["several pictures"] if images > 1 else ()
        self.skills = tuple(dict.fromkeys([*(skills or SKILLS), *extra]))
        self._sights = sights
        self._images = images
        text = f"skills/1 {images} {self.skills}"
        self.digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def patterns(self) -> Sequence[Pattern]:
        return [make_pattern(ANY, [skill]) for skill in self.skills]

    def draft(self, pattern: Pattern, rng: random.Random, fresh: bool, like: str = "") -> Draft | None:
        sight = self._sights.pick(rng, fresh)
        if sight is None:
            return None
        skills = [skill for skill in pattern.skills if skill != CONSISTENCY]
        wanted = f"it takes {_joined(skills)} to answer it" if skills else "it is hard to answer"
        about = "it compares the pictures, " if self._images > 1 else ""
        example = f', in the way of "{like}" but about this picture and in other words' if like else ""
        return Draft(pattern, sight, f"{about}{wanted}{example}")

    def read(self, text: str, sight: Sight, wanted: Pattern | None) -> Asked | None:
        """A question that nobody guided gets the skills that its words tell of."""
        plain = " ".join(text.split())
        if not plain:
            return None
        pattern = wanted if wanted and wanted.skills else make_pattern(ANY, skills_in(plain))
        return Asked(pattern, plain, "", sight)

    def narrower(self, pattern: Pattern, rng: random.Random) -> list[Pattern]:
        rest = [skill for skill in self.skills if skill not in pattern.skills]
        return (
            [make_pattern(ANY, [*pattern.skills, skill]) for skill in rest] if len(pattern.skills) < 4 else []
        )

    def simpler(self, pattern: Pattern) -> list[Pattern]:
        size = len(pattern.skills) - 1
        found = [make_pattern(ANY, some) for some in combinations(pattern.skills, size)] if size >= 1 else []
        return [one for one in found if one.skills != (CONSISTENCY,)]

    def follow_up(self, asked: Asked, answer: str, rng: random.Random) -> FollowUp | None:
        """Saying it back must get a yes: a target that denies its own answer contradicts itself."""
        said = " ".join(answer.split())[:200]
        if not said:
            return None
        pattern = make_pattern(ANY, [*asked.pattern.skills, CONSISTENCY])
        text = f'To the question "{asked.text}" the answer was "{said}". Is that right? Answer yes or no.'
        return FollowUp(pattern, text, "yes")


_TELLTALES = {
    "counting": r"how many|number of|count",
    "colour": r"colou?r",
    "size": r"\b(size|large|small|big|tall|bigger|larger|smaller|taller)\b",
    "material": r"made of|material",
    "texture": r"texture|pattern|striped|smooth|rough",
    "relation": r"left of|right of|next to|behind|in front of|above|below|under|between|on top of",
    "position": r"\b(where|corner|centre|center|left|right|top|bottom|middle)\b",
    "depth and distance": r"closest|nearest|farthest|distance|closer",
    "orientation": r"facing|direction|tilted|upside",
    "comparison": r"\b(more|less|fewer|than|same|most|least)\b",
    "reading text": r"\b(text|word|letter|sign|written|read|say|says|label)\b",
    "action": r"\b(doing|holding|wearing|playing|riding|eating|walking|running)\b",
    "emotion": r"\b(emotion|smiling|happy|sad|expression|feeling)\b",
    "gaze": r"looking at",
    "place": r"\b(room|place|location|setting|indoors|outdoors)\b",
    "weather and time of day": r"weather|time of day|\b(sunny|night|raining|season)\b",
    "reflection and shadow": r"reflect|shadow|mirror",
    "negation": r"\b(not|no|none|without|isn't|never)\b",
    "odd one out": r"differ|different|odd one|unlike",
    "conjunction": r"\bboth\b|\beither\b",
    "existence": r"^(is|are) there\b|visible|do you see|can you see",
    "recognising objects": r"^what (is|are|kind|type|animal|object)|which object",
}


def skills_in(text: str) -> tuple[str, ...]:
    """Primitive skills by tell-tale words: crude, but the same every time. A model can name them better."""
    plain = text.lower().strip()
    return tuple(sorted(skill for skill, words in _TELLTALES.items() if re.search(words, plain)))


def _joined(skills: Sequence[str]) -> str:
    return skills[0] if len(skills) == 1 else f"{', '.join(skills[:-1])} and {skills[-1]} together"
