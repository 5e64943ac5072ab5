"""What the doctor shows: what it has drawn and which statements hold of it, pictures whose content is known
exactly, and changes after which a check cannot hold any more. Pure.

Samples come in pairs of the same kinds of attributes and of different values, so that one's checks can be
put to the other's picture. Known pictures are scenes of the embedded world, large enough for any model:
they tell a judge or a captioner that sees little from a target that draws badly.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from failscape.pictures import Picture
from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import Lattice, Node
from failscape.spaces.pair_wording import wording_of
from failscape.spaces.prompt_list import ListedPrompt, PromptList
from failscape.spaces.wording import Wording
from failscape.stats.texts import words_of
from failscape.toybox.world import Attributes, render_attributes
from failscape.trials import Check

#: Kinds of attributes that are examined: those that most nodes have, at least one of each family.
MOST_KINDS = 8


@dataclass(frozen=True, slots=True)
class Sample:
    """Something to draw, and what must then hold. `contrary` asks for other values of the same kinds."""

    prompt: str
    checks: tuple[Check, ...]
    contrary: tuple[Check, ...] = ()


class Samples:
    """Prompts of one lattice, in an order fixed by the seed."""

    def __init__(self, lattice: Lattice, seed: int = 0) -> None:
        self._lattice = lattice
        self._wording = wording_of(lattice.corpus)
        self._luck = random.Random(f"doctor/{seed}")
        self.kinds = chosen_kinds(lattice)
        self._entities = self._spread_entities()

    def pair(self, kinds: Sequence[str]) -> tuple[Sample, Sample] | None:
        """Two samples that differ in entity and in the value of every kind; `None` where there are none."""
        for _ in range(30):
            first, second = self._node(kinds), self._node(kinds)
            if first and second and self._far_apart(first, second):
                return self._sample(first, second), self._sample(second, first)
        return self.pair(()) if kinds else None

    def plain(self, count: int) -> list[Sample]:
        """Entities alone, as far apart as the space allows."""
        nodes = [Node(entity) for entity in self._entities[:count]]
        return [self._sample(node, nodes[place - 1]) for place, node in enumerate(nodes)]

    def _node(self, kinds: Sequence[str]) -> Node | None:
        lattice, corpus = self._lattice, self._lattice.corpus
        entity = self._luck.choice(self._entities)
        values: list[int] = []
        for kind in kinds[: lattice.depth]:
            group = [v for v in corpus.sub_categories[kind] if lattice.plausible[entity] >> v & 1]
            if not group:
                return None
            values.append(self._luck.choice(group))
        node = Node(entity, tuple(sorted(values)))
        return node if node in lattice else None

    def _far_apart(self, first: Node, second: Node) -> bool:
        entities = self._lattice.corpus.entities
        sub_classes = {entities[node.entity].sub_class for node in (first, second)}
        apart = len(sub_classes) == 2 or len({entity.sub_class for entity in entities}) == 1
        return first.entity != second.entity and apart and not set(first.values) & set(second.values)

    def _sample(self, node: Node, other: Node) -> Sample:
        """`contrary`: the other's entity, and on the same entity other values of each kind."""
        checks, wording, corpus = self._wording.checks(node), self._wording, self._lattice.corpus
        swapped = {corpus.values[value].kind: value for value in other.values}
        contrary = [wording.checks(Node(other.entity))[0]]
        for value in node.values:
            against = swapped.get(corpus.values[value].kind, value)
            contrary.append(wording.checks(Node(node.entity, (against,)))[1])
        return Sample(wording.caption(node), checks, tuple(contrary))

    def _spread_entities(self) -> list[int]:
        """One of each class, then of each sub-class, then the rest."""
        corpus, chosen = self._lattice.corpus, dict[int, None]()
        for attribute in ("upper_class", "sub_class", "name"):
            seen: set[str] = set()
            for index in self._lattice.entities:
                group = str(getattr(corpus.entities[index], attribute))
                if group not in seen:
                    seen.add(group)
                    chosen.setdefault(index)
        return list(chosen)


class ListedSamples:
    """Prompts of a list, those with other tags first. What holds of another prompt's picture is not known for
    sure, so contrary checks are those of a prompt that shares none with it."""

    def __init__(self, prompts: PromptList, seed: int = 0) -> None:
        chosen = list({one.tags: one for one in reversed(prompts.prompts)}.values())[::-1]
        others = [one for one in prompts.prompts if one not in chosen]
        self._prompts = [*chosen, *others]
        self._luck = random.Random(f"doctor/{seed}")
        self.kinds: list[str] = []

    def plain(self, count: int) -> list[Sample]:
        found = self._prompts[:count]
        return [self._sample(one, found[place - 1]) for place, one in enumerate(found)]

    def pair(self, kinds: Sequence[str]) -> tuple[Sample, Sample] | None:
        for _ in range(30):
            first, second = self._luck.choice(self._prompts), self._luck.choice(self._prompts)
            if not set(first.checks) & set(second.checks):
                return self._sample(first, second), self._sample(second, first)
        return None

    @staticmethod
    def _sample(prompt: ListedPrompt, other: ListedPrompt) -> Sample:
        return Sample(prompt.text, prompt.checks, tuple(c for c in other.checks if c not in prompt.checks))


