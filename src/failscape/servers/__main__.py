"""`python -m failscape.servers`: serve models of any provider on one port.

Prints one line of JSON with its address when it is ready.
"""

import argparse
import asyncio
import json
import sys
from typing import Any

from failscape.config import ModelConfig
from failscape.errors import ConfigError, FailscapeError
from failscape.models.registry import create_model
from failscape.models.roles import ROLES
from failscape.servers.backends import Served
from failscape.servers.running import serve
from failscape.spaces.corpus import load_corpus
from failscape.spaces.understanding import Understanding
from failscape.spaces.wording import Wording


def _settings(role: str, text: str) -> ModelConfig:
    try:
        settings = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"--{role} is not JSON ({error.msg}): {text}", 'give {"provider": …}') from error
    return ModelConfig.model_validate(settings)


def _served(options: argparse.Namespace) -> Served:
    configs = {role: _settings(role, text) for role in ROLES if (text := getattr(options, role))}
    if not configs:
        raise ConfigError("there is nothing to serve", f"give some of: --{', --'.join(ROLES)}")
    models: dict[str, Any] = {role: create_model(role, config) for role, config in configs.items()}
    if classifier := models.pop("classifier", None):
        models["classifiers"] = {configs["classifier"].model or "classifier": classifier}
    understanding = Understanding(Wording(load_corpus(options.corpus)))
    return Served(**models, understanding=understanding, name=options.name)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m failscape.servers", description=__doc__)
    for role in ROLES:
        parser.add_argument(f"--{role}", help=f"settings of the {role} as JSON, as in a config file")
    parser.add_argument("--corpus", default="starter", help="whose wording the judge's instructions use")
    parser.add_argument("--name", default="failscape", help="the model's name in /v1/models")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    options = parser.parse_args()

    def announce(url: str) -> None:
        print(json.dumps({"url": url, "model": options.name}), flush=True)

    try:
        asyncio.run(serve(_served(options), options.host, options.port, announce))
    except FailscapeError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
