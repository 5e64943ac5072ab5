"""Everything that is read from an atlas's database, through whatever connection it is given."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from failscape.atlas.images import ImageStore
from failscape.atlas.records import Event, HuntRow, RunRow, Spent, StoredCall, StoredTrial
from failscape.errors import AtlasError
from failscape.models.roles import Identity, Usage
from failscape.trials import Trial, Verdict, steps_from_json

_MANY = 1024
_VERDICTS = {verdict.value: verdict for verdict in Verdict}


def hunts(db: sqlite3.Connection) -> list[HuntRow]:
    known = {number: identity for number, _, identity in identities(db)}
    rows = db.execute(
        "SELECT id, kind, config, identities, shard, shards, parent, created FROM hunts ORDER BY id"
    )
    return [
        HuntRow(
            id=number,
            kind=kind,
            config=json.loads(config),
            identities={name: known[one] for name, one in json.loads(ids).items()},
            shard=(shard, shards),
            parent=parent,
            created=created,
        )
        for number, kind, config, ids, shard, shards, parent, created in rows
    ]


def identities(db: sqlite3.Connection) -> Iterator[tuple[int, str, Identity]]:
    """Number in this atlas, digest, identity."""
    rows = db.execute("SELECT id, digest, role, provider, model, settings FROM identities")
    for number, digest, role, provider, model, settings in rows:
        yield number, digest, Identity(role, provider, model, json.loads(settings))


def runs(db: sqlite3.Connection, hunt: int | None) -> list[RunRow]:
    rows = db.execute(
        "SELECT id, hunt, started, seconds, requests, why FROM runs"
        " WHERE ?1 IS NULL OR hunt = ?1 ORDER BY id",
        (hunt,),
    )
    return [RunRow(*row) for row in rows]


def events(db: sqlite3.Connection, hunt: int | None) -> list[Event]:
    rows = db.execute(
        "SELECT id, at, kind, hunt, detail FROM events WHERE ?1 IS NULL OR hunt = ?1 ORDER BY id", (hunt,)
    )
    return [Event(number, at, kind, of, json.loads(detail)) for number, at, kind, of, detail in rows]


def replay(db: sqlite3.Connection, hunt: int) -> Iterator[Trial]:
    """Every trial in the order recorded, with nothing in memory but a few of them."""
    first, last = _bounds(db, hunt)
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
                yield Trial(key, subject, verdicts[verdict], reason, None, seed, text)
    finally:
        cursor.close()


def _bounds(db: sqlite3.Connection, hunt: int) -> tuple[int | None, int | None]:
    row = db.execute("SELECT first_trial, last_trial FROM totals WHERE hunt = ?", (hunt,)).fetchone()
    if row is None:
        raise no_such_hunt(db, hunt)
    return row[0], row[1]


def no_such_hunt(db: sqlite3.Connection, hunt: int) -> AtlasError:
    known = [row[0] for row in db.execute("SELECT id FROM hunts ORDER BY id")]
    return AtlasError(
        f"the atlas has no hunt {hunt}", f"its hunts are {known}" if known else "it has no hunts"
    )


def spent(db: sqlite3.Connection, hunt: int) -> Spent:
    row = db.execute("SELECT images, requests, money FROM totals WHERE hunt = ?", (hunt,)).fetchone()
    if row is None:
        raise no_such_hunt(db, hunt)
    images, requests, money = row
    seconds, extra = db.execute(
        "SELECT coalesce(sum(seconds), 0), coalesce(sum(requests), 0) FROM runs WHERE hunt = ?", (hunt,)
    ).fetchone()
    return Spent(images, requests + extra, seconds, money)


def costs(db: sqlite3.Connection, hunt: int) -> dict[str, tuple[int, Usage]]:
    """Role → number of calls and their summed usage. Reads every call of the atlas: seconds for millions."""
    rows = db.execute(
        "SELECT role, count(*), sum(requests), sum(seconds), sum(tokens_in), sum(tokens_out), sum(cost)"
        " FROM calls WHERE hunt = ? GROUP BY role ORDER BY role",
        (hunt,),
    )
    return {role: (number, Usage(*usage)) for role, number, *usage in rows}


def counts(db: sqlite3.Connection, hunt: int) -> dict[Verdict, int]:
    row = db.execute("SELECT pass, fail, invalid, none FROM totals WHERE hunt = ?", (hunt,)).fetchone()
    if row is None:
        raise no_such_hunt(db, hunt)
    return dict(zip(Verdict, row, strict=True))


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
        found[_VERDICTS[verdict]] = number
    if subject is not None:
        yield subject, found


_TRIAL = (
    "SELECT t.id, t.hunt, t.key, t.subject, t.verdict, t.reason, t.seed, t.facts, t.calls, t.started,"
    " t.seconds, p.steps FROM trials t {index} JOIN plans p ON p.id = t.plan WHERE t.hunt = ?"
)
_CALL = (
    "SELECT c.key, c.role, i.role, i.provider, i.model, i.settings, c.facts, c.invalid, c.raw, c.requests,"
    " c.seconds, c.tokens_in, c.tokens_out, c.cost, c.image"
    " FROM calls c JOIN identities i ON i.id = c.identity WHERE c.key = ?"
)


def trials(
    db: sqlite3.Connection,
    store: ImageStore,
    hunt: int,
    subject: str | None,
    verdict: Verdict | None,
    limit: int | None,
    offset: int,
) -> Iterator[StoredTrial]:
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
            yield _stored_trial(db, store, row)


def _stored_trial(db: sqlite3.Connection, store: ImageStore, row: tuple[Any, ...]) -> StoredTrial:
    number, hunt, key, subject, verdict, reason, seed, text, keys, started, seconds, steps = row
    found = (find_call(db, store, keys[at : at + 16]) for at in range(0, len(keys), 16))
    return StoredTrial(
        id=number,
        hunt=hunt,
        trial=Trial(key, subject, _VERDICTS[verdict], reason, None, seed, text),
        steps=steps_from_json(steps),
        calls=tuple(call for call in found if call is not None),
        started=started,
        seconds=seconds,
    )


def find_call(db: sqlite3.Connection, store: ImageStore, key: bytes) -> StoredCall | None:
    row = db.execute(_CALL, (key,)).fetchone()
    if row is None:
        return None
    _, role, of, provider, model, settings, facts, invalid, raw, *usage, image = row
    return StoredCall(
        key=key,
        role=role,
        identity=Identity(of, provider, model, json.loads(settings)),
        facts=json.loads(facts),
        invalid=invalid,
        raw=raw,
        usage=Usage(*usage),
        image=image or "",
        path=store.find(image) if image else None,
    )
