"""What models that run in this process share: a worker thread of their own or nothing to load at all, what
they cost, and, where torch runs them, where they lie and who they are.

In-process models cost what a config gives as their price: rented hardware is not free either. Models behind
HTTP know themselves which of their requests were answered. torch is imported when a model starts, not
before.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from failscape.config import ModelConfig
from failscape.errors import ConfigError, MissingExtra, ModelError
from failscape.models.roles import METHODS, Identity, Model, Reply

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


def file_digest(file: Path) -> str:
    """A name for a file's content: another file under the same name is another model."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}", "check the path") from error


M = TypeVar("M", bound=Model)


def charge(model: M, role: str, price: float) -> M:
    """Let every reply of the model in its role cost `price` per request. A cost it gives itself stands."""
    if price:
        ask = getattr(model, METHODS[role])

        async def charging(*arguments: Any, **named: Any) -> Any:
            replies = await ask(*arguments, **named)
            if isinstance(replies, Reply):
                return _charged(replies, price)
            return [_charged(reply, price) for reply in replies]

        setattr(model, METHODS[role], charging)
    return model


def _charged(reply: Reply[Any], price: float) -> Reply[Any]:
    usage = reply.usage
    return reply if usage.cost else replace(reply, usage=replace(usage, cost=price * usage.requests))


WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "config.json", "preprocessor_config.json")


class TorchModel(InProcess):
    """A model of the hub, or of a folder."""

    role = ""
    provider = "transformers"
    #: The file that a folder with such a model must hold.
    index = "config.json"
    #: Which files of a folder make the model what it is.
    files: tuple[str, ...] = WEIGHTS
    #: The params that it takes, where not all of them go on to the library.
    params: tuple[str, ...] = ()

    def __init__(self, config: ModelConfig, batch: int) -> None:
        unknown = sorted(set(config.params) - set(self.params)) if self.params else ()
        if unknown:
            raise ConfigError(
                f"{self.provider} {self.role}s take no param {', '.join(unknown)}",
                f"known are: {', '.join(self.params)}",
            )
        self.source = str(Path(config.path).expanduser()) if config.path else config.model
        if not self.source:
            raise ConfigError(
                f"`{self.provider}` needs a `model` or a `path`", "name a hub model or a folder"
            )
        if config.path and not (Path(self.source) / self.index).is_file():
            library = self.provider.capitalize()
            raise ConfigError(
                f"{config.path} holds no {self.index}", f"give a folder that {library} has saved"
            )
        self.config = config
        settings = {
            "params": config.params,
            "files": digests(Path(self.source), self.files) if config.path else {},
        }
        name = config.model or Path(self.source).name
        self.identity = Identity(self.role, self.provider, name, settings)
        self.batch = config.batch or batch

    def _unusable(self, error: Exception) -> ConfigError:
        return unusable(self.source, self.index, error)


def unusable(source: str, index: str, error: Exception) -> ConfigError:
    """Why a model cannot be loaded; one that is not on this machine gets the command that fetches it."""
    from huggingface_hub import try_to_load_from_cache

    here = Path(source).exists()
    with suppress(Exception):  # not a name that a hub could have
        here = here or isinstance(try_to_load_from_cache(source, index), str)
    if here:
        fix = "check `model`, `path`, `params`"
        return ConfigError(f"{source} cannot be loaded: {one_line(error)}", fix)
    folder = f"models/{source.rpartition('/')[2]}"
    return ConfigError(
        f"{source} is not on this machine, and could not be fetched: {one_line(error)}",
        f"where there is a network: `hf download {source} --local-dir {folder}`; then `path: {folder}`",
    )


def require_packages(provider: str, *packages: str) -> None:
    """Provider and extra have the same name."""
    if any(find_spec(name) is None for name in packages):
        raise MissingExtra(f"provider {provider}", provider)


def device_of(params: dict[str, Any]) -> str:
    import torch

    return str(params.get("device") or ("cuda:0" if torch.cuda.is_available() else "cpu"))


def dtype_named(name: str) -> Any:
    import torch

    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ConfigError(f"`params.dtype` {name!r} is no torch type", "use for example float16")
    return dtype


def dtype_of(params: dict[str, Any], default: str) -> dict[str, Any]:
    """The type of the weights, as Transformers calls the argument: it was renamed in 4.56."""
    from transformers import __version__

    name = str(params.get("dtype", default))
    old = tuple(map(int, __version__.split(".")[:2])) < (4, 56)
    return {"torch_dtype" if old else "dtype": name if name == "auto" else dtype_named(name)}


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def digests(folder: Path, patterns: Sequence[str]) -> dict[str, str]:
    """What the model is, by content: the same folder elsewhere is the same model."""
    files = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}
