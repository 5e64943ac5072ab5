"""What captioner, embedder and language model are asked for, and what their replies propose. Pure.

A class is mined again whenever enough of its pictures have failed since: failures of first looks and of tests
tell more than those of the baseline, which may have none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from failscape.hunts.classifier.arena import Arena
from failscape.hunts.classifier.candidates import question_for
from failscape.hunts.classifier.caption_study import CaptionStudy
from failscape.hunts.classifier.clause_mining import parse_list, proposals
from failscape.hunts.classifier.prompts import Clause, Description, describe
from failscape.hunts.classifier.settings import stream_seed
from failscape.hunts.classifier.tallies import ClassState, Described, Look
from failscape.hunts.rounds import Outcome, Planned
from failscape.trials import Answer, Caption, Embed, Probe, Show, Step, Verdict

#: Failed pictures that make it worth mining a class again; each time half as many more.
NEW_FAILURES = 12

#: Descriptions of each sort that the language model is told of.
PASSES_KEPT = 32
TOLD = 6

#: Chances of a bug among what the language model and captions propose, before anything is drawn.
LLM, CAPTIONS = 0.05, 0.08


class Use(NamedTuple):
    """What a planned trial is for: base, crowd, again, look, race, block; caption, answer; photo or text."""

    what: str
    owner: Any
    number: int
    description: Description = Description(0)


class Helpers:
    """`captions`, `vectors` and `asks` say whether there is a captioner, an embedder, a language model."""

    def __init__(self, arena: Arena, captions: bool, vectors: bool, asks: bool) -> None:
        self._arena = arena
        self._captions, self._vectors, self._asks = captions, vectors, asks
        self.study = CaptionStudy()
        self._unasked: list[tuple[int, list[Clause], bool]] = []

    def notice(self, state: ClassState, look: Look) -> None:
        """Keep a picture for the captioner; of those that pass, the first few."""
        if not self._captions or look.failed is None:
            return
        if look.failed:
            state.failed.append(look)
        elif len(state.passed) < PASSES_KEPT:
            state.passed.append(look)

    def wanted(self, state: ClassState) -> bool:
        if not state.minings:
            return self._asks or (self._captions and bool(state.failed))
        return len(state.failed) >= NEW_FAILURES * 1.5 ** (state.minings - 1)

    def probes(self, at: int, state: ClassState) -> list[Planned]:
        """Captions of failures and of as many passes, and one question to the language model."""
        chosen = state.failed[: self._arena.rules.captions]
        beside = state.passed[: max(8, len(chosen))] if chosen else []
        see: tuple[Step, ...] = (Caption(), Embed()) if self._vectors else (Caption(),)
        planned = []
        for look in [*chosen, *beside] if self._captions else ():
            number = state.captioned
            state.captioned += 1
            probe = Probe(f"{state.name}#c{number}", state.name, (Show((look.digest,)), *see))
            planned.append(Planned(probe, Use("caption", (at, look), number)))
        if self._asks:
            planned.append(self._question(at, state))
        state.minings += 1
        state.failed.clear()
        state.passed.clear()
        state.waiting = len(planned)
        return planned

    def _question(self, at: int, state: ClassState) -> Planned:
        rules, target = self._arena.rules, self._arena.targets[at]
        arms = [arm for arm in self._arena.arms.values() if arm.description.label == at and arm.counts.valid]
        ranked = sorted(arms, key=lambda arm: (-arm.counts.rate, arm.subject))
        words = [" and ".join(clause.value for clause in arm.clauses) for arm in ranked]
        bad = [text for text, arm in zip(words, ranked, strict=True) if arm.log_e > 3.0][:TOLD]
        good = [text for text in reversed(words) if text not in bad][:TOLD]
        tried = [arm.clauses[0].value for arm in self._arena.arms.values() if arm.source == "llm"][
            -3 * TOLD :
        ]
        question = question_for(target, rules.proposals, bad, good, tried)
        number = state.minings
        seed = stream_seed(rules.seed, "ask", number)
        probe = Probe(f"{state.name}#l{number}", state.name, (Answer(question),), seed)
        return Planned(probe, Use("answer", at, number))

    def absorb(self, use: Use, outcome: Outcome) -> None:
        at = use.owner if use.what == "answer" else use.owner[0]
        state = self._arena.classes[at]
        state.waiting -= 1
        if outcome.verdict is Verdict.NONE:
            if use.what == "answer":
                self._listen(at, str(outcome.facts[0]))
            else:
                look: Look = use.owner[1]
                sentences = tuple(str(sentence) for sentence in outcome.facts[1] or ())
                vector = tuple(outcome.facts[2][0]) if self._vectors else ()
                image = Described(look.failed is True, look.wrong, sentences, vector, look.asked, look.plain)
                state.described.append(image)
        if not state.waiting:
            self._propose(at, state)

    def take_unasked(self) -> list[tuple[int, list[Clause], bool]]:
        """New captions of plain pictures: their class, what they say, and whether the picture failed."""
        found, self._unasked = self._unasked, []
        return found

    def _listen(self, at: int, reply: str) -> None:
        target = self._arena.targets[at]
        lines = parse_list(reply, self._arena.rules.proposals)
        for clause in self._arena.words.clauses(lines, target.name, target.superclass):
            self._arena.enter(describe(at, [clause]), "llm", LLM)

    def _propose(self, at: int, state: ClassState) -> None:
        """What captions of failures have in common is looked at."""
        target = self._arena.targets[at]
        rows = [
            self._arena.words.clauses(image.sentences, target.name, target.superclass)
            for image in state.described
        ]
        for image, said in zip(state.described, rows, strict=True):
            self.study.learn(image, said)
            if image.plain:
                self._unasked.append((at, said, image.failed))
        for clauses in proposals(state.described, rows, self._arena.rules.proposed):
            self._arena.enter(describe(at, clauses), "captions", CAPTIONS)
        state.described.clear()
