"""Keeps the words that a hunt was run with, so that its findings can be told from the atlas alone.

Shipped corpora are part of the package and stay there; a folder of the user's is copied.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from failscape.atlas.faults import explained
from failscape.atlas.reader import CORPORA, CORPUS_HERE
from failscape.errors import AtlasError
from failscape.models.roles import Identity
from failscape.spaces.corpus import corpus_names, load_corpus


def keep_corpus(folder: Path, settings: Mapping[str, Any], identities: Mapping[str, Identity]) -> None:
    """Copy the corpus that `settings` name into the atlas at `folder`, unless it is there or is shipped."""
    name, digest = corpus_of(settings), digest_of(identities)
    if not name or not digest or name in corpus_names() or name.startswith(CORPUS_HERE):
        return
    goal = folder / CORPORA / digest
    if goal.is_dir():
        return
    draft = copy_corpus(Path(name).expanduser(), goal)
    if load_corpus(str(draft)).digest != digest:
        shutil.rmtree(draft, ignore_errors=True)
        raise AtlasError(f"corpus {name} changed while it was being read", "start the run again")
    with explained(goal):
        draft.replace(goal)


def copy_corpus(source: Path, goal: Path) -> Path:
    """A copy beside `goal` under another name, for the caller to rename: others see all of it or nothing."""
    draft = goal.with_name(f".{goal.name}.{os.getpid()}")
    with explained(goal):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for file in sorted(source.glob("*.json")):
            shutil.copyfile(file, draft / file.name)
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
