"""Draws more of what a hunt found, with its own models and fresh seeds. It can be stopped and gone on with.

The trials go into an atlas of their own inside the hunt's, `drawn-N`: the hunt's evidence stays what it was,
and what was drawn for one dataset serves the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from failscape.atlas import Atlas, HuntRow, open_hunt
from failscape.atlas.contents import keep_pictures
from failscape.atlas.decisions import plans_of
from failscape.atlas.reader import WARM_START
from failscape.atlas.resume import complete_config
from failscape.config import BudgetConfig, HuntConfig
from failscape.config.files import parse_config
from failscape.engines import model_maker
from failscape.errors import AtlasError
from failscape.hunts.fresh import FreshTries
from failscape.hunts.protocol import replay
from failscape.models.roles import Identity, Model
from failscape.plugins import kind_of
from failscape.runtime.progress import Reporter
from failscape.runtime.session import Summary, run_hunt
from failscape.runtime.stages import Team
from failscape.runtime.walk import TESTING_STEPS
from failscape.trials import Finding

#: A finding that fails in fewer than one of so many fresh tries is not worth the pictures.
TRIES_PER_FAILURE = 20


@dataclass(frozen=True, slots=True)
class Drawn:
    """`short`: findings that did not fail often enough → how often they did."""

    folder: Path
    hunt: int
    summary: Summary
    short: dict[str, int]


def drawn_folder(atlas: Path, hunt_id: int) -> Path:
    return atlas / f"drawn-{hunt_id}"


async def draw_more(
    atlas: Atlas, row: HuntRow, findings: Sequence[Finding], failures: int, reporter: Reporter
) -> Drawn:
    """Try every finding on fresh seeds until it has `failures` more failures."""
    config = _unbounded(row)
    kind = kind_of(config)
    plans = {one.subject: plans_of(atlas, row.id, one.subject, TESTING_STEPS) for one in findings}
    models = _models(
        config, row, {step.role for known in plans.values() for steps in known for step in steps}
    )
    make = kind.tries(config, plans)
    hunt = FreshTries([one.subject for one in findings], make, failures, failures * TRIES_PER_FAILURE)
    folder = drawn_folder(atlas.folder, row.id)
    with Atlas.open(folder, create=True) as drawn:
        keep_pictures(drawn, kind.pictures(config))
        identities = {role: one for role, one in row.identities.items() if role != WARM_START}
        number = open_hunt(drawn, config, identities, row.shard)
        resumed = replay(hunt, drawn.replay(number))
        async with Team(models) as team:
            summary = await run_hunt(config, drawn, number, hunt, team, reporter, resumed)
    return Drawn(folder, number, summary, hunt.short())


def _unbounded(row: HuntRow) -> HuntConfig:
    """The stored settings. The budget was for the search: here it is said how many failures are wanted.

    Every picture is kept: passing ones make pairs with the failed.
    """
    config = parse_config(complete_config(row.config), f"hunt {row.id}")
    runtime = config.runtime.model_copy(update={"keep_images": "all"})
    return config.model_copy(update={"budget": BudgetConfig(), "runtime": runtime, WARM_START: ""})


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
