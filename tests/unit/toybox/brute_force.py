"""A second, slow way to answer the toybox's compound questions: it reads the words and looks at pixels.

It shares no code with the grammar. Boxes are painted on a canvas of numbers, orders are counted, and words
are read one after the other. `INVALID` is what it says where a question has no one answer.
"""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np

from failscape.toybox.world import COLOURS, ENTITIES, KINDS, PLURALS, Scene, Thing

INVALID = None
NUMBERS = ["zero", "one", "two", "three", "four", "five"]
SORTS = {
    "animal": ("animals", "animals"),
    "piece of food": ("pieces of food", "food"),
    "plant": ("plants", "plants"),
    "vehicle": ("vehicles", "vehicles"),
    "household item": ("household items", "household"),
    "toy": ("toys", "toys"),
}
GROUP = {kind.name: kind.group for kind in KINDS}
SORT_OF_GROUP = {group: one for one, (_, group) in SORTS.items()}
ENTITY = "|".join(sorted(ENTITIES, key=len, reverse=True))
MANY = "|".join(sorted(PLURALS.values(), key=len, reverse=True))
ONE_OF = {many: one for one, many in PLURALS.items()}
SORT = "|".join(sorted([*SORTS, *(many for many, _ in SORTS.values())], key=len, reverse=True))
COLOUR = "|".join(COLOURS)
RELATION = "left of|right of|above|below"


def canvas(scene: Scene) -> np.ndarray:
    """For each thing, which pixels (of a picture with a wide rim) its box holds."""
    layers = np.zeros((len(scene.things), 128, 128), dtype=bool)
    for layer, thing in zip(layers, scene.things, strict=True):
        left, top, right, bottom = (value + 32 for value in thing.box)
        layer[top:bottom, left:right] = True
    return layers


def share_hidden(scene: Scene, at: int, by: int | None = None) -> float:
    layers = canvas(scene)
    over = [n for n in range(at + 1, len(scene.things)) if by in (None, n)]
    return max([float((layers[at] & layers[n]).sum() / layers[at].sum()) for n in over], default=0.0)


def holds(a: Thing, b: Thing, relation: str) -> bool:
    (ax, ay), (bx, by) = a.centre, b.centre
    gaps = {"left of": bx - ax, "right of": ax - bx, "above": by - ay, "below": ay - by}
    return gaps[relation] >= 10


def cell(thing: Thing) -> tuple[int, int]:
    return int(np.digitize(thing.centre[0], [64 / 3, 128 / 3])), int(
        np.digitize(thing.centre[1], [64 / 3, 128 / 3])
    )


def gap(a: Thing, b: Thing) -> float:
    return float(np.hypot(*np.subtract(a.centre, b.centre)))


