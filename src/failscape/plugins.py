"""The whole plugin API: a `Provider` is a way to reach models, a `HuntKind` is a kind of hunt.

Ours come through the same door as a stranger's. A package joins by two entry-point groups:

    [project.entry-points."failscape.providers"]
    mine = "my_package:PROVIDER"        # a Provider, or a bare callable (role, config) -> Model
    [project.entry-points."failscape.search"]
    mine = "my_package:MyKind"          # a subclass of HuntKind, or an object of it

Nothing is imported before it is asked for: `lazy("module:attribute")` stands for what it names.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from failscape.errors import ConfigError, suggest
from failscape.trials import Purposes, SubjectForm

if TYPE_CHECKING:
    from failscape.atlas import Atlas, HuntRow
    from failscape.config import HuntConfig, ModelConfig
    from failscape.doctor.observations import Observation
    from failscape.models.roles import Model
    from failscape.pictures import Picture
    from failscape.planning.foresight import Foresight
    from failscape.repair.proof import RepairedModel
    from failscape.runtime.progress import Reporter
    from failscape.runtime.walk import Team
    from failscape.search.certify import AuditLimits
    from failscape.search.fresh import MakeTry, Plans
    from failscape.search.protocol import Content, Hunt
    from failscape.spaces.albums import Album
    from failscape.spaces.corpus import Corpus
    from failscape.spaces.earlier import Earlier
    from failscape.starting.asking import ConfigAsker
    from failscape.starting.drafts import ConfigDraft
    from failscape.stats.judging.accuracy import JudgeAccuracy
    from failscape.trials import Finding, Probe
    from failscape.views.pages.sections import Page

#: One row of a dataset: `images` are digests, everything else goes to the metadata as it is.
#:
#: `failed`, `seed`, `subject` and `finding` are in every row; `split` and `file_name` are added.
Row = dict[str, Any]


class _Lazy:
    """An attribute that is imported when it is first looked at."""

    def __init__(self, target: str) -> None:
        self._target = target

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        return import_object(self._target)


def lazy(target: str) -> Any:
    """Stands for `module` or `module:attribute`, as an attribute of a class, and imports it on first use."""
    return _Lazy(target)


@dataclass(frozen=True, slots=True)
class Provider:
    """A way to reach models. `create` is `(role, config) -> Model`, or where to find that.

    `roles` are those that it can play (empty: it does not say); `about` is its line in `failscape list`.
    """

    name: str
    create: Callable[[str, ModelConfig], Model] | str
    roles: tuple[str, ...] = ()
    about: str = ""

    def model(self, role: str, config: ModelConfig) -> Model:
        create = import_object(self.create) if isinstance(self.create, str) else self.create
        made: Model = create(role, config)
        return made


@dataclass(frozen=True, slots=True)
class Demo:
    """A whole config of models that come with a package. `opening` is the line on the screen before it.

    `variants` are other settings for it, by name: `failscape demo KIND --questioner NAME`, or `--video` for
    the one of that name. `openings` are the first lines of variants that hunt something else.
    """

    opening: str
    settings: Mapping[str, Any]
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    openings: Mapping[str, str] = field(default_factory=dict)


class DatasetRows:
    """How findings of a kind become the rows of a dataset. `rows` is needed."""

    #: The task that dataset hubs file it under, such as `text-to-image`; empty for none.
    task: str = ""

    #: What the card says of the files that `beside` writes, in Markdown.
    about_files: str = ""

    def rows(self, atlas: Atlas, hunt: HuntRow, findings: Sequence[Finding], passes: bool) -> Iterator[Row]:
        """A row for each failure of the findings; with `passes` also for what the target got right."""
        raise NotImplementedError(f"{type(self).__name__}.rows")

    def beside(self, rows: Sequence[Row], folder: Path, parquet: bool) -> None:
        """Write what else belongs into the folder; as Parquet too, where that is asked for."""


class HuntKind:
    """A kind of hunt. `name`, `settings` and `build` are needed; the rest says what else works with it."""

    name: str
    about: str = ""

    #: What a config file of this kind holds.
    settings: type[HuntConfig]

    #: The role that is under test.
    target: str = "generator"

    #: What one trial is called: picture, question …
    unit: str = "trial"

    #: How often the target fails in general, for the first sentence of every screen.
    fails_at: str = "fails at {share} of random cases"

    #: Why trials are made: names, and the letter that stands for each in a key (`p` in `cat#p3`).
    purposes: Purposes = Purposes()

    #: How subjects are written: things with values, or questions with skills and clauses.
    subject_form: SubjectForm = SubjectForm.THING

    #: The names of subjects are classes, each with a usual failure rate that its findings exceed.
    names_have_usual_rates: bool = False

    #: The viewer maps its failures by skill (`Survey.skill_tree`), not by things and their attributes.
    mapped_by_skill: bool = False

    #: Its verdicts are a judge's checks on drawn pictures, so that another judge can look at them.
    judged_again: bool = False

    #: What it adds to the report.
    page: Page | None = None

    #: How its findings become a dataset.
    dataset: DatasetRows | None = None

    #: How a subject is tried on fresh seeds: (settings, recorded steps) → the n-th try of a subject.
    tries: Callable[[Any, Plans], MakeTry] = lazy("failscape.search.fresh:recorded_tries")

    #: `failscape init`: a first config, from `(asker, flags)`; the flags are those of `init`.
    draft: Callable[[ConfigAsker, Mapping[str, Any]], ConfigDraft] | None = None

    #: A hunt that runs without anything else, for `failscape demo`.
    demo: Demo | None = None

    #: `failscape repair`: fits a better model on its findings, `(hunt, model, out, wish, reporter)`.
    #: `model` is the model file that a user names, or None.
    repair: Callable[..., Awaitable[RepairedModel]] | None = None

    #: A hunt whose findings `failscape demo repair` goes on from, to a better model and the proof.
    repair_demo: Demo | None = None

    #: `failscape doctor`: experiments with the models of a config.
    examine: Callable[[Any], Awaitable[list[Observation]]] | None = None

    #: `failscape plan`: what a config can prove, `(config, accuracy, effort)`; nothing is drawn.
    foresee: Callable[..., Foresight] | None = None

    def build(
        self, config: Any, shard: tuple[int, int] = (0, 1), accuracy: JudgeAccuracy | None = None
    ) -> Hunt:
        """A fresh hunt, before any trial is told. `accuracy` says how its judge errs, where that is known."""
        raise NotImplementedError(f"{type(self).__name__}.build")

    def recorded(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Settings that an atlas keeps, with what earlier versions did not write down filled in."""
        return settings

    def contents(self, config: Any) -> dict[str, Content]:
        """What the hunt reads besides its settings, by content: a corpus, images, labels."""
        return {}

    def forewarn(self, config: Any, accuracy: JudgeAccuracy | None = None) -> list[str]:
        """What can be known before the first image to make the run pointless."""
        return []

    def audit_limits(self, settings: Mapping[str, Any]) -> AuditLimits:
        """What people's labels of a finding are held against, where they audit what a verifier said."""
        raise NotImplementedError(f"{type(self).__name__}.audit_limits")

    def photo_probes(self, config: Any, folder: str) -> list[Probe]:
        """The labelled photos of a folder as probes of the target, for `failscape compare --photos`."""
        raise ConfigError(f"--photos is for classifier hunts, not for {self.name}", "leave it out")

    def pictures(self, config: Any) -> Iterator[Picture]:
        """Stored images that the hunt will show. They are put into the atlas before the run."""
        return iter(())

    def albums(self, config: Any) -> Sequence[Album]:
        """What is known of those images, for the atlas to keep."""
        return ()

    def corpus(self, config: Any) -> Corpus | None:
        """The corpus whose nodes are its subjects, so that captions can be counted for them."""
        return None

    async def after(self, atlas: Atlas, hunt_id: int, hunt: Hunt, team: Team, reporter: Reporter) -> None:
        """What is done with its helpers at the end of a session, before the models are closed."""


