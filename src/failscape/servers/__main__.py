"""`python -m failscape.servers`: serve models of any provider on one port.

Prints one line of JSON with its address when it is ready.
"""

import asyncio
import json
import sys
from typing import Any

import click

from failscape.config import ModelConfig
from failscape.errors import ConfigError, FailscapeError
from failscape.models.registry import create_model
from failscape.models.roles import ROLES
from failscape.servers.backends import Served
from failscape.servers.running import serve
from failscape.spaces.corpus import load_corpus
from failscape.spaces.wording import Understanding, Wording


def _served(roles: dict[str, str | None], corpus: str, name: str) -> Served:
    configs: dict[str, ModelConfig] = {}
    for role, text in roles.items():
        try:
            if text:
                configs[role] = ModelConfig.model_validate(json.loads(text))
        except json.JSONDecodeError as error:
            raise ConfigError(
                f"--{role} is not JSON ({error.msg}): {text}", 'give {"provider": …}'
            ) from error
    if not configs:
        raise ConfigError("there is nothing to serve", f"give some of: --{', --'.join(ROLES)}")
    models: dict[str, Any] = {role: create_model(role, config) for role, config in configs.items()}
    if classifier := models.pop("classifier", None):
        models["classifiers"] = {configs["classifier"].model or "classifier": classifier}
    return Served(**models, understanding=Understanding(Wording(load_corpus(corpus))), name=name)


@click.command(
    help=__doc__,
    params=[
        click.Option([f"--{role}"], help=f"Settings of the {role} as JSON, as in a config file.")
        for role in ROLES
    ],
)
@click.option("--corpus", default="starter", show_default=True, help="Whose wording the judge's prompts use.")
@click.option("--name", default="failscape", show_default=True, help="The model's name in /v1/models.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=int, default=0, help="0 takes a free one.")
def main(corpus: str, name: str, host: str, port: int, **roles: str | None) -> None:
    def announce(url: str) -> None:
        click.echo(json.dumps({"url": url, "model": name}))

    try:
        asyncio.run(serve(_served(roles, corpus, name), host, port, announce))

    except FailscapeError as error:
        click.echo(error, err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
