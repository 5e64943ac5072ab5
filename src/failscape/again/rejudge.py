"""Goes on with a hunt that has run: another judge for its stored images, or more of what it found. Resumable.

Another judge's answers become a hunt of their own in the same atlas: the same settings but for the judge,
the same trials but for its answers. So findings, report and comparison work as for any hunt, and `run` can
go on with it. More tries of findings, with the hunt's own models and fresh seeds, go into an atlas of their
own inside the hunt's, `drawn-N`: its evidence stays what it was, and what was drawn for one dataset serves
the next.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failscape.atlas import Atlas, HuntRow, open_hunt
from failscape.atlas.files import folder_inside
from failscape.atlas.hunts import complete_config, keep_pictures, stored_settings
from failscape.atlas.judging import keep_accuracy, plans_of, probes_of
from failscape.atlas.reader import WARM_START
from failscape.config import BudgetConfig, HuntConfig, ModelConfig
from failscape.config.files import parse_config
from failscape.engines import model_maker
from failscape.errors import AtlasError, Refused
from failscape.models.registry import create_model
from failscape.models.roles import Identity, Model, Reply
from failscape.pictures import Picture
from failscape.plugins import find_kind, kind_of
from failscape.runtime.progress import Reporter
from failscape.runtime.session import Summary, run_hunt
from failscape.runtime.walk import TESTING_STEPS, Team
from failscape.runtime.warm_start import choose_accuracy
from failscape.search.fresh import AskedBefore, FreshTries
from failscape.search.protocol import replay
from failscape.trials import Finding, Probe
from failscape.trust import OUTSIDE, Vouched

#: Roles whose replies come from the atlas.
STORED = ("generator", "llm")


@dataclass(frozen=True, slots=True)
class RejudgedHunt:
    """Numbers of the hunt that was judged again and of the new one. `missing` trials have no picture left."""

    first: int
    second: int
    missing: int
    summary: Summary


class StoredReplies:
    """In place of the models that made a picture: what they said is in the atlas, nothing is asked anew."""

    batch = 1
    parallel = 1

    def __init__(self, identity: Identity) -> None:
        self.identity = identity

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        raise Refused("the stored picture is not whole, and nothing is drawn anew")

    async def chat(self, messages: Sequence[Any]) -> Reply[str]:
        raise Refused("the stored wording is gone, and nothing is worded anew")


async def rejudge(
    folder: Path, judge: ModelConfig, reporter: Reporter, hunt_id: int | None = None
) -> RejudgedHunt:
    """Judge all kept images of a hunt with `judge`, going on where an earlier session stopped."""
    model = create_model("judge", judge)
    with Atlas.open(folder) as atlas:
        row = _choose(atlas, model.identity, hunt_id)
        settings = _settings(atlas, row, judge)
        config = parse_config(
            {key: value for key, value in row.config.items() if not _is_outside(value)}
            | {"judge": settings["judge"]},
            f"hunt {row.id} with the new judge",
        ).from_atlas(Vouched(sections=(judge.model_dump(mode="json"),)))
        identities = {**row.identities, "judge": model.identity}
        accuracy = choose_accuracy(config, model, folder)
        second = open_hunt(atlas, settings, identities, row.shard, fork=True, parent=row.id)
        keep_accuracy(atlas, second, accuracy)
        total, missing = _count(atlas, row.id)
        if not total:
            raise AtlasError(
                f"no picture of hunt {row.id} was kept", "run with `runtime: {keep_images: all}` first"
            )
        hunt = AskedBefore(_probes(atlas, row.id, second), total)
        resumed = replay(hunt, atlas.replay(second))
        stored = {role: StoredReplies(row.identities[role]) for role in STORED if role in row.identities}
        team = Team({**stored, "judge": model})
        async with team:
            # Remembered calls are what this is about, so they are looked up.
            unbounded = _unbounded(config, cache=True)
            summary = await run_hunt(unbounded, atlas, second, hunt, team, reporter, resumed)
    return RejudgedHunt(row.id, second, missing, summary)


def _choose(atlas: Atlas, judge: Identity, hunt_id: int | None) -> HuntRow:
    """The hunt asked for, else that of the latest trial; when that is this judge's own, the one before."""
    row = atlas.hunt(hunt_id)
    if hunt_id is None and row.parent and row.identities.get("judge") == judge:
        row = atlas.hunt(row.parent)
    if not find_kind(row.kind).judged_again or "generator" not in row.identities:
        raise AtlasError(
            f"hunt {row.id} ({row.kind}) cannot be judged again: only hunts of drawn pictures, run here, can",
            "give another --hunt",
        )
    if row.identities["judge"].digest == judge.digest:
        raise AtlasError(f"hunt {row.id} was judged by this very judge", "give another one with --judge")
    return row


