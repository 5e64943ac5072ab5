"""Tables that came after the numbered versions, and that earlier versions of failscape do not mind.

They are made where they are missing, whatever the version of the atlas, so that an atlas that has them can
still be read by those earlier versions. A reader must not rely on them: an atlas that only an earlier version
has written to has none.
"""

import sqlite3

#: Trials and pictures that a mend took back, as they were, so that they can come back.
_WITHDRAWN = (
    """
CREATE TABLE IF NOT EXISTS withdrawn_images (
    digest TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    format TEXT NOT NULL,
    pack INTEGER,
    start INTEGER
) WITHOUT ROWID
""",
    """
CREATE TABLE IF NOT EXISTS withdrawn (
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
)
""",
)

#: What a merge brought in without the user's word for it: hunts by their number, reviews by their name.
#: Replies and reviews of such hunts hold for these hunts alone.
_BROUGHT_IN = (
    """
CREATE TABLE IF NOT EXISTS brought_in (
    what TEXT NOT NULL,
    name NOT NULL,
    PRIMARY KEY (what, name)
) WITHOUT ROWID
""",
)

HUNT = "hunt"
REVIEW = "review"


def make_later_tables(db: sqlite3.Connection) -> None:
    for statement in (*_WITHDRAWN, *_BROUGHT_IN):
        db.execute(statement)


def brought_in(db: sqlite3.Connection, what: str, schema: str = "") -> frozenset[int | str]:
    """The names of the `what` that merges brought in; `schema` names an attached database."""
    master = f"SELECT 1 FROM {schema}sqlite_master WHERE type = 'table' AND name = 'brought_in'"
    if db.execute(master).fetchone() is None:
        return frozenset()
    rows = db.execute(f"SELECT name FROM {schema}brought_in WHERE what = ?", (what,))
    return frozenset(row[0] for row in rows)


def note_brought_in(db: sqlite3.Connection, what: str, name: int | str) -> None:
    db.execute("INSERT OR IGNORE INTO brought_in VALUES (?, ?)", (what, name))
