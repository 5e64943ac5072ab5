"""An album: photos from a folder, each named by its content, with label, captions and whatever else is known.

It reads files and nothing more. Photos that cannot be read are skipped and listed with the reason. The bytes
stay on disk until somebody asks for them; `runtime` puts them into the atlas before a run.
"""

import csv
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failscape.errors import BadReply, ConfigError
from failscape.pictures import SUFFIXES, Picture

ENDINGS = frozenset({*SUFFIXES.values(), ".jpeg", ".tiff"})
METADATA = "metadata.jsonl"
#: What an atlas keeps of an album: all but the photos themselves, which lie among its images.
KEPT = "failscape-album.json"

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
        return (photo.picture() for photo in self.photos)

    def labelled(self, label: str) -> tuple[Photo, ...]:
        return tuple(photo for photo in self.photos if photo.label == label)


def load_album(folder: str | Path) -> Album:
    """Read every photo below `folder`.

    `metadata.jsonl` (one object a line with `file_name`, as Hugging Face's image folders have it) or
    `captions.csv` (columns `file_name`, `caption`) may say more. The label is the metadata's `label`, else
    the name of the sub-folder.
    """
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


def album_text(album: Album) -> str:
    """For a file named `KEPT`, from which `load_album` makes the same album, only without files."""
    rows = [[one.digest, one.name, one.label, one.captions, dict(one.details)] for one in album.photos]
    return json.dumps(rows, default=str, ensure_ascii=False)


def _kept(root: Path) -> Album:
    rows = json.loads((root / KEPT).read_text(encoding="utf-8"))
    found = tuple(
        Photo(digest, root / name, name, label, tuple(captions), details)
        for digest, name, label, captions, details in rows
    )
    return Album(str(root), found, (), _digest(found))


def _photo(path: Path, name: str, said: dict[str, Any]) -> Photo:
    picture = Picture(path.read_bytes())
    picture.image  # noqa: B018 - decodes it, so that a broken file is met now and not in the middle of a run
    folder = name.rpartition("/")[0]
    label = said.pop("label", None)
    captions = next((said.pop(column) for column in _CAPTION_COLUMNS if said.get(column)), ())
    return Photo(
        picture.digest,
        path,
        name,
        folder.rpartition("/")[2] if label is None else str(label),
        _sentences(captions),
        said,
    )


def _sentences(value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else []
    return tuple(text.strip() for text in map(str, texts) if text.strip())


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
    return known, complaints


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "save it as UTF-8 text") from error
    if path.name != METADATA:
        delimiter = "\t" if path.suffix == ".tsv" else ","
        yield from csv.DictReader(text.splitlines(), restkey=_TOO_MANY, delimiter=delimiter)
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
