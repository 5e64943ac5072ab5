"""Questions that a model writes: patterns are combinations of skills, and a draft says what is wanted.

Nobody knows the right answers here: a verifier decides. The skills and their families serve every hunt's
taxonomy too.
"""

import hashlib
import random
import re
from collections.abc import Sequence
from itertools import combinations, zip_longest

from failscape.errors import ConfigError
from failscape.spaces.albums import Album, Photo
from failscape.spaces.ordinals import Clause, with_thresholds
from failscape.spaces.photo_features import common_things, photo_features
from failscape.spaces.question_words import NEGATED, QUESTION_CLAUSES, question_clauses, wish
from failscape.spaces.questions import (
    ANY,
    CONSISTENCY,
    LATER_TURNS,
    MEMORY,
    PRESSED,
    Asked,
    Draft,
    FollowUp,
    Pattern,
    Sight,
    Sights,
    make_pattern,
)
from failscape.spaces.vocabulary import SkillVocabulary
from failscape.trials import Generate, Show

NEGATION = "negation"

#: Meta-skill → primitive skills.
FAMILIES: dict[str, tuple[str, ...]] = {
    "seeing": ("existence", "recognising objects", "colour", "size", "material", "texture", "fine detail"),
    "quantity": ("counting", "comparison", "reading measures"),
    "space": ("relation", "position", "depth and distance", "viewpoint", "orientation", "two-hop"),
    "scene": ("place", "weather and time of day", "occlusion", "reflection and shadow"),
    "people and action": ("action", "pose and gesture", "gaze", "emotion"),
    "text": ("reading text", "charts and signs"),
    "reasoning": (NEGATION, "conjunction", "odd one out", "cause and effect", "order in time"),
    "several pictures": ("two pictures", "spot the difference"),
    "talk": (CONSISTENCY, *PRESSED, MEMORY),
}

_LATER = {*FAMILIES["several pictures"], *LATER_TURNS}
#: What a questioner is asked for unless the config names other skills.
SKILLS = tuple(skill for skills in FAMILIES.values() for skill in skills if skill not in _LATER)

#: Photos that are captioned or judged for their features at the start of a hunt.
MOST_LOOKS = 400

#: Pictures drawn in search of one that fits: of a clause that holds for one in ten, hardly any are missed.
_TRIES = 60

#: Skills of a grammar that is put together from parts: nobody is asked for them by name.
_FINER: dict[str, tuple[str, ...]] = {
    "seeing": ("naming", "category", "matching", "same or different", "size order"),
    "quantity": (
        *("exact number", "threshold", "parity", "addition", "subtraction", "majority", "emptiness"),
        *("uniqueness", "variety"),
    ),
    "space": (
        *("adjacency", "alignment", "between", "centre", "corner", "depth", "diagonal", "direction"),
        *("region", "extreme position", "ordinal position", "nearest", "farthest", "three-hop"),
    ),
    "scene": ("style", "time and weather"),
    "reasoning": ("disjunction", "exclusion", "nesting", "universal"),
}

