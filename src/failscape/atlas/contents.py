"""Keeps what a hunt was run on besides models (corpora, albums), and what it told after its last trial.

Shipped corpora are part of the package and stay there; a folder of the user's is copied. An album's pictures
go in before the run that shows them.

Trials stay the only truth. What a hunt told is used only while it belongs to them: the same last trial, as
many trials, the same rules, the same accuracy of the judge. Otherwise the trials are told again.
"""

import hashlib
import importlib.util
import os
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from failscape.atlas.files import explained, open_regular
from failscape.atlas.reader import CORPORA, CORPUS_HERE, WARM_START
from failscape.atlas.records import HuntRow
from failscape.atlas.store import Atlas
from failscape.errors import AtlasError
from failscape.models.roles import Identity
from failscape.pictures import Picture
from failscape.spaces.albums import KEPT, Album, album_text
from failscape.spaces.corpus import corpus_names, load_corpus
from failscape.spaces.corpus.files import CORPUS_FILES
from failscape.spaces.earlier import KEPT as KEPT_EARLIER
from failscape.spaces.earlier import Earlier, parse_earlier
from failscape.spaces.prompt_list import KEPT as KEPT_PROMPTS
from failscape.spaces.prompt_list import load_prompts, prompts_text

#: Pictures that are taken in at once: an album may be larger than the memory.
_MANY = 64


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


def keep_prompts(folder: Path, settings: Mapping[str, Any], identities: Mapping[str, Identity]) -> None:
    """Copy the list of prompts that `settings` name into the atlas at `folder`, unless it is there."""
    name, digest = prompts_of(settings), digest_of(identities, "prompts")
    if not name or not digest or (folder / CORPORA / digest).is_dir():
        return
    prompts = load_prompts(name)
    if prompts.digest != digest:
        raise AtlasError(f"the list {name} changed while it was being read", "start the run again")
    _keep_text(folder, digest, KEPT_PROMPTS, prompts_text(prompts))


def prompts_of(settings: Mapping[str, Any]) -> str:
    """The list of prompts that settings name, "" when they name none."""
    space = settings.get("space")
    return str(space.get("prompts") or "") if isinstance(space, Mapping) else ""


def copy_corpus(source: Path, goal: Path, follow: bool = False) -> Path:
    """A copy beside `goal` under another name, for the caller to rename: others see all of it or nothing.

    Only the files that a corpus or an album is made of. Links are followed in the user's own folders only.
    """
    draft = goal.with_name(f".{goal.name}.{os.getpid()}")
    with explained(goal):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for name in (*CORPUS_FILES, KEPT, KEPT_PROMPTS, KEPT_EARLIER):
            if os.path.lexists(source / name):
                with open_regular((source / name).resolve() if follow else source / name) as file:
                    (draft / name).write_bytes(file.read())
    return draft


def corpus_of(settings: Mapping[str, Any]) -> str:
    """The corpus that settings name, "" when they name none, or a list of prompts in its place."""
    space = settings.get("space")
    if prompts_of(settings):
        return ""
    return str(space.get("corpus") or "") if isinstance(space, Mapping) else ""


def digest_of(identities: Mapping[str, Identity], what: str = "space") -> str:
    """What names the content of the corpus that a hunt was run with, "" when nobody noted it."""
    found = identities.get(what)
    return str(found.settings.get("digest", "")) if found is not None else ""


def changed_corpus(settings: Mapping[str, Any], identities: Mapping[str, Identity]) -> str:
    """A sentence when the corpus that `settings` name is not the one that the hunt was run with, else ""."""
    name, digest = corpus_of(settings), digest_of(identities)
    if not name or not digest or load_corpus(name).digest == digest:
        return ""
    return f"corpus {name} is not what it was when this hunt was run: subjects and words may differ"


def keep_album(atlas: Atlas, album: Album) -> None:
    """Keep names, labels and captions, so that the hunt can be told again without the folder."""
    _keep_text(atlas.folder, album.digest, KEPT, album_text(album))


def keep_earlier(folder: Path, earlier: Earlier) -> None:
    """Keep what a warm start goes by, so that going on does not need the old atlas."""
    _keep_text(folder, earlier.digest, KEPT_EARLIER, earlier.text)


