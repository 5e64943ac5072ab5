"""What commands share that may draw with the models of an atlas: the options that vouch for them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from failscape.config.files import load_config, read_yaml
from failscape.trust import Vouched, names_in

F = TypeVar("F", bound=Callable[..., Any])


def trust_options(command: F) -> F:
    """Add `--config` and `--trust-models`, as `configs` and `trust_models`."""
    config = click.option(
        "--config",
        "configs",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        multiple=True,
        help="Your own config of the hunt: models that it names may be run. May be given again.",
    )
    trust = click.option(
        "--trust-models",
        is_flag=True,
        help="Run whatever models the atlas names, with your keys. Only for an atlas that you trust.",
    )
    return config(trust(command))


def whole_configs(texts: Sequence[str]) -> list[Path]:
    """The files among `texts` that hold a whole config, and not a single model."""
    files = [Path(text) for text in texts if Path(text).is_file()]
    return [path for path in files if "hunt" in read_yaml(path)]


def vouched_by(configs: Sequence[Path], trust_models: bool) -> Vouched:
    loaded = [load_config(path) for path in configs]
    sections = [model.model_dump(mode="json") for one in loaded for model in one.models().values()]
    names = frozenset[str]().union(*map(names_in, loaded))
    return Vouched(trust_models, tuple(sections), names)