FAMILY_OF = {
    skill: family
    for families in (FAMILIES, _FINER)
    for family, skills in families.items()
    for skill in skills
}
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

        self._captions = {photo.digest: photo.captions for photo in photos}
        self._seen: dict[str, tuple[Clause, ...]] = {}
        self._things = self._common()

    def pick(self, rng: random.Random, fresh: bool, skill: str = "") -> Sight:
        return self._sight(rng.sample(self._parts[fresh], self._images))

    def photos(self, fresh: bool) -> Sequence[Photo]:
        """Those of one part."""
        return self._parts[fresh]

    def sight_of(self, photo: Photo) -> Sight:
        return self._sight([photo])

    def to_look_at(self) -> list[tuple[str, bool]]:
        """Photos to be captioned or judged, of both parts in turn, and whether each has a caption."""
        parts = [self._parts[fresh] for fresh in (False, True)]
        mixed = [photo for row in zip_longest(*parts) for photo in row if photo is not None]
        return [(photo.digest, bool(photo.captions)) for photo in mixed[:MOST_LOOKS]]

    def learn(self, digest: str, captions: Sequence[str], seen: tuple[Clause, ...]) -> None:
        """What a captioner and a judge said of a photo."""
        self._captions[digest] = self._captions[digest] or tuple(captions)
        self._seen[digest] = seen
        self._things = self._common()

    def _common(self) -> frozenset[str]:
        return common_things([" ".join(captions) for captions in self._captions.values() if captions])

    def _sight(self, photos: Sequence[Photo]) -> Sight:
        key = "+".join(photo.digest for photo in photos)
        captions = tuple(caption for photo in photos for caption in self._captions[photo.digest][:1])
        features: tuple[Clause, ...] = ()
        if len(photos) == 1:
            seen = self._seen.get(photos[0].digest, ())
            said = self._captions[photos[0].digest]
            features = photo_features(said, photos[0].details, self._things, seen)
        return Sight(key, (Show(tuple(photo.digest for photo in photos)),), captions, {"features": features})


class DrawnSights:
    """Pictures that a generator draws from prompts. The seed of the probe makes each one new."""

    def __init__(self, prompts: Sequence[str], fresh_share: float, images: int = 1) -> None:
        self._prompts = tuple(prompts)
        self._images = images

    def pick(self, rng: random.Random, fresh: bool, skill: str = "") -> Sight:
        chosen = [rng.choice(self._prompts) for _ in range(self._images)]
        features = photo_features(chosen) if self._images == 1 else ()
        steps, key = tuple(map(Generate, chosen)), f"{chosen}/{rng.getrandbits(40)}"
        return Sight(key, steps, tuple(chosen), {"features": features})


