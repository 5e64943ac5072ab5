"""Who decides what a round asks: evolve, zero-shot, or a questioner in training. Pure.

All share the second half of the work: leads are put to the test, and what was found is named exactly.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from failscape.kinds.vlm.confirm import PASS_DOUBT, Confirmation
from failscape.kinds.vlm.items import AuditItem, Item, Naming
from failscape.kinds.vlm.leads import Leads
from failscape.kinds.vlm.outcomes import QuestionLog
from failscape.kinds.vlm.purposes import CONFIRMATION, FIRST_LOOK, SEARCH
from failscape.kinds.vlm.scouting import Scouting
from failscape.kinds.vlm.sharpening import ENOUGH, SURE_AFTER, SURE_RATE, sharper, unsettled_siblings
from failscape.spaces.questions import ANY, ANYTHING, Asked, Draft, Grammar, Pattern, Sights
from failscape.trials import Purpose, QuestionStep, key_of_item

#: Questions of a round for one lead, or for one mode that may not be named exactly yet.
LOOKS = 2

#: Most of what confirmation leaves of a round that goes into second looks; less where forms share skills by
#: the hundred: there first looks tell explanations apart as well, and find new failures besides.
MOST_LOOKS, MOST_LOOKS_OF_MANY = 0.5, 0.25

#: With so many rounds left, what is under test comes before all else: nothing new could be proven.
LAST_ROUNDS = 2

#: A hunt of at most so many rounds waits for each: planned one round behind, it certified a quarter fewer
#: modes with nine rounds, an eighth fewer with nineteen. In longer ones slow replies hold nothing up.
FEW_ROUNDS = 40

#: Small budgets are cut into so many rounds at least, of `SMALLEST` questions at least: what the last answers
#: say is worth more than many at once. With 100 and 150 questions, rounds of 8 certified 1.3 times as many
#: modes as rounds of 16; smaller ones no more.
MANY_ROUNDS, SMALLEST = 16, 8

#: The part of all questions, at the end, that may go into rates of claims in place of first looks.
LAST_PART = 0.1

COLLAPSE_ROUNDS = 3
#: A questioner whose last rounds hold so few different questions has collapsed.
COLLAPSE_DIFFERENT = 0.06


@dataclass(frozen=True, slots=True)
class Rounds:
    """How large rounds are, and how much of one may go into confirmation."""

    size: int = 32
    confirm_share: float = 0.6
    per_image: int = 1
    turns: int = 1
    #: Whether minimal pairs are asked.
    pairs: bool = False
    #: Whether a judge must see what was changed in them.
    judged: bool = False
    #: Most questions at the end that are kept for rates of claims that few questions proved.
    for_rates: int = 0

    def of(self, questions: int) -> "Rounds":
        """The rounds of a hunt with so many questions in all."""
        size = min(self.size, max(SMALLEST, questions // MANY_ROUNDS))
        return replace(self, size=size, for_rates=int(LAST_PART * questions))

    @property
    def most_questions(self) -> int:
        """What one item may take of the target: a talk has several, a pair two."""
        return max(self.turns, 2 if self.pairs else 1)


class Planner:
    """Evolve: second looks at what failed once, and first looks where little was seen."""

    takes_proposals = True

    def __init__(
        self, grammar: Grammar, ledger: QuestionLog, confirmation: Confirmation, rounds: Rounds, seed: int
    ) -> None:
        self.leads = Leads(grammar, ledger, confirmation)
        self._most_looks = MOST_LOOKS_OF_MANY if ledger.shared else MOST_LOOKS
        self.scouting = Scouting(grammar, ledger, self.leads)
        self._grammar = grammar
        self._ledger = ledger
        self._confirmation = confirmation
        self._rounds = rounds
        self._seed = seed
        #: How the skills of questions are named that a model writes.
        self.naming: Callable[[], Naming | None] = lambda: None
        #: What to tell when the questioner writes hardly anything but one question.
        self.collapsed = ""
        self._recent: list[list[str]] = []
        #: Second looks that are under way.
        self._looking: Counter[Pattern] = Counter()
        self._narrow: dict[Pattern, tuple[tuple[int, tuple[Pattern, ...]], Pattern | None]] = {}

    def open_rounds(self, questions: int) -> int:
        """How many may be under way in a hunt of so many questions. Each is planned without what those before
        it will tell."""
        return 1 if questions <= FEW_ROUNDS * self._rounds.size else 2

    def plan(self, number: int, left: int) -> list[Item]:
        """The items of a round, at most `left` questions; empty when there is nothing more to do."""
        return [] if self.collapsed else self._plan(number, left)

    def audits(self) -> list[AuditItem]:
        """Verdicts for the auditor."""
        return [AuditItem(*look) for look in self._confirmation.to_audit()]

    def _plan(self, number: int, left: int) -> list[Item]:
        rng = random.Random(f"{self._seed}/{number}")
        self.leads.refresh()
        self.scouting.refresh()
        self._open_slots()
        left //= self._rounds.most_questions
        room = min(self._rounds.size, left)
        for_rates = self._due_for_rates(left - room)
        wanted = self._confirmation.wants(self._room_to_confirm(room, left))
        items = self._confirming(number, rng, wanted, 0)
        room -= sum(item.count for item in items)
        sharpened = self._confirmation.sharpen(min(room, for_rates))
        items += self._confirming(number, rng, sharpened, len(items))
        room -= sum(count for _, count in sharpened)
        looks = self._second_looks(number, rng, int(self._most_looks * room), len(items))
        items += looks
        return items + self._searching(number, rng, room - sum(one.count for one in looks), len(items))

    def close(self, items: Sequence[Item]) -> None:
        """A round is complete. Nobody learns here, but a writer that only repeats itself is noticed."""
        self._looked(items)
        for item in items:
            if item.purpose == SEARCH:
                self.scouting.note(item.work, -1)
        texts = [
            outcome.text
            for item in items
            if isinstance(item.work, Draft)
            for key, outcome in item.outcomes.items()
            if outcome.text and not QuestionStep.NEXT_TURN.is_last_of(key)
        ]
        if texts:
            self._watch(texts)

    def _looked(self, items: Sequence[Item]) -> None:
        for item in items:
            if item.purpose == FIRST_LOOK:
                self._looking[item.wanted] -= item.count

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

    def _room_to_confirm(self, room: int, left: int) -> int:
        share = 1.0 if left <= LAST_ROUNDS * self._rounds.size else self._rounds.confirm_share
        return int(room * share)

    def _due_for_rates(self, later: int) -> int:
        """Questions of this round that rates of claims need, because `later` rounds have too few left."""
        lacking = sum(self._confirmation.lacking_for_rates().values())
        return max(0, min(lacking, self._rounds.for_rates) - later)

    def _open_slots(self) -> None:
        confirmation = self._confirmation
        if self._fails_nearly_everywhere():
            confirmation.open(ANYTHING, "nearly everything fails")
        for pattern in list(confirmation.slots):
            narrow = self._sharper(pattern)
            if narrow is not None and confirmation.open(narrow, f"sharper than {pattern.text}"):
                confirmation.narrowed[pattern] = narrow
            else:
                confirmation.narrowed.pop(pattern, None)
        for pattern in self.leads.candidates():
            confirmation.open(pattern, "candidate")

    def _fails_nearly_everywhere(self) -> bool:
        """Whether so much fails that no clause or form can be the cause: as much as makes a mode sharp.

        Questions that are all of one form, or all take one skill, tell nothing about others.
        """
        overall = self._ledger.overall
        if overall.valid < SURE_AFTER or overall.rate < SURE_RATE:
            return False
        asked = [one.pattern for one in self._ledger.outcomes if one.valid]
        in_common = set.intersection(*({one.form, *one.skills} for one in asked)) - {ANY}
        return not in_common

    def _sharper(self, pattern: Pattern) -> Pattern | None:
        """Looked for again only when something was learned that could change it."""
        now = len(self._ledger.of(pattern)), self._ledger.known
        if pattern not in self._narrow or self._narrow[pattern][0] != now:
            asked = self._ledger.unexplained(pattern)
            found = sharper(pattern, asked, self._confirmation.margin, self.leads.slips)
            self._narrow[pattern] = now, found
        return self._narrow[pattern][1]

    def _inexact(self) -> list[Pattern]:
        """What to ask to name failing modes exactly: the mode itself where it may be wider than what fails,
        and siblings that may fail as well."""
        found = []
        for pattern in self._confirmation.claims():
            asked = self._ledger.of(pattern)
            rate = sum(one.failed for one in asked) / len(asked) if asked else 0.0
            if len(asked) < (ENOUGH if rate < SURE_RATE else SURE_AFTER):
                found.append(pattern)
            margin = self._confirmation.margin
            found += unsettled_siblings(pattern, self._grammar, self._ledger, margin, PASS_DOUBT)
        return list(dict.fromkeys(found))

    def _confirming(
        self, number: int, rng: random.Random, wanted: Sequence[tuple[Pattern, int]], first: int
    ) -> list[Item]:
        items: list[Item] = []
        for pattern, count in wanted:
            examples = self._ledger.failures_of(pattern)
            like = rng.choice(examples).text if examples else ""
            for _ in range(count):
                # Any question is one of a kind by chance: a writer needs to be told a skill.
                kind = rng.choice(self.leads.simplest) if pattern == ANYTHING else pattern
                work = self._grammar.draft(kind, rng, True, like)
                if work is None:
                    self._confirmation.give_back(pattern)
                else:
                    place = first + len(items)
                    items.append(self._item(number, place, CONFIRMATION, pattern, work, 1))
        return items

    def _second_looks(self, number: int, rng: random.Random, room: int, first: int) -> list[Item]:
        items: list[Item] = []
        for pattern in self._to_look_at():
            if room <= 0:
                break
            work = self._grammar.draft(pattern, rng, False, self._example(pattern, rng))
            if work is None:
                continue
            count = min(room, self._rounds.per_image) if isinstance(work, Draft) else 1
            self._looking[pattern] += count
            items.append(self._item(number, first + len(items), FIRST_LOOK, pattern, work, count))
            room -= count
        return items

    def _to_look_at(self) -> list[Pattern]:
        """What an earlier hunt found, each a few times; then leads: each asks its likeliest explanations in
        turn, as far as none is under way."""
        proposed = self.leads.unseen(LOOKS)
        found = [p for p, lacking in proposed for _ in range(max(0, lacking - self._looking[p]))]
        for lead in self.leads.leads:
            if lead.odds >= self.leads.worth_a_test:
                continue
            ranked = sorted(lead.rivals, key=lambda p: self._looking[p])
            found += ranked[: max(0, LOOKS - self._looking[ranked[0]])]
        return found + [p for p in self._inexact() for _ in range(max(0, LOOKS - self._looking[p]))]

    def _searching(self, number: int, rng: random.Random, room: int, first: int) -> list[Item]:
        items: list[Item] = []
        tries = 0
        while room > 0 and tries < 4 * self._rounds.size:
            tries += 1
            chosen = self._choose(rng)
            if chosen is None:
                continue
            pattern, work = chosen
            count = min(room, self._rounds.per_image) if isinstance(work, Draft) else 1
            self._ledger.planned[pattern] += count
            self.scouting.note(work, 1)
            items.append(self._item(number, first + len(items), SEARCH, pattern, work, count))
            room -= count
        return items

    def _choose(self, rng: random.Random) -> tuple[Pattern, Asked | Draft] | None:
        return self.scouting.choose(rng)

    def _example(self, pattern: Pattern, rng: random.Random) -> str:
        failures = self._ledger.failures_of(pattern)
        return rng.choice(failures[-20:]).text if failures and rng.random() < 0.5 else ""

    def _item(
        self, number: int, place: int, purpose: Purpose, wanted: Pattern, work: Asked | Draft, count: int
    ) -> Item:
        key = key_of_item(number, place)
        rounds, naming = self._rounds, self.naming() if isinstance(work, Draft) else None
        settings = self._grammar, count, rounds.turns, rounds.judged, naming
        return Item(key, number, purpose, wanted, work, self._seed, *settings)


class ZeroShotPlanner(Planner):
    """The baseline: nothing is learned from what failed. Patterns by chance, or whatever the writer likes."""

    takes_proposals = False

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

    def _to_look_at(self) -> list[Pattern]:
        """What was proven is named as exactly as by any other strategy; leads get no second look."""
        return [p for p in self._inexact() for _ in range(max(0, LOOKS - self._looking[p]))]

    def _choose(self, rng: random.Random) -> tuple[Pattern, Asked | Draft] | None:
        if self._sights is not None:
            sight = self._sights.pick(rng, False)
            return None if sight is None else (ANYTHING, Draft(ANYTHING, sight, ""))
        pattern = rng.choice(self.leads.simplest)
        work = self._grammar.draft(pattern, rng, False, "")
        return None if work is None else (pattern, work)

    def _example(self, pattern: Pattern, rng: random.Random) -> str:
        return ""
