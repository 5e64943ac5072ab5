"""Joins atlases: shards of one hunt become one hunt, other hunts are kept side by side.

Merging is idempotent: doing it again, or after a shard has grown, adds only what is new. Rows go from
database to database inside SQLite, so memory does not grow with the number of trials.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from failscape.atlas import reader
from failscape.atlas.database import DATABASE, MIGRATIONS, reader_uri
from failscape.atlas.files import explained, link_or_copy, refuse_link, sync_folder
from failscape.atlas.hunts import copy_corpus, diff_hunts
from failscape.atlas.images import pack_path
from failscape.atlas.reader import CORPORA
from failscape.atlas.records import HuntRow, refuse_unsound
from failscape.atlas.store import Atlas
from failscape.atlas.writer import RowWriter
from failscape.errors import AtlasError
from failscape.trials import Verdict

#: Pictures that are brought in at once: they are in memory meanwhile.
_MANY = 64


@dataclass(slots=True)
class Merged:
    """What a merge brought in."""

    trials: int = 0
    images: int = 0
    hunts: int = 0
    missing_images: int = 0


def merge_atlases(sources: Sequence[str | Path], destination: str | Path) -> Merged:
    """Bring everything of `sources` into `destination`, which may exist already.

    A source is merged wholly or not at all. Raises `AtlasError` naming the key when a trial was recorded
    in two atlases with different results.
    """
    target = Path(destination)
    for source in sources:
        if Path(source).resolve() == target.resolve():
            raise AtlasError(f"{source} is both source and destination", "give another folder with -o")
        Atlas.open(source, readonly=True).close()  # refuse bad sources before anything is written
    merged = Merged()
    with Atlas.open(target, create=True) as atlas:
        for source in sources:
            with Atlas.open(source, readonly=True) as one:
                _merge_one(one, atlas, merged)
    return merged


def _merge_one(source: Atlas, target: Atlas, merged: Merged) -> None:
    with _attached(target, source.folder):
        refuse_link(source.folder / CORPORA)
        for folder in (source.folder / CORPORA).glob("*"):
            refuse_link(folder)
            goal = target.folder / CORPORA / folder.name
            if not goal.exists() and not folder.name.startswith("."):  # half a copy of a killed run
                draft = copy_corpus(folder, goal)
                with explained(goal):
                    draft.replace(goal)
        hunts = source.stored_hunts()
        with target.transaction() as (db, rows):
            _copy_shared(db)
            _PictureMerge(db, rows, source, target).run(merged)
            numbers: dict[int, int] = {}
            for hunt in hunts:
                # Looked for one after the other: a source may hold several shards of one hunt.
                there = _match(hunt, reader.hunts(db, None))
                if there is None:
                    parent = numbers.get(hunt.parent) if hunt.parent else None
                    named = (hunt.kind, hunt.config, hunt.identities)
                    number = rows.add_hunt(*named, (0, 1), parent, hunt.created)
                    merged.hunts += 1
                else:
                    number = there.id
                numbers[hunt.id] = number
                added = _merge_hunt(db, rows, hunt.id, number, source.folder)
                if added and there is not None and there.shard != hunt.shard:
                    db.execute("UPDATE hunts SET shard = 0, shards = 1 WHERE id = ?", (number,))
                merged.trials += added
            _copy_events(db, numbers)
            _copy_reviews(db, numbers)


@contextmanager
def _attached(target: Atlas, folder: Path) -> Iterator[None]:
    """Let the target's writer see the source's tables as `source.…`."""
    path = folder / DATABASE
    with target.writing() as db, explained(path):
        db.execute("ATTACH ? AS source", (reader_uri(path),))
        try:
            if db.execute("PRAGMA source.user_version").fetchone()[0] < len(MIGRATIONS):
                raise AtlasError(
                    f"{path} is of an older version", f"failscape doctor {folder} --mend updates it"
                )
            refuse_unsound(db, len(MIGRATIONS), str(path), "source.")
            yield
        finally:
            db.execute("DETACH source")


def _match(hunt: HuntRow, others: Sequence[HuntRow]) -> HuntRow | None:
    """The hunt of the target that measures the same: of the same shard if there is one, else of any."""
    same = [
        other
        for other in others
        if other.kind == hunt.kind and not diff_hunts(other, hunt.config, hunt.identities)
    ]
    return next((other for other in same if other.shard == hunt.shard), same[0] if same else None)


def _copy_shared(db: sqlite3.Connection) -> None:
    """Plans and identities are the same everywhere: named by what they are."""
    db.execute(
        "INSERT OR IGNORE INTO plans (digest, steps) SELECT digest, steps FROM source.plans ORDER BY id"
    )
    columns = "digest, role, provider, model, settings"
    db.execute(
        f"INSERT OR IGNORE INTO identities ({columns}) SELECT {columns} FROM source.identities ORDER BY id"
    )


_CONFLICT = (
    "SELECT s.key, s.verdict, t.verdict FROM source.trials s JOIN source.plans sp ON sp.id = s.plan"
    " JOIN trials t ON t.hunt = :there AND t.key = s.key JOIN plans tp ON tp.id = t.plan"
    " WHERE s.hunt = :here AND (s.subject, s.seed, s.verdict, s.reason, s.facts, sp.digest)"
    " IS NOT (t.subject, t.seed, t.verdict, t.reason, t.facts, tp.digest) LIMIT 1"
)
# CROSS JOIN keeps SQLite from reordering: walking the trials in id order needs no sorting.
_TRIALS = (
    "INSERT INTO trials (hunt, key, subject, plan, seed, verdict, reason, facts, calls, started,"
    " seconds) SELECT :there, s.key, s.subject, p.id, s.seed, s.verdict, s.reason, s.facts, s.calls,"
    " s.started, s.seconds FROM source.trials s NOT INDEXED"
    " CROSS JOIN source.plans sp ON sp.id = s.plan"
    " CROSS JOIN plans p ON p.digest = sp.digest WHERE s.hunt = :here AND NOT EXISTS"
    " (SELECT 1 FROM trials t WHERE t.hunt = :there AND t.key = s.key) ORDER BY s.id"
)
#: What else a hunt has: details of nodes, calls, confidences, costs and runs. Costs are kept by where they
#: arose, so that none is counted twice, even through a merge of merges.
_BESIDE_TRIALS = (
    "INSERT OR IGNORE INTO nodes (hunt, subject, details)"
    " SELECT :there, subject, details FROM source.nodes WHERE hunt = :here ORDER BY id",
    "INSERT INTO calls SELECT c.key, c.role, i.id, c.facts, c.invalid, c.raw, c.image,"
    " c.requests, c.seconds, c.tokens_in, c.tokens_out, c.cost, :there, c.endpoint"
    " FROM source.calls c JOIN source.identities si ON si.id = c.identity"
    " JOIN identities i ON i.digest = si.digest"
    " WHERE c.hunt = :here"
    " ON CONFLICT DO UPDATE SET facts = excluded.facts, invalid = '', raw = excluded.raw,"
    " image = excluded.image, requests = excluded.requests, seconds = excluded.seconds,"
    " tokens_in = excluded.tokens_in, tokens_out = excluded.tokens_out, cost = excluded.cost,"
    " endpoint = excluded.endpoint WHERE calls.invalid <> '' AND excluded.invalid = ''",
    "INSERT OR IGNORE INTO confidences SELECT s.call, s.chances FROM source.confidences s"
    " JOIN source.calls c ON c.key = s.call WHERE c.hunt = :here",
    "INSERT INTO merged SELECT :there, origin, images, requests, money FROM"
    " (SELECT origin, images, requests, money FROM source.merged WHERE hunt = :here UNION ALL"
    " SELECT (SELECT uid FROM source.atlas) || '/' || :here, images, requests, money"
    " FROM source.totals WHERE hunt = :here) WHERE true"
    " ON CONFLICT DO UPDATE SET images = max(images, excluded.images),"
    " requests = max(requests, excluded.requests), money = max(money, excluded.money)",
    "INSERT INTO runs (hunt, started, seconds, why, origin)"
    " SELECT :there, started, seconds, why,"
    " coalesce(origin, (SELECT uid FROM source.atlas) || '/' || id) FROM source.runs"
    " WHERE hunt = :here ORDER BY id"
    " ON CONFLICT DO UPDATE SET seconds = excluded.seconds, why = excluded.why",
)


def _merge_hunt(db: sqlite3.Connection, rows: RowWriter, here: int, there: int, folder: Path) -> int:
    """Bring hunt `here` of the attached source into hunt `there`; gives how many of its trials are new."""
    ids = {"here": here, "there": there}
    row = db.execute(_CONFLICT, ids).fetchone()
    if row:
        raise AtlasError(
            f"trial {row[0]!r} was recorded twice with different results: {row[1]} in {folder},"
            f" {row[2]} in what is merged already",
            "merge shards that were run with different --shard numbers, or keep these atlases apart",
        )
    last = db.execute("SELECT coalesce(max(id), 0) FROM trials").fetchone()[0]
    for query in (*_BESIDE_TRIALS, _TRIALS):
        db.execute(query, ids)
    found = db.execute("SELECT verdict, count(*) FROM trials WHERE id > ? GROUP BY verdict", (last,))
    counts: Counter[Verdict] = Counter({Verdict(verdict): number for verdict, number in found})
    rows.add_counts(there, counts)
    return counts.total()


def _copy_events(db: sqlite3.Connection, numbers: dict[int, int]) -> None:
    query = (
        "SELECT at, kind, hunt, detail, coalesce(origin, (SELECT uid FROM source.atlas) || '/' || id)"
        " FROM source.events ORDER BY id"
    )
    rows = [(at, kind, numbers.get(hunt), *rest) for at, kind, hunt, *rest in db.execute(query)]
    db.executemany("INSERT OR IGNORE INTO events (at, kind, hunt, detail, origin) VALUES (?,?,?,?,?)", rows)


def _copy_reviews(db: sqlite3.Connection, numbers: dict[int, int]) -> None:
    """Reviews are named by what they hold, so that one is brought in once; labels of both sides are kept."""
    reviews = db.execute("SELECT hunt, uid, judge, seed, at FROM source.reviews ORDER BY id").fetchall()
    db.executemany(
        "INSERT OR IGNORE INTO reviews (hunt, uid, judge, seed, at) VALUES (?,?,?,?,?)",
        [(numbers[hunt], *rest) for hunt, *rest in reviews],
    )
    db.execute("INSERT OR IGNORE INTO review_items SELECT * FROM source.review_items")
    db.execute("INSERT OR IGNORE INTO review_labels SELECT * FROM source.review_labels")
    found = db.execute(
        "SELECT hunt, at, judge, content, coalesce(origin, (SELECT uid FROM source.atlas) || '/' || id)"
        " FROM source.accuracies ORDER BY id"
    ).fetchall()
    db.executemany(
        "INSERT OR IGNORE INTO accuracies (hunt, at, judge, content, origin) VALUES (?,?,?,?,?)",
        [(numbers[hunt] if hunt else None, *rest) for hunt, *rest in found],
    )


class _PictureMerge:
    """Brings the pictures of the attached source. Whole packs are linked where the file system can."""

    def __init__(self, db: sqlite3.Connection, rows: RowWriter, source: Atlas, target: Atlas) -> None:
        self._db = db
        self._rows = rows
        self._source = source
        self._target = target

    def run(self, merged: Merged) -> None:
        before = self._number()
        # Packs of a name that is not here yet. A copied atlas has packs of one name that grew apart.
        query = "SELECT name, bytes FROM source.packs WHERE name NOT IN (SELECT name FROM packs)"
        for name, end in self._db.execute(query).fetchall():
            path = pack_path(self._source.images.folder, name)
            refuse_link(path)
            if not path.is_file():
                continue
            goal = pack_path(self._target.images.folder, name)
            if not goal.exists():
                with explained(goal):
                    link_or_copy(path, goal)
            self._db.execute("INSERT INTO packs (name, bytes, grows) VALUES (?, ?, 0)", (name, end))
            self._db.execute(
                "INSERT OR IGNORE INTO images SELECT i.digest, i.bytes, i.width, i.height, i.format, p.id,"
                " i.start FROM source.images i JOIN source.packs s ON s.id = i.pack"
                " JOIN packs p ON p.name = s.name WHERE s.name = ?",
                (name,),
            )
        sync_folder(self._target.images.folder)
        merged.missing_images += self._append_others()
        merged.images += self._number() - before

    def _number(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM images").fetchone()[0])

    def _append_others(self) -> int:
        """Those of packs that are here already, and files of their own. Gives how many are gone."""
        query = "SELECT digest FROM source.images WHERE digest NOT IN (SELECT digest FROM images)"
        digests = [row[0] for row in self._db.execute(query)]
        gone = 0
        for start in range(0, len(digests), _MANY):
            pictures = []
            for digest in digests[start : start + _MANY]:
                try:
                    pictures.append(self._source.images.get(digest))
                except AtlasError:
                    gone += 1
            self._rows.add_images(self._target.images.append(pictures), self._target.images.end)
        return gone
