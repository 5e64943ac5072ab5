"""Shows the stored images of a hunt to another judge. Nothing is drawn anew; it can be stopped and resumed.

The answers become a hunt of their own in the same atlas: the same settings but for the judge, the same trials
but for its answers. So findings, report and comparison work as for any hunt, and `run` can go on with it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failscape.atlas import Atlas, HuntRow, open_hunt
from failscape.atlas.decisions import probes_of
from failscape.atlas.resume import complete_config
from failscape.atlas.reviews import keep_accuracy
from failscape.config import BudgetConfig, HuntConfig, ModelConfig
from failscape.config.files import parse_config
from failscape.errors import AtlasError, Refused
from failscape.hunts.fresh import AskedBefore
from failscape.hunts.protocol import replay
from failscape.models.registry import create_model
from failscape.models.roles import Identity, Reply
from failscape.pictures import Picture
from failscape.plugins import find_kind
from failscape.runtime.progress import Reporter
from failscape.runtime.session import Summary, run_hunt
from failscape.runtime.stages import Team
from failscape.runtime.warm_start import choose_accuracy
from failscape.trials import Probe

#: Roles whose replies come from the atlas.
STORED = ("generator", "llm")


@dataclass(frozen=True, slots=True)
class Rejudged:
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
) -> Rejudged:
    """Judge all kept images of a hunt with `judge`, going on where an earlier session stopped."""
    model = create_model("judge", judge)
    with Atlas.open(folder) as atlas:
        row = _choose(atlas, model.identity, hunt_id)
        settings = _settings(atlas, row, judge)
        config = parse_config(settings, f"hunt {row.id} with the new judge")
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
            summary = await run_hunt(_unbounded(config), atlas, second, hunt, team, reporter, resumed)
    return Rejudged(row.id, second, missing, summary)


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


def _unbounded(config: HuntConfig) -> HuntConfig:
    """The budget was for drawing. Remembered calls are what this is about, so they are looked up."""
    runtime = config.runtime.model_copy(update={"cache": True})
    return config.model_copy(update={"budget": BudgetConfig(), "runtime": runtime})


def _count(atlas: Atlas, hunt_id: int) -> tuple[int, int]:
    """How many trials have their picture, and how many do not."""
    kept = missing = 0
    for _, picture in probes_of(atlas, hunt_id):
        kept, missing = kept + picture, missing + (not picture)
    return kept, missing


def _probes(atlas: Atlas, first: int, second: int) -> Iterator[Probe]:
    """Trials of the first hunt that the second has not yet, in the order recorded."""
    return (probe for probe, picture in probes_of(atlas, first, but_for=second) if picture)
