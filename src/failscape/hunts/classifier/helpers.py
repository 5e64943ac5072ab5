"""What captioner, embedder and language model are asked for, and what their replies propose. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from failscape.hunts.classifier.arena import Arena
from failscape.hunts.classifier.candidates import question_for
from failscape.hunts.classifier.clause_mining import parse_list, proposals
from failscape.hunts.classifier.prompts import describe
from failscape.hunts.classifier.settings import stream_seed
from failscape.hunts.classifier.tallies import ClassState, Described
from failscape.hunts.rounds import Outcome, Planned
from failscape.trials import Answer, Caption, Embed, Probe, Show, Step, Verdict


class Use(NamedTuple):
    """What a planned trial is for: `what` is base, race, block, caption, answer, photo or text."""

    what: str
    owner: Any
    number: int


class Helpers:
    """`captions`, `vectors` and `asks` say whether there is a captioner, an embedder, a language model."""

    def __init__(self, arena: Arena, captions: bool, vectors: bool, asks: bool) -> None:
        self._arena = arena
        self._captions, self._vectors, self._asks = captions, vectors, asks

    def probes(self, at: int, state: ClassState) -> list[Planned]:
        """Captions of failures and of as many passes, and one question to the language model."""
        failed = [image for image in state.images if image[1]][: self._arena.rules.captions]
        passed = [image for image in state.images if not image[1]][: max(8, len(failed))]
        chosen = [*failed, *passed] if failed and self._captions else []
        see: tuple[Step, ...] = (Caption(), Embed()) if self._vectors else (Caption(),)
        planned = [
            Planned(
                Probe(f"{state.name}#c{number}", state.name, (Show((digest,)), *see)),
                Use("caption", (at, bad, wrong), number),
            )
            for number, (digest, bad, wrong) in enumerate(chosen)
        ]
        if self._asks:
            question = question_for(self._arena.targets[at], self._arena.rules.proposals)
            probe = Probe(
                f"{state.name}#l0",
                state.name,
                (Answer(question),),
                stream_seed(self._arena.rules.seed, "ask", 0),
            )
            planned.append(Planned(probe, Use("answer", at, 0)))
        state.images.clear()
        return planned

    def absorb_caption(self, use: Use, outcome: Outcome) -> None:
        at, failed, wrong = use.owner
        state = self._arena.classes[at]
        state.waiting -= 1
        if outcome.verdict is Verdict.NONE:
            sentences = tuple(str(sentence) for sentence in outcome.facts[1] or ())
            vector = tuple(outcome.facts[2][0]) if self._vectors else ()
            state.described.append(Described(failed, wrong, sentences, vector))
        if not state.waiting:
            self._propose(at, state)

    def absorb_answer(self, use: Use, outcome: Outcome) -> None:
        state, target = self._arena.classes[use.owner], self._arena.targets[use.owner]
        state.waiting -= 1
        if outcome.verdict is Verdict.NONE:
            lines = parse_list(str(outcome.facts[0]), self._arena.rules.proposals)
            for clause in self._arena.words.clauses(lines, target.name, target.superclass):
                self._arena.enter(describe(use.owner, [clause]), "llm")
        if not state.waiting:
            self._propose(use.owner, state)

    def _propose(self, at: int, state: ClassState) -> None:
        """What captions of failures have in common joins the race."""
        target = self._arena.targets[at]
        rows = [
            self._arena.words.clauses(image.sentences, target.name, target.superclass)
            for image in state.described
        ]
        for clauses in proposals(state.described, rows, self._arena.rules.proposed):
            arm = self._arena.enter(describe(at, clauses), "captions")
            if arm is not None:
                arm.hinted = True
        state.described.clear()
