"""The Python API: run a hunt, read an atlas, or drive the pure loop. `import failscape` offers it lazily."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from failscape.atlas import Atlas, HuntRow, StoredTrial
from failscape.config import HuntConfig
from failscape.config.files import load_config, parse_config
from failscape.errors import FailscapeError
from failscape.pictures import Picture
from failscape.plugins import begin_hunt
from failscape.runtime.engine import Engine
from failscape.runtime.progress import Reporter, RunSnapshot, choose_reporter
from failscape.runtime.session import Summary, run_session
from failscape.runtime.warm_start import find_earlier
from failscape.search.protocol import Hunt
from failscape.trials import AsData, Finding, Verdict

if TYPE_CHECKING:
    from failscape.again.comparing import ManyCompared
    from failscape.views.attribution.scarcity import Scarcity
    from failscape.views.read.answer import HuntAnswer
    from failscape.views.rows import FindingRow

Config = str | Path | Mapping[str, Any] | HuntConfig
F = TypeVar("F", bound=Callable[..., Any])


def run(
    config: Config,
    atlas: str | Path,
    *,
    on_progress: Callable[[RunSnapshot], None] | None = None,
    on_note: Callable[[str, str], None] | None = None,
    shard: tuple[int, int] = (0, 1),
    fork: bool = False,
) -> Run:
    """Start the hunt that `config` describes in the folder `atlas`, or go on where it stopped.

    `config` is the path of a YAML file, a dict of the same keys, or a checked config. In a dict a model may
    be a Python callable (or object) itself. Progress is shown on the screen, or handed to `on_progress`; what
    would be printed as a line goes to `on_note` as (kind, text). Works in scripts and in notebooks. Ctrl-C
    finishes what is in flight and returns; nothing recorded is ever lost.
    """
    settings = _checked(config)
    folder = Path(atlas)
    quiet = on_progress is not None or on_note is not None
    reporter: Reporter = _Callbacks(on_progress, on_note) if quiet else choose_reporter(False)
    try:
        summary = _run_anywhere(settings, folder, reporter, shard, fork)
    finally:
        reporter.close()
    return Run(summary, folder)


def load(path: str | Path) -> LoadedAtlas:
    """An atlas to read from: findings, trials, pictures, a report. A run may go on in it meanwhile."""
    return LoadedAtlas(Path(path))


def compare(*atlases: str | Path, threshold: float | None = None) -> ManyCompared:
    """Models on the cases that they share, the last against the first; `as_data()` gives plain JSON data.

    Atlases in the order of the models' age; `"runs/x@2"` is the second hunt of one, and a single atlas stands
    for all of its models. Reads only: `failscape compare` on the command line draws more.
    """
    from failscape.again.comparing import compare_sides
    from failscape.again.session import read_sides

    return compare_sides(read_sides([str(one) for one in atlases]), threshold)


def hunt(config: Config, shard: tuple[int, int] = (0, 1)) -> Hunt:
    """The pure loop: `hunt.ask(k)` gives probes, `hunt.tell(trial)` learns. You run the models yourself."""
    settings = _checked(config)
    return begin_hunt(settings, shard, None, find_earlier(settings))


def versioned(model: F, version: str) -> F:
    """The same callable with a name for its state: results of one version are never mixed with another's.

    Needed where the source does not tell, such as a callable that holds weights, or one typed at a prompt.
    """
    named: Any = partial(model)
    named.version = version
    return cast(F, named)


class Run:
    """What a session came to. `atlas` reads everything that was recorded, in all sessions."""

    def __init__(self, summary: Summary, folder: Path) -> None:
        self.summary = summary
        self.folder = folder

    def __repr__(self) -> str:
        return f"<failscape.Run {self.folder}: {self.reason}, {self.summary.findings} findings>"

    def _repr_html_(self) -> str:
        """What a notebook shows of it: the answer, and why the session stopped."""
        from failscape.views.notebook import atlas_html

        return atlas_html(self.folder, self.summary.hunt_id, self.reason)

    @property
    def reason(self) -> str:
        """Why it stopped, in words."""
        return self.summary.stop.reason

    @property
    def interrupted(self) -> bool:
        return self.summary.stop.is_interrupted

    @property
    def atlas(self) -> LoadedAtlas:
        return LoadedAtlas(self.folder)

    def findings(self) -> list[Finding]:
        """What was found, most certain first."""
        return self.atlas.findings(self.summary.hunt_id)


class LoadedAtlas:
    """Reads an atlas. Every call opens it anew, so that it always tells what is there now.

    `hunt` is the number of a hunt where the atlas has several; by default that of the latest trial.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with self._open():  # a folder that is no atlas is said at once
            pass

    def __repr__(self) -> str:
        return f"<failscape.LoadedAtlas {self.folder}>"

    def _repr_html_(self) -> str:
        """What a notebook shows of it: the answer of its latest hunt, with pictures and findings."""
        from failscape.views.notebook import atlas_html

        return atlas_html(self.folder)

    def hunts(self) -> list[HuntRow]:
        with self._open() as atlas:
            return atlas.hunts()

    def findings(self, hunt: int | None = None) -> list[Finding]:
        """What the hunt found, most certain first."""
        from failscape.views.read import load_hunt

        with self._open() as atlas:
            return load_hunt(atlas, hunt).findings

    def suspects(self, hunt: int | None = None) -> list[Finding]:
        """What looks failing but is not claimed, most promising first; `details` say what is missing."""
        from failscape.views.read import load_hunt

        with self._open() as atlas:
            return load_hunt(atlas, hunt).suspects

    def rows(self, hunt: int | None = None) -> list[FindingRow]:
        """What the hunt found, as every screen and `findings --json` show it."""
        from failscape.views.read import load_hunt
        from failscape.views.rows import FindingFilter, finding_rows, select

        with self._open() as atlas:
            return select(finding_rows(load_hunt(atlas, hunt)), FindingFilter())

    def answer(self, hunt: int | None = None) -> HuntAnswer:
        """What fails, in a headline and a handful of themes, as every first screen shows it."""
        from failscape.views.read import load_hunt
        from failscape.views.read.answer import answer_of

        with self._open() as atlas:
            return answer_of(load_hunt(atlas, hunt))

    def trials(
        self,
        subject: str | None = None,
        verdict: Verdict | str | None = None,
        limit: int | None = None,
        hunt: int | None = None,
    ) -> Iterator[StoredTrial]:
        """Recorded trials in order, with steps, calls, raw replies and the digests of their pictures."""
        wanted = Verdict(verdict) if verdict is not None else None
        with self._open() as atlas:
            yield from atlas.trials(atlas.hunt(hunt).id, subject, wanted, limit)

    def image(self, digest: str) -> Picture:
        """The picture of that digest, byte for byte as its source sent it."""
        with self._open() as atlas:
            return atlas.images.get(digest)

    def report(self, out: str | Path | None = None, hunt: int | None = None) -> Path:
        """Write the static report into the folder `out`; returns the page's path."""
        from failscape.views.pages import write_report

        with self._open() as atlas:
            return write_report(atlas, None if out is None else Path(out), hunt).path

    def survey(self, hunt: int | None = None) -> AsData | None:
        """What the hunt says about the whole space: rules, failure mass, audit; `as_data()` gives JSON."""
        from failscape.views.read import load_hunt

        with self._open() as atlas:
            return load_hunt(atlas, hunt).survey

    def attribute(self, counts: str | Path, hunt: int | None = None) -> Scarcity:
        """Does failure follow rarity? `counts` says how often training data mentions each subject."""
        from failscape.views.attribution.counts import read_counts
        from failscape.views.attribution.scarcity import relate
        from failscape.views.read import load_hunt

        with self._open() as atlas:
            return relate(load_hunt(atlas, hunt), read_counts(Path(counts)))

    def to_pandas(self, what: str = "findings", hunt: int | None = None) -> Any:
        """A table of `findings`, or of all `trials`. Needs pandas, which nothing else here does.

        The columns are always those of `failscape.views.rows.FINDING_COLUMNS` or `TRIAL_COLUMNS`, with the
        same types, also where there are no rows.
        """
        try:
            import pandas
        except ImportError:
            raise FailscapeError(
                "to_pandas() needs pandas, which is not installed", "pip install pandas"
            ) from None
        data, columns = self._table(what, hunt)
        frame = pandas.DataFrame(list(data), columns=list(columns))
        # An empty table has no values to tell the types of its columns from.
        return frame.astype({name: kind for name, kind in columns.items() if kind in (int, float, bool)})

    def _table(self, what: str, hunt: int | None) -> tuple[Iterator[dict[str, Any]], dict[str, type]]:
        from failscape.views.rows import FINDING_COLUMNS, TRIAL_COLUMNS, trial_data

        if what == "findings":
            return (row.as_data() for row in self.rows(hunt)), FINDING_COLUMNS
        if what == "trials":
            return map(trial_data, self.trials(hunt=hunt)), TRIAL_COLUMNS
        raise ValueError(f"`what` must be findings or trials, but got {what!r}")

    def _open(self) -> Atlas:
        return Atlas.open(self.folder, readonly=True)


