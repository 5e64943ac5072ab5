"""The hunts of an atlas: what each was run on and told, and which one to go on with.

Keeps what a hunt was run on besides models (corpora, albums), so that the atlas alone tells its findings.
Shipped corpora are part of the package and stay there; a folder of the user's is copied. An album's
pictures go in before the run that shows them.

Trials stay the only truth. What a hunt told is used only while it belongs to them: the same last trial, as
many trials, the same rules, the same accuracy of the judge. Otherwise the trials are told again.

A hunt is gone on with when the settings it was started with and those of now measure the same thing.
Settings that only say how much, how fast or through which door may change at any time; with any other
change, trials from before and after would not belong together, and the run is refused with the differences.
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

from pydantic import BaseModel

from failscape.atlas.files import explained, folder_inside, read_regular, refuse_link, write_whole
from failscape.atlas.reader import CORPORA, CORPUS_HERE, KEPT_TEXT, WARM_START, kept_folder
from failscape.atlas.records import HuntRow
from failscape.atlas.store import Atlas
from failscape.config import HuntConfig
from failscape.config.files import parse_config
from failscape.errors import AtlasError, ConfigError
from failscape.models.roles import Identity
from failscape.pictures import Picture
from failscape.secrets import clean_data
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
    goal = folder_inside(folder, CORPORA, digest)
    if _holds_corpus(goal, digest):
        return
    draft = copy_corpus(Path(name).expanduser(), goal, follow=True)
    if load_corpus(str(draft)).digest != digest:
        shutil.rmtree(draft, ignore_errors=True)
        raise AtlasError(f"corpus {name} changed while it was being read", "start the run again")
    _put_in_place(draft, goal)


def _holds_corpus(goal: Path, digest: str) -> bool:
    """Whether the kept copy is what its name says: a merge may have brought another one under that name."""
    try:
        return goal.is_dir() and load_corpus(str(kept_folder(goal.parent.parent, goal.name))).digest == digest
    except ConfigError:
        return False


def _put_in_place(draft: Path, goal: Path) -> None:
    """Rename a finished draft, in the place of what was there and is not what it should be."""
    with explained(goal):
        if goal.is_dir():
            shutil.rmtree(goal)
        draft.replace(goal)


def keep_prompts(folder: Path, settings: Mapping[str, Any], identities: Mapping[str, Identity]) -> None:
    """Copy the list of prompts that `settings` name into the atlas at `folder`, unless it is there."""
    name, digest = prompts_of(settings), digest_of(identities, "prompts")
    if not name or not digest or name == str(kept_folder(folder, digest) / KEPT_PROMPTS):
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
    refuse_link(goal.parent)
    with explained(goal):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for name in (*CORPUS_FILES, KEPT, KEPT_PROMPTS, KEPT_EARLIER, KEPT_TEXT):
            if os.path.lexists(source / name):
                path = source / name
                write_whole(draft / name, read_regular(path.resolve() if follow else path))
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
    earlier = parse_earlier(read_regular(path).decode(errors="replace"), str(path))
    if earlier.digest != digest:
        raise AtlasError(f"{path} was changed", "restore it from a copy of the atlas")
    return earlier


def _keep_text(folder: Path, digest: str, name: str, text: str) -> None:
    """A folder with one file, unless it is there: others see all of it or nothing."""
    goal = folder_inside(folder, CORPORA, digest)
    if _holds_text(goal / name, text):
        return
    draft = goal.with_name(f".{goal.name}.{os.getpid()}")
    with explained(goal):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        write_whole(draft / name, text.encode())
    _put_in_place(draft, goal)


def _holds_text(path: Path, text: str) -> bool:
    """Whether the kept copy is that text: a merge may have brought another one under that name."""
    try:
        return read_regular(path) == text.encode()
    except FileNotFoundError:
        return False


def keep_text(folder: Path, digest: str, text: str) -> None:
    """Keep what else a hunt reads, such as a file of labels, so that the atlas alone tells its findings."""
    _keep_text(folder, digest, KEPT_TEXT, text)


def stored_settings(row: HuntRow) -> HuntConfig:
    """The settings of a hunt, checked. Models are made from them only as far as the user vouches for them."""
    return parse_config(complete_config(row.config), f"hunt {row.id}").from_atlas(row.vouched)


def keep_pictures(atlas: Atlas, pictures: Iterable[Picture]) -> int:
    """Store pictures, so that `Show` finds them by digest. Returns how many."""
    kept, rest = 0, iter(pictures)
    while group := list(islice(rest, _MANY)):
        atlas.keep_pictures(group)
        kept += len(group)
    return kept


#: What findings follow from, besides trials and settings.
_RULES = ("failscape.search", "failscape.kinds", "failscape.stats", "failscape.spaces", "failscape.trials")


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
    # Any other value is nothing that a run kept; of a number, `bytes` would make as many zeros.
    return row[0] if row and isinstance(row[0], bytes) else None


def _state(db: sqlite3.Connection, hunt_id: int) -> tuple[int | None, int]:
    row = db.execute(
        "SELECT last_trial, pass + fail + invalid + none FROM totals WHERE hunt = ?", (hunt_id,)
    ).fetchone()
    return (row[0], row[1]) if row else (None, 0)


def _has_trials(atlas: Atlas, hunt_id: int) -> bool:
    with atlas.transaction() as (db, _):
        return _state(db, hunt_id)[1] > 0


#: Top-level keys that may change on resume. How a judge errs changes what is made of its answers only.
FREE_SECTIONS = frozenset({"budget", "runtime", "judge_accuracy"})

#: Settings deeper down that may change: a predictor says what comes first, not what is made of it; the rules
#: that claims are made by are always today's.
FREE_SETTINGS = (("search", "predictor"), ("search", "rules"))

#: Keys of a model's section that may change on resume: the same model answers.
FREE_MODEL_KEYS = frozenset(
    {
        "endpoints",
        "api_key_env",
        "timeout",
        "patience",
        "concurrency",
        "batch",
        "price",
        "image_hosts",
        "image_max_bytes",
        "image_max_pixels",
    }
)


def diff_configs(old: Mapping[str, Any], new: Mapping[str, Any], free: bool = False) -> list[str]:
    """Readable lines such as `search.threshold: 0.8 -> 0.9`; empty when `old` can be resumed as `new`.

    With `free`, settings that may change on resume are listed too.
    """
    before, after = dict(_flat(_plain(old))), dict(_flat(_plain(new)))
    lines = []
    for path in sorted(before.keys() | after.keys()):
        if before.get(path, _MISSING) != after.get(path, _MISSING) and (
            free or not may_change(path, old, new)
        ):
            lines.append(f"{'.'.join(path)}: {_show(before, path)} -> {_show(after, path)}")
    return lines


def complete_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an earlier version with today's defaults for what was not there yet.

    Settings that are no longer understood stay as they are.
    """
    try:
        return parse_config(dict(config), "the atlas").model_dump(mode="json")
    except ConfigError:
        return dict(config)