class Reader:
    """One scene. Things are known by their place in it."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.all = list(range(len(scene.things)))
        self.open: list[int] = []

    def the(self, name: str) -> int | None:
        found = [at for at in self.all if self.scene.things[at].entity == name]
        return found[0] if len(found) == 1 else None

    def fact(self, at: int, rest: str) -> bool | None:
        """Whether what is said after the noun holds."""
        things, thing = self.scene.things, self.scene.things[at]
        if not rest:
            return True
        rest = re.sub(r"^that (is|are) (?=not|partly)", "", rest)
        if rest.startswith("not on the"):
            return not self.fact(at, rest.removeprefix("not "))
        if m := re.fullmatch(r"on the (left|right|upper|lower) side", rest):
            x, y = cell(thing)
            return {"left": x == 0, "right": x == 2, "upper": y == 0, "lower": y == 2}[m[1]]
        if rest == "in a corner":
            return cell(thing) in ((0, 0), (0, 2), (2, 0), (2, 2))
        if rest == "partly hidden":
            share = share_hidden(self.scene, at)
            return None if 0.1 < share < 0.3 else share >= 0.3
        if m := re.fullmatch(rf"not ({COLOUR})", rest):
            return None if thing.colour == "natural" else thing.colour != m[1]
        if m := re.fullmatch(rf"that (?:is|are) ({COLOUR}) or ({COLOUR})", rest):
            return None if thing.colour == "natural" or m[1] == m[2] else thing.colour in m.groups()
        if m := re.fullmatch(rf"({RELATION}) the ({COLOUR}) ({ENTITY})", rest):
            same = [n for n in self.all if things[n].entity == m[3]]
            fits = [n for n in same if things[n].colour == m[2]]
            if len(fits) != 1 or "natural" in [things[n].colour for n in same]:
                return None
            return at != fits[0] and holds(thing, things[fits[0]], m[1])
        return self.beside(at, rest)

    def beside(self, at: int, rest: str) -> bool | None:
        """Conditions on another thing, which is named last."""
        thing = self.scene.things[at]
        m = re.fullmatch(rf"(.*) the ({ENTITY})", rest)
        assert m, rest
        anchor = self.the(m[2])
        if anchor is None:
            return None
        if anchor == at:
            return False
        other = self.scene.things[anchor]
        in_row, in_column = (
            abs(thing.centre[1] - other.centre[1]) < 10,
            abs(thing.centre[0] - other.centre[0]) < 10,
        )
        said = m[1]
        if said in RELATION.split("|"):
            return holds(thing, other, said)
        if " and " in said:
            return all(holds(thing, other, one) for one in said.split(" and "))
        if said == "with the same colour as":
            known = "natural" not in (thing.colour, other.colour)
            return thing.colour == other.colour if known else None
        return {
            "in the same row as": in_row,
            "in the same column as": in_column,
            "next to": (in_row or in_column) and gap(thing, other) <= 26,
            "of the same size as": thing.size == other.size,
            "other than": True,
        }[said]

    def things_of(self, phrase: str) -> tuple[list[int], str]:
        """The things that a phrase may name, and what is said after its noun; `open` are those in doubt."""
        m = re.fullmatch(rf"(?:(small|large) )?(?:({COLOUR}) )?(things?|{SORT})(?: (.*))?", phrase)
        assert m, phrase
        found = []
        self.open = []
        for at in self.all:
            thing = self.scene.things[at]
            group = next((group for one, (many, group) in SORTS.items() if m[3] in (one, many)), None)
            facts: list[bool | None] = [group in (None, GROUP[thing.entity])]
            facts.append(m[1] in (None, thing.size))
            if m[2]:
                facts.append(None if thing.colour == "natural" else thing.colour == m[2])
            if False not in facts:
                found.append(at)
                if None in facts:
                    self.open.append(at)
        return found, m[4] or ""

    def some(self, phrase: str) -> list[int] | None:
        """All things that fit a phrase with whatever is said after the noun; None where that is open."""
        first, rest = self.things_of(phrase)
        kept = []
        for at in first:
            fact = self.fact(at, rest)
            if fact is None or (fact and at in self.open):
                return None
            if fact:
                kept.append(at)
        return kept

    def one(self, phrase: str) -> int | None:
        """The one thing that "the …" names."""
        for pattern, pick in (
            (r"(leftmost|rightmost|topmost|lowest) (.*)", self._extreme),
            (r"(second|third) (.*) from the (left|right|top|bottom)", self._ordinal),
            (rf"(.*) (nearest to|farthest from) the ({ENTITY})", self._by_distance),
            (rf"(.*) between the ({ENTITY}) and the ({ENTITY})", self._between),
            (r"(.*) in the centre", self._centre),
            (rf"(.*) in front of the ({ENTITY})", self._front),
            (rf"(.*?) ({RELATION}) the thing ({RELATION}) the ({ENTITY})", self._chain),
        ):
            if m := re.fullmatch(pattern, phrase):
                return pick(*m.groups())
        among, rest = self.things_of(phrase)
        if self.open or len(among) < 2:
            return None
        facts = [self.fact(at, rest) for at in among]
        return among[facts.index(True)] if None not in facts and facts.count(True) == 1 else None

    def among(self, phrase: str) -> list[int]:
        found, _ = self.things_of(phrase)
        return [] if self.open else found

    def _place(self, among: list[int], end: str, before: int) -> int | None:
        """The thing with just so many others nearer to the end, all of them clearly."""
        axis, sign = {"left": (0, 1), "right": (0, -1), "top": (1, 1), "bottom": (1, -1)}[end]
        at = {n: sign * self.scene.things[n].centre[axis] for n in among}
        for n in among:
            others = [m for m in among if m != n]
            nearer = [m for m in others if at[m] < at[n]]
            if others and len(nearer) == before and all(abs(at[m] - at[n]) >= 6 for m in others):
                return n
        return None

    def _extreme(self, word: str, phrase: str) -> int | None:
        end = {"leftmost": "left", "rightmost": "right", "topmost": "top", "lowest": "bottom"}[word]
        return self._place(self.among(phrase), end, 0)

    def _ordinal(self, rank: str, phrase: str, end: str) -> int | None:
        return self._place(self.among(phrase), end, {"second": 1, "third": 2}[rank])

    def _by_distance(self, phrase: str, word: str, name: str) -> int | None:
        anchor = self.the(name)
        if anchor is None:
            return None
        others = [n for n in self.among(phrase) if n != anchor]
        far = {n: gap(self.scene.things[n], self.scene.things[anchor]) for n in others}
        sign = 1 if word == "nearest to" else -1
        for n in others:
            rest = [m for m in others if m != n]
            if rest and all(sign * (far[m] - far[n]) >= 4 for m in rest):
                return n
        return None

    def between(self, n: int, first: int, second: int) -> bool:
        a, b, p = (np.array(self.scene.things[k].centre) for k in (first, second, n))
        way, length = b - a, float(np.linalg.norm(b - a))
        if not length:
            return False
        along = float((p - a) @ way) / length
        aside = float(np.linalg.norm((p - a) - along * way / length))
        return 6 <= along <= length - 6 and aside < 26 / 3

    def _between(self, phrase: str, first: str, second: str) -> int | None:
        a, b = self.the(first), self.the(second)
        if a is None or b is None or a == b:
            return None
        found = [n for n in self.among(phrase) if n not in (a, b) and self.between(n, a, b)]
        return found[0] if len(found) == 1 else None

    def _centre(self, phrase: str) -> int | None:
        among = self.among(phrase)
        found = [n for n in among if cell(self.scene.things[n]) == (1, 1)]
        return found[0] if len(found) == 1 and len(among) > 1 else None

    def _front(self, phrase: str, name: str) -> int | None:
        back = self.the(name)
        if back is None:
            return None
        shares = {n: share_hidden(self.scene, back, n) for n in self.all if n > back}
        over = [n for n, share in shares.items() if share > 0.1]
        ok = len(over) == 1 and shares[over[0]] >= 0.3 and over[0] in self.among(phrase)
        return over[0] if ok else None

    def _chain(self, phrase: str, first: str, second: str, name: str) -> int | None:
        anchor, things = self.the(name), self.scene.things
        if anchor is None:
            return None
        middle = [n for n in self.all if n != anchor and holds(things[n], things[anchor], second)]
        if len(middle) != 1:
            return None
        found = [
            n for n in self.among(phrase) if n != middle[0] and holds(things[n], things[middle[0]], first)
        ]
        return found[0] if len(found) == 1 else None


def yes(fact: bool) -> str:
    return "yes" if fact else "no"


def answer(scene: Scene, question: str) -> str | None:
    """The one right answer to a compound question, or INVALID."""
    text = re.sub(r"\ban\b", "a", question.rstrip("?"))
    for pattern, solve in (*SPECIALS.items(), *ONES.items(), *SETS.items()):
        if m := re.fullmatch(pattern, text):
            return solve(Reader(scene), *m.groups())
    raise AssertionError(f"not understood: {question}")


def _set(decide):
    def solve(reader: Reader, *parts: str) -> str | None:
        found = reader.some(parts[-1] if len(parts) == 1 or parts[0] in NUMBERS else parts[0])
        return INVALID if found is None else decide(reader, found, *parts)

    return solve


def _all(reader: Reader, found: list[int], phrase: str, size: str) -> str | None:
    sizes = {reader.scene.things[n].size for n in found}
    return INVALID if len(found) < 2 else yes(sizes == {size})


SETS = {
    r"is there only one (.*)": _set(lambda r, f, p: INVALID if not f else yes(len(f) == 1)),
    r"is there no (.*)": _set(lambda r, f, p: yes(not f)),
    r"(?:is there|do you see) a (.*)": _set(lambda r, f, p: yes(bool(f))),
    r"how many (.*) (?:are there|do you see)": _set(lambda r, f, p: NUMBERS[len(f)]),
    r"are there at least (two|three) (.*)": _set(lambda r, f, n, p: yes(len(f) >= NUMBERS.index(n))),
    r"are there exactly (two|three) (.*)": _set(lambda r, f, n, p: yes(len(f) == NUMBERS.index(n))),
    r"is the number of (.*) even": _set(lambda r, f, p: INVALID if not f else yes(len(f) in (2, 4))),
    r"are all (.*) (small|large)": _set(_all),
}


def _one(tell):
    def solve(reader: Reader, phrase: str) -> str | None:
        found = reader.one(phrase)
        return INVALID if found is None else tell(reader.scene.things[found])

    return solve


ONES = {
    r"(?:what is|please name) the (.*)": _one(lambda t: t.entity),
    r"what colour is the (.*)": _one(lambda t: INVALID if t.colour == "natural" else t.colour),
    r"which colour does the (.*) have": _one(lambda t: INVALID if t.colour == "natural" else t.colour),
    r"what size is the (.*)": _one(lambda t: t.size),
    r"what sort of thing is the (.*)": _one(lambda t: SORT_OF_GROUP[GROUP[t.entity]]),
    r"in which column is the (.*)": _one(lambda t: ["left", "middle", "right"][cell(t)[0]]),
    r"in which row is the (.*)": _one(lambda t: ["top", "middle", "bottom"][cell(t)[1]]),
}


def _two(decide):
    def solve(reader: Reader, *parts: str) -> str | None:
        names = [part for part in parts if part in ENTITIES]
        found = [reader.the(name) for name in names]
        if None in found or len(set(names)) < len(names):
            return INVALID
        things = [reader.scene.things[n] for n in found if n is not None]
        return decide(reader, *things, *[part for part in parts if part not in ENTITIES])

    return solve


def _in_front(reader: Reader, a: Thing, b: Thing) -> str | None:
    things = list(reader.scene.things)
    first, second = things.index(a), things.index(b)
    over = share_hidden(reader.scene, second, first) if first > second else 0.0
    under = share_hidden(reader.scene, first, second) if second > first else 0.0
    return INVALID if max(over, under) < 0.3 else yes(over > under)


def _nearer(reader: Reader, a: Thing, b: Thing, c: Thing) -> str | None:
    return INVALID if abs(gap(a, b) - gap(a, c)) < 4 else yes(gap(a, b) < gap(a, c))


def _where(reader: Reader, a: Thing, b: Thing) -> str | None:
    found = [relation for relation in RELATION.split("|") if holds(a, b, relation)]
    return found[0].replace(" of", "") if len(found) == 1 else INVALID


def _numbers(decide):
    def solve(reader: Reader, first: str, second: str) -> str | None:
        names = [ONE_OF.get(first, first), ONE_OF.get(second, second)]
        counts = [[t.entity for t in reader.scene.things].count(name) for name in names]
        return INVALID if names[0] == names[1] else decide(*counts)

    return solve


def _most(values: list[str]) -> str | None:
    best = [
        one for one in set(values) if all(values.count(one) > values.count(o) for o in set(values) - {one})
    ]
    return best[0] if best and values.count(best[0]) > 1 else INVALID


def _side(reader: Reader, side: str) -> int:
    return sum(bool(reader.fact(n, f"on the {side} side")) for n in reader.all)


def _fuller(reader: Reader, first: str, second: str) -> str | None:
    opposite = {"left": "right", "right": "left", "upper": "lower", "lower": "upper"}
    counts = _side(reader, first), _side(reader, second)
    return INVALID if opposite[first] != second or counts == (0, 0) else yes(counts[0] > counts[1])


def _colours(reader: Reader) -> str | None:
    found = {t.colour for t in reader.scene.things}
    return INVALID if "natural" in found else NUMBERS[len(found)]


def _alike(name: str):
    def solve(reader: Reader) -> str | None:
        pairs = [(getattr(a, name), getattr(b, name)) for a, b in combinations(reader.scene.things, 2)]
        return yes(all(a == b for a, b in pairs)) if pairs else INVALID

    return solve


def _hidden(reader: Reader, thing: Thing) -> str | None:
    fact = reader.fact(list(reader.scene.things).index(thing), "that is partly hidden")
    return INVALID if fact is None else yes(fact)


E, M = f"({ENTITY})", f"({MANY})"
SPECIALS = {
    r"what style is this picture|in which style is this": lambda r: r.scene.style,
    r"what time or weather is this": lambda r: r.scene.time,
    rf"in which column is the {E}": _two(lambda r, t: ["left", "middle", "right"][cell(t)[0]]),
    rf"in which row is the {E}": _two(lambda r, t: ["top", "middle", "bottom"][cell(t)[1]]),
    rf"is the {E} in a corner": _two(lambda r, t: yes(1 not in cell(t))),
    rf"is the {E} partly hidden": _two(_hidden),
    rf"do the {E} and the {E} have the same colour": _two(
        lambda r, a, b: INVALID if "natural" in (a.colour, b.colour) else yes(a.colour == b.colour)
    ),
    rf"do the {E} and the {E} have the same size": _two(lambda r, a, b: yes(a.size == b.size)),
    rf"are the {E} and the {E} of the same sort": _two(
        lambda r, a, b: yes(GROUP[a.entity] == GROUP[b.entity])
    ),
    rf"are the {E} and the {E} in the same (row|column)": _two(
        lambda r, a, b, line: yes(abs(a.centre[line == "row"] - b.centre[line == "row"]) < 10)
    ),
    rf"is the {E} larger than the {E}": _two(lambda r, a, b: yes((a.size, b.size) == ("large", "small"))),
    rf"where is the {E} seen from the {E}": _two(_where),
    rf"is the {E} (above|below) and (left of|right of) the {E}": _two(
        lambda r, a, b, up, across: yes(holds(a, b, up) and holds(a, b, across))
    ),
    rf"is the {E} next to the {E}": _two(
        lambda r, a, b: yes(min(np.abs(np.subtract(a.centre, b.centre))) < 10 and gap(a, b) <= 26)
    ),
    rf"is the {E} in front of the {E}": _two(_in_front),
    rf"is the {E} between the {E} and the {E}": _two(
        lambda r, a, b, c: yes(r.between(*[list(r.scene.things).index(t) for t in (a, b, c)]))
    ),
    rf"is the {E} nearer to the {E} than to the {E}": _two(_nearer),
    rf"how many {M} and {M} are there together": _numbers(lambda a, b: NUMBERS[a + b]),
    rf"how many more {M} than {M} are there": _numbers(lambda a, b: NUMBERS[a - b] if a > b else INVALID),
    rf"are there as many {M} as {M}": _numbers(lambda a, b: yes(a == b) if a + b else INVALID),
    rf"is there a {E} or a {E}": _numbers(lambda a, b: yes(a + b > 0)),
    rf"are there both a {E} and a {E}": _numbers(lambda a, b: yes(a * b > 0)),
    rf"is there neither a {E} nor a {E}": _numbers(lambda a, b: yes(a + b == 0)),
    r"how many different things are there": lambda r: NUMBERS[len({t.entity for t in r.scene.things})],
    r"how many different colours are there": _colours,
    r"how many different sorts of things are there": lambda r: NUMBERS[
        len({GROUP[t.entity] for t in r.scene.things})
    ],
    r"which thing is there most often": lambda r: _most([t.entity for t in r.scene.things]),
    r"which sort of thing is there most often": lambda r: _most(
        [SORT_OF_GROUP[GROUP[t.entity]] for t in r.scene.things]
    ),
    r"is the (left|right|upper|lower) side empty": lambda r, side: yes(_side(r, side) == 0),
    r"is the centre empty": lambda r: yes((1, 1) not in [cell(t) for t in r.scene.things]),
    r"are there more things on the (\w+) side than on the (\w+) side": _fuller,
    r"are all things the same": _alike("entity"),
    r"do all things have the same size": _alike("size"),
}
