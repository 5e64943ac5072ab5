"""Model servers for tests: real processes on loopback that can be killed and restarted on the same port."""

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

START_SECONDS = 120.0


class ModelServer:
    """`python -m failscape.servers …` (or another `program`) in a process of its own; a context manager.

    `kill()` ends it without warning, `stop()` politely, `start()` brings it back on the same port.
    """

    def __init__(self, arguments: Sequence[str], port: int = 0, program: str = "failscape.servers") -> None:
        self.port = port or free_port()
        self._program = program
        self._arguments = list(arguments)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        command = [sys.executable, "-m", self._program, *self._arguments, "--port", str(self.port)]
        source = str(Path(__file__).parents[2])
        paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        )
        out = self._process.stdout
        assert out is not None
        if not select.select([out], [], [], START_SECONDS)[0] or not out.readline():
            self.kill()
            raise RuntimeError(f"the server did not start: {' '.join(self._arguments)}")
        return self

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._end("kill")

    def stop(self) -> None:
        self._end("terminate")

    def _end(self, how: str) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        getattr(process, how)()
        process.wait(timeout=START_SECONDS)
        if process.stdout is not None:
            process.stdout.close()

    def restart(self, pause: float = 0.0) -> None:
        """Kill it, stay away for `pause` seconds, come back on the same port."""
        self.kill()
        time.sleep(pause)
        self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def planted_server(
    *, generator: bool = True, judge: bool = True, port: int = 0, corpus: str = "starter", **world: Any
) -> ModelServer:
    """A planted world over HTTP; `world` are settings of `PlantedWorld.named`."""
    arguments = ["--corpus", corpus, "--name", "planted"]
    for role, is_wanted in (("generator", generator), ("judge", judge)):
        path = f"failscape.simulate.planted:Planted{role.capitalize()}"
        settings = {"provider": "python", "path": path, "params": {"corpus": corpus, **world}}
        arguments += [f"--{role}", json.dumps(settings)] if is_wanted else []
    return ModelServer(arguments, port)


def toybox_server(port: int = 0) -> ModelServer:
    """`failscape serve toybox`: the small trained models of the package, in every role."""
    return ModelServer(["serve", "toybox"], port, program="failscape")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
