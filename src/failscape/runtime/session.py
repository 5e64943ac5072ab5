"""One session of a run: from checked settings to a stop. Start and resume are the same thing.

Beside the loop it carries lessons to a questioner that learns (`lessons.py`), and writes what was found into
the atlas (`kept_results.py`).
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from failscape.atlas import Atlas, Spent, open_hunt
from failscape.atlas.hunts import (
    keep_album,
    keep_earlier,
    keep_pictures,
    keep_text,
)
from failscape.atlas.judging import keep_accuracy, people_said, reckoned_with
from failscape.atlas.reader import WARM_START
from failscape.atlas.upkeep import unnamed_pictures
from failscape.config import HuntConfig
from failscape.engines import model_maker
from failscape.models.roles import Identity
from failscape.models.transport.endpoints import EndpointStats
from failscape.models.transport.http import HttpModel
from failscape.plugins import begin_hunt, kind_of
from failscape.runtime.engine import Budget, Engine, HealthWarning, Stop, odd_forms
from failscape.runtime.kept_results import ResultsKeeper
from failscape.runtime.lessons import LessonCarrier, prepare_learner
from failscape.runtime.progress import ProgressMeter, Reporter, RunSnapshot
from failscape.runtime.walk import Team
from failscape.runtime.warm_start import choose_accuracy, find_earlier
from failscape.search.protocol import Hunt, replay
from failscape.trials import Progress

SNAPSHOT_SECONDS = 0.25

#: Between two checkpoints of the atlas's log: without its log, a database lacks at most this.
CHECKPOINT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Summary:
    """What a session leaves behind, for the last lines on the screen."""

    hunt_id: int
    stop: Stop
    resumed: int
    trials: int
    findings: int
    seconds: float
    spent: Spent
    warnings: list[HealthWarning]


async def run_session(
    config: HuntConfig,
    folder: Path,
    reporter: Reporter,
    shard: tuple[int, int] = (0, 1),
    fork: bool = False,
    ready: Callable[[Engine], None] | None = None,
) -> Summary:
    """Run `config` in the atlas at `folder`, going on where an earlier session stopped.

    `ready` is given the engine before it starts, for callers who want to interrupt it.
    """
    kind = kind_of(config)
    make = model_maker(config)
    team = Team({role: make(role, settings) for role, settings in config.models().items()})
    accuracy = choose_accuracy(config, team.models.get("verifier") or team.models.get("judge"), folder)
    for warning in kind.forewarn(config, accuracy):
        reporter.note("warning", warning)
    earlier = find_earlier(config, folder)
    hunt = begin_hunt(config, shard, accuracy, earlier)
    identities = {role: model.identity for role, model in team.models.items()}
    texts: dict[str, str] = {}
    for name, content in kind.contents(config).items():
        identities[name] = Identity(name, content.kind, content.source, {"digest": content.digest})
        if content.text:
            texts[content.digest] = content.text
    if earlier is not None:
        digest = {"digest": earlier.digest}
        identities[WARM_START] = Identity(WARM_START, "atlas", config.warm_start, digest)
    with Atlas.open(folder, create=True) as atlas:
        if earlier is not None:
            keep_earlier(folder, earlier)
        hunt_id = open_hunt(atlas, config.model_dump(mode="json"), identities, shard, fork)
        keep_accuracy(atlas, hunt_id, accuracy)
        for text in unnamed_pictures(atlas):  # before photos of a folder are kept: no trial names those yet
            reporter.note("warning", text)
        keep_pictures(atlas, kind.pictures(config))
        for album in kind.albums(config):
            keep_album(atlas, album)
        for content_digest, text in texts.items():
            keep_text(folder, content_digest, text)
        resumed = replay(hunt, atlas.replay(hunt_id))
        if resumed:
            reporter.note("resumed", f"{resumed:,} trials told again from {folder}")
        prepare_learner(team, hunt, atlas, hunt_id)
        said = people_said(atlas, hunt_id)
        hunt.hear_people(said)
        known = reckoned_with(accuracy, said)
        keeper = ResultsKeeper(atlas, hunt_id, hunt, resumed, known, type(kind).__module__)
        async with team:
            summary = await run_hunt(config, atlas, hunt_id, hunt, team, reporter, resumed, ready, keeper)
            await kind.after(atlas, hunt_id, hunt, team, reporter)
            return summary


async def run_hunt(
    config: HuntConfig,
    atlas: Atlas,
    hunt_id: int,
    hunt: Hunt,
    team: Team,
    reporter: Reporter,
    resumed: int,
    ready: Callable[[Engine], None] | None = None,
    keeper: ResultsKeeper | None = None,
) -> Summary:
    """Run a hunt that has been told all its recorded trials, with models that have been started.

    `keeper` keeps what it finds, for readers; it is left out for a hunt that only asks what another asked.
    """
    prices = {role: model.price for role, model in config.models().items() if model.price}
    budget = Budget(config.budget, atlas.spent(hunt_id), prices)
    watch = _Watch(hunt, team, budget, reporter, resumed, keeper)
    lessons = LessonCarrier(hunt, team, reporter)

    def look() -> None:
        lessons.hand_out(engine)
        watch.look()

    engine = Engine(hunt, team, atlas, hunt_id, budget, config.runtime, look)
    watch.engine = engine
    if ready is not None:
        ready(engine)
    run_id = atlas.begin_run(hunt_id)
    clock = time.monotonic()
    try:
        with _interrupts(engine, reporter):
            stop = await engine.run()
    except BaseException as error:
        watch.write_warnings()
        atlas.log("error", {"error": type(error).__name__, "text": str(error)}, hunt_id)
        atlas.end_run(run_id, "error", time.monotonic() - clock)
        raise
    finally:
        _log_endpoints(atlas, hunt_id, team)
    watch.write_warnings()
    seconds = time.monotonic() - clock
    for warning in watch.warned.values():
        atlas.log("warning", {"name": warning.name, "text": warning.text, "fix": warning.fix}, hunt_id)
    atlas.end_run(run_id, stop.reason, seconds)
    atlas.checkpoint()
    trials = sum(engine.health.verdicts.values())
    findings = len(keeper.keep(resumed + trials).findings if keeper else hunt.findings())
    warnings = list(watch.warned.values())
    return Summary(hunt_id, stop, resumed, trials, findings, seconds, budget.spent, warnings)


def _log_endpoints(atlas: Atlas, hunt_id: int, team: Team) -> None:
    """Keep how each endpoint fared, and say which ones were taken out for a while."""
    for role, stats in _endpoints(team):
        atlas.log("endpoint", {"role": role, **asdict(stats)}, hunt_id)
        if stats.ejected:
            text = f"{stats.endpoint} was taken out {stats.ejected} times, at last for: {stats.last_fault}"
            atlas.log("warning", {"name": "endpoint", "text": text, "fix": "look at its log"}, hunt_id)


def _endpoints(team: Team) -> Iterator[tuple[str, EndpointStats]]:
    """Each endpoint of the models behind HTTP, with the role that it serves."""
    for role, model in team.models.items():
        for stats in model.stats() if isinstance(model, HttpModel) else []:
            yield role, stats


class _Watch:
    """Turns the state of engine and hunt into snapshots and warnings, not too often."""

    engine: Engine

    def __init__(
        self,
        hunt: Hunt,
        team: Team,
        budget: Budget,
        reporter: Reporter,
        resumed: int,
        keeper: ResultsKeeper | None = None,
    ) -> None:
        self.warned: dict[str, HealthWarning] = {}
        self._out: set[str] = set()
        self._hunt = hunt
        self._team = team
        self._budget = budget
        self._reporter = reporter
        self._resumed = resumed
        self._keeper = keeper
        self._meter = ProgressMeter()
        self._pace = ProgressMeter()
        self._last = 0.0
        self._next_checkpoint = time.monotonic() + CHECKPOINT_SECONDS

    def look(self) -> None:
        now = time.monotonic()
        if now - self._last < SNAPSHOT_SECONDS:
            return
        self._last = now
        if now >= self._next_checkpoint:
            self._next_checkpoint = now + CHECKPOINT_SECONDS
            self.engine.checkpoint()
        health, progress = self.engine.health, self._hunt.progress()
        trials = sum(health.verdicts.values())
        rate = self._meter.rate(now, trials)
        share, spent = self._budget.share(), self._budget.spent
        snapshot = RunSnapshot(
            progress.phase,
            self._resumed + trials,
            rate,
            health.invalid_share,
            progress.findings,
            progress.finished,
            progress.total,
            spent.images,
            spent.money,
            None if share is None else max(0.0, 1 - share),
            len(self.engine.in_flight),
            self._eta(rate, progress, now),
        )
        if self._keeper is not None:
            self._keeper.note(snapshot.trials, snapshot.findings)
            self._keeper.look(snapshot.trials)
        self._reporter.update(snapshot)
        self.write_warnings()
        # Say at once, and once, which endpoints were taken out: the run goes on without them.
        for role, stats in _endpoints(self._team):
            if stats.state == "ejected" and stats.endpoint not in self._out:
                self._out.add(stats.endpoint)
                self._reporter.note("warning", f"{role}: {stats.endpoint} is taken out: {stats.last_fault}")

    def write_warnings(self) -> None:
        models = self._team.models.items()
        odd = [found for role, model in models for found in odd_forms(role, getattr(model, "forms", None))]
        for warning in [*self.engine.health.warnings(), *odd]:
            if warning.name not in self.warned:
                self._reporter.note("warning", f"{warning.text} ({warning.fix})")
            self.warned[warning.name] = warning

    def _eta(self, rate: float, progress: Progress, now: float) -> float | None:
        """Seconds until the first of: budget spent, time over, everything known so far tried."""
        limits, spent, ends = self._budget.limits, self._budget.spent, []
        if limits.images is not None and rate > 0:
            ends.append((limits.images - spent.images) / rate)
        if limits.seconds is not None:
            ends.append(limits.seconds - spent.seconds)
        pace = self._pace.rate(now, progress.finished)
        if progress.total is not None and pace > 0:
            ends.append((progress.total - progress.finished) / pace)
        return max(0.0, min(ends)) if ends else None


@contextlib.contextmanager
def _interrupts(engine: Engine, reporter: Reporter) -> Iterator[None]:
    """The first Ctrl-C finishes what is in flight; the second leaves at once. So does a closed terminal."""
    loop, presses = asyncio.get_running_loop(), 0

    def pressed() -> None:
        nonlocal presses
        presses += 1
        if presses > 1:
            reporter.close()
            os._exit(130)
        reporter.note("stopping", "finishing what is in flight; press Ctrl-C again to leave at once")
        engine.interrupt()

    # With `nohup` a hang-up is ignored, and stays so.
    hang_up = getattr(signal, "SIGHUP", None)
    heard = hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN
    numbers = [signal.SIGINT, signal.SIGTERM, *([hang_up] if hang_up is not None and heard else [])]
    try:
        for number in numbers:
            loop.add_signal_handler(number, pressed)
    except (NotImplementedError, RuntimeError, ValueError):  # not in the main thread, or not on POSIX
        yield
        return
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
