"""Everything that is written into an atlas's database, as rows. Transactions are the caller's business."""

import hashlib
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from failscape.atlas.images import ImageRow
from failscape.atlas.later_tables import HUNT, brought_in
from failscape.atlas.records import Call, Recorded
from failscape.errors import AtlasError
from failscape.models.roles import Identity
from failscape.secrets import clean as clean_secrets
from failscape.secrets import clean_data
from failscape.trials import Step, Verdict, steps_to_json

_CACHED_PLANS = 4096

# A reply that could not be used gives way to one that can; what both cost stays counted.
ADD_CALL = (
    "INSERT INTO calls VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET facts = excluded.facts,"
    " invalid = '', raw = excluded.raw, image = excluded.image, requests = requests + excluded.requests,"
    " seconds = seconds + excluded.seconds, tokens_in = tokens_in + excluded.tokens_in,"
    " tokens_out = tokens_out + excluded.tokens_out, cost = cost + excluded.cost,"
    " endpoint = excluded.endpoint WHERE invalid <> '' AND excluded.invalid = ''"
)
DROP_FOREIGN_CALL = (
    "DELETE FROM calls WHERE key = ? AND hunt <> ?"
    " AND hunt IN (SELECT name FROM brought_in WHERE what = 'hunt')"
)
ADD_TRIAL = (
    "INSERT INTO trials (hunt, key, subject, plan, seed, verdict, reason, facts, calls, started, seconds)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?)"
)
ADD_IMAGE = "INSERT OR REPLACE INTO images VALUES (?,?,?,?,?,(SELECT id FROM packs WHERE name = ?),?)"
KEEP_PACK = (
    "INSERT INTO packs (name, bytes, grows) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET bytes = excluded.bytes"
)


