"""What an experiment of the doctor brings to light, and the models of a config, each started by itself."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

from failscape.config import HuntConfig
from failscape.engines import model_maker
from failscape.errors import FailscapeError
from failscape.models.roles import Model

Status = Literal["ok", "warn", "fail"]

#: Seconds: a doctor should not wait five minutes for a server that is down.
PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Observation:
    """One experiment: what was seen, what it means, and what to do about it when it is not `ok`.

    `n` is how many replies, pictures or pairs it rests on; 0 where nothing was counted.
    """

    name: str
    status: Status
    seen: str
    means: str
    fix: str = ""
    n: int = 0


@dataclass(slots=True)
class Patients:
    """The models of a config that could be started, by role, and what is wrong with the others."""

    models: dict[str, Any] = field(default_factory=dict)
    ailing: list[Observation] = field(default_factory=list)


@contextlib.asynccontextmanager
async def patients_of(settings: HuntConfig, leave_out: tuple[str, ...] = ()) -> AsyncIterator[Patients]:
    """Every role of a config, with little patience: one that cannot start keeps no other from being examined.

    Actors of a cluster are given the time they need.
    """
    make, hurry, found = model_maker(settings), settings.engine.kind == "local", Patients()
    started: list[Model] = []
    try:
        for role, config in settings.models().items():
            if role in leave_out:
                continue
            short = {"patience": min(config.patience, PATIENCE)} if hurry else {}
            try:
                model = make(role, config.model_copy(update=short))
                await model.start()
            except FailscapeError as error:
                found.ailing.append(down(role, error))
                continue
            started.append(model)
            found.models[role] = model
        yield found
    finally:
        for model in started:
            await model.close()


def down(role: str, error: FailscapeError) -> Observation:
    """A role that gives no reply at all."""
    return Observation(
        f"{role}-answers",
        "fail",
        error.message,
        f"the {role} cannot be used",
        error.fix or "see its log, then try again",
    )
