"""Where in-process models run: in this process (`local`), or as actors of a Ray cluster (`ray`).

The loop is the same, and the controller (hunt and atlas) stays the only writer.
"""

from collections.abc import Callable

from failscape.config import HuntConfig, ModelConfig
from failscape.models.registry import create_model
from failscape.models.roles import Model
from failscape.trust import refuse_models

Maker = Callable[[str, ModelConfig], Model]


def model_maker(config: HuntConfig) -> Maker:
    """What makes the models of a run, by role and settings. They are not started yet.

    Raises `AtlasError` for models that only an atlas names.
    """
    if config.engine.kind == "local":
        make: Maker = create_model
    else:
        from failscape.engines.ray_models import RayEngine

        make = RayEngine(config.engine).create_model

    if config.trusted == "config":
        return make

    def make_vouched(role: str, settings: ModelConfig) -> Model:
        if not config.vouched.covers(settings.model_dump(mode="json")):
            every = {name: model.model_dump(mode="json") for name, model in config.models().items()}
            refuse_models(every, config.vouched)
        return make(role, settings)

    return make_vouched
