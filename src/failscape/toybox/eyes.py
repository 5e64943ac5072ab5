"""toy-eyes at work: looks at 64x64 pictures, decides checks, writes captions.

It knows the embedded world only. A check about anything else is left undecided.

What toy-eyes can say about a picture: its heads, their values, and where each head's numbers are.

toy-eyes's shipped measurements as a table of accuracy per kind of check of the toybox corpus.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.spaces.pairs import PAIR_FAMILIES
from failscape.stats.judging.accuracy import ALL_OTHERS, JudgeAccuracy
from failscape.stats.judging.errors import KindAccuracy, Measured
from failscape.toybox import world
from failscape.toybox.networks import MODELS, as_input, run_in_parts, session
from failscape.toybox.world import ALLOWED, ATTRIBUTES, ENTITIES, Attributes
from failscape.toybox.world.vocab import FAMILIES
from failscape.trials import Check

#: The extra value of the entity head: nothing that can be named is in the picture.
NONE: Final = "none"
#: The label of a head that cannot be told.
UNKNOWN: Final = -1

HEADS: Final[dict[str, tuple[str, ...]]] = {
    "entity": (*ENTITIES, NONE),
    **{name: ALLOWED[name] for name in ATTRIBUTES},
}


#: Where the numbers of each head lie in the network's output.
_ENDS: Final = list(accumulate(len(values) for values in HEADS.values()))
SLICES: Final[dict[str, slice]] = dict(zip(HEADS, map(slice, [0, *_ENDS], _ENDS), strict=True))
WIDTH: Final = _ENDS[-1]


def labels_of(attributes: Attributes) -> dict[str, int]:
    """Return the index of the true value of every head."""
    return {name: values.index(getattr(attributes, name)) for name, values in HEADS.items()}


#: A value is seen when its probability reaches this. The shipped accuracies are measured at this point.
THRESHOLD: Final = 0.5
_NUMBERS: Final = {"1": "one", "2": "two", "3": "three", "4": "four"}
_SPELLINGS: Final = {"color": "colour", "center": "centre", **_NUMBERS}


@dataclass(frozen=True)
class Sighting:
    """What was seen in n pictures: per head the most likely value of each picture, and all probabilities."""

    labels: dict[str, list[str]]
    probabilities: dict[str, NDArray[np.float32]]

    def chance(self, index: int, head: str, value: str) -> float:
        """Return the probability that picture `index` shows `value`."""
        return float(self.probabilities[head][index, HEADS[head].index(value)])


class Eyes:
    """The network with its reading of the world. Safe to use from several threads."""

    def __init__(self, path: Path | None = None, threads: int = 1) -> None:
        self.path = path or MODELS / "eyes.onnx"
        self._session = session(self.path, threads)

    def look(self, images: NDArray[np.uint8]) -> Sighting:
        """Return labels and probabilities of every head for pictures of shape (n, 64, 64, 3)."""
        empty = np.zeros((0, WIDTH), dtype=np.float32)
        scores = run_in_parts(self._session, {"image": as_input(images)}) if len(images) else empty
        chances = {head: special.softmax(scores[:, part], axis=-1) for head, part in SLICES.items()}
        labels = {head: [HEADS[head][i] for i in rows.argmax(axis=1)] for head, rows in chances.items()}
        return Sighting(labels, chances)

    def judge(self, images: NDArray[np.uint8], checks: Sequence[Sequence[Check]]) -> list[list[bool | None]]:
        """Decide the checks of each picture; None means that the check is not about this world."""
        if len(images) != len(checks):
            raise ValueError(
                f"one list of checks per picture is needed, but got {len(checks)} for {len(images)}"
            )
        seen = self.look(images)
        return [[decide(seen, i, check) for check in row] for i, row in enumerate(checks)]

    def caption(self, image: NDArray[np.uint8]) -> list[str]:
        """Say in several short sentences what one picture shows."""
        return self.captions(image[None])[0]

    def captions(self, images: NDArray[np.uint8]) -> list[list[str]]:
        """Say what each picture shows."""
        seen = self.look(images)
        return [sentences({head: seen.labels[head][i] for head in HEADS}) for i in range(len(images))]


def target_of(check: Check) -> tuple[str, str] | None:
    """Return the head and the value that a check asks about, or None if this world has no such thing.

    Both "Base: Colour" and plain "colour" name the colour head. Of a second thing it says nothing: it looks
    for one thing in a picture.
    """
    if check.kind.partition(":")[0] in PAIR_FAMILIES:
        return None
    head = check.kind.rsplit(":", 1)[-1].strip().lower()
    value = check.value.strip().lower()
    head, value = _SPELLINGS.get(head, head), _SPELLINGS.get(value, value)
    return (head, value) if value in HEADS.get(head, ()) and value != NONE else None


def decide(seen: Sighting, index: int, check: Check) -> bool | None:
    """Decide one check about one picture."""
    target = target_of(check)
    return None if target is None else seen.chance(index, *target) >= THRESHOLD


def sentences(labels: dict[str, str]) -> list[str]:
    """Word the labels of one picture as short sentences, in the words of the world."""
    if labels["entity"] != NONE:
        text = world.describe(world.build_scene(world.Attributes(**labels)))
        return [f"{part}." for part in text.rstrip(".").split(". ")]
    empty = world.build_scene(world.Attributes(**{**labels, "entity": world.ENTITIES[0]}))
    about = [part for part in world.describe(empty).rstrip(".").split(". ") if part.startswith("the picture")]
    place = world.caption(empty, mention=("place",)).split(" ", 2)[-1]
    return ["there is nothing to name.", f"the picture is {place}.", *(f"{part}." for part in about)]


@cache
def card() -> dict[str, Any]:
    """Return the shipped measurements: accuracy per head, sensitivity and specificity per kind of check."""
    content: dict[str, Any] = json.loads((MODELS / "eyes.json").read_text(encoding="utf-8"))
    return content


#: Measured on degraded scenes, which look more like what a generator draws than clean ones do.
SCENES: Final = "degraded"


@cache
def eyes_accuracy() -> JudgeAccuracy:
    """Return how toy-eyes errs. Kinds it does not know are left undecided; they count as its worst kind."""
    measured = {head: _kind(counts) for head, counts in card()[SCENES]["checks"].items()}
    kinds = {"entity": measured["entity"]}
    for family, heads in FAMILIES.items():
        kinds.update({f"{family.capitalize()}: {head}": measured[head] for head in heads})
    kinds[ALL_OTHERS] = min(measured.values(), key=lambda kind: kind.sensitivity.rate)
    return JudgeAccuracy(kinds, source="shipped with toy-eyes")


def _kind(counts: dict[str, Any]) -> KindAccuracy:
    """Take pictures as independent cases: the wrong values of one picture were asked about together."""
    pictures = counts["true_asked"]
    rejected = counts["false_rejected"] / counts["false_asked"]
    return KindAccuracy(Measured.counted(counts["true_accepted"], pictures), Measured(rejected, pictures))
