"""A planted list of prompts: every prompt has a true success rate, and answers follow from it by its seed.

Rates depend on tags and on the prompt itself; shares of failing prompts differ from tag to tag. No pictures.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from failscape.simulate.scoring import Checkpoint, score_claims
from failscape.spaces.prompt_list import ListedPrompt, PromptList, Tag
from failscape.trials import Check, Finding, Probe, Trial, reach_verdict

SKILLS = ("colour", "count", "place", "text", "relation", "style")


class PlantedPrompts:
    """`rates` by id. A failed image misses one of its checks, each alike; the judge errs by `accuracy`."""

    def __init__(
        self,
        count: int = 200,
        failing: float = 0.25,
        seed: int = 0,
        rates: Mapping[str, float] | None = None,
        accuracy: tuple[float, float] = (1.0, 1.0),
        threshold: float = 0.8,
    ) -> None:
        self.threshold = threshold
        self._seed = seed
        self._accuracy = accuracy
        rng = np.random.default_rng([seed, 31])
        skills = rng.integers(0, len(SKILLS), count)
        log_odds = rng.normal(0, 1.2, len(SKILLS))[skills] + rng.normal(0, 1.2, count)
        log_odds += special.logit(threshold) - np.quantile(log_odds, failing)
        self.list = PromptList(
            "planted", tuple(_prompt(at, SKILLS[skill]) for at, skill in enumerate(skills))
        )
        self.rates = {
            one.id: float(r) for one, r in zip(self.list.prompts, special.expit(log_odds), strict=True)
        }
        self.rates.update(rates or {})

    def fails(self, subject: str) -> bool:
        return self.rates[subject] < self.threshold

    def run(self, probes: Sequence[Probe]) -> list[Trial]:
        return [self.answer(probe) for probe in probes]

    def answer(self, probe: Probe) -> Trial:
        luck = np.random.default_rng(_number(f"{self._seed}|{probe.subject}|{probe.seed}"))
        checks = len(probe.steps[1].checks)  # type: ignore[union-attr]
        holds = np.ones(checks, dtype=np.bool_)
        if luck.random() >= self.rates[probe.subject]:
            holds[luck.integers(checks)] = False
        right = np.where(holds, *self._accuracy)
        said = np.where(luck.random(checks) < right, holds, ~holds).tolist()
        facts = ["", said]
        verdict, reason = reach_verdict(probe.steps, facts)
        return Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed)

    def score(self, images: int, findings: list[Finding]) -> Checkpoint:
        return score_claims(images, findings, self.fails, self.fails)


def _prompt(at: int, skill: str) -> ListedPrompt:
    checks = (Check("thing", f"thing {at % 40}", f"There is thing {at % 40}."), Check(skill, "x", "It is x."))
    return ListedPrompt(f"p{at}", f"thing {at % 40}, {skill} {at}", checks, (Tag("skill", skill),))


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
