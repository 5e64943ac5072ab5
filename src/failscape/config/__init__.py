"""The settings of a run: one YAML file, checked here, stored resolved in the atlas."""

from failscape.config.base import (
    SECRETS,
    BudgetConfig,
    HuntConfig,
    ModelConfig,
    RuntimeConfig,
    Settings,
)
from failscape.hunts.classifier.config import ClassifierConfig
from failscape.hunts.t2i.config import SearchConfig, SpaceConfig, T2IConfig
from failscape.hunts.vlm.config import VlmConfig

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
