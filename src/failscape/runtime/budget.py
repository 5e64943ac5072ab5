"""What a run may spend and has spent, and signs that its numbers cannot be trusted. Pure.

A warning never changes a verdict. Only a model that gives nothing usable at all stops the run.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from failscape.atlas import Call, Recorded, Spent
from failscape.config import BudgetConfig
from failscape.errors import ModelError
from failscape.trials import NOT_SHOWN, Generate, Probe, Reword, Verdict

#: Sums of prices are not exact.
ROUNDING = 1e-9


@dataclass(slots=True)
class Budget:
    """Counts over all sessions of a run.

    What is under way is set aside, so that no probe is started which could pass a limit. Only retries
    can: they are counted when they are over. `prices` is money per request, by role.
    """

    limits: BudgetConfig
    spent: Spent
    prices: Mapping[str, float] = field(default_factory=dict)
    images_under_way: int = 0
    requests_under_way: int = 0
    money_under_way: float = 0.0

    def start(self, probe: Probe) -> bool:
        """Set aside what `probe` will take, or say that there is not enough left."""
        if self.refuses(probe):
            return False
        self.images_under_way += probe.images
        self.requests_under_way += _requests(probe)
        self.money_under_way += self._price(probe)
        return True

    def end(self, probe: Probe, calls: tuple[Call, ...] | list[Call]) -> None:
        """Give back what was set aside for `probe` and count what it took."""
        self.images_under_way -= probe.images
        self.requests_under_way -= _requests(probe)
        self.money_under_way -= self._price(probe)
        for call in calls:
            if not call.cached:
                self.spent.images += call.role in ("generator", "editor")
                self.spent.requests += call.usage.requests
                self.spent.money += call.usage.cost

    def room(self, most: int) -> int:
        """How many more one-image probes may start now, at most `most`."""
        limits = self.limits
        if limits.images is not None:
            most = min(most, limits.images - self.spent.images - self.images_under_way)
        return 0 if self.exhausted() else max(most, 0)

    def exhausted(self, images: int = 1, requests: int = 1, money: float = 0.0) -> str:
        """The limit, in words, that leaves no room for so much more; `""` when none does."""
        limits, spent = self.limits, self.spent
        if limits.images is not None and spent.images + self.images_under_way + images > limits.images:
            return f"budget of {limits.images} images"
        if (
            limits.requests is not None
            and spent.requests + self.requests_under_way + requests > limits.requests
        ):
            return f"budget of {limits.requests} requests"
        if limits.seconds is not None and spent.seconds >= limits.seconds:
            return f"budget of {limits.seconds:g} seconds"
        money += spent.money + self.money_under_way
        if limits.money is not None and (money > limits.money + ROUNDING or spent.money >= limits.money):
            return f"budget of {limits.money:g} in money"
        return ""

    def refuses(self, probe: Probe) -> str:
        """The limit that keeps `probe` from starting."""
        return self.exhausted(probe.images, _requests(probe), self._price(probe))

    def _price(self, probe: Probe) -> float:
        return sum(self.prices.get(step.role, 0.0) for step in probe.steps) if self.prices else 0.0

    def share(self) -> float | None:
        """The largest share of any limit that is spent; `None` without limits."""
        limits, spent = self.limits, self.spent
        pairs = (
            (spent.images, limits.images),
            (spent.requests, limits.requests),
            (spent.seconds, limits.seconds),
            (spent.money, limits.money),
        )
        shares = [used / limit for used, limit in pairs if limit is not None]
        return max(shares) if shares else None


def _requests(probe: Probe) -> int:
    return sum([step.role != "" for step in probe.steps])


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
                    if self._drawn.pop(fact, trial.seed) != trial.seed:
                        self._repeats += 1
                    self._drawn[fact] = trial.seed
                    if len(self._drawn) > SAME_IMAGE_WINDOW:
                        del self._drawn[next(iter(self._drawn))]
                break
            if isinstance(step, Reword):
                self.reworded += 1
                if fact[1]:
                    self.not_reworded[fact[1]] += 1

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
