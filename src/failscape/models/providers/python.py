"""Provider `python`: any function, class or object of the user's, sync or async, in any role.

The signatures are in `python_roles.py` and on the page docs/providers.md. An object that is a whole model
already (identity, batch, parallel, start, close, the role's method) is used as it is.
"""

import ast
import asyncio
import hashlib
import importlib
import importlib.util
import inspect
import sys
import textwrap
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

from failscape.config import HELD, ModelConfig
from failscape.errors import BadReply, ConfigError, ModelError, Permanent, suggest
from failscape.models.in_process import charge
from failscape.models.providers.python_roles import CallShape
from failscape.models.roles import METHODS, Identity, Model, Reply
from failscape.models.transport.encoding import LARGE, off_loop
from failscape.pictures import Picture

FORM = 'write `path: "my_models.py:attr"` or `path: "package.module:attr"`'


def load_object(path: str) -> Any:
    """The object itself; dots in the attribute go into classes."""
    if path.startswith(HELD):
        raise ConfigError(
            f"{path!r} was given as a Python object, which no file can name",
            "go on from Python with failscape.run(…), or name it as `file.py:attr` in a new hunt",
        )
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
    return code_digest(Path(file).expanduser().read_bytes())


def code_digest(source: bytes | str) -> str:
    """A digest of what code does: comments, formatting and docstrings do not change it.

    What is no Python, such as a compiled module, counts as it is.
    """
    content = source.encode() if isinstance(source, str) else source
    try:
        tree = ast.parse(textwrap.dedent(source) if isinstance(source, str) else source)
    except (SyntaxError, ValueError):
        return hashlib.blake2b(content, digest_size=8).hexdigest()
    return hashlib.blake2b(_code_text(tree).encode(), digest_size=8).hexdigest()


def _code_text(node: Any) -> str:
    """A syntax tree as text: without positions and docstrings, and alike in all versions of Python.

    Versions differ in fields that are empty, so these are left out.
    """
    if isinstance(node, list):
        return f"[{','.join(_code_text(one) for one in node)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = []
    for name, value in ast.iter_fields(node):
        kept = value[1:] if name == "body" and _has_docstring(node) else value
        if kept is not None and kept != []:
            parts.append(f"{name}={_code_text(kept)}")
    return f"{type(node).__name__}({','.join(parts)})"


def _has_docstring(node: ast.AST) -> bool:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None


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
    if str(file.parent) not in sys.path:  # it may import its neighbours, as when it is run as a script
        sys.path.append(str(file.parent))

    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        raise ConfigError(
            f"{place} cannot be run: {_short(error)}", "mend the file, then run again"
        ) from error
    return module


def _module_of_name(place: str) -> ModuleType:
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(f"{error.name}.")):
            fix = "install it, or give the file: `path: path/to/file.py:attr`"
            raise ConfigError(f"there is no module {error.name!r}", fix) from error
        raise ConfigError(f"{place} cannot be imported: {_short(error)}", "install what it needs") from error
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{place} cannot be imported: {_short(error)}", "mend it, then run again"
        ) from error


def _short(error: BaseException) -> str:
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


def bytes_in(value: Any) -> int:
    """How large the pictures are that are to be decoded for the user's code."""
    if isinstance(value, Picture):
        return len(value.data)
    if isinstance(value, list | tuple):
        return sum(bytes_in(one) for one in value)
    return bytes_in(getattr(value, "images", ()))


BATCH = 16
ROW_OF_ERRORS = 5


class PythonModel:
    """Calls the user's code: async code in the loop, sync code in a worker thread.

    One thread unless the object says `threads = n`: few models may be called twice at once. `inline = True`
    calls sync code in the loop itself, for code that is faster than a change of threads.
    """

    def __init__(
        self, shape: CallShape, function: Callable[..., Any], config: ModelConfig, name: str
    ) -> None:
        self.identity = Identity(
            shape.role, "python", one_spelling(config.path), _settings(shape.role, function, config)
        )
        self.batch = config.batch or int(_said(function, "batch", BATCH if shape.batched else 1))
        self.parallel = 1
        self._shape = shape
        shape.limits = config.picture_limits
        self._function = function
        self._name = name
        self._inline = bool(_said(function, "inline", False))
        self._threads = int(_said(function, "threads", 1))
        self._is_async = _is_async(function)
        self._limit = asyncio.Semaphore(config.concurrency)
        self._workers: ThreadPoolExecutor | None = None
        self._succeeded = False
        self._errors = 0

    def __repr__(self) -> str:
        return f"PythonModel({self._shape.role}, {self._name!r})"

    async def start(self) -> None:
        if self._workers is None and not self._is_async and not self._inline:
            self._workers = ThreadPoolExecutor(self._threads, thread_name_prefix=f"failscape-{self._name}")
        await self._hook("start")

    async def close(self) -> None:
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.shutdown(wait=False, cancel_futures=True)
        await self._hook("close")

    async def _hook(self, name: str) -> None:
        hook = getattr(getattr(self._function, "__self__", self._function), name, None)
        if callable(hook):
            outcome = hook()
            if inspect.isawaitable(outcome):
                await outcome

    async def run(self, *columns: Sequence[Any]) -> list[Reply[Any]]:
        """The role's method: one list per argument in, one reply per item out."""
        replies: list[Reply[Any]] = []
        calls = self._shape.calls(columns)
        looks = not self._inline and bytes_in(columns) >= LARGE
        draws = not self._inline and self._shape.role in ("generator", "editor")
        while (call := await off_loop(looks, partial(next, calls, None))) is not None:
            arguments, count = call
            returned = await self._call(arguments)
            try:
                replies += await off_loop(draws, partial(self._shape.replies, returned, count, arguments))
            except BadReply as error:
                told = f"{self._name} {error.message}; it must be {self._shape.signature}"
                raise BadReply(told) from error
        self._succeeded, self._errors = True, 0
        return replies

    async def _call(self, arguments: tuple[Any, ...]) -> Any:
        try:
            if self._is_async:
                async with self._limit:
                    return await self._function(*arguments)
            if self._workers is None:
                returned = self._function(*arguments)
            else:
                loop = asyncio.get_running_loop()
                returned = await loop.run_in_executor(self._workers, partial(self._function, *arguments))
            return await returned if inspect.isawaitable(returned) else returned
        except ModelError:
            raise
        except (Exception, SystemExit) as error:  # `sys.exit` in a model must not end the run without a word
            raise self._failed(error) from error

    def _failed(self, error: BaseException) -> ModelError:
        """An exception is a mistake in the code, unless the code has worked before: then it is this item."""
        self._errors += 1
        message = f"{self._name} raised {type(error).__name__}: {error}"[:400]
        if self._succeeded and self._errors < ROW_OF_ERRORS:
            return BadReply(message)
        fix = "mend the code; raise failscape.errors.BadReply for an item that cannot be done"
        return Permanent(message, fix)


