"""Reads the subjects of t2i hunts: `cat; Base: Colour=red; Background: Place=beach`. Pure.

The lattice writes them; here they are taken apart without a corpus.
"""

from collections.abc import Iterator
from itertools import combinations

#: A kind such as `Base: Colour`, and a value.
Pair = tuple[str, str]


def split_subject(subject: str) -> tuple[str, list[Pair]]:
    """The entity, and its values in the subject's order."""
    entity, *labels = subject.split("; ")
    pairs = []
    for label in labels:
        kind, _, value = label.partition("=")
        pairs.append((kind, value))
    return entity, pairs


def join_subject(entity: str, pairs: list[Pair]) -> str:
    return "; ".join((entity, *(f"{kind}={value}" for kind, value in pairs)))


def parents_of(subject: str) -> list[str]:
    """The subjects with one value less."""
    entity, *labels = subject.split("; ")
    return ["; ".join((entity, *labels[:at], *labels[at + 1 :])) for at in range(len(labels))]


def ancestors_of(subject: str) -> Iterator[str]:
    """The subjects with fewer values, each once, the entity alone last."""
    entity, *labels = subject.split("; ")
    for size in range(len(labels) - 1, -1, -1):
        yield from ("; ".join((entity, *some)) for some in combinations(labels, size))
