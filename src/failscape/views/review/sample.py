"""Draws the sample of a review: checks that a judge decided, stratified, blind, the same for the same seed.

Strata are kind of check x the judge's answer x near to or far from the threshold. Each gets the same share
of the sample, as far as it has so many; what it stands for is kept with each item. A word that the judge may
misread is a kind of its own, so that it gets labels, and an accuracy, of its own.

Modes that only the verifier vouches for are audited apart, mode by mode: the first answers of each mode's
confirmation are shown, in the order asked and mixed with those of others, whatever the verifier said. What
people say counts for the mode alone: it is no sample of all answers, so it never enters the verifier's
accuracy.

For people who label elsewhere a sample becomes a folder: pictures, and a table to fill in. Nothing in it
tells what the judge said. That stays in the atlas.
"""

import csv
import hashlib
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.files import explained, refuse_link
from failscape.atlas.formats.plain import no_formula
from failscape.atlas.judging import (
    NO,
    UNSURE,
    YES,
    Decision,
    Review,
    ReviewItem,
    atlas_uid,
    decider_of,
    decision_of,
    decisions,
    has_image,
    items_of,
    labels_of,
    mode_reviews_of,
    settle,
    uid_of_mode_audit,
)
from failscape.errors import AtlasError
from failscape.plugins import find_kind
from failscape.search.certify import AuditLimits, evidence_for
from failscape.stats import log_e_value
from failscape.stats.judging.accuracy import word_key
from failscape.stats.judging.words import DoubtedWord, WordCounts, doubted_words
from failscape.trials import Verdict
from failscape.views.read import load_hunt

MOST_WORDS = 12
ENTITY = "entity"

#: Kind of check, and what it asks for.
Word = tuple[str, str]


def words_to_label(atlas: Atlas, row: HuntRow) -> list[DoubtedWord]:
    """Words that the judge of a hunt may misread, those with most at stake first."""
    return doubted_words(count_words(decisions(atlas, row.id)))[:MOST_WORDS]