def may_change(path: tuple[str, ...], old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the setting at `path` leaves what is measured as it is."""
    if path[0] in FREE_SECTIONS or path[:2] in FREE_SETTINGS:
        return True
    is_model = any(isinstance(one.get(path[0]), Mapping) and "provider" in one[path[0]] for one in (old, new))
    return is_model and len(path) > 1 and path[1] in FREE_MODEL_KEYS


class _Missing:
    def __repr__(self) -> str:
        return "(not set)"


_MISSING = _Missing()


def _show(flat: dict[tuple[str, ...], Any], path: tuple[str, ...]) -> str:
    value = flat.get(path, _MISSING)
    return "(none)" if value is None else value if isinstance(value, str) and value else repr(value)


def _plain(value: Any) -> Any:
    """Tuples as lists, as they come back from JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _flat(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and (value or not path):
        for key, one in value.items():
            yield from _flat(one, (*path, key))
    else:
        yield path, value


def open_hunt(
    atlas: Atlas,
    config: BaseModel | Mapping[str, Any],
    identities: Mapping[str, Identity],
    shard: tuple[int, int] = (0, 1),
    fork: bool = False,
    parent: int | None = None,
) -> int:
    """The newest hunt that `config` fits; a new one in an empty atlas.

    A new one comes from `parent`, by default the newest.

    A config that fits none is refused with the differences, unless `fork`: then a new hunt starts in the
    same atlas, and replies to identical calls come from there. A fork that fits a hunt resumes it. Hunts that
    recorded nothing, as after a mistake in the config, stand in nobody's way.
    """
    # An address may hold a key in its path: addresses are no part of what is measured.
    settings = clean_data(config.model_dump(mode="json") if isinstance(config, BaseModel) else dict(config))
    hunts = atlas.stored_hunts()
    fits = (hunt for hunt in reversed(hunts) if not diff_hunts(hunt, settings, identities, shard))
    fitting = next(fits, None)
    recorded = [hunt for hunt in hunts if _has_trials(atlas, hunt.id)] if fitting is None else hunts
    if recorded and fitting is None and not fork:
        lines = diff_hunts(recorded[-1], settings, identities, shard)
        raise AtlasError(
            f"{atlas.folder} was made with other settings:\n    " + "\n    ".join(lines),
            "go back to those settings, give another --atlas, or start a second hunt in this one with --fork",
        )
    keep_corpus(atlas.folder, settings, identities)
    keep_prompts(atlas.folder, settings, identities)
    if fitting is not None:
        _note_changes(atlas, fitting, settings)
        return fitting.id
    parent = parent or (recorded[-1].id if recorded else None)
    return atlas.start_hunt(str(settings["hunt"]), settings, dict(identities), shard, parent)


def _note_changes(atlas: Atlas, hunt: HuntRow, settings: dict[str, Any]) -> None:
    """Settings that may change are kept as they are now; the event log remembers what changed when."""
    if diff_configs(hunt.config, settings, free=True):
        atlas.update_config(hunt.id, settings)
    lines = diff_configs(complete_config(hunt.config), settings, free=True)
    if lines:
        atlas.log("settings", {"changed": lines}, hunt.id)


def diff_hunts(
    old: HuntRow,
    config: Mapping[str, Any],
    identities: Mapping[str, Identity],
    shard: tuple[int, int] | None = None,
) -> list[str]:
    """What a hunt measures otherwise, as readable lines; empty when its trials and the others' are alike.

    Shards of one hunt measure the same: they differ only where `shard` is given.
    """
    before, after = complete_config(old.config), complete_config(config)
    known, found = dict(old.identities), dict(identities)
    for what, setting in (("space", "corpus"), ("prompts", "prompts")):
        if digest_of(known, what) and digest_of(known, what) == digest_of(found, what):
            # The same corpus or list by content: where it lies does not matter.
            before, after = _without(before, setting), _without(after, setting)
            del known[what], found[what]
    if digest_of(known, WARM_START) and digest_of(known, WARM_START) == digest_of(found, WARM_START):
        before, after = {**before, WARM_START: ""}, {**after, WARM_START: ""}
        del known[WARM_START], found[WARM_START]
    # Identities know what settings cannot: a new version of a contract, a changed model file.
    lines = diff_configs(before, after) or diff_identities(known, found)
    if shard not in (None, old.shard):
        lines += ["shard: " + " -> ".join(f"{number + 1}/{of}" for number, of in (old.shard, shard))]
    return lines


def _without(config: dict[str, Any], setting: str) -> dict[str, Any]:
    space = config.get("space")
    return {**config, "space": {**space, setting: ""}} if isinstance(space, Mapping) else config


def diff_identities(old: Mapping[str, Identity], new: Mapping[str, Identity]) -> list[str]:
    before = {role: identity.data for role, identity in old.items()}
    after = {role: identity.data for role, identity in new.items()}
    return [f"{line} (the model's identity)" for line in diff_configs(before, after, free=True)]
