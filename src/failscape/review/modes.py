"""An audit by people of modes that only the verifier vouches for: their own verdicts, blind, mode by mode.

The first answers of each mode's confirmation are shown, in the order asked and mixed with those of other
modes, whatever the verifier said. What people say counts for the mode alone: it is no sample of all answers,
so it never enters the verifier's accuracy.
"""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.decisions import Decision, decision_of, has_image
from failscape.atlas.reviews import (
    MODES,
    NO,
    UNSURE,
    YES,
    Review,
    ReviewItem,
    atlas_uid,
    decider_of,
    items_of,
    labels_of,
    mode_reviews_of,
    settle,
)
from failscape.errors import AtlasError
from failscape.evidence import load_hunt
from failscape.hunts.certify import evidence_for
from failscape.review.sample import BlindQuestion, ReviewSample, digest_of
from failscape.stats import log_e_value

OPEN, BORNE_OUT, REFUTED = "open", "borne out", "not borne out"


@dataclass(frozen=True, slots=True)
class ModeTally:
    """What people said of a mode's answers so far. `items` are to be looked at, at most."""

    subject: str
    items: int
    wrong: int
    right: int
    unsure: int
    state: str

    @property
    def labels(self) -> int:
        return self.wrong + self.right + self.unsure


def draw_mode_audit(atlas: Atlas, row: HuntRow) -> ReviewSample:
    """All answers of conditional modes that nobody was shown yet. Raises when there are none."""
    judge = decider_of(row)
    if judge is None:
        raise AtlasError(f"hunt {row.id} has no verifier: there is nothing to audit", "give another --hunt")
    shown = {one.trial for found in mode_reviews_of(atlas, row.id) for one in items_of(atlas, found.uid)}
    modes = {
        finding.subject: [key for key in finding.details_data.get("to_review", ()) if key not in shown]
        for finding in load_hunt(atlas, row.id).findings
    }
    keys = [key for some in modes.values() for key in some]
    if not keys:
        raise AtlasError(
            f"no mode of hunt {row.id} waits for an audit",
            "a hunt with `verifier: exact` or a steady `auditor` needs none; `failscape findings` tells more",
        )
    uid = f"{MODES}{digest_of(atlas_uid(atlas), row.id, *sorted(keys))}"
    chance, drawn, skipped = random.Random(uid), list[tuple[int, float, str, Decision]](), 0
    for subject, some in modes.items():
        for place, key in enumerate(some):
            decision = decision_of(atlas, row.id, key, 0)
            if decision is None or not has_image(atlas, decision.image):
                skipped += 1
            else:
                drawn.append((place, chance.random(), subject, decision))
    if not drawn:
        raise AtlasError(
            f"no picture of the modes of hunt {row.id} was kept", "run with `runtime: {keep_images: all}`"
        )
    drawn.sort(key=lambda one: one[:2])  # the first of every mode come first, mixed so that none is told
    items, questions = [], []
    for number, (_, _, subject, decision) in enumerate(drawn):
        name = f"{number:05d}-{digest_of(uid, decision.trial)}"  # items are kept in the order of their names
        items.append(ReviewItem(name, decision.trial, 0, subject, decision.answer, False, 1.0))
        questions.append(BlindQuestion(name, decision.image, decision.check.statement))
    return ReviewSample(Review(uid, row.id, judge.digest), items, questions, skipped)


def mode_tallies(atlas: Atlas, row: HuntRow, reviews: list[Review] | None = None) -> list[ModeTally]:
    """Every mode that people were shown answers of, with what they said; the least looked at first."""
    said: dict[str, Counter[str]] = {}
    for review in mode_reviews_of(atlas, row.id) if reviews is None else reviews:
        agreed = settle(labels_of(atlas, review.uid))
        for item in items_of(atlas, review.uid):
            said.setdefault(item.kind, Counter())[agreed.get(item.item, "")] += 1
    found = [_tally(subject, counts, row.config, len(said)) for subject, counts in said.items()]
    return sorted(found, key=lambda one: (one.state != OPEN, one.labels, one.subject))


def _tally(subject: str, counts: Counter[str], config: Mapping[str, Any], claims: int) -> ModeTally:
    """Borne out even if no other mode is; not borne out even if all are."""
    confirm = config.get("confirm", {})
    margin, fdr, modes = (confirm.get(name, usual) for name, usual in _USUAL.items())
    left = counts[""]
    now = float(log_e_value(counts[YES], counts[NO], 1 - margin))
    best = float(log_e_value(counts[YES], counts[NO] + left, 1 - margin))
    refuted = best < evidence_for(claims, fdr, modes)
    state = BORNE_OUT if now >= evidence_for(1, fdr, modes) else REFUTED if refuted else OPEN
    return ModeTally(subject, counts.total(), counts[NO], counts[YES], counts[UNSURE], state)


#: The defaults of `confirm:`, for settings that an atlas keeps in part.
_USUAL = {"margin": 0.2, "fdr": 0.05, "modes": 120}


def settled_items(atlas: Atlas, row: HuntRow, review: Review) -> frozenset[str]:
    """Items of modes that the labels given already decide: nobody has to look at them any more."""
    decided = {one.subject for one in mode_tallies(atlas, row) if one.state != OPEN}
    return frozenset(item.item for item in items_of(atlas, review.uid) if item.kind in decided)
