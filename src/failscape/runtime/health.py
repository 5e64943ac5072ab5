"""Watches trials for signs that the numbers cannot be trusted. Pure: it is told trials and gives warnings.

A warning never changes a verdict. Only a model that gives nothing usable at all stops the run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from failscape.atlas import Recorded
from failscape.errors import ModelError
from failscape.trials import Generate, Verdict

HOPELESS_AFTER = 20
INVALID_WARNING = 0.10
SAME_IMAGE_WINDOW = 256


@dataclass(frozen=True, slots=True)
class Warning:
    """`name` is stable, so that it can be looked up; `text` says what was seen, `fix` what to do."""

    name: str
    text: str
    fix: str


class Health:
    def __init__(self) -> None:
        self.verdicts: Counter[Verdict] = Counter()
        self.reasons: Counter[str] = Counter()
        self._last_invalid = ""
        self._drawn: dict[str, int] = {}  # image → seed, the oldest first
        self._repeats = 0

    def watch(self, recorded: Recorded) -> None:
        trial = recorded.trial
        self.verdicts[trial.verdict] += 1
        if trial.verdict is Verdict.INVALID:
            self.reasons[trial.reason[:120]] += 1
            self._last_invalid = trial.reason
            if len(self.reasons) > 1000:
                self.reasons = Counter(dict(self.reasons.most_common(100)))
        if trial.facts and isinstance(recorded.probe.steps[0], Generate) and trial.facts[0]:
            self._watch_image(trial.facts[0], trial.seed)

    def _watch_image(self, digest: str, seed: int) -> None:
        if self._drawn.pop(digest, seed) != seed:
            self._repeats += 1
        self._drawn[digest] = seed
        if len(self._drawn) > SAME_IMAGE_WINDOW:
            del self._drawn[next(iter(self._drawn))]

    @property
    def tested(self) -> int:
        return self.verdicts[Verdict.PASS] + self.verdicts[Verdict.FAIL] + self.verdicts[Verdict.INVALID]

    @property
    def invalid_share(self) -> float:
        return self.verdicts[Verdict.INVALID] / self.tested if self.tested else 0.0

    def hopeless(self) -> ModelError | None:
        """The error to stop with when nothing usable has come back from the start."""
        invalid = self.verdicts[Verdict.INVALID]
        if invalid < HOPELESS_AFTER or invalid < self.tested:
            return None
        return ModelError(
            f"all of the first {invalid} trials were invalid; the last one because: {self._last_invalid}",
            "run `failscape doctor` on this config, mend the model or its params, then run again",
        )

    def warnings(self) -> list[Warning]:
        found: list[Warning] = []
        if self.tested >= HOPELESS_AFTER and self.invalid_share > INVALID_WARNING:
            reason, _ = self.reasons.most_common(1)[0]
            text = f"{self.invalid_share:.0%} of trials are invalid, most often: {reason}"
            found.append(Warning("invalid", text, "look at the replies with `failscape export`"))
        drawn = sum(self.verdicts.values())
        if self._repeats > max(3, 0.5 * drawn):
            text = f"{self._repeats} images are the same as one drawn with another seed"
            found.append(Warning("seed-ignored", text, "the server ignores `seed`; see `failscape doctor`"))
        return found
