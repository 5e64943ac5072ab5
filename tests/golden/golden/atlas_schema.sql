PRAGMA application_id = 1179861825;
PRAGMA user_version = 5;
PRAGMA journal_mode = wal;
PRAGMA page_size = 2048;
CREATE INDEX trials_by_subject ON trials (hunt, subject, verdict)
;
CREATE TABLE accuracies (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    hunt INTEGER REFERENCES hunts (id),
    judge TEXT NOT NULL,
    content TEXT NOT NULL,
    origin TEXT UNIQUE
);
CREATE TABLE atlas (
    uid TEXT NOT NULL,
    created REAL NOT NULL
);
CREATE TABLE brought_in (
    what TEXT NOT NULL,
    name NOT NULL,
    PRIMARY KEY (what, name)
) WITHOUT ROWID
;
CREATE TABLE calls (
    key BLOB PRIMARY KEY,
    role TEXT NOT NULL,
    identity INTEGER NOT NULL REFERENCES identities (id),
    facts TEXT NOT NULL,
    invalid TEXT NOT NULL,
    raw TEXT NOT NULL,
    image TEXT,
    requests INTEGER NOT NULL,
    seconds REAL NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cost REAL NOT NULL,
    hunt INTEGER NOT NULL REFERENCES hunts (id)
, endpoint TEXT NOT NULL DEFAULT '');
CREATE TABLE confidences (call BLOB PRIMARY KEY, chances TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    hunt INTEGER REFERENCES hunts (id),
    detail TEXT NOT NULL,
    origin TEXT UNIQUE
);
CREATE TABLE hunts (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    config TEXT NOT NULL,
    identities TEXT NOT NULL,
    shard INTEGER NOT NULL,
    shards INTEGER NOT NULL,
    parent INTEGER REFERENCES hunts (id),
    created REAL NOT NULL
);
CREATE TABLE identities (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    settings TEXT NOT NULL
);
CREATE TABLE images (
    digest TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    format TEXT NOT NULL
, pack INTEGER REFERENCES packs (id), start INTEGER) WITHOUT ROWID;
CREATE TABLE merged (
    hunt INTEGER NOT NULL REFERENCES hunts (id),
    origin TEXT NOT NULL,
    images INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    money REAL NOT NULL,
    PRIMARY KEY (hunt, origin)
) WITHOUT ROWID;
CREATE TABLE nodes (
    id INTEGER PRIMARY KEY,
    hunt INTEGER NOT NULL REFERENCES hunts (id),
    subject TEXT NOT NULL,
    details TEXT NOT NULL,
    UNIQUE (hunt, subject)
);
CREATE TABLE packs (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    bytes INTEGER NOT NULL,
    grows INTEGER NOT NULL
);
CREATE TABLE plans (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    steps TEXT NOT NULL
);
CREATE TABLE results (
    hunt INTEGER PRIMARY KEY REFERENCES hunts (id),
    last_trial INTEGER NOT NULL,
    trials INTEGER NOT NULL,
    rules TEXT NOT NULL,
    judge TEXT NOT NULL,
    at REAL NOT NULL,
    content BLOB NOT NULL
);
CREATE TABLE review_items (
    review TEXT NOT NULL,
    item TEXT NOT NULL,
    trial TEXT NOT NULL,
    place INTEGER NOT NULL,
    kind TEXT NOT NULL,
    answer INTEGER NOT NULL,
    near INTEGER NOT NULL,
    stands_for REAL NOT NULL,
    PRIMARY KEY (review, item)
) WITHOUT ROWID;
CREATE TABLE review_labels (
    review TEXT NOT NULL,
    item TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    label TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (review, item, reviewer)
) WITHOUT ROWID
;
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    hunt INTEGER NOT NULL REFERENCES hunts (id),
    judge TEXT NOT NULL,
    seed INTEGER NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    hunt INTEGER NOT NULL REFERENCES hunts (id),
    started REAL NOT NULL,
    seconds REAL NOT NULL DEFAULT 0,
    why TEXT NOT NULL DEFAULT '',
    origin TEXT UNIQUE
);
CREATE TABLE totals (
    hunt INTEGER PRIMARY KEY REFERENCES hunts (id),
    images INTEGER NOT NULL DEFAULT 0,
    requests INTEGER NOT NULL DEFAULT 0,
    money REAL NOT NULL DEFAULT 0,
    pass INTEGER NOT NULL DEFAULT 0,
    fail INTEGER NOT NULL DEFAULT 0,
    invalid INTEGER NOT NULL DEFAULT 0,
    none INTEGER NOT NULL DEFAULT 0,
    first_trial INTEGER,
    last_trial INTEGER
);
CREATE TABLE trials (
    id INTEGER PRIMARY KEY,
    hunt INTEGER NOT NULL REFERENCES hunts (id),
    key TEXT NOT NULL,
    subject TEXT NOT NULL,
    plan INTEGER NOT NULL REFERENCES plans (id),
    seed INTEGER NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'invalid', 'none')),
    reason TEXT NOT NULL,
    facts TEXT NOT NULL,
    calls BLOB NOT NULL,
    started REAL NOT NULL,
    seconds REAL NOT NULL,
    UNIQUE (hunt, key)
);
CREATE TABLE withdrawn (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    why TEXT NOT NULL,
    hunt INTEGER NOT NULL,
    key TEXT NOT NULL,
    subject TEXT NOT NULL,
    plan INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT NOT NULL,
    facts TEXT NOT NULL,
    calls BLOB NOT NULL,
    started REAL NOT NULL,
    seconds REAL NOT NULL
);
CREATE TABLE withdrawn_images (
    digest TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    format TEXT NOT NULL,
    pack INTEGER,
    start INTEGER
) WITHOUT ROWID
;
