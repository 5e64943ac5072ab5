"""Watches trials for signs that the numbers cannot be trusted. Pure: it is told trials and gives warnings.

A warning never changes a verdict. Only a model that gives nothing usable at all stops the run.
"""

from collections import Counter
from dataclasses import dataclass

from failscape.atlas import Recorded
from failscape.errors import ModelError
from failscape.trials import NOT_SHOWN, Generate, Reword, Verdict

HOPELESS_AFTER = 20
HOPELESS_STREAK = 200
INVALID_WARNING = 0.10
KEPT_WARNING = 0.20
SAME_IMAGE_WINDOW = 256


@dataclass(frozen=True, slots=True)
class HealthWarning:
    """`name` is stable, so that it can be looked up; `text` says what was seen, `fix` what to do."""

    name: str
    text: str
    fix: str


class RunHealth:
    def __init__(self) -> None:
        self.verdicts: Counter[Verdict] = Counter()
        self.reasons: Counter[str] = Counter()
        self._invalid_row: list[str] = []  # keys since the last trial that passed or failed
        self._absent_row = 0  # of these, where the judge answered: the thing is not there
        self._unusable_row = 0
        self.last_invalid = ""
        self._drawn: dict[str, int] = {}  # image → seed, the oldest first
        self._repeats = 0
        self.reworded = 0
        self.not_reworded: Counter[str] = Counter()

    def watch(self, recorded: Recorded) -> None:
        trial = recorded.trial
        self.verdicts[trial.verdict] += 1
        if trial.verdict is Verdict.INVALID:
            self.reasons[trial.reason[:120]] += 1
            self.last_invalid = trial.reason
            self._invalid_row.append(trial.key)
            self._absent_row += trial.reason.startswith(NOT_SHOWN)
            if len(self.reasons) > 1000:
                self.reasons = Counter(dict(self.reasons.most_common(100)))
        elif trial.verdict is not Verdict.NONE:
            self._invalid_row.clear()
            self._absent_row = 0
        unusable = any(call.invalid for call in recorded.calls)
        self._unusable_row = self._unusable_row + 1 if unusable else 0
        for step, fact in zip(recorded.probe.steps, trial.facts, strict=False):
            if isinstance(step, Generate):
                if fact:
                    self._watch_image(fact, trial.seed)
                break
            if isinstance(step, Reword):
                self.reworded += 1
                if fact[1]:
                    self.not_reworded[fact[1]] += 1

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

    @property
    def meaningless(self) -> list[str]:
        """Keys of trials that say nothing about the target, because a model gives nothing usable.

        That is so when all trials were invalid from the start, or when replies were not in form for a long
        while. A judge that leaves some kinds of checks undecided is no such case, nor is a thing or two that
        the generator cannot draw.
        """
        row = self._invalid_row
        enough = len(row) - self._absent_row >= HOPELESS_AFTER or len(row) >= HOPELESS_STREAK
        if enough and len(row) == self.tested:
            return row
        return row[-self._unusable_row :] if self._unusable_row >= HOPELESS_STREAK else []

    def hopeless(self) -> ModelError | None:
        """The error to stop with when nothing usable comes back."""
        count = len(self.meaningless)
        if not count:
            return None
        which = f"all of the first {count}" if count == self.tested else f"the last {count}"
        return ModelError(
            f"{which} trials were invalid; the last one because: {self.last_invalid}",
            "mend the model or its params (`failscape doctor` helps), then run again: they are tried anew",
        )

    def warnings(self) -> list[HealthWarning]:
        found: list[HealthWarning] = []
        if self.tested >= HOPELESS_AFTER and self.invalid_share > INVALID_WARNING:
            reason, _ = self.reasons.most_common(1)[0]
            text = f"{self.invalid_share:.0%} of trials are invalid, most often: {reason}"
            found.append(HealthWarning("invalid", text, "look at the replies with `failscape export`"))
        drawn = sum(self.verdicts.values())
        if self._repeats > max(3, 0.5 * drawn):
            text = f"{self._repeats} images are the same as one drawn with another seed"
            found.append(
                HealthWarning("seed-ignored", text, "the server ignores `seed`; see `failscape doctor`")
            )
        kept = self.not_reworded.total()
        if self.reworded >= HOPELESS_AFTER and kept > KEPT_WARNING * self.reworded:
            reason, _ = self.not_reworded.most_common(1)[0]
            text = f"{kept / self.reworded:.0%} of prompts were not polished, most often because {reason}"
            found.append(HealthWarning("polish", text, "use another model for `polish`, or leave it out"))
        return found
