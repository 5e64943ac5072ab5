"""Label sets: the classes of a classifier with other names for them and their superclasses.

`imagenet` ships (names and superclasses from WordNet 3.0). JSON and text files do too: docs/classifier.md.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failscape.errors import ConfigError
from failscape.names import suggest

_HERE = Path(__file__).parent / "label_sets"
_FORM = 'write a list of {"name": …, "superclass": …, "synonyms": […]}, or one label a line'


@dataclass(frozen=True, slots=True)
class Label:
    """A class by its plain name. A model may know it under any of its `synonyms` as well."""

    name: str
    superclass: str = ""
    synonyms: tuple[str, ...] = ()

    @property
    def accept(self) -> tuple[str, ...]:
        """Every spelling that counts as this class."""
        names = (self.name, *self.synonyms)
        return tuple(dict.fromkeys((*names, *(name.replace(" ", "_") for name in names))))


@dataclass(frozen=True)
class LabelSet:
    """The classes in the order of the file. A name or synonym leads to its class."""

    source: str
    labels: tuple[Label, ...]

    @property
    def digest(self) -> str:
        return hashlib.blake2b(repr(self.labels).encode(), digest_size=16).hexdigest()

    def find(self, name: str) -> Label:
        wanted = name.strip().lower()
        for label in self.labels:
            if label.name.lower() == wanted:
                return label
        for label in self.labels:
            if any(other.lower() == wanted for other in label.accept):
                return label
        known = [label.name for label in self.labels]
        raise ConfigError(f"no class of {self.source} is called {name!r}", suggest(name, known))


def label_set_names() -> list[str]:
    """The shipped label sets."""
    return sorted(path.stem for path in _HERE.glob("*.json"))


def load_labels(name_or_file: str) -> LabelSet:
    """A shipped label set by name, or a file: JSON, or text with one label a line."""
    shipped = _HERE / f"{name_or_file}.json"
    path = shipped if name_or_file in label_set_names() else Path(name_or_file).expanduser()
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        known = ", ".join(label_set_names())
        raise ConfigError(
            f"there is no label set {name_or_file!r}: it is neither shipped nor a file",
            f"shipped are: {known}",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the label file {name_or_file} cannot be read: {error}", _FORM) from None
    labels = _from_json(text, name_or_file) if text.lstrip()[:1] in ("[", "{") else _from_lines(text)
    return LabelSet(name_or_file, _checked(labels, name_or_file))


def _from_lines(text: str) -> list[Label]:
    """`tench, Tinca tinca`: the first name is the plain one, and the whole line is a spelling too."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, *others = [part.strip() for part in line.split(",") if part.strip()] or [line]
        found.append(Label(name, "", tuple(dict.fromkeys([*others, *([line] if others else [])]))))
    return found


def _from_json(text: str, source: str) -> list[Label]:
    try:
        data = json.loads(text)
        rows = (
            [{"name": name, **_about(about)} for name, about in data.items()]
            if isinstance(data, dict)
            else data
        )
        return [_label(row) for row in rows]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"the label file {source} is not understood: {error}", _FORM) from None


def _about(about: Any) -> dict[str, Any]:
    """`"tench": "fish"` gives the superclass alone."""
    return {"superclass": about} if isinstance(about, str) else dict(about or {})


def _label(row: Any) -> Label:
    if isinstance(row, str):
        return Label(row)
    others = [str(name) for name in row.get("synonyms", ())]
    if row.get("id"):
        others.append(str(row["id"]))
    return Label(str(row["name"]), str(row.get("superclass", "")), tuple(others))


def _checked(labels: Sequence[Label], source: str) -> tuple[Label, ...]:
    if not labels:
        raise ConfigError(f"the label file {source} is empty", _FORM)
    seen: set[str] = set()
    for label in labels:
        if not label.name.strip() or any(sign in label.name for sign in ";#=\n"):
            raise ConfigError(
                f"{source}: {label.name!r} cannot be the name of a class", "use words without ; # and ="
            )
        if label.name.lower() in seen:
            raise ConfigError(f"{source}: two classes are called {label.name!r}", "give each its own name")
        seen.add(label.name.lower())
    return tuple(labels)
