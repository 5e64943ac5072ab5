"""The whole of a vlm hunt as plain data: coverage, diversity, learning curve, curriculum, the tree. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from failscape.hunts.counts import Counts
from failscape.hunts.vlm.archive import Archive
from failscape.hunts.vlm.confirm import Confirmation, spread
from failscape.hunts.vlm.outcomes import SEARCH, QuestionLog, QuestionOutcome
from failscape.hunts.vlm.taxonomy import grow
from failscape.stats.texts import self_bleu, word_vectors
from failscape.trials import Finding

BLOCKS = 24
"""The search is cut into at most so many parts for its curve."""

ASKED = 4000
"""Most questions that are told one by one."""

_SAMPLE = 200


class Survey:
    def __init__(
        self, ledger: QuestionLog, confirmation: Confirmation, archive: Archive, findings: Sequence[Finding]
    ) -> None:
        self._ledger = ledger
        self._confirmation = confirmation
        self._archive = archive
        self._findings = findings

    def as_data(self) -> dict[str, Any]:
        search = [one for one in self._ledger.outcomes if one.purpose == SEARCH]
        states = {p.text: self._confirmation.state(p) for p in self._confirmation.slots}
        return {
            "margin": self._confirmation.margin,
            "fdr": self._confirmation.fdr,
            "slots": self._confirmation.modes,
            "tested": len(self._confirmation.slots),
            "coverage": coverage(search),
            "diversity": diversity([one.text for one in search if one.failed]),
            "learning": learning(search),
            "curriculum": curriculum(search),
            "taxonomy": grow(self._ledger.outcomes).as_data(states),
            "asked": [[one.text, one.pattern.text, one.failed] for one in self._ledger.outcomes if one.valid][
                -ASKED:
            ],
            "archive": [
                {
                    "skills": list(skills),
                    "depth": depth,
                    "title": elite.title,
                    "rate": round(self._ledger.pooled[elite].rate, 4)
                    if elite in self._ledger.pooled
                    else None,
                }
                for (skills, depth), elite in sorted(self._archive.cells.items())
            ],
        }


def coverage(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """What was asked and what failed: skills, combinations, forms; and how much was invalid."""
    count = Counts()
    for outcome in outcomes:
        count.count(outcome.verdict)
    valid = [one for one in outcomes if one.valid]
    failed = [one for one in valid if one.failed]
    return {
        "questions": len(outcomes),
        "valid": count.valid,
        "failures": count.fails,
        "discovery_rate": round(count.rate, 4),
        "invalid_share": round(count.invalid / len(outcomes), 4) if outcomes else 0.0,
        "skills": len({skill for one in valid for skill in one.pattern.skills}),
        "failing_skills": len({skill for one in failed for skill in one.pattern.skills}),
        "combinations": len({one.pattern.skills for one in valid}),
        "failing_combinations": len({one.pattern.skills for one in failed}),
        "skill_entropy": round(spread(Counter(skill for one in failed for skill in one.pattern.skills)), 4),
    }


def diversity(texts: Sequence[str]) -> dict[str, float]:
    """Of failing questions: mean distance of their word vectors, 1 - Self-BLEU, share of different ones."""
    few = list(texts[:_SAMPLE])
    if len(few) < 2:
        return {"semantic": 0.0, "lexical": 0.0, "different": float(len(few))}
    rows = word_vectors(few)
    alike = rows @ rows.T
    others = (alike.sum() - np.trace(alike)) / (len(few) * (len(few) - 1))
    return {
        "semantic": round(float(1 - others), 4),
        "lexical": round(1 - self_bleu(few), 4),
        "different": round(len(set(texts)) / len(texts), 4),
    }


def blocks_of(outcomes: Sequence[QuestionOutcome]) -> list[list[QuestionOutcome]]:
    """Rounds of the search, joined until there are few enough to draw."""
    by_round: dict[int, list[QuestionOutcome]] = defaultdict(list)
    for outcome in outcomes:
        by_round[outcome.round].append(outcome)
    rounds = [by_round[number] for number in sorted(by_round)]
    size = max(1, -(-len(rounds) // BLOCKS))
    return [list(chain(*rounds[at : at + size])) for at in range(0, len(rounds), size)]


def learning(outcomes: Sequence[QuestionOutcome]) -> list[dict[str, Any]]:
    """Failure rate among valid questions, invalid share and diversity, over the questions of the search."""
    curve, seen, combinations = [], 0, set()
    for block in blocks_of(outcomes):
        count = Counts()
        for outcome in block:
            count.count(outcome.verdict)
            if outcome.valid:
                combinations.add(outcome.pattern.skills)
        seen += len(block)
        curve.append(
            {
                "round": block[-1].round,
                "questions": seen,
                "failures": count.fails,
                "valid": count.valid,
                "rate": round(count.rate, 4),
                "invalid": round(count.invalid / len(block), 4),
                "different": round(len({one.text for one in block}) / len(block), 4),
                "combinations": len(combinations),
            }
        )
    return curve


def curriculum(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """How often each skill is in the valid questions of each block: what is asked when; and mean depth."""
    blocks = [[one for one in block if one.valid] for block in blocks_of(outcomes)]
    skills = sorted({skill for block in blocks for one in block for skill in one.pattern.skills})
    shares = {
        skill: [
            round(sum(skill in one.pattern.skills for one in block) / len(block), 4) if block else 0.0
            for block in blocks
        ]
        for skill in skills
    }
    depth = [round(sum(one.pattern.depth for one in b) / len(b), 3) if b else 0.0 for b in blocks]
    return {"skills": shares, "depth": depth}
