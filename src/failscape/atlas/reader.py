"""Everything that is read from an atlas's database, through whatever connection it is given."""

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from failscape.atlas.database import version_of
from failscape.atlas.files import LONGEST_TEXT, refuse_link, refuse_longer, refuse_unplain
from failscape.atlas.images import ImageRow, PackPlace
from failscape.atlas.records import (
    FIX,
    Event,
    HuntRow,
    RunRow,
    Spent,
    StoredCall,
    StoredTrial,
    check_facts,
    check_texts,
    prompts_of,
    understood,
    unsound,
)
from failscape.errors import AtlasError, ConfigError
from failscape.models.roles import Identity, Usage
from failscape.pictures import SUFFIXES
from failscape.plugins import find_kind
from failscape.spaces.earlier import KEPT as KEPT_EARLIER
from failscape.spaces.prompt_list import KEPT as KEPT_PROMPTS
from failscape.trials import Facts, Step, Trial, Verdict, steps_from_json
from failscape.trust import confine

_MANY = 1024
_VERDICTS = {verdict.value: verdict for verdict in Verdict}

#: The folder for corpora of imported files, and for copies of those that hunts were run with.
CORPORA = "corpora"

_FOLDER = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")

#: A corpus whose name starts so lies in the atlas's own folder, wherever that is now.
CORPUS_HERE = "atlas:"


#: The setting, and the identity, of what an earlier atlas proposes.
WARM_START = "warm_start"

#: The file of a kept copy of any other text that a hunt was run on.
KEPT_TEXT = "kept.txt"


def hunts(db: sqlite3.Connection, folder: Path | None) -> list[HuntRow]:
    """With `folder`, corpora that lie in the atlas or were copied there get their full path."""
    known = {number: identity for number, _, identity in identities(db)}
    rows = db.execute(
        "SELECT id, kind, config, identities, shard, shards, parent, created FROM hunts ORDER BY id"
    )
    found = []
    for number, kind, text, ids, shard, shards, parent, created in rows:
        with understood(f"hunts {number!r}"):
            config = dict(json.loads(text))
            models = {name: known[one] for name, one in json.loads(ids).items()}
        if folder is not None:
            config = _confined(str(kind), config, models, folder.absolute())
        found.append(HuntRow(number, kind, config, models, (shard, shards), parent, created))
    return found


#: What else a hunt was run on, by the name of its identity: the setting that names it, and the kept file.
KEPT_SETTINGS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("prompts", ("space", "prompts"), KEPT_PROMPTS),
    ("images", ("images", "folder"), ""),
    ("photos", ("photos",), ""),
    ("labels", ("labels",), KEPT_TEXT),
    ("accuracy", ("accuracy",), KEPT_TEXT),
    (WARM_START, (WARM_START,), KEPT_EARLIER),
)


def _confined(
    kind: str, config: dict[str, Any], identities: Mapping[str, Identity], folder: Path
) -> dict[str, Any]:
    """Settings as reading may use them: kept copies take the place of what a hunt was run on, and names
    that lead elsewhere are made unusable."""
    kept: dict[tuple[str, ...], str] = {}
    if (corpus := _kept_corpus(config, identities.get("space"), folder)) is not None:
        kept["space", "corpus"] = str(corpus)
    for name, path, file in KEPT_SETTINGS:
        if name in identities:
            digest = str(identities[name].settings.get("digest", "")) or "none"
            here = kept_folder(folder, digest) / file
            if here.exists():
                kept[path] = str(here)
    for path, copy in kept.items():
        config = _with_copy(config, path, copy)
    try:
        settings = find_kind(kind).settings
    except ConfigError:
        return config  # of a kind that is not installed: nothing here can make use of its settings
    return confine(settings, config, frozenset(kept.values()))


