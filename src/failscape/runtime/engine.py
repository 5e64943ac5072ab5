"""The loop: ask, run, record, tell. It owns what is in flight, what may be spent, and signs of ill health.

Trials are recorded in groups by one writer thread, and told only afterwards, in the order recorded. Budget
and health are pure: the loop tells them what starts and what ends. A warning never changes a verdict; only
a model that gives nothing usable at all stops the run.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from failscape.atlas import Atlas, Call, Recorded, Spent
from failscape.config import BudgetConfig, RuntimeConfig
from failscape.errors import AtlasError, ModelError
from failscape.models.contracts.vision import FormCounts
from failscape.runtime.walk import FindCall, Team, Walk
from failscape.search.protocol import Hunt
from failscape.trials import Generate, Probe, Reword, Verdict, is_not_shown

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
#: Share of replies out of form from which on the form itself is the problem, not single replies.
ODD_WARNING = 0.03
SAME_IMAGE_WINDOW = 256


@dataclass(frozen=True, slots=True)
class HealthWarning:
    """`name` is stable, so that it can be looked up; `text` says what was seen, `fix` what to do."""

    name: str
    text: str
    fix: str


def odd_forms(role: str, forms: FormCounts | None) -> list[HealthWarning]:
    """A warning where more than a few per cent of a model's replies are out of the form asked for."""
    if forms is None or forms.replies < HOPELESS_AFTER or forms.odd <= ODD_WARNING * forms.replies:
        return []
    text = (
        f"{forms.odd / forms.replies:.0%} of the {role}'s {forms.replies:,} replies are out of form"
        f" and decide nothing, the last one because {forms.last_odd}"
    )
    fix = "let its server enforce `response_format`, or see its replies with `failscape export`"
    return [HealthWarning(f"odd-replies-{role}", text, fix)]


class RunHealth:
    def __init__(self) -> None:
        self.verdicts: Counter[Verdict] = Counter()
        self.reasons: Counter[str] = Counter()
        self._invalid_row: list[str] = []  # keys since the last trial that passed or failed
        self._absent_row = 0  # of these, where the judge answered: the thing is not there
        self._unusable_row = 0
        self.last_invalid = ""
        self._drawn: dict[str, tuple[str, int]] = {}  # image → prompt and seed, the oldest first
        self._same_with_other_seed = 0
        self._same_for_other_prompt = 0
        self.reworded = 0
        self.not_reworded: Counter[str] = Counter()

    def watch(self, recorded: Recorded) -> None:
        trial = recorded.trial
        self.verdicts[trial.verdict] += 1
        if trial.verdict is Verdict.INVALID:
            self.reasons[trial.reason[:120]] += 1
            self.last_invalid = trial.reason
            self._invalid_row.append(trial.key)
            self._absent_row += is_not_shown(recorded.probe.steps, trial.facts)
            if len(self.reasons) > 1000:
                self.reasons = Counter(dict(self.reasons.most_common(100)))
        elif trial.verdict is not Verdict.NONE:
            self._invalid_row.clear()
            self._absent_row = 0
        unusable = any(call.invalid for call in recorded.calls)
        self._unusable_row = self._unusable_row + 1 if unusable else 0
        self._watch_first_picture(recorded)

    def _watch_first_picture(self, recorded: Recorded) -> None:
        """Note the first image of the trial, and whether its prompt was reworded before it was drawn."""
        trial = recorded.trial
        reworded = ""
        for step, fact in zip(recorded.probe.steps, trial.facts, strict=False):
            if isinstance(step, Generate):
                if fact:
                    self._watch_image(fact, reworded or step.prompt, trial.seed)
                return
            if isinstance(step, Reword):
                self.reworded += 1
                reworded = str(fact[0])
                if fact[1]:
                    self.not_reworded[fact[1]] += 1

    def _watch_image(self, digest: str, prompt: str, seed: int) -> None:
        """Count an image that came before, among the latest ones: of this prompt, or of another."""
        earlier_prompt, earlier_seed = self._drawn.pop(digest, (prompt, seed))
        if earlier_prompt != prompt:
            self._same_for_other_prompt += 1
        elif earlier_seed != seed:
            self._same_with_other_seed += 1
        self._drawn[digest] = prompt, seed
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
        found += self._same_images()
        kept = self.not_reworded.total()
        if self.reworded >= HOPELESS_AFTER and kept > KEPT_WARNING * self.reworded:
            reason, _ = self.not_reworded.most_common(1)[0]
            text = f"{kept / self.reworded:.0%} of prompts were not polished, most often because {reason}"
            found.append(HealthWarning("polish", text, "use another model for `polish`, or leave it out"))
        return found

    def _same_images(self) -> list[HealthWarning]:
        """Equal images of one prompt speak of the seed; those of different prompts do not."""
        enough = max(3, 0.5 * sum(self.verdicts.values()))
        if self._same_with_other_seed > enough:
            text = (
                f"{self._same_with_other_seed} images are the same as one of their prompt with another seed"
            )
            fix = (
                "either the server ignores `seed` (`failscape doctor` tests it), or the model is "
                "deterministic: then its rates are 0 or 1, and repeated images add nothing"
            )
            return [HealthWarning("seed-ignored", text, fix)]
        if self._same_for_other_prompt > enough:
            text = f"{self._same_for_other_prompt} images are the same as one of another prompt"
            fix = "look at them: a server that ignores the prompt, or a placeholder in place of images?"
            return [HealthWarning("prompt-ignored", text, fix)]
        return []


