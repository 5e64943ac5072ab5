"""The settings of a run: one YAML file, checked here, stored resolved in the atlas."""

from failscape.config.base import (
    SECRETS,
    BudgetConfig,
    HuntConfig,
    ModelConfig,
    RuntimeConfig,
    Settings,
)
from failscape.config.classifier import ClassifierConfig
from failscape.config.t2i import SearchConfig, SpaceConfig, T2IConfig
from failscape.config.vlm import VlmConfig

__all__ = [
    "HUNTS",
    "SECRETS",
    "BudgetConfig",
    "ClassifierConfig",
    "HuntConfig",
    "ModelConfig",
    "RuntimeConfig",
    "SearchConfig",
    "Settings",
    "SpaceConfig",
    "T2IConfig",
    "VlmConfig",
]

HUNTS: dict[str, type[HuntConfig]] = {"t2i": T2IConfig, "classifier": ClassifierConfig, "vlm": VlmConfig}
"""`hunt:` in a config file → its settings."""