def _said(function: Callable[..., Any], name: str, default: Any) -> Any:
    """What the user's function, or the object whose method it is, says of itself."""
    owners = (function, getattr(function, "func", None), getattr(function, "__self__", None))
    value = next((found for owner in owners if (found := getattr(owner, name, None)) is not None), None)
    return default if value is None or callable(value) else value


def _is_async(function: Callable[..., Any]) -> bool:
    inner = getattr(function, "func", function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004


def _settings(role: str, function: Callable[..., Any], config: ModelConfig) -> dict[str, Any]:
    """`version` on the object stands for its code; else the file's digest does.

    Captions that come as one text were once kept whole: those replies are another model's.
    """
    version = _said(function, "version", "") or _digest_of_code(function, config)
    how_read = {"captions": "by sentence"} if role == "captioner" else {}
    return {"params": config.params, "version": str(version), **how_read}


def _digest_of_code(function: Callable[..., Any], config: ModelConfig) -> str:
    """Of the file for what a config names; of the source for what it was given.

    Code without a source (built in, or typed at a prompt) is another model each time: results must not mix.
    """
    if config.held is None:
        return source_digest(config.path)
    inner = getattr(config.held, "func", config.held)
    code = inner if inspect.isroutine(inner) or inspect.isclass(inner) else type(inner)
    try:
        # From Python 3.13 on, all code of strings has the source of what `python -c` was started with.
        if inspect.getfile(code) == "<string>":
            raise OSError
        return code_digest(inspect.getsource(code))
    except (OSError, TypeError):
        return f"without a source or a version, and so new in every run ({uuid4().hex[:8]})"


def create(role: str, config: ModelConfig) -> Model:
    """The factory that the registry calls."""
    found = load_object(config.path) if config.held is None else config.held
    if inspect.isclass(found):
        try:
            found = found(**config.params)
        except TypeError as error:
            told = f"{config.path} cannot be made from `params`: {error}"
            raise ConfigError(told, "check `params`") from error
    elif config.params and not callable(found):
        raise ConfigError(f"{config.path} takes no `params`: it is an object", "name its class instead")
    elif config.params:
        found = partial(found, **config.params)
    method = METHODS[role]
    if role == "llm" and callable(getattr(found, method, None)):
        found = getattr(found, method)
    if isinstance(found, Model) and callable(getattr(found, method, None)):
        return charge(found, role, config.price)
    function, shape = _function_and_shape(role, found, config)
    model = PythonModel(shape, function, config, config.path)

    async def chat(messages: Sequence[Any], schema: dict[str, Any] | None = None) -> Reply[Any]:
        """One dialogue a call. User code is not told the schema."""
        return (await model.run([list(messages)]))[0]

    setattr(model, method, chat if role == "llm" else model.run)
    return charge(model, role, config.price)


def _function_and_shape(role: str, found: Any, config: ModelConfig) -> tuple[Callable[..., Any], CallShape]:
    own = getattr(found, METHODS[role], None)
    if callable(own):
        return own, CallShape(role, raw=True)

    if not callable(found):
        raise ConfigError(
            f"{config.path} is not callable and has no `{METHODS[role]}`",
            f"role {role}: {CallShape(role).signature}",
        )
    shape = CallShape(role, bool(_said(found, "batched", False)), takes(found, 3))

    if not takes(found, shape.arity) and not (role == "answerer" and shape.history):
        raise ConfigError(
            f"{config.path} does not take the {shape.arity} arguments of role {role}",
            f"role {role}: {shape.signature}",
        )
    return found, shape