class SkillGrammar:
    """Drafts for a questioner. `images` is how many pictures a question is about."""

    exact = False

    def __init__(
        self,
        sights: Sights,
        skills: Sequence[str] = (),
        images: int = 1,
        vocabulary: SkillVocabulary | None = None,
    ) -> None:
        extra = FAMILIES["several pictures"] if images > 1 else ()
        self.listed = tuple(dict.fromkeys([*(skills or SKILLS), *extra]))
        self.vocabulary = vocabulary or SkillVocabulary(self.listed, open_=False)
        self._sights = sights
        self._images = images
        text = f"skills/2 {images} {self.listed}{' open' if self.vocabulary.open else ''}"
        self.digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def skills(self) -> tuple[str, ...]:
        """Those of the list, and whatever was taken up since."""
        return self.vocabulary.names

    def patterns(self) -> Sequence[Pattern]:
        return [make_pattern(ANY, [skill]) for skill in self.skills]

    def pick(self, rng: random.Random, fresh: bool, skill: str = "") -> Sight | None:
        return self._sights.pick(rng, fresh, skill)

    def draft(self, pattern: Pattern, rng: random.Random, fresh: bool, like: str = "") -> Draft | None:
        sight = self._fitting(pattern, rng, fresh)
        if sight is None:
            return None
        skills = [skill for skill in pattern.skills if skill not in LATER_TURNS]
        wanted = f"it takes {_joined(skills)} to answer it" if skills else "it is hard to answer"
        about = "it compares the pictures, " if self._images > 1 else ""
        wanted = ", ".join([wanted, *map(wish, _about_question(pattern))])
        example = f', in the way of "{like}" but about this picture and in other words' if like else ""
        return Draft(pattern, sight, f"{about}{wanted}{example}")

    def _fitting(self, pattern: Pattern, rng: random.Random, fresh: bool) -> Sight | None:
        """A picture that has what the pattern's clauses ask of it, if some tries find one."""
        shown = set(pattern.clauses).difference(_about_question(pattern))
        for _ in range(_TRIES if shown else 1):
            sight = self._sights.pick(rng, fresh)
            if sight is not None and with_thresholds(_features(sight)).issuperset(shown):
                return sight
        return None

    def read(self, text: str, sight: Sight, wanted: Pattern | None) -> Asked | None:
        """What was wanted is no evidence of what was written: a question has the skills its words tell of."""
        plain = " ".join(text.split())
        if not plain:
            return None
        skills = skills_in(plain, self.listed)
        said = set(question_clauses(plain))
        if NEGATION in skills:  # then the skill says it
            said.discard(NEGATED)
        return Asked(make_pattern(ANY, skills), plain, "", sight, tuple(sorted({*_features(sight), *said})))

    def narrower(self, pattern: Pattern, rng: random.Random) -> list[Pattern]:
        rest = [skill for skill in self.skills if skill not in pattern.skills]
        return (
            [make_pattern(ANY, [*pattern.skills, skill]) for skill in rest] if len(pattern.skills) < 4 else []
        )

    def simpler(self, pattern: Pattern) -> list[Pattern]:
        size = len(pattern.skills) - 1
        subsets = combinations(pattern.skills, size) if size >= 1 else ()
        found = [make_pattern(ANY, some, pattern.clauses) for some in subsets]
        found += [pattern.without_clause(clause) for clause in pattern.clauses]
        return [one for one in found if one.skills and not LATER_TURNS.issuperset(one.skills)]

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
    NEGATION: r"\b(not|no|none|without|isn't|never)\b",
    "fine detail": r"\b(tiny|detail|exactly|engraved|stitch)",
    "reading measures": r"what time|o'clock|\b(clock|scale|gauge|meter|temperature|degrees)\b",
    "viewpoint": r"\b(viewpoint|seen from|camera|angle|perspective)\b",
    "occlusion": r"\b(hidden|partly|partially|covered|occluded|obscured|blocked)\b",
    "pose and gesture": r"\b(pose|posture|gesture|sitting|standing|lying|raised|arms|pointing)\b",
    "charts and signs": r"\b(chart|graph|diagram|axis|arrow|traffic sign)\b",
    "cause and effect": r"\b(why|because|cause|causes|caused|happen if|result)\b",
    "order in time": r"\b(before|after|next|first|then|about to)\b",
    "odd one out": r"differ|different|odd one|unlike",
    "conjunction": r"\bboth\b|\beither\b",
    "existence": r"^(is|are) there\b|visible|do you see|can you see",
    "recognising objects": r"^what (is|are|kind|type|animal|object)|which object",
}


def skills_in(text: str, listed: Sequence[str] = SKILLS) -> tuple[str, ...]:
    """Primitive skills by tell-tale words: crude, but the same every time. A model can name them better.

    A skill of somebody's own list that has no tell-tale words is told by the words of its name.
    """
    plain = text.lower().strip()
    found = {skill for skill, words in _TELLTALES.items() if skill in listed and re.search(words, plain)}
    found |= {skill for skill in listed if skill not in _TELLTALES and _named(skill, plain)}
    return tuple(sorted(found))


def _named(skill: str, text: str) -> bool:
    words = [word for word in re.findall(r"[a-z]{4,}", skill.lower()) if word not in ("with", "from")]
    return bool(words) and all(re.search(rf"\b{word[:6]}", text) for word in words)


def _features(sight: Sight) -> tuple[Clause, ...]:
    """What is known of a picture, as clauses: from its metadata, or mined from its caption."""
    found: tuple[Clause, ...] = sight.details.get("features", ())
    return found


def _about_question(pattern: Pattern) -> list[Clause]:
    """The clauses that a writer has to see to; all others are about the picture."""
    return [clause for clause in pattern.clauses if clause[0] in QUESTION_CLAUSES]


def _joined(skills: Sequence[str]) -> str:
    return skills[0] if len(skills) == 1 else f"{', '.join(skills[:-1])} and {skills[-1]} together"
