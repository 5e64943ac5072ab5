"""What an experiment of the doctor brings to light, and the models of a config, started for experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from failscape.config import HuntConfig
from failscape.engines import model_maker
from failscape.runtime.stages import Team

Status = Literal["ok", "warn", "fail"]

PATIENCE = 5.0
"""Seconds: a doctor should not wait five minutes for a server that is down."""

SAMPLES = 4
"""How many things are drawn to find out how the models behave."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One experiment: what was seen, what it means, and what to do about it when it is not `ok`."""

    name: str
    status: Status
    seen: str
    means: str
    fix: str = ""


def team_of(settings: HuntConfig) -> Team:
    """The models of a config, with little patience. Actors of a cluster are given the time they need."""
    make, hurry = model_maker(settings), settings.engine.kind == "local"
    short = {role: {"patience": min(config.patience, PATIENCE)} for role, config in settings.models().items()}
    return Team(
        {
            role: make(role, config.model_copy(update=short[role] if hurry else {}))
            for role, config in settings.models().items()
        }
    )
