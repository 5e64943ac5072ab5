"""An album: photos from a folder, each named by its content, with label, captions and whatever else is known.

It reads files and nothing more. Photos that cannot be read are skipped and listed with the reason. The bytes
stay on disk until somebody asks for them; `runtime` puts them into the atlas before a run.

Label sets: the classes of a classifier with other names for them and their superclasses.

`imagenet` ships (names and superclasses from WordNet 3.0). JSON and text files do too: docs/classifier.md.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from failscape.csv_tables import csv_of_text
from failscape.errors import BadReply, ConfigError, suggest
from failscape.pictures import SUFFIXES, Picture
from failscape.trust import ALBUM, LABELS, refuse_outside

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
        by_name = [label for label in self.labels if label.name.lower() == wanted]
        by_spelling = [label for label in self.labels if wanted in map(str.lower, label.accept)]
        if found := by_name or by_spelling:
            return found[0]
        known = [label.name for label in self.labels]
        raise ConfigError(f"no class of {self.source} is called {name!r}", suggest(name, known))


def label_set_names() -> list[str]:
    """The shipped label sets."""
    return sorted(path.stem for path in _HERE.glob("*.json"))


def load_labels(name_or_file: str) -> LabelSet:
    """A shipped label set by name, or a file: JSON, or text with one label a line."""
    refuse_outside(name_or_file, LABELS)
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


def labels_text(labels: LabelSet) -> str:
    """For a file from which `load_labels` makes the same set."""
    rows = [
        {"name": one.name, "superclass": one.superclass, "synonyms": one.synonyms} for one in labels.labels
    ]
    return json.dumps(rows, ensure_ascii=False)


def _from_lines(text: str) -> list[Label]:
    """`tench, Tinca tinca`: the first name is the plain one, and the whole line is a spelling too."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, *others = [part.strip() for part in line.split(",") if part.strip()] or [line]
        found.append(Label(name, "", tuple(dict.fromkeys([*others, *([line] if others else [])]))))
    return found


def _from_json(text: str, source: str) -> list[Label]:
    try:
        rows = json.loads(text)
        if isinstance(rows, dict):  # `"tench": "fish"` gives the superclass alone
            about = {name: {"superclass": one} if isinstance(one, str) else one for name, one in rows.items()}
            rows = [{"name": name, **(one or {})} for name, one in about.items()]
        return [_label(row) for row in rows]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"the label file {source} is not understood: {error}", _FORM) from None


def _label(row: Any) -> Label:
    if isinstance(row, str):
        return Label(row)
    others = [*row.get("synonyms", ()), *([row["id"]] if row.get("id") else [])]
    return Label(str(row["name"]), str(row.get("superclass", "")), tuple(map(str, others)))


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


ENDINGS = frozenset({*SUFFIXES.values(), ".jpeg", ".tiff"})
METADATA = "metadata.jsonl"
#: The detail of a photo that holds its annotated questions, and the file that they come from.
QUESTIONS = "questions"
QUESTIONS_FILE = "questions.jsonl"
#: What an atlas keeps of an album: all but the photos themselves, which lie among its images.
KEPT = "failscape-album.json"
#: The name in place of a file for photos of a kept album.
NO_FILE = "(in the atlas)"

CAPTION_FILES = ("captions.csv", "captions.tsv", "metadata.csv")
_NAME_COLUMNS = ("file_name", "file", "image", "path", "name")
_CAPTION_COLUMNS = ("captions", "caption", "text")
#: The column of what goes beyond the header.
_TOO_MANY = "\0"


@dataclass(frozen=True, slots=True)
class Photo:
    """One photo. `name` is its path inside the folder; `details` are the other columns of its metadata."""

    digest: str
    path: Path
    name: str
    label: str = ""
    captions: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_file(self) -> bool:
        """Whether there is a file of it; photos of a kept album lie among the atlas's pictures."""
        return self.path.name != NO_FILE

    def picture(self) -> Picture:
        return Picture(self.path.read_bytes(), self.digest)


@dataclass(frozen=True, slots=True)
class Album:
    """Different photos in order of name. `skipped` says which files were left out, and why.

    `digest` changes with any photo, label, caption or detail, not with where the folder lies.
    """

    source: str
    photos: tuple[Photo, ...]
    skipped: tuple[str, ...]
    digest: str

    def pictures(self) -> Iterator[Picture]:
        return (photo.picture() for photo in self.photos if photo.has_file)

    def labelled(self, label: str) -> tuple[Photo, ...]:
        return tuple(photo for photo in self.photos if photo.label == label)


