"""Wording turned round: which node a caption asks for, and which check a statement makes.

It knows only what `Wording` of the same corpus can say. Model servers for tests and for the toybox use it.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import Any

from failscape.spaces.lattice import Node
from failscape.spaces.wording import HEADS, Pick, Wording, plural_of, with_article
from failscape.trials import Check

_SLOT = re.compile(r"\{[^}]*\}")
_CACHE_SIZE = 100_000

Parts = tuple[str, ...]


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
        text, corpus, say = statement.lower(), self._corpus, self._wording.statement
        values = [value for value, parts in enumerate(self._statement_parts) if _has_all(text, parts)]
        # Statements about the background or the style may name no entity: then any will do.
        for entity in (*self._entities_in(text), 0):
            for plural in (False, True):
                if say(entity, plural) == statement:
                    yield Check("entity", corpus.entities[entity].name, statement)
                for value in values:
                    if say(entity, plural, value) == statement:
                        yield Check(corpus.values[value].kind, corpus.values[value].name, statement)

    def _picks_in(self, text: str) -> Iterator[Pick]:
        """Wordings all of whose fixed parts occur in the text."""
        return ((value, number) for value, number, parts in self._wording_parts if _has_all(text, parts))

    @cached_property
    def _wording_parts(self) -> list[tuple[int, int, Parts]]:
        return [
            (value, number, self._parts(value, text))
            for value, texts in enumerate(self._wording.wordings)
            for number, text in enumerate(texts)
        ]

    @cached_property
    def _statement_parts(self) -> list[Parts]:
        wordings, statements = self._wording.wordings, self._wording.statements
        return [self._parts(value, text or wordings[value][0]) for value, text in enumerate(statements)]

    def _parts(self, value: int, text: str) -> Parts:
        """What stays of a wording whatever fills its slots, in lower case."""
        name = self._corpus.values[value].name
        full = text.replace("{value}", name).replace("{a value}", with_article(name))
        return tuple(part.strip().lower() for part in _SLOT.split(full) if part.strip())

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


def _has_all(text: str, parts: Parts) -> bool:
    return all(part in text for part in parts)


def _size(choice: tuple[Pick | None, ...]) -> int:
    return -sum(pick is not None for pick in choice)


def _make_room(cache: dict[str, Any]) -> None:
    if len(cache) >= _CACHE_SIZE:
        cache.clear()
