"""The same cases on all models, side by side: what a page or screen shows of a compared subject. Pure."""

from collections.abc import Sequence

from failscape.comparison.cases import AskedCase
from failscape.comparison.reading import ModelSide

#: One case, asked of each model in turn; `None` where one was not asked.
CaseRow = tuple[AskedCase | None, ...]


def cases_beside(sides: Sequence[ModelSide], subject: str, most: int) -> list[CaseRow]:
    """Up to `most` cases that the first and the last share: those that differ first."""
    digests = next((side.photos[subject] for side in sides if subject in side.photos), frozenset[str]())
    rows: list[CaseRow] = []
    for place, case in sides[0].cases.items():
        mine = place[0] == subject or bool(case.images and case.images[-1] in digests)
        if mine and place in sides[-1].cases:
            rows.append(tuple(side.cases.get(place) for side in sides))
    rows.sort(key=lambda row: len({case.failed for case in row if case is not None}) < 2)
    return rows[:most]