PROVIDERS = "failscape.providers"
HUNTS = "failscape.search"

OUR_KINDS = {
    "t2i": "failscape.kinds.t2i.kind:T2IKind",
    "classifier": "failscape.kinds.classifier.kind:ClassifierKind",
    "vlm": "failscape.kinds.vlm.kind:VlmKind",
}

#: Kinds of hunt that nobody runs: results of others, which are read, certified and compared.
READ_KINDS = {"table": "failscape.kinds.table.kind:TableKind"}


def import_object(target: str) -> Any:
    """What `module` or `module:attribute` names."""
    module, _, attribute = target.partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


def plugins_of(group: str) -> Iterable[EntryPoint]:
    return entry_points(group=group)


def load_plugin(point: EntryPoint, what: str) -> Any:
    try:
        return point.load()
    except Exception as error:
        raise ConfigError(
            f"the plugin behind {what} {point.name!r} ({point.value}) cannot be loaded: {error!r}",
            "mend or uninstall the plugin",
        ) from error


def kind_names() -> list[str]:
    """The kinds of hunt that can be named in a config, ours first."""
    return list(dict.fromkeys([*OUR_KINDS, *sorted(point.name for point in plugins_of(HUNTS))]))


def find_kind(name: str) -> HuntKind:
    """The kind of hunt of that name."""
    ours = {**OUR_KINDS, **READ_KINDS}
    if name in ours:
        return _kind(import_object(ours[name]), name)
    for point in plugins_of(HUNTS):
        if point.name == name:
            return _kind(load_plugin(point, "hunt"), name)
    raise ConfigError(f"there is no kind of hunt {name!r}", suggest(name, kind_names()))


def kind_of(config: HuntConfig) -> HuntKind:
    return find_kind(config.hunt)


def begin_hunt(
    config: HuntConfig,
    shard: tuple[int, int] = (0, 1),
    accuracy: JudgeAccuracy | None = None,
    earlier: Earlier | None = None,
) -> Hunt:
    """A fresh hunt; where there is an `earlier` one, it goes by that, on seeds that nobody has drawn."""
    if earlier is None:
        return kind_of(config).build(config, shard, accuracy)
    config = config.model_copy(update={"seed": earlier.fresh_seed(config.seed)})
    hunt = kind_of(config).build(config, shard, accuracy)
    hunt.begin_with(earlier)
    return hunt


def _kind(found: Any, name: str) -> HuntKind:
    kind = found() if isinstance(found, type) and issubclass(found, HuntKind) else found
    if not isinstance(kind, HuntKind) or getattr(kind, "name", name) != name:
        raise ConfigError(
            f"the plugin behind hunt {name!r} is {found!r}, not a failscape.HuntKind of that name",
            "let its entry point name a subclass of failscape.HuntKind with the `name` of the entry point",
        )
    return kind
