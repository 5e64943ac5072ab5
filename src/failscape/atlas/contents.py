"""Keeps what a hunt was run on besides models (corpora, albums), so that the atlas alone tells its findings.

Shipped corpora are part of the package and stay there; a folder of the user's is copied. An album's pictures
go in before the run that shows them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from failscape.atlas.faults import explained
from failscape.atlas.files import open_regular
from failscape.atlas.reader import CORPORA, CORPUS_HERE
from failscape.atlas.store import Atlas
from failscape.errors import AtlasError
from failscape.models.roles import Identity
from failscape.pictures import Picture
from failscape.spaces.albums import KEPT, Album, album_text
from failscape.spaces.corpus import corpus_names, load_corpus
from failscape.spaces.corpus.files import CORPUS_FILES

_MANY = 64
"""Pictures that are taken in at once: an album may be larger than the memory."""


def keep_corpus(folder: Path, settings: Mapping[str, Any], identities: Mapping[str, Identity]) -> None:
    """Copy the corpus that `settings` name into the atlas at `folder`, unless it is there or is shipped."""
    name, digest = corpus_of(settings), digest_of(identities)
    if not name or not digest or name in corpus_names() or name.startswith(CORPUS_HERE):
        return
    goal = folder / CORPORA / digest
    if goal.is_dir():
        return
    draft = copy_corpus(Path(name).expanduser(), goal, follow=True)
    if load_corpus(str(draft)).digest != digest:
        shutil.rmtree(draft, ignore_errors=True)
        raise AtlasError(f"corpus {name} changed while it was being read", "start the run again")
    with explained(goal):
        draft.replace(goal)


def copy_corpus(source: Path, goal: Path, follow: bool = False) -> Path:
    """A copy beside `goal` under another name, for the caller to rename: others see all of it or nothing.

    Only the files that a corpus or an album is made of. Links are followed in the user's own folders only.
    """
    draft = goal.with_name(f".{goal.name}.{os.getpid()}")
    with explained(goal):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for name in (*CORPUS_FILES, KEPT):
            if os.path.lexists(source / name):
                with open_regular((source / name).resolve() if follow else source / name) as file:
                    (draft / name).write_bytes(file.read())
    return draft


def corpus_of(settings: Mapping[str, Any]) -> str:
    """The corpus that settings name, "" when they name none."""
    space = settings.get("space")
    return str(space.get("corpus") or "") if isinstance(space, Mapping) else ""


def digest_of(identities: Mapping[str, Identity]) -> str:
    """What names the content of the corpus that a hunt was run with, "" when nobody noted it."""
    space = identities.get("space")
    return str(space.settings.get("digest", "")) if space is not None else ""


def changed_corpus(settings: Mapping[str, Any], identities: Mapping[str, Identity]) -> str:
    """A sentence when the corpus that `settings` name is not the one that the hunt was run with, else ""."""
    name, digest = corpus_of(settings), digest_of(identities)
    if not name or not digest or load_corpus(name).digest == digest:
        return ""
    return f"corpus {name} is not what it was when this hunt was run: subjects and words may differ"


def keep_album(atlas: Atlas, album: Album) -> None:
    """Keep names, labels and captions, so that the hunt can be told again without the folder."""
    goal = atlas.folder / CORPORA / album.digest
    if goal.is_dir():
        return
    draft = goal.with_name(f".{goal.name}.{os.getpid()}")
    with explained(goal):
        draft.mkdir(parents=True, exist_ok=True)
        (draft / KEPT).write_text(album_text(album), encoding="utf-8")
        draft.replace(goal)


def keep_pictures(atlas: Atlas, pictures: Iterable[Picture]) -> int:
    """Store pictures, so that `Show` finds them by digest. Returns how many."""
    kept, rest = 0, iter(pictures)
    while group := list(islice(rest, _MANY)):
        atlas.keep_pictures(group)
        kept += len(group)
    return kept