def count_words(decided: Iterable[Decision]) -> Iterator[WordCounts]:
    """How each word fared; decisions of one trial follow each other."""
    asked, dropped, alone = Counter[Word](), Counter[Word](), Counter[Word]()
    by_subject: dict[Word, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for _, group in groupby(decided, key=lambda one: one.trial):
        answers = list(group)
        missed = [one for one in answers if not one.answer]
        for one in answers:
            word = one.check.kind, one.check.value
            asked[word] += 1
            dropped[word] += not one.answer
            counts = by_subject[word][one.subject]
            counts[0] += 1
            counts[1] += not one.answer
        if len(missed) == 1:
            alone[missed[0].check.kind, missed[0].check.value] += 1
    for word, times in asked.items():
        subjects = by_subject[word].values()
        everywhere = sum(2 * gone > tried for tried, gone in subjects)
        yield WordCounts(*word, times, dropped[word], len(subjects), everywhere, alone[word])


def own_kinds(words: Iterable[DoubtedWord]) -> frozenset[Word]:
    """Words that get labels, and so an accuracy, of their own. Entities share one: limits know them so."""
    return frozenset((one.counts.kind, one.counts.word) for one in words if one.counts.kind != ENTITY)


#: A node is near the threshold when its judged pass rate is at most so far from it.
NEAR = 0.15

Key = tuple[str, bool, bool]


@dataclass(frozen=True, slots=True)
class BlindQuestion:
    """What a reviewer sees of an item: a picture and a statement, and not what the judge said."""

    item: str
    image: str
    statement: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class ReviewSample:
    """`skipped` decided checks are about pictures that were not kept: nobody can review them."""

    review: Review
    items: list[ReviewItem]
    questions: list[BlindQuestion]
    skipped: int


@dataclass(slots=True)
class _Stratum:
    """A random sample of fixed size from a stream (reservoir sampling)."""

    size: int = 0
    kept: list[Decision] = field(default_factory=list)

    def offer(self, decision: Decision, most: int, chance: random.Random) -> None:
        self.size += 1
        if len(self.kept) < most:
            self.kept.append(decision)
        elif (place := chance.randrange(self.size)) < most:
            self.kept[place] = decision


def draw_sample(atlas: Atlas, row: HuntRow, count: int, seed: int) -> ReviewSample:
    """At most `count` checks. Raises when the hunt has none that could be reviewed."""
    judge = decider_of(row)
    if judge is None:
        raise AtlasError(f"hunt {row.id} has no judge: there is nothing to review", "give another --hunt")
    chance = random.Random(f"{seed}/{count}")
    search = row.config.get("search")
    threshold = float(search.get("threshold", 0.8)) if isinstance(search, dict) else 0.8
    near = set()
    for subject, counts in atlas.subject_counts(row.id):
        valid = counts[Verdict.PASS] + counts[Verdict.FAIL]
        if valid and abs(counts[Verdict.PASS] / valid - threshold) <= NEAR:
            near.add(subject)
    own = own_kinds(words_to_label(atlas, row))
    strata, skipped = _stratify(atlas, row, count, chance, near, own)
    if len(strata) > count:
        strata, _ = _stratify(atlas, row, count, chance, set(), frozenset())
        strata = _commonest_kinds(strata, count)
    if not strata:
        raise AtlasError(
            f"no picture of hunt {row.id} with a judge's answer was kept",
            "run with `runtime: {keep_images: all}`",
        )
    taken = _share_out({key: stratum.size for key, stratum in strata.items()}, count)
    uid = digest_of(atlas_uid(atlas), row.id, seed, count, sum(one.size for one in strata.values()))
    items: list[tuple[ReviewItem, BlindQuestion]] = []
    for key in sorted(strata):
        stratum, wanted = strata[key], taken[key]
        for decision in chance.sample(stratum.kept, wanted):
            items.append(_item(uid, key, decision, stratum.size / wanted))
    chance.shuffle(items)  # the order must not tell the stratum
    review = Review(uid, row.id, judge.digest)
    return ReviewSample(review, [item for item, _ in items], [question for _, question in items], skipped)


def _commonest_kinds(strata: dict[Key, _Stratum], count: int) -> dict[Key, _Stratum]:
    """What `count` labels can speak for: whole kinds, since one of a kind's answers alone would mislead."""
    sizes: Counter[str] = Counter()
    for (kind, *_), stratum in strata.items():
        sizes[kind] += stratum.size
    found: dict[Key, _Stratum] = {}
    for kind, _ in sizes.most_common():
        more = {key: stratum for key, stratum in strata.items() if key[0] == kind}
        if len(found) + len(more) <= count:
            found |= more
    if strata and not found:
        raise AtlasError(
            f"a review of {count} checks says nothing: a kind has checks with both answers",
            "give --count 2 or more",
        )
    return found


def _stratify(
    atlas: Atlas,
    row: HuntRow,
    most: int,
    chance: random.Random,
    near: set[str],
    own: frozenset[tuple[str, str]],
) -> tuple[dict[Key, _Stratum], int]:
    """`own`: words that are a kind of their own. `skipped` comes with the strata."""
    strata: dict[Key, _Stratum] = {}
    skipped, image, kept = 0, "", False
    for decision in decisions(atlas, row.id):
        if decision.image != image:
            image, kept = decision.image, has_image(atlas, decision.image)
        if not kept:
            skipped += 1
            continue
        check = decision.check
        kind = word_key(check.kind, check.value) if (check.kind, check.value) in own else check.kind
        key = kind, decision.answer, decision.subject in near
        strata.setdefault(key, _Stratum()).offer(decision, most, chance)
    return strata, skipped


def _share_out(sizes: dict[Key, int], count: int) -> dict[Key, int]:
    """Equal shares of `count`, one at least; what small strata cannot use goes to the others."""
    taken = dict.fromkeys(sizes, 0)
    left = count
    while left > 0 and (hungry := [key for key in sorted(sizes) if taken[key] < sizes[key]]):
        each = max(1, left // len(hungry))
        for key in hungry[: left // each]:
            more = min(each, sizes[key] - taken[key])
            taken[key] += more
            left -= more
    return taken


def _item(uid: str, key: Key, decision: Decision, stands_for: float) -> tuple[ReviewItem, BlindQuestion]:
    kind, answer, near = key
    name = digest_of(uid, decision.trial, decision.place)
    item = ReviewItem(name, decision.trial, decision.place, kind, answer, near, stands_for)
    return item, BlindQuestion(name, decision.image, decision.check.statement)


def digest_of(*parts: Any) -> str:
    return hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=6).hexdigest()


COLUMNS = ("review", "item", "image", "statement", "label")
TABLE, IMAGES = "review.csv", "images"


def write_review(atlas: Atlas, sample: ReviewSample, folder: Path) -> Path:
    """The table to fill in. The folder must be new or empty: labels in an older one are not overwritten."""
    with explained(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise AtlasError(f"{folder} is not empty", "give another folder with --out")
        draft = folder.with_name(f".{folder.name}.part")  # a killed export leaves this, and no folder
        refuse_link(draft)
        shutil.rmtree(draft, ignore_errors=True)
        (draft / IMAGES).mkdir(parents=True)
        files = {
            digest: f"{IMAGES}/{atlas.images.copy_out(digest, draft / IMAGES).name}"
            for digest in {one.image for one in sample.questions}
        }
        _write_table(draft / TABLE, sample.review.uid, sample.questions, files)
        draft.replace(folder)
    return folder / TABLE


def _write_table(path: Path, uid: str, questions: Sequence[BlindQuestion], files: dict[str, str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(COLUMNS)
        for question in questions:
            writer.writerow([uid, question.item, files[question.image], no_formula(question.statement), ""])


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
    uid = uid_of_mode_audit(digest_of(atlas_uid(atlas), row.id, *sorted(keys)))
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
    if not said:
        return []
    limits = find_kind(row.kind).audit_limits(row.config)
    found = [_tally(subject, counts, limits, len(said)) for subject, counts in said.items()]
    return sorted(found, key=lambda one: (one.state != OPEN, one.labels, one.subject))


def _tally(subject: str, counts: Counter[str], limits: AuditLimits, claims: int) -> ModeTally:
    """Borne out even if no other mode is; not borne out even if all are."""
    margin, fdr, tests = limits
    left = counts[""]
    now = float(log_e_value(counts[YES], counts[NO], 1 - margin))
    best = float(log_e_value(counts[YES], counts[NO] + left, 1 - margin))
    refuted = best < evidence_for(claims, fdr, tests)
    state = BORNE_OUT if now >= evidence_for(1, fdr, tests) else REFUTED if refuted else OPEN
    return ModeTally(subject, counts.total(), counts[NO], counts[YES], counts[UNSURE], state)


def settled_items(atlas: Atlas, row: HuntRow, review: Review) -> frozenset[str]:
    """Items of modes that the labels given already decide: nobody has to look at them any more."""
    decided = {one.subject for one in mode_tallies(atlas, row) if one.state != OPEN}
    return frozenset(item.item for item in items_of(atlas, review.uid) if item.kind in decided)
