"""Other ways to find bugs of classifiers, re-implemented small from their papers, on equal image budgets.

- `wiles`: Wiles et al. 2022. Baseline, clusters by wrong label, pooled captions, fixed numbers of images.
- `b2t`: Kim et al. 2024, "bias-to-text". Keywords of captions of wrong images, scored by embeddings.
- `domino`: Eyuboglu et al. 2022. An error-aware mixture over embeddings, slices named by the nearest text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.classifier_oracles import Oracle
from failscape.kinds.classifier.clause_mining import Words
from failscape.kinds.classifier.prompts import Clause
from failscape.kinds.classifier.tallies import Target
from failscape.trials import Verdict

Claims = set[tuple[str, ...]]
"""Descriptions: a class and the labels of clauses."""

LEVEL = 0.05


@dataclass
class Sample:
    failed: bool
    wrong: str
    digest: str


def draw(oracle: Oracle, target: Target, clauses: Sequence[Clause], stream: str, count: int) -> list[Sample]:
    """The valid ones of `count` images."""
    found = []
    for trial in oracle.run([oracle.probe(target, clauses, stream, number) for number in range(count)]):
        if trial.verdict in (Verdict.PASS, Verdict.FAIL):
            failed = trial.verdict is Verdict.FAIL
            found.append(Sample(failed, str(trial.facts[-1][0][0]) if failed else "", str(trial.facts[0])))
    return found


def wiles(oracle: Oracle, images: int, per_candidate: int = 100) -> Claims:
    """Half of the budget for baselines; then each candidate gets `per_candidate` images.

    The paper compares bare rates. To be certified here, a candidate must pass Fisher's test with
    Benjamini-Hochberg over all candidates.
    """
    words, base_size = Words(oracle.corpus), images // 2 // len(oracle.targets)
    spent, tested = 0, []
    queue: list[tuple[Target, list[Clause], list[Sample]]] = []
    for target in oracle.targets:
        base = draw(oracle, target, (), "base", base_size)
        spent += base_size
        queue += [(target, clauses, base) for clauses in _descriptions(oracle, words, target, base)]
    queue.sort(key=lambda item: len(item[1]) == 1)  # whole descriptions first, then their sentences
    for target, clauses, base in queue:
        if spent + per_candidate > images:
            break
        found = draw(oracle, target, clauses, "candidate", per_candidate)
        spent += per_candidate
        tested.append((target.name, clauses, _p_value(found, base)))
    accepted = _benjamini_hochberg([p for _, _, p in tested])
    claims = {
        (name, *sorted(one.label for one in clauses))
        for (name, clauses, _), ok in zip(tested, accepted, strict=True)
        if ok
    }
    # A description whose sentence alone is a bug is that bug.
    return {
        claim
        for claim in claims
        if len(claim) == 2 or not any((claim[0], label) in claims for label in claim[1:])
    }


def _descriptions(oracle: Oracle, words: Words, target: Target, base: Sequence[Sample]) -> list[list[Clause]]:
    """Per cluster of a wrong label: the commonest things said of its images, together and one by one."""
    clusters: dict[str, list[Sample]] = {}
    for sample in base:
        if sample.failed:
            clusters.setdefault(sample.wrong, []).append(sample)
    found: dict[tuple[str, ...], list[Clause]] = {}
    for _, members in sorted(clusters.items(), key=lambda item: -len(item[1]))[:3]:
        said: Counter[str] = Counter()
        known: dict[str, Clause] = {}
        for sentences, _ in oracle.look(target.name, [sample.digest for sample in members[:12]]):
            for clause in words.clauses(sentences, target.name, target.superclass):
                said[clause.label] += 1
                known[clause.label] = clause
        pooled: list[Clause] = []
        for label, _ in said.most_common(6):
            if all(known[label].kind != other.kind for other in pooled):
                pooled.append(known[label])
        pooled = pooled[:3]
        for clauses in [pooled, *([one] for one in pooled)]:
            if clauses:
                found.setdefault(tuple(sorted(one.label for one in clauses)), clauses)
    return list(found.values())


def _p_value(found: Sequence[Sample], base: Sequence[Sample]) -> float:
    bad, usual = sum(one.failed for one in found), sum(one.failed for one in base)
    table = np.array([[bad, len(found) - bad], [usual, len(base) - usual]])
    return float(stats.fisher_exact(table, alternative="greater")[1])


def _benjamini_hochberg(p_values: Sequence[float]) -> list[bool]:
    order, count = np.argsort(p_values), len(p_values)
    last = max((rank for rank, at in enumerate(order, 1) if p_values[at] <= LEVEL * rank / count), default=0)
    chosen = set(order[:last].tolist())
    return [at in chosen for at in range(count)]


def b2t(oracle: Oracle, images: int) -> Claims:
    """All images go into one labelled set; keywords of wrong images that fit them better than right ones.

    A keyword is a claim when its score is positive and the images it fits are wrong more often than others.
    """
    words, claims = Words(oracle.corpus), set()
    for target in oracle.targets:
        samples = draw(oracle, target, (), "base", images // len(oracle.targets))
        wrong, right = [s for s in samples if s.failed], [s for s in samples if not s.failed]
        if not wrong or not right:
            continue
        seen = oracle.look(target.name, [sample.digest for sample in wrong])
        fine = oracle.look(target.name, [sample.digest for sample in right[: 3 * len(wrong) + 20]])
        said: Counter[str] = Counter()
        known: dict[str, Clause] = {}
        for sentences, _ in seen:
            for clause in words.clauses(sentences, target.name, target.superclass):
                said[clause.label] += 1
                known[clause.label] = clause
        for label, _ in said.most_common(20):
            if label.startswith("Said="):
                continue
            text = oracle.text_vector(known[label])
            bad = np.array([vector for _, vector in seen]) @ text
            good = np.array([vector for _, vector in fine]) @ text
            score = float(bad.mean() - good.mean())
            share = (bad > 0.5).sum() / max(
                1, (bad > 0.5).sum() + (good > 0.5).sum() * len(right) / len(fine)
            )
            if score > 0 and share > len(wrong) / len(samples):
                claims.add((target.name, label))
    return claims


def domino(oracle: Oracle, images: int, slices: int = 10, weight: float = 10.0) -> Claims:
    """An error-aware Gaussian mixture per class; slices much worse than the class are named and claimed."""
    claims: Claims = set()
    texts = np.stack([oracle.text_vector(clause) for clause in oracle.clauses])
    for target in oracle.targets:
        samples = draw(oracle, target, (), "base", min(images // len(oracle.targets), 1500))
        failed = np.array([sample.failed for sample in samples])
        if failed.sum() < 3:
            continue
        vectors = np.array(
            [vector for _, vector in oracle.look(target.name, [one.digest for one in samples])]
        )
        shares = _mixture(vectors, failed, slices, weight)
        for column in shares.T:
            size = column.sum()
            rate = float(column @ failed / max(size, 1e-9))
            if size < 5 or rate <= failed.mean() + 0.05:
                continue
            direction = column @ vectors / size - vectors.mean(axis=0)
            claims.add((target.name, oracle.clauses[int(np.argmax(texts @ direction))].label))
    return claims


def _mixture(
    vectors: NDArray[np.float64], failed: NDArray[np.bool_], slices: int, weight: float, steps: int = 40
) -> NDArray[np.float64]:
    """Responsibilities after EM: diagonal Gaussians times weighted Bernoullis of being wrong."""
    rng = np.random.default_rng(0)
    count = len(vectors)
    # Half of the slices start on failures, or none of them would ever find one.
    starts = np.concatenate(
        [rng.choice(np.flatnonzero(failed), slices // 2), rng.choice(count, slices - slices // 2)]
    )
    means, spread = vectors[starts].copy(), np.tile(vectors.var(axis=0) + 0.02, (slices, 1))
    error, size = np.clip(failed[starts] * 0.8 + 0.1, 0.01, 0.99), np.full(slices, 1 / slices)
    shares = np.zeros((count, slices))
    for _ in range(steps):
        far = ((vectors[:, None, :] - means) ** 2 / spread + np.log(spread)).sum(axis=2)
        wrong = np.where(failed[:, None], np.log(error), np.log1p(-error))
        logs = np.log(size) - far / 2 + weight * wrong
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        total = shares.sum(axis=0) + 1e-6
        means = shares.T @ vectors / total[:, None]
        spread = np.maximum((shares.T @ vectors**2) / total[:, None] - means**2, 0.0) + 0.02
        error, size = np.clip(shares.T @ failed / total, 0.01, 0.99), total / total.sum()
    return shares