def _kept_corpus(config: dict[str, Any], words: Identity | None, folder: Path) -> Path | None:
    space = config.get("space")
    if not isinstance(space, dict):
        return None
    corpus = str(space.get("corpus", ""))
    if corpus.startswith(CORPUS_HERE):
        here = kept_folder(folder, corpus.removeprefix(CORPUS_HERE).removeprefix(f"{CORPORA}/"))
    else:
        digest = str(words.settings.get("digest", "")) if words else ""
        if not digest:
            return None
        here = kept_folder(folder, digest)
    return here if here.is_dir() else None


def _with_copy(config: dict[str, Any], path: tuple[str, ...], copy: str) -> dict[str, Any]:
    """The setting at `path` names the copy, in sections that are there."""
    name, *rest = path
    if not rest:
        return {**config, name: copy}
    section = config.get(name)
    if not isinstance(section, dict) or (rest[0] != "corpus" and not section.get(rest[0])):
        return config
    return {**config, name: _with_copy(section, tuple(rest), copy)}


def kept_folder(folder: Path, name: str) -> Path:
    """The folder of a kept corpus or album. Its name may be a stranger's: it leads nowhere else."""
    if not _FOLDER.fullmatch(name):
        raise AtlasError(f"{name!r} is not the name of a corpus in {folder}", FIX)
    here = folder / CORPORA / name
    for path in (here.parent, here):
        refuse_link(path)
    for path in here.iterdir() if here.is_dir() else ():
        status = path.lstat()
        refuse_unplain(path, status)
        refuse_longer(path, status.st_size, LONGEST_TEXT)
    return here


def identities(db: sqlite3.Connection) -> Iterator[tuple[int, str, Identity]]:
    """Number in this atlas, digest, identity."""
    rows = db.execute("SELECT id, digest, role, provider, model, settings FROM identities")
    for number, digest, role, provider, model, settings in rows:
        with understood(f"identities {number!r}"):
            identity = Identity(role, provider, model, dict(json.loads(settings)))
        yield number, digest, identity


def runs(db: sqlite3.Connection, hunt: int | None = None) -> list[RunRow]:
    rows = db.execute(
        "SELECT id, hunt, started, seconds, why FROM runs WHERE ?1 IS NULL OR hunt = ?1 ORDER BY id",
        (hunt,),
    )
    return [RunRow(*row) for row in rows]


def events(db: sqlite3.Connection, hunt: int | None = None) -> list[Event]:
    rows = db.execute(
        "SELECT id, at, kind, hunt, detail FROM events WHERE ?1 IS NULL OR hunt = ?1 ORDER BY id", (hunt,)
    )
    found = []
    for number, at, kind, of, detail in rows:
        with understood(f"events {number!r}"):
            found.append(Event(number, float(at), str(kind), of, dict(json.loads(detail))))
    return found


def replay(db: sqlite3.Connection, hunt: int) -> Iterator[Trial]:
    """Every trial in the order recorded, with nothing in memory but a few of them.

    Facts stay JSON text until somebody looks.
    """
    first, last = _totals(db, hunt, "first_trial, last_trial")
    if first is None:
        return
    # NOT INDEXED: walking the table in id order needs no sorting, which an index on `hunt` would.
    cursor = db.execute(
        "SELECT key, subject, verdict, reason, seed, facts FROM trials NOT INDEXED"
        " WHERE id BETWEEN ? AND ? AND hunt = ? ORDER BY id",
        (first, last, hunt),
    )
    verdicts = _VERDICTS
    try:
        while rows := cursor.fetchmany(_MANY):
            for key, subject, verdict, reason, seed, text in rows:
                if verdict not in verdicts or (type(seed), type(key), type(subject)) != (int, str, str):
                    raise unsound("the atlas", f"trials {key!r}", f"{subject!r}, {verdict!r}, {seed!r}")
                yield Trial(key, subject, verdicts[verdict], reason, None, seed, text)
    finally:
        with contextlib.suppress(sqlite3.ProgrammingError):  # the atlas was closed in between
            cursor.close()


