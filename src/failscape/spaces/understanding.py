"""Wording turned round: which node a caption asks for, and which check a statement makes.

It knows only what `Wording` of the same corpus can say. Model servers for tests and for the toybox use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import Any

from failscape.spaces.lattice import Node
from failscape.spaces.phrases import plural_of
from failscape.spaces.wording import HEADS, Pick, Wording
from failscape.trials import Check

_SLOT = re.compile(r"\{[^}]*\}")
_CACHE_SIZE = 100_000


class Understanding:
    """Reads captions and statements of one corpus. Answers are remembered, up to a limit."""

    def __init__(self, wording: Wording) -> None:
        self._wording = wording
        self._corpus = wording.corpus
        self._captions: dict[str, Node | None] = {}
        self._statements: dict[str, Check | None] = {}

    def node(self, caption: str) -> Node | None:
        """The node whose caption this is, in any of its wordings; `None` when there is none."""
        if caption not in self._captions:
            _make_room(self._captions)
            self._captions[caption] = next(self._matching_nodes(caption), None)
        return self._captions[caption]

    def check(self, statement: str) -> Check | None:
        """The kind and value that a statement is about."""
        if statement not in self._statements:
            _make_room(self._statements)
            self._statements[statement] = next(self._matching_checks(statement), None)
        return self._statements[statement]

    def kind(self, name: str) -> str | None:
        """The sub-category's full name, whatever its case."""
        return self._kinds.get(name.lower())

    @cached_property
    def _kinds(self) -> dict[str, str]:
        return {kind.lower(): kind for kind in self._corpus.sub_categories}

    def _matching_nodes(self, caption: str) -> Iterator[Node]:
        text = caption.lower()
        by_kind: dict[str, list[Pick]] = {}
        for value, number in self._picks_in(text):
            by_kind.setdefault(self._corpus.values[value].kind, []).append((value, number))
        # Longer captions are explained by more values, so sets are tried from the largest down.
        choices = sorted(product(*([*picks, None] for picks in by_kind.values())), key=_size)
        for entity in self._entities_in(text):
            for choice in choices:
                picks = sorted(pick for pick in choice if pick is not None)
                if any(self._wording.compose(entity, picks, head) == caption for head in range(len(HEADS))):
                    yield Node(entity, tuple(value for value, _ in picks))

    def _matching_checks(self, statement: str) -> Iterator[Check]:
        text = statement.lower()
        counts = [value for value, fragments in enumerate(self._plurals) if fragments]
        for entity in self._entities_in(text):
            for value in (None, *(value for value, _ in self._picks_in(text, statements=True))):
                own = () if value is None else (value,)
                for other in (None, *counts[:1]):
                    values = own if other is None or other == value else tuple(sorted((*own, other)))
                    for check in self._wording.checks(Node(entity, values)):
                        if check.statement == statement:
                            yield check

    @cached_property
    def _plurals(self) -> list[bool]:
        return ["{things}" in texts[0] for texts in self._wording.wordings]

    def _picks_in(self, text: str, statements: bool = False) -> Iterator[Pick]:
        """Wordings all of whose fixed parts occur in the text."""
        seen: set[int] = set()
        for value, number, fragments in self._fragments:
            if statements and value in seen:
                continue
            if all(part in text for part in fragments) or (statements and self._names[value] in text):
                seen.add(value)
                yield value, number

    @cached_property
    def _names(self) -> list[str]:
        return [value.name.lower() for value in self._corpus.values]

    @cached_property
    def _fragments(self) -> list[tuple[int, int, tuple[str, ...]]]:
        rows = []
        for value, texts in enumerate(self._wording.wordings):
            for number, text in enumerate(texts):
                full = text.replace("{value}", self._names[value]).replace("{a value}", self._names[value])
                parts = tuple(part.strip().lower() for part in _SLOT.split(full) if part.strip())
                rows.append((value, number, parts))
        return rows

    def _entities_in(self, text: str) -> list[int]:
        """Entities named in the text, longest names first."""
        found = [index for index, names in enumerate(self._entity_names) if any(n in text for n in names)]
        return sorted(found, key=lambda index: -len(self._corpus.entities[index].name))

    @cached_property
    def _entity_names(self) -> list[tuple[str, str]]:
        return [
            (entity.name.lower(), (entity.plural or plural_of(entity.name)).lower())
            for entity in self._corpus.entities
        ]


def _size(choice: tuple[Pick | None, ...]) -> int:
    return -sum(pick is not None for pick in choice)


def _make_room(cache: dict[str, Any]) -> None:
    if len(cache) >= _CACHE_SIZE:
        cache.clear()