def earlier_of(row: HuntRow) -> Earlier | None:
    """What a hunt was started with; `None` for one that started cold."""
    digest = digest_of(row.identities, WARM_START)
    if not digest:
        return None
    path = Path(str(row.config.get(WARM_START)))
    if path.name != KEPT_EARLIER or not path.is_file():
        raise AtlasError(
            f"hunt {row.id} started from an earlier atlas, but {CORPORA}/{digest}/{KEPT_EARLIER} is gone",
            "restore that folder from a copy of the atlas",
        )
    with open_regular(path) as file:
        earlier = parse_earlier(file.read().decode(errors="replace"), str(path))
    if earlier.digest != digest:
        raise AtlasError(f"{path} was changed", "restore it from a copy of the atlas")
    return earlier


def _keep_text(folder: Path, digest: str, name: str, text: str) -> None:
    """A folder with one file, unless it is there: others see all of it or nothing."""
    goal = folder / CORPORA / digest
    if goal.is_dir():
        return
    draft = goal.with_name(f".{goal.name}.{os.getpid()}")
    with explained(goal):
        draft.mkdir(parents=True, exist_ok=True)
        (draft / name).write_text(text, encoding="utf-8")
        draft.replace(goal)


def keep_pictures(atlas: Atlas, pictures: Iterable[Picture]) -> int:
    """Store pictures, so that `Show` finds them by digest. Returns how many."""
    kept, rest = 0, iter(pictures)
    while group := list(islice(rest, _MANY)):
        atlas.keep_pictures(group)
        kept += len(group)
    return kept


#: What findings follow from, besides trials and settings.
_RULES = ("failscape.hunts", "failscape.stats", "failscape.spaces", "failscape.trials")


@cache
def rules_version(module: str) -> str:
    """A digest of the code that makes findings of trials: of ours, and of the package that `module` is in.

    Any change of it makes kept results stale, also one that changes nothing: telling again is slow but right.
    """
    top = module.partition(".")[0]
    digest = hashlib.blake2b(digest_size=12)
    for name in _RULES if top == "failscape" else (*_RULES, top):
        for path in _sources(name):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _sources(name: str) -> Iterator[Path]:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return
    origin = Path(spec.origin)
    yield from sorted(origin.parent.rglob("*.py")) if origin.name == "__init__.py" else [origin]


def keep_results(atlas: Atlas, hunt_id: int, content: bytes, rules: str, judge: str, trials: int) -> bool:
    """Keep what the hunt told after so many trials. Not when the atlas has others: then it fits none."""
    with atlas.transaction() as (db, _):
        last, number = _state(db, hunt_id)
        if last is None or number != trials:
            return False
        db.execute(
            "INSERT OR REPLACE INTO results (hunt, last_trial, trials, rules, judge, at, content)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (hunt_id, last, number, rules, judge, time.time(), content),
        )
    return True


def kept_results(atlas: Atlas, hunt_id: int, rules: str, judge: str) -> bytes | None:
    """What was kept, if it belongs to the trials that are there now."""
    with atlas.reading() as db:
        last, number = _state(db, hunt_id)
    fits = "last_trial = ? AND trials = ? AND rules = ? AND judge = ?"
    return _content(atlas, hunt_id, fits, last, number, rules, judge)


def last_results(atlas: Atlas, hunt_id: int) -> bytes | None:
    """What was kept last, stale or not: for those who go on from there."""
    return _content(atlas, hunt_id, "true")


def _content(atlas: Atlas, hunt_id: int, fits: str, *values: int | str | None) -> bytes | None:
    query = f"SELECT content FROM results WHERE hunt = ? AND {fits}"
    row = next(atlas.query(query, (hunt_id, *values), since=3), None)
    return bytes(row[0]) if row else None


def _state(db: sqlite3.Connection, hunt_id: int) -> tuple[int | None, int]:
    row = db.execute(
        "SELECT last_trial, pass + fail + invalid + none FROM totals WHERE hunt = ?", (hunt_id,)
    ).fetchone()
    return (row[0], row[1]) if row else (None, 0)