def _totals(db: sqlite3.Connection, hunt: int, columns: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = db.execute(
        f"SELECT {columns} FROM totals WHERE hunt = ?", (hunt,)
    ).fetchone()
    if row is None:
        raise no_such_hunt(db, hunt)
    return row


def latest_hunt(db: sqlite3.Connection) -> int | None:
    """The hunt with the latest recorded trial; without any trial the newest hunt."""
    row = db.execute("SELECT hunt FROM totals ORDER BY coalesce(last_trial, 0) DESC, hunt DESC").fetchone()
    return int(row[0]) if row else None


def no_such_hunt(db: sqlite3.Connection, hunt: int) -> AtlasError:
    rows = db.execute("SELECT id, kind FROM hunts ORDER BY id")
    known = ", ".join(f"{number} ({kind})" for number, kind in rows)
    return AtlasError(
        f"the atlas has no hunt {hunt}", f"its hunts are {known}" if known else "it has no hunts"
    )


def spent(db: sqlite3.Connection, hunt: int) -> Spent:
    images, requests, money = _totals(db, hunt, "images, requests, money")
    others = db.execute(
        "SELECT total(images), total(requests), total(money) FROM merged WHERE hunt = ?", (hunt,)
    ).fetchone()
    seconds = db.execute("SELECT total(seconds) FROM runs WHERE hunt = ?", (hunt,)).fetchone()[0]
    return Spent(images + int(others[0]), requests + int(others[1]), seconds, money + others[2])


def costs(db: sqlite3.Connection, hunt: int) -> dict[str, tuple[int, Usage]]:
    """Role → number of calls and their summed usage. Reads every call of the atlas: seconds for millions."""
    rows = db.execute(
        "SELECT role, count(*), sum(requests), sum(seconds), sum(tokens_in), sum(tokens_out), sum(cost)"
        " FROM calls WHERE hunt = ? GROUP BY role ORDER BY role",
        (hunt,),
    )
    return {role: (number, Usage(*usage)) for role, number, *usage in rows}


def counts(db: sqlite3.Connection, hunt: int) -> dict[Verdict, int]:
    return dict(zip(Verdict, _totals(db, hunt, "pass, fail, invalid, none"), strict=True))


def subject_counts(db: sqlite3.Connection, hunt: int) -> Iterator[tuple[str, dict[Verdict, int]]]:
    """Each subject with its number of trials per verdict, in order of subject; reads an index alone."""
    subject, found = None, dict.fromkeys(Verdict, 0)
    rows = db.execute(
        "SELECT subject, verdict, count(*) FROM trials INDEXED BY trials_by_subject WHERE hunt = ?"
        " GROUP BY subject, verdict ORDER BY subject",
        (hunt,),
    )
    for now, verdict, number in rows:
        if now != subject:
            if subject is not None:
                yield subject, found
            subject, found = now, dict.fromkeys(Verdict, 0)
        with understood(f"trials of {subject!r}"):
            check_texts(now)
            found[Verdict(verdict)] = number
    if subject is not None:
        yield subject, found


def subjects(db: sqlite3.Connection, hunt: int) -> Iterator[str]:
    """Imported subjects in the order of their file, then all others in order of their first trial."""
    for row in db.execute("SELECT subject FROM nodes WHERE hunt = ? ORDER BY id", (hunt,)):
        yield row[0]
    query = (
        "SELECT subject FROM trials t WHERE hunt = ?1 AND NOT EXISTS"
        " (SELECT 1 FROM nodes n WHERE n.hunt = ?1 AND n.subject = t.subject)"
        " GROUP BY subject ORDER BY min(id)"
    )
    for row in db.execute(query, (hunt,)):
        with understood(f"trials of {row[0]!r}"):
            check_texts(row[0])
        yield row[0]


def facts_of(db: sqlite3.Connection, hunt: int, subject: str) -> tuple[tuple[Step, ...], list[Facts]]:
    """The steps of a subject's first trial, and the facts of all its trials, in order."""
    rows = db.execute(
        "SELECT facts, plan FROM trials INDEXED BY trials_by_subject WHERE hunt = ? AND subject = ?"
        " ORDER BY id",
        (hunt, subject),
    ).fetchall()
    if not rows:
        return (), []
    with understood(f"trials of {subject!r}"):
        steps = db.execute("SELECT steps FROM plans WHERE id = ?", (rows[0][1],)).fetchone()[0]
        return steps_from_json(steps), [json.loads(text) for text, _ in rows]


def node_details(db: sqlite3.Connection, hunt: int, subject: str) -> dict[str, Any]:
    """What an imported file said about a subject; empty for hunts that were run here."""
    query = "SELECT details FROM nodes WHERE hunt = ? AND subject = ?"
    row = db.execute(query, (hunt, subject)).fetchone()
    with understood(f"nodes of {subject!r}"):
        return dict(json.loads(row[0])) if row else {}


def verdicts(db: sqlite3.Connection, hunt: int) -> list[tuple[str, int, bool]]:
    """Imported subjects with a verdict: their number of trials, and whether they passed."""
    rows = db.execute(
        "SELECT subject, details, (SELECT count(*) FROM trials t INDEXED BY trials_by_subject"
        " WHERE t.hunt = n.hunt AND t.subject = n.subject) FROM nodes n WHERE hunt = ? ORDER BY id",
        (hunt,),
    )
    found = []
    for subject, text, trials in rows:
        with understood(f"nodes of {subject!r}"):
            passed = json.loads(text).get("passed")
        if passed is not None:
            found.append((subject, trials, passed))
    return found


def prompts(db: sqlite3.Connection, hunt: int, subject: str) -> set[str]:
    """The distinct prompts that were really sent for a subject. A plan has one reworded prompt."""
    rows = db.execute(
        "SELECT p.steps, t.facts, min(t.id) FROM trials t INDEXED BY trials_by_subject"
        " JOIN plans p ON p.id = t.plan WHERE t.hunt = ? AND t.subject = ? GROUP BY t.plan",
        (hunt, subject),
    )
    with understood(f"trials of {subject!r}"):
        plans = ((steps_from_json(steps), json.loads(facts)) for steps, facts, _ in rows)
        return {prompt for steps, facts in plans for prompt in prompts_of(steps, facts)}


_TRIAL = (
    "SELECT t.id, t.hunt, t.key, t.subject, t.verdict, t.reason, t.seed, t.facts, t.calls, t.started,"
    " t.seconds, p.steps FROM trials t {index} JOIN plans p ON p.id = t.plan WHERE t.hunt = ?"
)
_CALL = (
    "SELECT c.hunt, c.role, i.role, i.provider, i.model, i.settings, c.facts, c.invalid, c.raw, c.requests,"
    " c.seconds, c.tokens_in, c.tokens_out, c.cost, c.image, p.format"
    " FROM calls c JOIN identities i ON i.id = c.identity LEFT JOIN images p ON p.digest = c.image"
    " WHERE c.key = ?"
)


def trials(
    db: sqlite3.Connection,
    hunt: int,
    subject: str | None = None,
    verdict: Verdict | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> Iterator[StoredTrial]:
    """Trials in full detail, in the order recorded."""
    query = _TRIAL.format(index="NOT INDEXED" if subject is None else "INDEXED BY trials_by_subject")
    values: list[Any] = [hunt]
    if subject is not None:
        query, values = query + " AND t.subject = ?", [*values, subject]
    if verdict is not None:
        query, values = query + " AND t.verdict = ?", [*values, verdict.value]
    query += " ORDER BY t.id LIMIT ? OFFSET ?"
    cursor = db.execute(query, [*values, -1 if limit is None else limit, offset])
    while rows := cursor.fetchmany(64):
        for row in rows:
            yield _stored_trial(db, row)


def trial(db: sqlite3.Connection, hunt: int, number: int) -> StoredTrial:
    """One trial in full detail, by its number in this atlas."""
    row = db.execute(_TRIAL.format(index="NOT INDEXED") + " AND t.id = ?", (hunt, number)).fetchone()
    if row is None:
        raise AtlasError(f"hunt {hunt} has no trial {number}", "numbers are in `failscape export`")
    return _stored_trial(db, row)


def _stored_trial(db: sqlite3.Connection, row: tuple[Any, ...]) -> StoredTrial:
    number, hunt, key, subject, verdict, reason, seed, text, keys, started, seconds, steps = row
    with understood(f"trials {number!r}"):
        found = [find_call(db, keys[at : at + 16]) for at in range(0, len(keys), 16)]
        trial = Trial(key, subject, _VERDICTS[verdict], reason, None, int(seed), text)
        plan = steps_from_json(steps)
        check_texts(key, subject, reason)
        check_facts(plan, trial.facts)
        return StoredTrial(
            id=number,
            hunt=hunt,
            trial=trial,
            steps=plan,
            calls=tuple(call for call in found if call is not None),
            started=float(started),
            seconds=float(seconds),
        )


#: The version of atlases that first had packs.
PACKS_SINCE = 3


def image_row(db: sqlite3.Connection, digest: str) -> ImageRow | None:
    """What is known of a picture, and where it is; `None` when it was not kept."""
    packed = version_of(db) >= PACKS_SINCE
    places = (
        "p.name, i.start FROM images i LEFT JOIN packs p ON p.id = i.pack"
        if packed
        else "NULL, 0 FROM images i"
    )
    query = f"SELECT i.bytes, i.width, i.height, i.format, {places} WHERE i.digest = ?"
    row = db.execute(query, (digest,)).fetchone()
    if row is None:
        return None
    length, width, height, form, pack, start = row
    with understood(f"images {digest!r}"):
        place = PackPlace(str(pack), int(start), int(length)) if pack else None
        return ImageRow(int(length), int(width), int(height), str(form), place)


def image_digests(db: sqlite3.Connection) -> Iterator[str]:
    yield from (row[0] for row in db.execute("SELECT digest FROM images"))


def growing_pack(db: sqlite3.Connection) -> tuple[str, int] | None:
    """The pack that is appended to, and the end up to which rows name pictures in it."""
    row = db.execute("SELECT name, bytes FROM packs WHERE grows").fetchone()
    return (row[0], row[1]) if row else None


def endpoints(db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, str]:
    """Key of a call → the address that gave its reply, where one is known. At most some 10,000 keys."""
    if version_of(db) < 4:  # earlier atlases did not keep it
        return {}
    marks = ",".join("?" * len(keys))
    return dict(
        db.execute(f"SELECT key, endpoint FROM calls WHERE key IN ({marks}) AND endpoint <> ''", keys)
    )


def confidences(db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, tuple[float, ...]]:
    """Key of a call → how sure the judge was of each check, where it said so. At most some 10,000 keys."""
    if version_of(db) < 5:  # earlier atlases did not keep it
        return {}
    marks = ",".join("?" * len(keys))
    rows = db.execute(f"SELECT call, chances FROM confidences WHERE call IN ({marks})", keys)
    return {key: tuple(float(chance) for chance in json.loads(text)) for key, text in rows}


def find_call(db: sqlite3.Connection, key: bytes, but_of: frozenset[int] = frozenset()) -> StoredCall | None:
    """The call of that key, unless one of the hunts `but_of` made it."""
    row = db.execute(_CALL, (key,)).fetchone()
    if row is None or row[0] in but_of:
        return None
    _, role, of, provider, model, settings, facts, invalid, raw, *usage, image, form = row
    with understood(f"calls {key.hex()!r}"):
        said, known = json.loads(facts), dict(json.loads(settings))
        check_texts(role, invalid, raw, image or "")
        file = "" if form is None else str(image + SUFFIXES.get(form, ".bin"))
    return StoredCall(
        key=key,
        role=role,
        identity=Identity(of, provider, model, known),
        facts=said,
        invalid=invalid,
        raw=raw,
        usage=Usage(*usage),
        image=image or "",
        file=file,
    )
