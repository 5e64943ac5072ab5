"""Where in-process models run: in this process (`local`), or as actors of a Ray cluster (`ray`).

The loop is the same, and the controller (hunt and atlas) stays the only writer.
"""

from collections.abc import Callable

from failscape.config import HuntConfig, ModelConfig
from failscape.models.registry import create_model
from failscape.models.roles import Model

Maker = Callable[[str, ModelConfig], Model]


def model_maker(config: HuntConfig) -> Maker:
    """What makes the models of a run, by role and settings. They are not started yet."""
    if config.engine.kind == "local":
        return create_model
    from failscape.engines.ray_models import RayEngine

    return RayEngine(config.engine).create_model
