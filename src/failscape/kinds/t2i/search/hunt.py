"""The search that chooses by model, on all layers at once, and claims by e-value or by posterior.

A certificate comes from the images of its node alone; what is believed guides the search, and makes the list.
Every decision follows from the trials told, their order and the settings, so resuming is replaying.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, deque

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.t2i.baselines.failureatlas import entities_of_shard
from failscape.kinds.t2i.probes import Prompting
from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.agenda import Agenda, Policy
from failscape.kinds.t2i.search.auditing import audit_cases
from failscape.kinds.t2i.search.candidates import Candidates
from failscape.kinds.t2i.search.claims import LISTED, Claim, ClaimList
from failscape.kinds.t2i.search.evidence import Tests
from failscape.kinds.t2i.search.findings import describe_claim, describe_group, survey_hunt
from failscape.kinds.t2i.search.forecast import Bars
from failscape.kinds.t2i.search.group_choice import GroupChoice
from failscape.kinds.t2i.search.group_tests import GroupTests, codes_of, most_groups
from failscape.kinds.t2i.search.groups import MEASURED, TESTED
from failscape.kinds.t2i.search.learning import LearnedBelief
from failscape.kinds.t2i.search.ledger import Ledger
from failscape.kinds.t2i.search.notices import mostly_failing, why_over
from failscape.kinds.t2i.search.posterior import Posterior
from failscape.kinds.t2i.search.probing import LatticeProbes
from failscape.kinds.t2i.search.settings import CertifiedSettings
from failscape.kinds.t2i.search.sharpening import Sharpening
from failscape.kinds.t2i.search.suspects import describe_suspects
from failscape.kinds.t2i.survey.judge_view import draw_panel
from failscape.kinds.t2i.survey.survey import T2ISurvey
from failscape.kinds.t2i.survey.unguided import UnguidedImages
from failscape.search.belief.nodes import Key, Nodes
from failscape.search.belief.transfer import to_try_first
from failscape.search.protocol import Hunt
from failscape.spaces.earlier import Earlier
from failscape.spaces.lattice import Lattice, Node
from failscape.spaces.wording import Wording
from failscape.stats.judging.accuracy import JudgeAccuracy, Limits
from failscape.trials import Finding, Probe, Progress, Trial, Verdict


class CertifiedHunt(Hunt):
    """Images are *scouts* (keys `#s…`: a first look, or a parent being settled; never evidence), *bets*
    (keys `#…`: evidence), panel (`#p…`), audit of the list (`#r…`), or about groups (`#g…`, `#m…`)."""

    def __init__(
        self,
        lattice: Lattice,
        prompting: Prompting | Wording,
        settings: CertifiedSettings = CertifiedSettings(),  # noqa: B008
        *,
        accuracy: JudgeAccuracy | None = None,
        seed: int = 0,
        shard: tuple[int, int] = (0, 1),
    ) -> None:
        self.lattice = lattice
        self.prompting = prompting if isinstance(prompting, Prompting) else Prompting(prompting)
        self.settings = settings
        self.accuracy = accuracy
        self.ledger = Ledger(lattice)
        entities = entities_of_shard(lattice, shard)
        self._places = [self.ledger.place_of[entity] for entity in entities]
        self._mine = frozenset(entities)
        self._probes = LatticeProbes(lattice, self.prompting, seed, self._mine)
        self._candidates = Candidates(lattice, np.array(self._places, dtype=np.int64), seed)
        judge, threshold = accuracy or JudgeAccuracy.perfect(), settings.threshold
        self.bars = Bars(lattice.corpus, judge, threshold, settings.tolerance)
        half = Bars(lattice.corpus, judge, threshold / 2)
        self.groups = GroupTests((half, self.bars), self.ledger.width, seed)
        self._first: deque[Node] = deque()
        self._policy = Policy(settings.fdr, settings.threshold, parks=not settings.listing)
        self._tests = Tests(self.ledger, self.bars, settings, len(self._places))
        self.book = ClaimList(self.ledger, settings.fdr, settings.listing)
        self.unguided = UnguidedImages(
            draw_panel(lattice, entities, settings.share(settings.panel, 400), seed),
            seed,
            images=settings.images,
            panel_share=settings.panel,
            audit_share=settings.audit,
        )
        self._reserved = self._codes_to_reserve()
        self._told = 0
        self._in_flight = 0
        self._next_refit = 100
        self._heard = 0
        self._next_revision = tuning.FIRST_REVISION
        self._revised_at = 0
        goal = self._tests.goal(self._told, self.book)
        self._learned = LearnedBelief(self.ledger, self.bars, accuracy, settings.threshold, goal)
        self._agenda: Agenda | None = None
        self._touched: set[int] = set()
        self._sharpening: Sharpening | None = None
        self._filled: Counter[int] = Counter()
        self._again: list[int] = []
        self._mostly_failing = ""
        self._over = False

    def _codes_to_reserve(self) -> NDArray[np.uint64]:
        """Panel nodes of the deepest layer are kept from the search, so that rules can be held against
        nodes that it did not choose. Smaller ones cannot be: others rest on them."""
        if self.lattice.depth < 2:
            return np.zeros(0, dtype=np.uint64)
        nodes = [self.lattice.parse(subject) for subject in self.unguided.panel.subjects]
        deepest = [node for node in nodes if len(node.values) == self.lattice.depth]
        places = np.array([self.ledger.place_of[node.entity] for node in deepest], dtype=np.int64)
        values = np.array([node.values for node in deepest], dtype=np.int64).reshape(-1, self.lattice.depth)
        return Nodes(places, values).codes

    def begin_with(self, earlier: Earlier) -> None:
        """Its rates guide the search as far as they hold here, which new images alone can tell."""
        self._learned.begin_with(earlier)
        self._first = to_try_first(self.lattice, earlier, self._mine, self.settings.images)
        self._agenda = None

    # Telling

    def tell(self, trial: Trial) -> None:
        stream, number = self._probes.read_key(trial)
        if self.unguided.is_of_audit(stream, number):
            self._audit_told(trial, number)
            return
        if stream in ("p", "r"):
            is_new = self.unguided.tell_draw(trial, stream, number, self._probes.parse(trial.subject))
        elif stream in (TESTED, MEASURED):
            is_new = self._group_told(trial, stream, number)
        else:
            is_new = self._search_told(trial, stream, number)
        if not is_new:
            return
        self._heard += 1
        if self._told >= self._next_refit:
            self._refit()
        if self._revision_is_due:
            self._revise()

    @property
    def _revision_is_due(self) -> bool:
        """The list is looked at again when its audit begins, and not while the audit runs."""
        begins = self.unguided.audit_begins
        if begins is not None and self._revised_at < begins <= self._heard:
            return True
        if self.unguided.audit_is_due(self._heard):
            return False
        return self._heard >= self._next_revision or self._heard == self.settings.images

    def _audit_told(self, trial: Trial, number: int) -> None:
        """Its first image says that an audit of the list as it stands has begun."""
        self._probes.parse(trial.subject)
        if not self.unguided.audit_stands:
            self._begin_audit()
        if self.unguided.audit.tell(trial, number):
            self._heard += 1

    def _group_told(self, trial: Trial, stream: str, number: int) -> bool:
        node = self._probes.parse(trial.subject)
        key = (self.ledger.place_of[node.entity], *node.values)
        return self.groups.tell(key, stream, number, trial.verdict, self._group_choice())

    def _group_choice(self) -> GroupChoice:
        return GroupChoice(
            self._learned.taxonomy,
            self.ledger,
            self.posterior,
            self._candidates.places,
            self._candidates.allowed,
            self.settings.threshold,
            self.book,
        )

    def _search_told(self, trial: Trial, stream: str, number: int) -> bool:
        slot = self.ledger.slot_of.get(trial.subject)
        if slot is None:
            slot = self.ledger.open(trial.subject, self._probes.parse(trial.subject))
        if not self._count_trial(slot, trial, number, bet=stream == ""):
            return False
        self.unguided.note_search()
        self._told += 1
        self._touched.add(slot)
        return True

    def _count_trial(self, slot: int, trial: Trial, number: int, bet: bool) -> bool:
        ledger, bit = self.ledger, 1 << number
        if ledger.told[slot] & bit:
            return False
        if ledger.flying[slot] & bit:
            ledger.flying[slot] &= ~bit
            self._in_flight -= 1
        if bet:
            ledger.adopted.add(slot)
        if trial.verdict in (Verdict.PASS, Verdict.FAIL):
            passed = trial.verdict is Verdict.PASS
            ledger.count(slot, number, passed, bet, () if passed else _dropped(trial))
        else:
            ledger.told[slot] |= bit
            ledger.invalid[slot] += 1
        return True

    def _refit(self) -> None:
        self._learned.refit(self._tests.goal(self._told, self.book), self.book)
        self._next_refit = self._told + self._interval()
        self._agenda = None

    def _revise(self) -> None:
        """Look at the claims again. When this is done depends on the number of trials alone, so that claims
        are the same whoever looks at them, and when."""
        self.book.revise(self.posterior, self.certified_now(), self._heard)
        self._revised_at = self._heard
        self._sharpening = None
        self._filled.clear()
        self._next_revision = self._heard + max(tuning.FIRST_REVISION, self._heard // tuning.REVISIONS)
        self._again = self.book.to_draw_again(self.posterior)
        if self.lattice.depth:
            self.groups.revise(
                tuning.FOR_GROUPS * self.settings.fdr, self._tests.groups(self._told), self._heard
            )
            self.groups.open_more(
                self._group_choice(),
                self._learned.refits,
                min(most_groups(self._heard), self._tests.groups(self._told)),
            )
        self._mostly_failing = self._mostly_failing or mostly_failing(self, len(self._places))
        if self.unguided.audit_should_begin(self._heard):
            self._begin_audit()

    def _interval(self) -> int:
        """Trials until the next refit: few at first, then a tenth of what is known, never above 4,000.

        In a large space a refit takes longer, and so there are fewer of them.
        """
        fewest = 100 + min(self._candidates.size // 400, 900)
        return min(max(fewest, self._told // 10), 4000)

    # Believing

    @property
    def tests(self) -> tuple[int, int]:
        """The numbers of tests that e-BH counts: entities, and the most other nodes that may become tests."""
        return self._tests.counted(self._told)

    @property
    def levels(self) -> tuple[float, float]:
        """What entities and other nodes have of `fdr`; groups have the rest."""
        return self._tests.levels

    def certified_now(self) -> set[int]:
        """Slots that e-BH claims by the evidence so far."""
        return self._tests.certified(self._told)

    def evidence(self) -> NDArray[np.float64]:
        """log e of every opened node; 0 where nothing is evidence."""
        return self._tests.evidence()

    @property
    def posterior(self) -> Posterior:
        """What is believed as of the last refit."""
        return self._learned.posterior

    def _current_agenda(self) -> Agenda:
        if self._agenda is None:
            explore = math.ceil(self.settings.explore * self._interval() / 3)
            members = self.groups.members()
            kept_out = np.union1d(self._reserved, codes_of(members, self.ledger.width))
            guide = self._learned.guide
            self._agenda = Agenda(
                self.ledger,
                guide.belief,
                guide.forecast,
                self.bars,
                self._candidates,
                self._policy,
                kept_out,
                self._learned.refits,
                explore,
                members,
                self.book if self.settings.listing else (),
                min(tuning.KEPT, tuning.KEPT_PER_TRIAL * (self._interval() + self._in_flight)),
            )
        elif self._touched:
            self._agenda.update(sorted(self._touched))
        self._touched.clear()
        return self._agenda

    # Asking

    def ask(self, count: int) -> list[Probe]:
        probes: list[Probe] = []
        while len(probes) < count:
            probe = self._next_panel() or self._next_audit()
            if probe is None and not self.unguided.audit_is_due(self._asked):
                probe = self._next_for_claims()
            if probe is None:
                self._over = not self._flying
                break
            probes.append(probe)
        return probes

    def _next_for_claims(self) -> Probe | None:
        probe = self._next_of_group() or self._next_again() or self._next_search(self._worthwhile)
        probe = probe or self._next_sharpening() or self._next_search(self._least)
        probe = probe or self._next_of_group(due=True) or self._next_panel(due=True)
        return probe or self._next_before_revision() or self._next_audit(search_is_over=True)

    @property
    def _worthwhile(self) -> float:
        """The index from which on an image is better spent on new claims than on sharper rates."""
        images = self.settings.images
        return self._least if images is None else tuning.LITTLE / max(images - self._asked, 1)

    @property
    def _least(self) -> float:
        """The index below which nothing is tried: with a budget, whatever could still change a claim is."""
        return 1 / tuning.TOO_DEAR if self.settings.images is None else 0.0

    def _next_again(self) -> Probe | None:
        """One more image of what claims rest on that have become doubtful without new images."""
        if not self._again:
            return None
        slot = self._again.pop(0)
        return self._probe_slot(slot, bet=slot in self.ledger.adopted)

    def _next_sharpening(self) -> Probe | None:
        """One more image of the finding whose rate is known worst, from the images that it is shown with."""
        if self._sharpening is None:
            ledger = self.ledger
            shown = np.stack([ledger.passes, ledger.fails], axis=1)
            rows = [
                (c.slot, shown[c.slot] if c.status == LISTED else ledger.bets[c.slot]) for c in self.claims()
            ]
            self._sharpening = Sharpening((slot, int(passes), int(fails)) for slot, (passes, fails) in rows)
        slot = self._sharpening.take()
        return None if slot is None else self._probe_slot(slot, bet=slot in self.ledger.adopted)

    def _next_before_revision(self) -> Probe | None:
        """Claims are looked at again at certain numbers of trials alone. A hunt with a budget does not end
        between two of them while something looks failing: until the next, suspects get the images in turn,
        the most promising first, no more of them than could be decided."""
        reached = self._heard + self._flying
        if self.settings.images is None or not self._revised_at < reached < self._next_revision:
            return None
        evidence = self.evidence()
        open_slots = [slot for slot in self.ledger.adopted if slot not in self.book and evidence[slot] > 0]
        shared_by = max((self._next_revision - self._revised_at) // tuning.DECIDING, 1)
        likeliest = heapq.nsmallest(shared_by, open_slots, key=lambda slot: (-evidence[slot], slot))
        if not likeliest:
            return None
        slot = min(likeliest, key=lambda slot: (self._filled[slot], -evidence[slot], slot))
        self._filled[slot] += 1
        lacking = self._lacking(slot)
        return self._probe_slot(lacking, bet=lacking == slot or lacking in self.ledger.adopted)

    def _lacking(self, slot: int) -> int:
        """The slot whose images a suspect lacks: its own, until it surely fails; then those of the ancestor
        that is most likely to fail, which is opened if nobody has drawn it."""
        keys = self.ledger.ancestors_of(self.ledger.keys[slot])
        if not keys or self.posterior.fails(slot) < 1 - self.settings.fdr:
            return slot
        bases = [self._open(key, self.node_of(key)) for key in keys]
        return min(bases, key=lambda base: (self.posterior.of(base).passes, self.ledger.images(base), base))

    @property
    def _flying(self) -> int:
        return self._in_flight + self.unguided.in_flight + self.groups.in_flight

    @property
    def _asked(self) -> int:
        return self._told + self._in_flight + self.unguided.asked + self.groups.asked

    def _next_panel(self, due: bool = False) -> Probe | None:
        return self._probes.panel_probe(self.unguided.next_of_panel(self._asked, due))

    def _next_audit(self, search_is_over: bool = False) -> Probe | None:
        """Near the end of the budget, or when the search is over. It waits for all that is under way."""
        unguided = self.unguided
        if not unguided.audited or not (search_is_over or unguided.audit_is_due(self._asked)):
            return None
        if not unguided.audit_stands:
            if self._flying:
                return None
            self._begin_audit()
        return self._probes.audit_probe(unguided.next_of_audit())

    def _begin_audit(self) -> None:
        self.unguided.begin_audit(audit_cases(self), self._revised_at)

    def _next_of_group(self, due: bool = False) -> Probe | None:
        """Groups keep pace with the search too; where none is promising they take nothing."""
        if not due and self.groups.asked >= tuning.GROUP_IMAGES * (self._asked + 1):
            return None
        draw = self.groups.next_draw()
        if draw is None:
            return None
        node = self.node_of(draw.key)
        return self._probes.probe(self.lattice.subject(node), node, draw.stream, draw.number)

    def _next_search(self, least: float) -> Probe | None:
        while self._first:
            node = self._first.popleft()
            subject = self.lattice.subject(node)
            if subject not in self.ledger.slot_of and subject not in self.unguided.panel.subjects:
                return self._probe_slot(self.ledger.open(subject, node), bet=False)
        taken = self._current_agenda().take(self._tests.room(self._told, self._in_flight), least)
        if taken is None:
            return None
        key, bet = taken
        slot = self._open(key, self.node_of(key))
        if bet:
            self.ledger.adopted.add(slot)
        return self._probe_slot(slot, bet)

    def _probe_slot(self, slot: int, bet: bool) -> Probe:
        ledger = self.ledger
        number = ledger.next_try(slot)
        ledger.flying[slot] |= 1 << number
        self._in_flight += 1
        return self._probes.probe(ledger.subjects[slot], ledger.node(slot), "" if bet else "s", number)

    def node_of(self, key: Key) -> Node:
        return self._probes.node_of(key)

    def _open(self, key: Key, node: Node) -> int:
        slot = self.ledger.slot_by_key.get(key)
        return self.ledger.open(self.lattice.subject(node), node) if slot is None else slot

    # Looking

    def limits_of(self, slot: int) -> Limits:
        """The judged rates that a node is tested against."""
        return self.bars.limits[int(self.bars.of(self.ledger.nodes[np.array([slot])])[0])]

    @property
    def done(self) -> bool:
        """Known once `ask` found nothing to try while nothing was in flight."""
        return self._over

    @property
    def failing(self) -> set[int]:
        """Slots that are taken to fail, minimal or not."""
        return self.book.failing(self.posterior)

    def claims(self) -> list[Claim]:
        """Minimal failures, as of the last revision: at most a thirtieth of all trials ago."""
        return self.book.claims

    def findings(self) -> list[Finding]:
        rules, keys = self.rules(), self.ledger.keys
        found = [describe_claim(self, claim, rules.get(keys[claim.slot], "")) for claim in self.claims()]
        return sorted(found, key=lambda one: (one.status == LISTED, -one.e_value, one.subject))

    def rules(self) -> dict[Key, str]:
        """Nodes that are cases of a claimed rule, with the rule in words."""
        said = [(group, describe_group(self, group).text) for group in self.groups.claimed]
        return {key: text for group, text in said for key in group.cases()}

    def suspects(self) -> list[Finding]:
        return describe_suspects(self)

    def undecided(self) -> list[str]:
        ledger = self.ledger
        return [ledger.subjects[slot] for slot in range(len(ledger)) if ledger.unjudgeable(slot)]

    def notices(self) -> list[str]:
        told = [self._mostly_failing] if self._mostly_failing else []
        return [*told, why_over(self)] if self._over and not self._flying else told

    def survey(self) -> T2ISurvey:
        return survey_hunt(self)

    def progress(self) -> Progress:
        phase = "done" if self.done else "auditing the list" if self.unguided.audit.running else "searching"
        return Progress(phase, len(self.ledger), None, len(self.book))


def _dropped(trial: Trial) -> list[int]:
    return [place for place, held in enumerate(trial.facts[-1]) if not held]
