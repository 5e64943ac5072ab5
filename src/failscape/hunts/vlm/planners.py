"""Who decides what a round asks: evolve, zero-shot, or a questioner in training. Pure.

All share the second half of the work: candidates are put to the test, and simpler forms of what failed.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from failscape.hunts.vlm.archive import Archive
from failscape.hunts.vlm.confirm import Confirmation
from failscape.hunts.vlm.items import Item
from failscape.hunts.vlm.outcomes import CONFIRM, LOOK, SEARCH, QuestionLog
from failscape.hunts.vlm.sharpening import ENOUGH, SURE_RATE, sharper
from failscape.spaces.questions import ANY, Asked, Draft, Grammar, Pattern, Sights

LOOKS = 3
"""Questions of a round for a mode that may be wider than what fails."""

COLLAPSE_ROUNDS = 3
COLLAPSE_DIFFERENT = 0.06
"""A questioner whose last rounds hold so few different questions has collapsed."""

_ANYTHING = Pattern(ANY)


@dataclass(frozen=True, slots=True)
class Rounds:
    """How large rounds are, and how much of one may go into confirmation."""

    size: int = 32
    confirm_share: float = 0.6
    per_image: int = 1
    turns: int = 1


class Planner:
    """Evolve: the archive chooses what is asked."""

    lag = 1
    """How many rounds may be under way besides the one being planned."""

    def __init__(
        self, grammar: Grammar, ledger: QuestionLog, confirmation: Confirmation, rounds: Rounds, seed: int
    ) -> None:
        self.archive = Archive(grammar, ledger, confirmation)
        self._grammar = grammar
        self._ledger = ledger
        self._confirmation = confirmation
        self._rounds = rounds
        self._seed = seed
        self.collapsed = ""
        """What to tell when the questioner writes hardly anything but one question."""
        self._recent: list[list[str]] = []
        self._narrow: dict[Pattern, tuple[tuple[int, tuple[Pattern, ...]], Pattern | None]] = {}

    def plan(self, number: int, left: int) -> list[Item]:
        """The items of a round, at most `left` questions; empty when there is nothing more to do."""
        return [] if self.collapsed else self._plan(number, left)

    def _plan(self, number: int, left: int) -> list[Item]:
        rng = random.Random(f"{self._seed}/{number}")
        self.archive.refresh()
        self._open_slots()
        self.archive.prune()
        room = min(self._rounds.size, left)
        items = self._confirming(number, rng, self._room_to_confirm(room))
        spent = sum(item.count for item in items)
        return items + self._searching(number, rng, room - spent, len(items))

    def close(self, items: Sequence[Item]) -> None:
        """A round is complete. Nobody learns here, but a writer that only repeats itself is noticed."""
        texts = [
            outcome.text
            for item in items
            if isinstance(item.work, Draft)
            for key, outcome in item.outcomes.items()
            if outcome.text and not key.endswith(">")
        ]
        if texts:
            self._watch(texts)

    def _watch(self, texts: Sequence[str]) -> None:
        self._recent = [*self._recent[1 - COLLAPSE_ROUNDS :], list(texts)]
        counts = Counter(text for block in self._recent for text in block)
        share = len(counts) / counts.total() if counts else 1.0
        if len(self._recent) == COLLAPSE_ROUNDS and share <= COLLAPSE_DIFFERENT:
            text, number = counts.most_common(1)[0]
            many = "1 question" if len(counts) == 1 else f"{len(counts)} different questions"
            self.collapsed = (
                f"the questioner collapsed: {many} in the last {counts.total()}, {number} times {text!r}"
            )

    def _room_to_confirm(self, room: int) -> int:
        return int(room * self._rounds.confirm_share)

    def _open_slots(self) -> None:
        confirmation = self._confirmation
        for pattern in list(confirmation.slots):
            narrow = self._sharper(pattern)
            if narrow is not None and confirmation.open(narrow, f"sharper than {pattern.text}"):
                confirmation.narrowed[pattern] = narrow
            else:
                confirmation.narrowed.pop(pattern, None)
        for pattern in [p for p in confirmation.failing() if p not in confirmation.narrowed]:
            for simple in self._grammar.simpler(pattern):
                if not self.archive.settled_as_passing(simple):
                    confirmation.open(simple, f"simpler than {pattern.text}")
        for pattern in self.archive.candidates():
            confirmation.open(pattern, "candidate")

    def _sharper(self, pattern: Pattern) -> Pattern | None:
        """Looked for again only when something was learned that could change it."""
        now = len(self._ledger.of(pattern)), self._ledger.known
        if pattern not in self._narrow or self._narrow[pattern][0] != now:
            found = sharper(pattern, self._ledger.unexplained(pattern), self._confirmation.margin)
            self._narrow[pattern] = now, found
        return self._narrow[pattern][1]

    def _to_look_into(self) -> list[Pattern]:
        """Failing modes that may be wider than what fails, and have been asked too little to tell."""
        found = []
        for pattern in self._confirmation.failing():
            asked = self._ledger.of(pattern)
            rate = sum(one.failed for one in asked) / len(asked) if asked else 0.0
            if len(asked) < ENOUGH and rate < SURE_RATE:
                found.append(pattern)
        return found

    def _confirming(self, number: int, rng: random.Random, room: int) -> list[Item]:
        items: list[Item] = []
        for pattern, count in self._confirmation.wants(room):
            examples = self._ledger.failures_of(pattern)
            like = rng.choice(examples).text if examples else ""
            for _ in range(count):
                work = self._grammar.draft(pattern, rng, True, like)
                if work is None:
                    self._confirmation.give_back(pattern)
                else:
                    items.append(self._item(number, len(items), CONFIRM, pattern, work, 1))
        return items

    def _searching(self, number: int, rng: random.Random, room: int, first: int) -> list[Item]:
        items: list[Item] = []
        wide = deque(pattern for pattern in self._to_look_into() for _ in range(LOOKS))
        tries = 0
        while room > 0 and tries < 4 * self._rounds.size:
            tries += 1
            purpose = LOOK if wide else SEARCH
            pattern = wide.popleft() if wide else self._choose(rng)
            work = self._grammar.draft(pattern, rng, False, self._example(pattern, rng))
            if work is None:
                continue
            count = min(room, self._rounds.per_image) if isinstance(work, Draft) else 1
            self._ledger.planned[pattern] += count
            items.append(self._item(number, first + len(items), purpose, pattern, work, count))
            room -= count
        return items

    def _choose(self, rng: random.Random) -> Pattern:
        return self.archive.choose(rng)

    def _example(self, pattern: Pattern, rng: random.Random) -> str:
        failures = self._ledger.failures_of(pattern)
        return rng.choice(failures[-20:]).text if failures and rng.random() < 0.5 else ""

    def _item(
        self, number: int, place: int, purpose: str, wanted: Pattern, work: Asked | Draft, count: int
    ) -> Item:
        key = f"{number}.{place}"
        return Item(key, number, purpose, wanted, work, self._seed, self._grammar, count, self._rounds.turns)


class ZeroShotPlanner(Planner):
    """The baseline: nothing is learned from what failed. Patterns by chance, or whatever the writer likes."""

    def __init__(
        self,
        grammar: Grammar,
        ledger: QuestionLog,
        confirmation: Confirmation,
        rounds: Rounds,
        seed: int,
        sights: Sights | None = None,
    ) -> None:
        super().__init__(grammar, ledger, confirmation, rounds, seed)
        self._sights = sights

    def _searching(self, number: int, rng: random.Random, room: int, first: int) -> list[Item]:
        if self._sights is None:
            return super()._searching(number, rng, room, first)
        items: list[Item] = []
        while room > 0:
            sight = self._sights.pick(rng, False)
            if sight is None:
                break
            count = min(room, self._rounds.per_image)
            work = Draft(_ANYTHING, sight, "")
            items.append(self._item(number, first + len(items), SEARCH, _ANYTHING, work, count))
            room -= count
        return items

    def _choose(self, rng: random.Random) -> Pattern:
        return rng.choice(self.archive.simplest)

    def _example(self, pattern: Pattern, rng: random.Random) -> str:
        return ""