def chosen_kinds(lattice: Lattice) -> list[str]:
    """Kinds with two or more values that can be asked for, the commonest of each family in turn."""
    corpus, counts = lattice.corpus, dict[str, int]()
    for kind, group in corpus.sub_categories.items():
        plausible = [sum(lattice.plausible[e] >> v & 1 for e in lattice.entities) for v in group]
        if lattice.depth and sum(number > 0 for number in plausible) >= 2:
            counts[kind] = sum(plausible)
    families: dict[str, list[str]] = {}
    for kind in sorted(counts, key=lambda kind: -counts[kind]):
        families.setdefault(kind.partition(":")[0], []).append(kind)
    in_turn = [kind for row in zip_longest(*families.values()) for kind in row if kind]
    return in_turn[:MOST_KINDS]


SIDE = 384
#: Far apart in name, class, colour and place, so that no row's words fit another picture.
THINGS = (
    ("cow", "blue", "beach"),
    ("car", "red", "forest"),
    ("apple", "green", "snow"),
    ("penguin", "pink", "desert"),
    ("bicycle", "yellow", "beach"),
    ("owl", "purple", "snow"),
    ("boat", "green", "forest"),
    ("cupcake", "blue", "desert"),
    ("umbrella", "red", "snow"),
    ("camel", "purple", "forest"),
    ("crab", "yellow", "desert"),
    ("turtle", "pink", "beach"),
    ("pineapple", "red", "desert"),
    ("elephant", "green", "beach"),
    ("bus", "purple", "beach"),
    ("teapot", "yellow", "forest"),
    ("guitar", "blue", "meadow"),
    ("cactus", "pink", "city"),
    ("airplane", "orange", "desert"),
    ("butterfly", "red", "meadow"),
)


@dataclass(frozen=True, slots=True)
class KnownPicture:
    thing: str
    picture: Picture
    #: What holds: the thing and its colour.
    checks: tuple[Check, ...]

    caption: str


@cache
def known_pictures() -> tuple[KnownPicture, ...]:
    """As many as the world has the words for."""
    corpus = load_corpus("toybox")
    wording, found = Wording(corpus), []
    for thing, colour, place in THINGS:
        value = corpus.value_index.get(f"Base: colour={colour}")
        if thing in corpus.entity_index and value is not None:
            drawn = Image.fromarray(render_attributes(Attributes(thing, colour=colour, place=place)))
            picture = Picture.from_image(drawn.resize((SIDE, SIDE), Image.Resampling.BICUBIC))

            caption = f"a picture of a {colour} {thing}, {place}"
            node = Node(corpus.entity_index[thing], (value,))
            found.append(KnownPicture(thing, picture, wording.checks(node), caption))
    return tuple(found)


MIDDLE_GREY = (128, 128, 128)
#: What stays of a picture whose middle is painted over: a frame of this share of each side.
FRAME = 0.08

#: So many pixels a side are left of a blurred picture.
BLURRED = 5

SAID = "answer true"
_HUES = frozenset(("red", "orange", "yellow", "green", "blue", "purple", "pink", "violet", "cyan", "magenta"))
_SIDES = {"left", "right"}


def blank(like: Picture) -> Picture:
    """Plain grey of the same size."""
    return Picture.from_image(Image.new("RGB", like.image.size, MIDDLE_GREY))


def remove(picture: Picture) -> Picture:
    """All but a narrow frame becomes a smooth blend of its four edges: what stood there is gone."""
    pixels = picture.array.astype(np.float64)
    height, width, _ = pixels.shape
    top, left = max(1, int(height * FRAME)), max(1, int(width * FRAME))
    inner = pixels[top : height - top, left : width - left]
    rows, columns = inner.shape[:2]
    down = np.linspace(0, 1, rows)[:, None, None]
    across = np.linspace(0, 1, columns)[None, :, None]
    upper, lower = pixels[:top].mean((0, 1)), pixels[-top:].mean((0, 1))
    west, east = pixels[:, :left].mean((0, 1)), pixels[:, -left:].mean((0, 1))
    blend = (upper * (1 - down) + lower * down + west * (1 - across) + east * across) / 2
    pixels[top : height - top, left : width - left] = blend
    return Picture.from_array(pixels.round().astype(np.uint8))


def recolour(picture: Picture) -> Picture:
    """Every hue becomes the opposite one."""
    hsv = np.array(picture.image.convert("HSV"))
    hsv[..., 0] += 128
    return Picture.from_image(Image.fromarray(hsv, "HSV").convert("RGB"))


def mirror(picture: Picture) -> Picture:
    return Picture.from_image(picture.image.transpose(Image.Transpose.FLIP_LEFT_RIGHT))


def blur(picture: Picture) -> Picture:
    """So far that nobody could name what is shown."""
    image = picture.image
    few = image.resize((BLURRED, BLURRED), Image.Resampling.BOX)
    return Picture.from_image(few.resize(image.size, Image.Resampling.BICUBIC))


def write_on(picture: Picture, text: str = SAID) -> Picture:
    """Text along the bottom, black on white, as large as a caption."""
    image = picture.image.copy()
    size = max(8, image.width // 10)
    font = ImageFont.load_default(size)
    height = int(size * 1.4)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, image.height - height, image.width, image.height), fill="white")
    draw.text((size // 3, image.height - height), text, fill="black", font=font)
    return Picture.from_image(image)


Change = Callable[[Picture], Picture]


def changes_for(check: Check) -> dict[str, Change]:
    """The changes after which this check cannot hold any more, by name."""
    if check.kind == "entity":
        return {"removed": remove, "blurred": blur}
    words = set(words_of(check.value))
    if words & _SIDES:
        return {"mirrored": mirror}
    return {"recoloured": recolour} if words & _HUES else {}
