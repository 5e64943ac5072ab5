"""Finds the object behind `module:attr` or `path/to/file.py:attr`, with errors that say what is wrong."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from failscape.errors import ConfigError
from failscape.names import suggest

FORM = 'write `path: "my_models.py:attr"` or `path: "package.module:attr"`'


def load_object(path: str) -> Any:
    """The object itself; dots in the attribute go into classes."""
    place, colon, attribute = path.rpartition(":")
    if not colon or not place or not attribute:
        raise ConfigError(f"`path` must name a callable, but got {path!r}", FORM)
    found: Any = _module_of_file(place) if place.endswith(".py") else _module_of_name(place)
    for name in attribute.split("."):
        if not hasattr(found, name):
            public = [known for known in dir(found) if not known.startswith("_")]
            raise ConfigError(f"{place} has no {name!r}", f"{suggest(name, public)} {FORM}")
        found = getattr(found, name)
    return found


def one_spelling(path: str) -> str:
    """The same file has one name, however it was typed: below the working folder from there, else in full."""
    place, _, attribute = path.rpartition(":")
    if not place.endswith(".py"):
        return path
    file, here = Path(place).expanduser().resolve(), Path.cwd().resolve()
    shown = file.relative_to(here) if file.is_relative_to(here) else file
    return f"{shown.as_posix()}:{attribute}"


def source_digest(path: str) -> str:
    """A short name for the code at `path`, so that edited code is a new model; `""` for built-in code."""
    place = path.rpartition(":")[0]
    file = place if place.endswith(".py") else getattr(sys.modules.get(place), "__file__", None)
    if not file or not Path(file).expanduser().is_file():
        return ""
    return hashlib.blake2b(Path(file).expanduser().read_bytes(), digest_size=8).hexdigest()


def _module_of_file(place: str) -> ModuleType:
    file = Path(place).expanduser().resolve()
    if not file.is_file():
        raise ConfigError(f"there is no file {place}", "check `path`; it starts where the command is run")
    name = f"failscape_user_{file.stem}_{hashlib.blake2b(str(file).encode(), digest_size=4).hexdigest()}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickling look it up there
    _beside(file.parent)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        sys.modules.pop(name, None)
        raise ConfigError(
            f"{place} cannot be run: {_short(error)}", "mend the file, then run again"
        ) from error
    return module


def _beside(folder: Path) -> None:
    """A file may import its neighbours, as when it is run as a script."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _module_of_name(place: str) -> ModuleType:
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(f"{error.name}.")):
            fix = "install it, or give the file: `path: path/to/file.py:attr`"
            raise ConfigError(f"there is no module {error.name!r}", fix) from error
        raise ConfigError(f"{place} cannot be imported: {_short(error)}", "install what it needs") from error
    except Exception as error:
        raise ConfigError(
            f"{place} cannot be imported: {_short(error)}", "mend it, then run again"
        ) from error


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def takes(function: Any, count: int) -> bool:
    """Whether it can be called with `count` positional arguments; unknown counts as yes."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:
        return True
    return True