def _settings(atlas: Atlas, row: HuntRow, judge: ModelConfig) -> dict[str, object]:
    stored = next(hunt for hunt in atlas.stored_hunts() if hunt.id == row.id)
    return {**complete_config(stored.config), "judge": judge.model_dump(mode="json")}


def _is_outside(value: object) -> bool:
    return isinstance(value, str) and value.startswith(OUTSIDE)


def _unbounded(config: HuntConfig, **runtime: Any) -> HuntConfig:
    """The budget was for the search: here it is said what is wanted."""
    changed = config.runtime.model_copy(update=runtime)
    return config.model_copy(update={"budget": BudgetConfig(), "runtime": changed})


def _count(atlas: Atlas, hunt_id: int) -> tuple[int, int]:
    """How many trials have their picture, and how many do not."""
    kept = missing = 0
    for _, picture in probes_of(atlas, hunt_id):
        kept, missing = kept + picture, missing + (not picture)
    return kept, missing


def _probes(atlas: Atlas, first: int, second: int) -> Iterator[Probe]:
    """Trials of the first hunt that the second has not yet, in the order recorded."""
    return (probe for probe, picture in probes_of(atlas, first, but_for=second) if picture)


#: A finding that fails in fewer than one of so many fresh tries is not worth the pictures.
TRIES_PER_FAILURE = 20


@dataclass(frozen=True, slots=True)
class DrawnTries:
    """`short`: findings that did not fail often enough → how often they did."""

    folder: Path
    hunt: int
    summary: Summary
    short: dict[str, int]


def drawn_folder(atlas: Path, hunt_id: int) -> Path:
    return atlas / f"drawn-{hunt_id}"


async def draw_more(
    atlas: Atlas,
    row: HuntRow,
    findings: Sequence[Finding],
    failures: int,
    reporter: Reporter,
) -> DrawnTries:
    """Try every finding on fresh seeds until it has `failures` more failures.

    The models are those of the atlas: raises `AtlasError` unless they are shipped, or vouched for.
    """
    stored = stored_settings(row)
    # Every picture is kept: passing ones make pairs with the failed.
    config = _unbounded(stored, keep_images="all").model_copy(update={WARM_START: ""})
    kind = kind_of(config)
    plans = {one.subject: plans_of(atlas, row.id, one.subject, TESTING_STEPS) for one in findings}
    models = _models(
        config, row, {step.role for known in plans.values() for steps in known for step in steps}
    )
    make = kind.tries(config, plans)
    hunt = FreshTries([one.subject for one in findings], make, failures, failures * TRIES_PER_FAILURE)
    folder = folder_inside(atlas.folder, drawn_folder(atlas.folder, row.id).name)
    with Atlas.open(folder, create=True) as drawn:
        keep_pictures(drawn, _shown(atlas, config))
        identities = {role: one for role, one in row.identities.items() if role != WARM_START}
        number = open_hunt(drawn, config, identities, row.shard)
        resumed = replay(hunt, drawn.replay(number))
        async with Team(models) as team:
            summary = await run_hunt(config, drawn, number, hunt, team, reporter, resumed)
    return DrawnTries(folder, number, summary, hunt.short())


def _shown(atlas: Atlas, config: HuntConfig) -> Iterator[Picture]:
    """The photos of a hunt, from its own atlas: an album that the atlas keeps has no files."""
    for album in kind_of(config).albums(config):
        for photo in album.photos:
            if atlas.images.name(photo.digest) is not None:
                yield atlas.images.get(photo.digest)


def _models(config: HuntConfig, row: HuntRow, roles: set[str]) -> dict[str, Model]:
    """Those that the findings were made with. Another model's failures would not be this hunt's."""
    make = model_maker(config)
    wanted = {role: one for role, one in config.models().items() if role in roles | {"questioner"}}
    models = {role: make(role, settings) for role, settings in wanted.items()}
    for role, model in models.items():
        recorded: Identity | None = row.identities.get(role)
        if recorded is None or recorded.digest != model.identity.digest:
            raise AtlasError(
                f"the {role} is not the one of hunt {row.id}: its files, settings or contract have changed",
                "draw with the models that the hunt was run with, or hunt anew with these",
            )
    return models
