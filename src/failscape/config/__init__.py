"""The settings of a run: one YAML file, checked here, stored resolved in the atlas.

What a kind of hunt adds stands beside the hunt: `hunts/<kind>/config.py`.
"""

from failscape.config.base import (
    HELD,
    SECRETS,
    BudgetConfig,
    EarlierWord,
    EngineConfig,
    HuntConfig,
    ModelConfig,
    RuntimeConfig,
    Settings,
    is_secret_name,
)

__all__ = [
    "HELD",
    "SECRETS",
    "BudgetConfig",
    "EarlierWord",
    "EngineConfig",
    "HuntConfig",
    "ModelConfig",
    "RuntimeConfig",
    "Settings",
    "is_secret_name",
]
