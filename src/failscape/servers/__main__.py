"""`python -m failscape.servers`: serve a generator and a judge of any provider on one port.

Prints one line of JSON with its address when it is ready.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from typing import Any, cast

from aiohttp import web

from failscape.config import ModelConfig
from failscape.errors import ConfigError, FailscapeError
from failscape.models.registry import create_model
from failscape.models.roles import ImageGenerator, Judge
from failscape.servers.app import Served, build_app
from failscape.spaces.corpus import load_corpus
from failscape.spaces.understanding import Understanding
from failscape.spaces.wording import Wording


async def serve(served: Served, host: str, port: int) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    runner = web.AppRunner(build_app(served), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        actual = runner.addresses[0][1]
        print(json.dumps({"url": f"http://{host}:{actual}", "model": served.name}), flush=True)
        await _stopped()
    finally:
        await runner.cleanup()


async def _stopped() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()


def _model(role: str, text: str | None) -> Any:
    if not text:
        return None
    try:
        settings = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"--{role} is not JSON ({error.msg}): {text}", 'give {"provider": …}') from error
    return create_model(role, ModelConfig.model_validate(settings))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m failscape.servers", description=__doc__)
    parser.add_argument("--generator", help="settings of the generator as JSON, as in a config file")
    parser.add_argument("--judge", help="settings of the judge as JSON")
    parser.add_argument("--corpus", default="starter", help="whose wording the judge's instructions use")
    parser.add_argument("--name", default="failscape", help="the model's name in /v1/models")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    options = parser.parse_args()
    try:
        generator, judge = _model("generator", options.generator), _model("judge", options.judge)
        if generator is None and judge is None:
            raise ConfigError("there is nothing to serve", "give --generator, --judge or both")
        understanding = Understanding(Wording(load_corpus(options.corpus)))
        served = Served(
            cast(ImageGenerator | None, generator), cast(Judge | None, judge), understanding, options.name
        )
        asyncio.run(serve(served, options.host, options.port))
    except FailscapeError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
