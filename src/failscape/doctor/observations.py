"""What an experiment of the doctor brings to light, and the models of a config, started for experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from failscape.config import HuntConfig
from failscape.models.registry import create_model
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
    """The models of a config, with little patience."""
    return Team(
        {
            role: create_model(role, config.model_copy(update={"patience": min(config.patience, PATIENCE)}))
            for role, config in settings.models().items()
        }
    )
