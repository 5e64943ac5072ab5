"""A first config before it is written, and its text: YAML with comments that say what else can be set."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

IMAGES_PER_ENTITY = 100
#: A first budget: about a hundred images for each entity. `failscape plan` says what it can prove.
FEWEST_IMAGES = 2000

_PLAIN = re.compile(r"[A-Za-z_./][\w./:-]*\Z")
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "none"))


@dataclass(frozen=True, slots=True)
class RoleDraft:
    """How one role is reached, as it will stand in the file. `hints` are lines of comment below it."""

    provider: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    hints: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ConfigDraft:
    """A config before it is written. `roles` and `sections` keep their order; `notes` lead the file."""

    hunt: str
    roles: Mapping[str, tuple[RoleDraft, str]]
    sections: Mapping[str, tuple[Any, str]]
    notes: Sequence[str] = ()

    def text(self, name: str = "hunt.yaml", atlas: str = "runs/first") -> str:
        return "\n".join([*self._head(name, atlas), *self._body()]) + "\n"

    def _head(self, name: str, atlas: str) -> Iterator[str]:
        name = shlex.quote(name)
        atlas = shlex.quote(atlas)
        yield "# Next:"
        for command, why in (
            (f"doctor {name}", "do the models do what the numbers will rest on?"),
            (f"plan {name}", "what can this budget prove, how long does it take, what does it cost?"),
            (f"run {name} --atlas {atlas}", "start, or go on"),
            (f"view {atlas}", "look at what was found"),
        ):
            yield f"#   failscape {command:<34} # {why}"
        yield from (f"# {note}" for note in self.notes)
        yield ""

    def _body(self) -> Iterator[str]:
        yield f"hunt: {self.hunt}"
        for name, (role, about) in self.roles.items():
            yield f"{name}:  # {about}"
            yield f"  provider: {role.provider}"
            yield from (f"  {key}: {flow(value)}" for key, value in role.settings.items())
            yield from (f"  # {hint}" for hint in role.hints)
        for name, (value, about) in self.sections.items():
            line = f"{name}: {flow(value)}"
            yield f"{line:<48} # {about}" if about else line
        yield f"{'# warm_start: runs/old':<48} # try first what an earlier hunt found; none of it is evidence"


def flow(value: Any) -> str:
    """A value in YAML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(inner) for inner in value) + "]"
    if isinstance(value, str) and _PLAIN.match(value) and value.lower() not in _WORDS:
        return value if ": " not in value and not value.endswith(":") else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)


def first_budget(entities: int) -> int:
    """Images for a first run, rounded to hundreds."""
    return max(FEWEST_IMAGES, round(entities * IMAGES_PER_ENTITY, -2))
