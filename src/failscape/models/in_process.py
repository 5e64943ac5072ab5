"""What models that run in this process share: a worker thread of their own, or nothing to load at all."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from failscape.errors import ModelError
from failscape.models.roles import Identity

T = TypeVar("T")


class Unloaded:
    """A model that is ready as it is: nothing is loaded, and nothing has to be closed."""

    identity: Identity
    batch = 16
    parallel = 1

    async def start(self) -> None: ...

    async def close(self) -> None: ...


class InProcess:
    """A model that a worker thread loads and runs. Sub-classes say how it is loaded."""

    identity: Identity
    batch: int
    parallel = 1
    threads = 1
    _worker: ThreadPoolExecutor | None = None

    async def start(self) -> None:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(self.threads, f"failscape-{self.identity.provider}")
            try:
                await self.run(self.load)
            except BaseException:
                await self.close()
                raise

    async def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown(wait=False, cancel_futures=True)

    def load(self) -> None:
        """Make ready, in the worker thread: load weights, open sessions."""

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        if self._worker is None:
            raise ModelError(f"{self.identity.model} is not started", "call `await model.start()` first")
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)