#: How long probes in flight may finish after an interrupt before they are given up.
GRACE_SECONDS = 30.0

TICK_SECONDS = 0.5

#: Groups with more image bytes than this are written by a thread, so that a slow disk stalls nothing.
INLINE_BYTES = 1 << 20


class StopKind(StrEnum):
    """How a run ended. An error is raised instead."""

    DONE = "done"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run ended: in which way, and the reason in words."""

    kind: StopKind
    reason: str

    @property
    def is_interrupted(self) -> bool:
        return self.kind is StopKind.INTERRUPTED


class Engine:
    """Runs one hunt until it is done, out of budget, interrupted or broken."""

    def __init__(
        self,
        hunt: Hunt,
        team: Team,
        atlas: Atlas,
        hunt_id: int,
        budget: Budget,
        settings: RuntimeConfig,
        on_progress: Callable[[], None] = lambda: None,
    ) -> None:
        self.hunt = hunt
        self.budget = budget
        self.health = RunHealth()
        self.in_flight: dict[asyncio.Task[Recorded], Walk] = {}
        self._team = team
        self._atlas = atlas
        self._hunt_id = hunt_id
        self._settings = settings
        self._on_progress = on_progress
        self._held: list[Probe] = []
        self._finished: list[Recorded] = []
        self._saving: list[Future[None]] = []
        self._wake = asyncio.Event()
        self._stop: Stop | None = None
        self._error: BaseException | None = None
        self._writer = ThreadPoolExecutor(1, "atlas-writer")
        self._find_call: FindCall | None = None
        if settings.cache and atlas.has_calls:
            self._find_call = partial(atlas.find_call, but_of=atlas.hunts_of_others(hunt_id))
        self._earlier_seconds = budget.spent.seconds
        self._clock = time.monotonic()

    def checkpoint(self) -> None:
        """Let the writer bring the atlas's log into its database. Raises when the atlas is gone."""
        self._atlas.check_there()
        self._saving.append(self._writer.submit(self._atlas.checkpoint))

    def interrupt(self) -> None:
        """Stop asking; let what is in flight finish and be recorded."""
        self._stop = Stop(StopKind.INTERRUPTED, "interrupted")
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._give_up)
        self._wake.set()

    async def run(self) -> Stop:
        try:
            while True:
                self._fill()
                if not self.in_flight and not self._finished:
                    break
                await self._next_group()
        except BaseException:
            # Cancelled, or the atlas failed: what is finished is kept if that is still possible.
            self._give_up()
            await asyncio.gather(*self.in_flight, return_exceptions=True)
            if self._finished:
                with contextlib.suppress(AtlasError):
                    await self._record(self._finished)
            raise
        finally:
            self._writer.shutdown(wait=True)
        if meaningless := self.health.meaningless:
            self._atlas.withdraw(self._hunt_id, meaningless, self.health.last_invalid)
        if self._error is not None:
            raise self._error
        for saved in self._saving:
            saved.result()
        return self._reason()

    def _fill(self) -> None:
        """Start as many probes as there is room for. Those the budget refuses wait: what is under way
        may turn out to be cached and give its share back."""
        if self._stop or self._error:
            return
        wanted = self.budget.room(self._settings.in_flight - len(self.in_flight) - len(self._held))
        probes = self._held + (self.hunt.ask(wanted) if wanted else [])
        self._held = [probe for probe in probes if not self._start(probe)]

    def _start(self, probe: Probe) -> bool:
        if not self.budget.start(probe):
            return False
        walk = Walk(probe, self._team, self._atlas.images.get, self._find_call)
        task = asyncio.create_task(walk.run())
        self.in_flight[task] = walk
        task.add_done_callback(self._ended)
        return True

    @property
    def starved(self) -> str:
        """The limit, or the stop, that keeps probes from being started; "" when nothing does."""
        if self._stop:
            return self._stop.reason
        return self.budget.refuses(self._held[0]) if self._held else self.budget.exhausted()

    def halt(self, limit: str) -> None:
        """Start nothing more: `limit` leaves no room for what has to come next."""
        self._stop = self._stop or Stop(StopKind.BUDGET, limit)

    def _reason(self) -> Stop:
        if self._stop:
            return self._stop
        if self.hunt.done:
            return Stop(StopKind.DONE, "the hunt is done")
        limit = self.budget.refuses(self._held[0]) if self._held else self.budget.exhausted()
        return Stop(StopKind.BUDGET, limit) if limit else Stop(StopKind.DONE, "nothing left to ask")

    def _ended(self, task: asyncio.Task[Recorded]) -> None:
        walk = self.in_flight.pop(task)
        self.budget.end(walk.probe, walk.calls)
        self._wake.set()
        if not task.cancelled() and task.exception() is None:
            self._finished.append(task.result())
            return
        if not task.cancelled() and self._error is None:
            self._error = task.exception()
            self._give_up()
        # A walk that did not finish leaves its finished calls in the cache.
        paid = [call for call in walk.calls if not call.cached]
        if paid:
            keep = self._settings.keep_images
            self._saving.append(self._writer.submit(self._atlas.save_calls, self._hunt_id, paid, keep))

    async def _next_group(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), TICK_SECONDS)
        self._wake.clear()
        self.budget.spent.seconds = self._earlier_seconds + time.monotonic() - self._clock
        self._fill()  # keep the models busy while the group is being written
        if self._finished:
            group, self._finished = self._finished, []
            await self._record(group)
            for recorded in group:
                self.hunt.tell(recorded.trial)
                self.health.watch(recorded)
            if self._error is None and (error := self.health.hopeless()):
                self._error = error
                self._give_up()
        self._on_progress()

    async def _record(self, group: list[Recorded]) -> None:
        """Small groups are written at once, for a hand-over to a thread costs more than they do."""
        keep, hunt_id = self._settings.keep_images, self._hunt_id
        if _bytes_of(group) <= INLINE_BYTES:
            self._atlas.record(hunt_id, group, keep)
        else:
            loop = asyncio.get_running_loop()
            writing = loop.run_in_executor(self._writer, self._atlas.record, hunt_id, group, keep)
            await asyncio.shield(writing)

    def _give_up(self) -> None:
        for task in self.in_flight:
            task.cancel()


def _bytes_of(group: list[Recorded]) -> int:
    return sum(len(call.picture.data) for recorded in group for call in recorded.calls if call.picture)