class RowWriter:
    """Writes rows through one connection; remembers which plans and identities are there already."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._plans: dict[tuple[Step, ...], int] = {}
        self._identities: dict[int, tuple[Identity, int]] = {}

    def forget(self) -> None:
        """After a rollback nothing that was remembered can be relied on."""
        self._plans.clear()
        self._identities.clear()

    def add_trials(self, hunt: int, group: Sequence[Recorded]) -> None:
        rows = [
            (
                hunt,
                recorded.trial.key,
                recorded.trial.subject,
                self.plan(recorded.probe.steps),
                recorded.trial.seed,
                recorded.trial.verdict.value,
                clean(recorded.trial.reason),
                recorded.trial.text,
                b"".join([call.key for call in recorded.calls]),
                recorded.started,
                recorded.seconds,
            )
            for recorded in group
        ]
        last = self._db.execute("SELECT coalesce(max(id), 0) FROM trials").fetchone()[0]
        try:
            self._db.executemany(ADD_TRIAL, rows)
        except sqlite3.IntegrityError as error:
            raise self._refusal(rows, last, error) from error
        except UnicodeEncodeError as error:
            raise AtlasError(f"a trial has text that is not Unicode: {error.object!r}") from error
        self.add_counts(hunt, Counter(recorded.trial.verdict for recorded in group))

    def _refusal(self, rows: list[tuple[Any, ...]], last: int, error: sqlite3.IntegrityError) -> AtlasError:
        keys = Counter(row[1] for row in rows)
        for hunt, key, *_ in rows:
            there = self._db.execute(
                "SELECT 1 FROM trials WHERE hunt = ? AND key = ? AND id <= ?", (hunt, key, last)
            )
            if keys[key] > 1 or there.fetchone():
                return AtlasError(
                    f"trial {key!r} is already recorded in hunt {hunt}: a key is recorded once",
                    "start the run again: it resumes from what is recorded",
                )
        return AtlasError(f"a trial does not fit the atlas: {error}")

    def add_counts(self, hunt: int, verdicts: Counter[Verdict]) -> None:
        last = self._db.execute("SELECT max(id) FROM trials").fetchone()[0]
        number = verdicts.total()
        if not number:
            return
        self._db.execute(
            "UPDATE totals SET pass = pass + ?, fail = fail + ?, invalid = invalid + ?, none = none + ?,"
            " first_trial = coalesce(first_trial, ?), last_trial = ? WHERE hunt = ?",
            (*(verdicts[verdict] for verdict in Verdict), last - number + 1, last, hunt),
        )

    def remove_invalid(self, hunt: int, keys: Sequence[str]) -> None:
        pairs = [(hunt, key) for key in keys]
        before = self._db.total_changes
        self._db.executemany("DELETE FROM trials WHERE hunt = ? AND key = ? AND verdict = 'invalid'", pairs)
        removed = self._db.total_changes - before
        if removed:
            self.outdate_results(hunt)
        first, last = self._db.execute(
            "SELECT min(id), max(id) FROM trials WHERE hunt = ?", (hunt,)
        ).fetchone()
        self._db.execute(
            "UPDATE totals SET invalid = invalid - ?, first_trial = ?, last_trial = ? WHERE hunt = ?",
            (removed, first, last, hunt),
        )

    def outdate_results(self, hunt: int) -> None:
        """Trials are taken out: SQLite gives the number of the last one again, so that neither it nor the
        number of trials would tell that kept findings belong to others."""
        self._db.execute("UPDATE results SET last_trial = 0 WHERE hunt = ?", (hunt,))

    def add_calls(self, hunt: int, calls: Iterable[Call]) -> None:
        """Store calls that were paid for. Of equal calls the first usable one is kept, all are counted."""
        paid = [call for call in calls if not call.cached]
        if not paid:
            return
        if brought_in(self._db, HUNT) - {hunt}:
            # Ours was asked for though a merge had brought a reply of another: that one gives way.
            keys = [(call.key, hunt) for call in paid]
            self._db.executemany(DROP_FOREIGN_CALL, keys)
        self._db.executemany(ADD_CALL, [self._call_row(hunt, call) for call in paid])
        sure = [(call.key, to_json(call.confidence)) for call in paid if call.confidence]
        if sure:
            self._db.executemany("INSERT OR IGNORE INTO confidences VALUES (?, ?)", sure)
        self._db.execute(
            "UPDATE totals SET images = images + ?, requests = requests + ?, money = money + ?"
            " WHERE hunt = ?",
            (
                sum(call.role in ("generator", "editor") for call in paid),
                sum(call.usage.requests for call in paid),
                sum(call.usage.cost for call in paid),
                hunt,
            ),
        )

    def _call_row(self, hunt: int, call: Call) -> tuple[Any, ...]:
        if len(call.key) != 16:
            raise AtlasError(f"a call's key has 16 bytes, but got {len(call.key)}: {call.key!r}")
        usage = call.usage
        return (
            call.key,
            call.role,
            self.identity(call.identity),
            to_json(call.facts),
            clean(call.invalid),
            clean(call.raw),
            call.picture.digest if call.picture is not None else None,
            usage.requests,
            usage.seconds,
            usage.tokens_in,
            usage.tokens_out,
            usage.cost,
            hunt,
            clean_secrets(usage.endpoint),
        )

    def add_images(self, kept: Sequence[tuple[str, ImageRow]], end: tuple[str, int] | None) -> None:
        """Say where pictures are; `end` is the pack that grows and where it ends."""
        if not kept:
            return
        if end is not None:
            self._db.execute("UPDATE packs SET grows = 0 WHERE grows AND name <> ?", end[:1])
            self._db.execute(KEEP_PACK, end)
        self._db.executemany(
            ADD_IMAGE,
            [
                (digest, row.length, row.width, row.height, row.format, *(row.place or (None, None))[:2])
                for digest, row in kept
            ],
        )

    def add_nodes(self, hunt: int, nodes: Mapping[str, dict[str, Any]]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO nodes (hunt, subject, details) VALUES (?,?,?)",
            [(hunt, subject, to_json(details)) for subject, details in nodes.items()],
        )

    def add_event(self, kind: str, detail: dict[str, Any], hunt: int | None) -> None:
        self._db.execute(
            "INSERT INTO events (at, kind, hunt, detail) VALUES (?, ?, ?, ?)",
            (time.time(), kind, hunt, to_json(clean_data(detail))),
        )

    def plan(self, steps: tuple[Step, ...]) -> int:
        known = self._plans.get(steps)
        if known is None:
            if len(self._plans) >= _CACHED_PLANS:
                self._plans.clear()
            known = self._plans[steps] = self.plan_of_text(clean(steps_to_json(steps)))
        return known

    def plan_of_text(self, text: str) -> int:
        digest = plan_digest(text)
        self._db.execute("INSERT OR IGNORE INTO plans (digest, steps) VALUES (?, ?)", (digest, text))
        row = self._db.execute("SELECT id FROM plans WHERE digest = ?", (digest,)).fetchone()
        return int(row[0])

    def identity(self, identity: Identity) -> int:
        """Remembered by object: one model hands out one identity, and hashing it each time is slow."""
        known = self._identities.get(id(identity))
        if known is None or known[0] is not identity:
            if len(self._identities) >= 256:
                self._identities.clear()
            known = self._identities[id(identity)] = (identity, self._identity_id(identity))
        return known[1]

    def _identity_id(self, identity: Identity) -> int:
        digest = identity.digest
        self._db.execute(
            "INSERT OR IGNORE INTO identities (digest, role, provider, model, settings) VALUES (?,?,?,?,?)",
            (digest, identity.role, identity.provider, identity.model, to_json(identity.settings)),
        )
        row = self._db.execute("SELECT id FROM identities WHERE digest = ?", (digest,)).fetchone()
        return int(row[0])

    def add_hunt(
        self,
        kind: str,
        config: dict[str, Any],
        identities: dict[str, Identity],
        shard: tuple[int, int],
        parent: int | None,
        created: float | None = None,
    ) -> int:
        ids = {name: self._identity_id(identity) for name, identity in identities.items()}
        row = (kind, to_json(config), to_json(ids), *shard, parent, created or time.time())
        cursor = self._db.execute(
            "INSERT INTO hunts (kind, config, identities, shard, shards, parent, created)"
            " VALUES (?,?,?,?,?,?,?)",
            row,
        )
        hunt = int(cursor.lastrowid or 0)
        self._db.execute("INSERT INTO totals (hunt) VALUES (?)", (hunt,))
        return hunt


def plan_digest(text: str) -> bytes:
    """What names a plan: its steps as they are stored."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=str)


def clean(text: str) -> str:
    """Models can reply with lone surrogates, which no database can hold: they become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
