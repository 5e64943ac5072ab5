"""What models that torch runs in this process share: where they lie, who they are, and a thread of their own.

`model` is a name on the hub, `path` a folder or file. torch is imported when a model starts, not before.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from failscape.config import ModelConfig
from failscape.errors import ConfigError, MissingExtra
from failscape.models.in_process import InProcess
from failscape.models.providers.onnx import file_digest
from failscape.models.roles import Identity

WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "config.json", "preprocessor_config.json")


class TorchModel(InProcess):
    """A model of the hub, or of a folder."""

    role = ""
    provider = "transformers"
    #: The file that a folder with such a model must hold.
    index = "config.json"
    #: Which files of a folder make the model what it is.
    files: tuple[str, ...] = WEIGHTS

    def __init__(self, config: ModelConfig, batch: int) -> None:
        self.source = str(Path(config.path).expanduser()) if config.path else config.model
        if not self.source:
            raise ConfigError(
                f"`{self.provider}` needs a `model` or a `path`", "name a hub model or a folder"
            )
        if config.path and not self.is_saved(Path(self.source)):
            library = self.provider.capitalize()
            raise ConfigError(
                f"{config.path} holds no {self.index}", f"give a folder that {library} has saved"
            )
        self.config = config
        files = digests(Path(self.source), self.files) if config.path else {}
        settings = {"params": config.params, "files": files}
        name = config.model or Path(self.source).name
        self.identity = Identity(self.role, self.provider, name, settings)
        self.batch = config.batch or batch

    def is_saved(self, source: Path) -> bool:
        return (source / self.index).is_file()

    def _unusable(self, error: Exception) -> ConfigError:
        return unusable(self.source, self.index, error)


def unusable(source: str, index: str, error: Exception) -> ConfigError:
    """Why a model cannot be loaded; one that is not on this machine gets the command that fetches it."""
    if Path(source).exists() or _in_cache(source, index):
        fix = "check `model`, `path`, `params`"
        return ConfigError(f"{source} cannot be loaded: {one_line(error)}", fix)
    folder = f"models/{source.rpartition('/')[2]}"
    return ConfigError(
        f"{source} is not on this machine, and could not be fetched: {one_line(error)}",
        f"where there is a network: `hf download {source} --local-dir {folder}`; then `path: {folder}`",
    )


def _in_cache(source: str, index: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    try:
        return isinstance(try_to_load_from_cache(source, index), str)
    except Exception:  # not a name that a hub could have
        return False


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