@dataclass
class _Callbacks:
    """Hands progress and notes to the caller's functions."""

    on_progress: Callable[[RunSnapshot], None] | None
    on_note: Callable[[str, str], None] | None

    def update(self, snapshot: RunSnapshot) -> None:
        if self.on_progress is not None:
            self.on_progress(snapshot)

    def note(self, kind: str, text: str) -> None:
        if self.on_note is not None:
            self.on_note(kind, text)

    def close(self) -> None: ...


def _checked(config: Config) -> HuntConfig:
    if isinstance(config, HuntConfig):
        return config
    if isinstance(config, Mapping):
        return parse_config(dict(config), "the config")
    return load_config(Path(config))


def _run_anywhere(
    settings: HuntConfig, folder: Path, reporter: Reporter, shard: tuple[int, int], fork: bool
) -> Summary:
    """In a script the session has this thread; where a loop runs already (notebooks) it gets its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run_session(settings, folder, reporter, shard, fork))
    return _Beside(settings, folder, reporter, shard, fork).wait()


class _Beside:
    """A session in a thread of its own, that Ctrl-C in this one asks to finish."""

    def __init__(
        self, settings: HuntConfig, folder: Path, reporter: Reporter, shard: tuple[int, int], fork: bool
    ) -> None:
        self._engine: Engine | None = None
        self._loop = asyncio.new_event_loop()
        self._outcome: Summary | BaseException | None = None
        self._session = run_session(settings, folder, reporter, shard, fork, ready=self._ready)
        self._thread = threading.Thread(target=self._run, name="failscape-run", daemon=True)

    def wait(self) -> Summary:
        self._thread.start()
        while self._thread.is_alive():
            try:
                self._thread.join(0.1)  # a join without limit would keep Ctrl-C waiting
            except KeyboardInterrupt:
                if self._engine is None:
                    raise
                self._loop.call_soon_threadsafe(self._engine.interrupt)
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        assert self._outcome is not None
        return self._outcome

    def _ready(self, engine: Engine) -> None:
        self._engine = engine

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                self._outcome = runner.run(self._session)
        except BaseException as error:
            self._outcome = error