def load_album(folder: str | Path) -> Album:
    """Read every photo below `folder`.

    `metadata.jsonl` (one object a line with `file_name`, as Hugging Face's image folders have it) or
    `captions.csv` (columns `file_name`, `caption`) may say more, `questions.jsonl` has questions of your own.
    The label is the metadata's `label`, else the name of the sub-folder.
    """
    refuse_outside(str(folder), ALBUM)
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise ConfigError(f"{root} is no folder of photos", "name a folder that holds image files")
    if (root / KEPT).is_file():
        return _kept(root)
    known, complaints = _known(root)
    photos: dict[str, Photo] = {}
    skipped = list(complaints)
    for path in sorted(path for path in root.rglob("*") if path.suffix.lower() in ENDINGS):
        name = path.relative_to(root).as_posix()
        try:
            photo = _photo(path, name, known.pop(name, {}))
        except (OSError, BadReply) as error:
            skipped.append(f"{name}: {getattr(error, 'message', error)}")
            continue
        if photo.digest in photos:
            skipped.append(f"{name}: the same photo as {photos[photo.digest].name}")
        else:
            photos[photo.digest] = photo
    skipped += [f"{name}: named in the metadata, but there is no such photo" for name in known]
    if not photos:
        why = f" ({skipped[0]})" if skipped else ""
        raise ConfigError(
            f"{root} holds no photo that can be read{why}", f"put files of {', '.join(sorted(ENDINGS))} there"
        )
    found = tuple(photos.values())
    return Album(str(folder), found, tuple(skipped), _digest(found))


@lru_cache(maxsize=4)
def album_of(folder: str) -> Album:
    """The same, read once a session: reading decodes every photo."""
    return load_album(folder)


def album_text(album: Album) -> str:
    """For a file named `KEPT`, from which `load_album` makes the same album, only without files."""
    rows = [[one.digest, one.name, one.label, one.captions, dict(one.details)] for one in album.photos]
    return json.dumps(rows, default=str, ensure_ascii=False)


def _kept(root: Path) -> Album:
    rows = json.loads((root / KEPT).read_text(encoding="utf-8"))
    # A stranger may have written the names: a photo without a file must not lead to one.
    found = tuple(
        Photo(digest, root / NO_FILE, name, label, tuple(captions), details)
        for digest, name, label, captions, details in rows
    )
    return Album(str(root), found, (), _digest(found))


def _photo(path: Path, name: str, said: dict[str, Any]) -> Photo:
    picture = Picture(path.read_bytes())
    picture.image  # noqa: B018 - decodes it, so that a broken file is met now and not in the middle of a run
    folder = name.rpartition("/")[0]
    label = said.pop("label", None)
    captions = next((said.pop(column) for column in _CAPTION_COLUMNS if said.get(column)), ())
    texts = [captions] if isinstance(captions, str) else captions if isinstance(captions, list) else []
    return Photo(
        picture.digest,
        path,
        name,
        folder.rpartition("/")[2] if label is None else str(label),
        tuple(text.strip() for text in map(str, texts) if text.strip()),
        said,
    )


def _known(root: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """File name → what the folder's metadata say about it, and what could not be understood."""
    known: dict[str, dict[str, Any]] = {}
    complaints: list[str] = []
    for path in sorted([*root.rglob(METADATA), *(p for name in CAPTION_FILES for p in root.rglob(name))]):
        below = path.parent.relative_to(root)
        for number, row in enumerate(_rows(path), 1):
            name = next((row.pop(column) for column in _NAME_COLUMNS if row.get(column)), None)
            if not isinstance(name, str):
                complaints.append(f"{path.name}, row {number}: it names no file (column `file_name`)")
                continue
            if row.pop(_TOO_MANY, None):
                complaints.append(
                    f'the end of {path.name}, row {number}: text with a comma in it needs "quotes"'
                )
            known.setdefault((below / name).as_posix(), {}).update(row)
    for path in sorted(root.rglob(QUESTIONS_FILE)):
        below = path.parent.relative_to(root)
        for number, row in enumerate(_rows(path), 1):
            name, question = _annotated(path, number, row)
            known.setdefault((below / name).as_posix(), {}).setdefault(QUESTIONS, []).append(question)
    return known, complaints


def _annotated(path: Path, number: int, row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The file that a line of `questions.jsonl` is about, and its question. Raises with the line."""
    name = next((row[column] for column in _NAME_COLUMNS if row.get(column)), None)
    texts = {column: row.get(column) for column in ("question", "answer")}
    lacking = [column for column, text in texts.items() if not isinstance(text, str) or not text.strip()]
    tags = row.get("tags") or []
    if not isinstance(name, str) or lacking or not isinstance(tags, list):
        what = (
            "`file_name`"
            if not isinstance(name, str)
            else f"`{lacking[0]}`"
            if lacking
            else "a list of `tags`"
        )
        raise ConfigError(
            f"{path}, line {number} has no {what}",
            'write {"file_name": "7.jpg", "question": "How many?", "answer": "two", "tags": ["counting"]}',
        )
    return name, {
        **{key: str(text).strip() for key, text in texts.items()},
        "tags": [str(tag) for tag in tags],
    }


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "save it as UTF-8 text") from error
    if path.suffix != ".jsonl":
        for found in csv_of_text(text, path):
            yield {**found.cells, **({_TOO_MANY: found.surplus} if found.surplus else {})}
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise ConfigError(f"{path}, line {number} is no JSON object", "write one object a line")
            yield row


def _digest(photos: tuple[Photo, ...]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for photo in photos:
        row = [photo.digest, photo.label, photo.captions, sorted(photo.details.items(), key=lambda it: it[0])]
        digest.update(json.dumps(row, default=str).encode())
    return digest.hexdigest()
