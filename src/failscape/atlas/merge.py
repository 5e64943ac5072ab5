"""Joins atlases: shards of one hunt become one hunt, other hunts are kept side by side.

Merging is idempotent: doing it again, or after a shard has grown, adds only what is new. Rows go from
database to database inside SQLite, so memory does not grow with the number of trials.

A source may be a stranger's. Its rows are checked before any of them is taken over: what is named by its
content must have that name, verdicts must follow from facts, pictures must have their digest. Its replies and
reviews hold for its own hunts, unless the user trusts it; the trials of a hunt that is joined count as ours.
"""

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from failscape.atlas import reader
from failscape.atlas.database import DATABASE, MIGRATIONS, reader_uri, version_of
from failscape.atlas.files import explained, link_or_copy, read_regular, refuse_link, sync_folder
from failscape.atlas.hunts import copy_corpus, diff_hunts
from failscape.atlas.images import PackPlace, pack_path, read_place
from failscape.atlas.merge_reviews import JoinedHunt, copy_reviews, note_hunts, refuse_mixed_reviews
from failscape.atlas.reader import CORPORA
from failscape.atlas.records import HuntRow, refuse_unsound
from failscape.atlas.soundness import identity_faults, plan_faults, trial_faults
from failscape.atlas.store import Atlas
from failscape.atlas.writer import RowWriter
from failscape.errors import AtlasError
from failscape.pictures import Picture
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


class MergeRules(NamedTuple):
    """`trusted`: reviews and replies of the sources hold for all hunts. `reviews`: they are brought along."""

    trusted: bool = False
    reviews: bool = True


UNTRUSTED = MergeRules()


def merge_atlases(
    sources: Sequence[str | Path], destination: str | Path, rules: MergeRules = UNTRUSTED
) -> Merged:
    """Bring everything of `sources` into `destination`, which may exist already.

    A source is merged wholly or not at all. Raises `AtlasError` naming the key when a trial was recorded
    in two atlases with different results, and when a row of a source is false.
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
                _refuse_false_rows(one)
                _merge_one(one, atlas, merged, rules)
    return merged


def _refuse_false_rows(source: Atlas) -> None:
    with source.reading() as db:
        refuse_unsound(db, version_of(db), str(source.folder))
        for faults in (plan_faults, identity_faults, trial_faults):
            first = next(faults(db), None)
            if first is not None:
                raise AtlasError(
                    f"{source.folder} is not merged: {first}",
                    f"failscape doctor {source.folder} names all such rows",
                )


def _copy_corpora(source: Atlas, target: Atlas) -> None:
    """Corpora are named by their content: two of one name must be the same."""
    refuse_link(source.folder / CORPORA)
    for folder in (source.folder / CORPORA).glob("*"):
        refuse_link(folder)
        if folder.name.startswith("."):  # half a copy of a killed run
            continue
        goal = target.folder / CORPORA / folder.name
        draft = copy_corpus(folder, goal)
        with explained(goal):
            if not goal.exists():
                draft.replace(goal)
                continue
            is_same = _files(draft) == _files(goal)
            shutil.rmtree(draft)
        if not is_same:
            raise AtlasError(
                f"{folder} and {goal} have one name and different content: one of them was changed",
                "restore the changed one from a copy",
            )


def _files(folder: Path) -> dict[str, bytes]:
    """What is in a kept corpus, by name."""
    return {path.name: read_regular(path) for path in sorted(folder.iterdir())}


def _merge_one(source: Atlas, target: Atlas, merged: Merged, rules: MergeRules) -> None:
    with _attached(target, source.folder):
        _copy_corpora(source, target)
        hunts = source.stored_hunts()
        with target.transaction() as (db, rows):
            _copy_shared(db)
            _PictureMerge(db, rows, source, target).run(merged)
            numbers: dict[int, int] = {}
            joined: list[JoinedHunt] = []
            new: set[int] = set()
            for hunt in hunts:
                # Looked for one after the other: a source may hold several shards of one hunt.
                there = _match(hunt, reader.hunts(db, None))
                if there is None:
                    parent = numbers.get(hunt.parent) if hunt.parent else None
                    named = (hunt.kind, hunt.config, hunt.identities)
                    number = rows.add_hunt(*named, (0, 1), parent, hunt.created)
                    new.add(number)
                    merged.hunts += 1
                else:
                    number = there.id
                numbers[hunt.id] = number
                was_there = there is not None and there.id not in new
                joined.append(JoinedHunt(hunt, number, was_there))
                if was_there and not rules.trusted:
                    refuse_mixed_reviews(db, joined[-1], source.folder, leave=not rules.reviews)
                added = _merge_hunt(db, rows, joined[-1], source.folder, rules)
                if added and there is not None and there.shard != hunt.shard:
                    db.execute("UPDATE hunts SET shard = 0, shards = 1 WHERE id = ?", (number,))
                merged.trials += added
            _copy_events(db, numbers)
            if rules.reviews:
                copy_reviews(db, joined, rules.trusted)
            note_hunts(db, joined, rules.trusted)


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
    " endpoint = excluded.endpoint WHERE calls.invalid <> '' AND excluded.invalid = ''"
    # A stranger's reply does not take the place of one to another hunt.
    " AND (:trusted OR calls.hunt = :there)",
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


def _merge_hunt(
    db: sqlite3.Connection, rows: RowWriter, joined: JoinedHunt, folder: Path, rules: MergeRules
) -> int:
    """Bring a hunt of the attached source into one of the target; gives how many of its trials are new."""
    there = joined.there
    ids = {"here": joined.hunt.id, "there": there, "trusted": rules.trusted}
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
            self._db.executemany(
                "INSERT OR IGNORE INTO images SELECT i.digest, i.bytes, i.width, i.height, i.format, p.id,"
                " i.start FROM source.images i JOIN source.packs s ON s.id = i.pack"
                " JOIN packs p ON p.name = s.name WHERE i.digest = ?",
                [(digest,) for digest in self._whole_pictures(name)],
            )
        sync_folder(self._target.images.folder)
        merged.missing_images += self._append_others()
        merged.images += self._number() - before

    def _whole_pictures(self, pack: str) -> Iterator[str]:
        """Those of a pack that have their digest: a false one would keep the right one out for good."""
        query = "SELECT i.digest, i.start, i.bytes FROM source.images i JOIN source.packs s ON s.id = i.pack"
        for digest, start, length in self._db.execute(f"{query} WHERE s.name = ? ORDER BY i.start", (pack,)):
            data = read_place(self._source.images.folder, PackPlace(pack, start, length))
            if Picture(data).digest == digest:
                yield digest

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
